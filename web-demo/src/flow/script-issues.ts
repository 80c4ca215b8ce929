/** The issues that the interpreter finds in the scripts of a flow document, as publishing reports them. */
import type { EngineClient } from '../client';
import type { ScriptIssue } from '../effects/script';
import type { Issue } from '../types';
import { isFlowPack } from './flow-pack';

/** A node with a script, and the path of its code. */
export interface ScriptNode {
  path: string;
  graph: string;
  node: string;
  code: string;
}

/** The code of an issue that makes a script invalid. */
const INVALID_SCRIPT = 'P001';

type Members = Record<string, unknown>;

/** Lists the scripts of the flow document of a pack. */
export function scriptNodes(pack: string): ScriptNode[] {
  if (!pack.includes('"python"')) return [];
  const document = asList((JSON.parse(pack) as Members)['documents']).find((it) => it['doc'] === 'conversation_flow');
  return asList(document?.['graphs']).flatMap((graph, at) =>
    asList(graph['nodes']).flatMap(({ id, type, data }, index) => {
      const { code } = (data ?? {}) as Members;
      return type === 'python' && typeof code === 'string' ? [{ path: `/graphs/${at}/nodes/${index}/data/code`, graph: String(graph['id']), node: String(id), code }] : [];
    }),
  );
}

/** Adds what the interpreter finds in the scripts of a pack; `undefined` without scripts or interpreter. */
export async function addScriptIssues(client: Pick<EngineClient, 'checkScripts'>, pack: string, issues: Issue[]): Promise<Issue[] | undefined> {
  const nodes = isFlowPack(pack) ? scriptNodes(pack) : [];
  const found = nodes.length === 0 ? undefined : await client.checkScripts(nodes.map((it) => it.code)).catch(() => undefined);
  return found && mergeScriptIssues(issues, nodes, found);
}

/** Adds what the interpreter has found to the engine's issues; its words replace those of the engine for the same script. */
export function mergeScriptIssues(issues: Issue[], nodes: ScriptNode[], found: ScriptIssue[][]): Issue[] {
  const replaced = new Set(nodes.flatMap(({ path }, index) => ((found[index]?.length ?? 0) > 0 ? [path] : [])));
  const kept = issues.filter(({ rule, path }) => rule !== INVALID_SCRIPT || !replaced.has(path));
  const added = nodes.flatMap(({ path, graph, node }, index) =>
    (found[index] ?? []).map(({ line, message }): Issue => ({ severity: 'error', path, reason: `line ${line}: ${message}`, hint: 'correct the script', rule: INVALID_SCRIPT, graph, node })),
  );
  return [...kept, ...added];
}

function asList(value: unknown): Members[] {
  return Array.isArray(value) ? value.map((it) => (typeof it === 'object' && it !== null ? (it as Members) : {})) : [];
}
