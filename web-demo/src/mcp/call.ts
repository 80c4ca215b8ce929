import type { JsonObject } from '../types';

/** A call of a tool of an MCP server, as its effect describes it. */
export interface McpCall {
  server: string;
  tool: string;
  effect: string;
  idempotent: boolean;
  /** Whether a person approved this call. */
  approved: boolean;
}

/** Reads the call of an effect; `undefined` for other effects. */
export function mcpCall({ request: { kind, spec } }: { request: JsonObject & { kind: string } }): McpCall | undefined {
  if (kind !== 'tool' || typeof spec !== 'object' || spec === null || Array.isArray(spec)) return undefined;
  const { server, tool, effect, idempotent, approved } = spec;
  if (typeof server !== 'string' || typeof tool !== 'string') return undefined;
  return { server, tool, effect: typeof effect === 'string' ? effect : 'write', idempotent: idempotent === true, approved: approved === true };
}

/** A short label, such as `mcp acme-oms · get_order_status`. */
export function mcpLabel({ server, tool }: McpCall): string {
  return `mcp ${server} · ${tool}`;
}
