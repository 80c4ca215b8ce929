import { asObject } from '../answer/schema';
import type { Json, JsonObject } from '../types';
import type { McpCall } from './call';

/** Where the definition of a tool was found. */
export interface ToolDefinition {
  origin: 'row' | 'document';
  description: string;
  inputSchema: JsonObject;
}

interface PackMembers {
  tables?: Record<string, JsonObject[]>;
  documents?: JsonObject[];
}

/** Finds the definition of a called tool: its row of `cv_mcp_tool`, or else a tool of a document. */
export function findDefinition(pack: string, { server, tool }: McpCall): ToolDefinition | undefined {
  let members: PackMembers;
  try {
    members = asObject(JSON.parse(pack) as Json) as PackMembers;
  } catch {
    return undefined;
  }
  const code = `mcp.${server}.${tool}`;
  const row = listOf(members.tables?.['cv_mcp_tool']).find((it) => it['tool_code'] === code);
  if (row) {
    const definition = asObject(row['definition']);
    return { origin: 'row', description: textOf(definition['description']), inputSchema: asObject(definition['inputSchema']) };
  }
  const listed = listOf(members.documents).flatMap((it) => listOf(it['tools']));
  const found = listed.find((it) => it['kind'] === 'mcp' && it['server'] === server && (it['remote_name'] ?? it['name']) === tool);
  return found && { origin: 'document', description: textOf(found['description']), inputSchema: asObject(found['input_schema']) };
}

function listOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
