/** The issues that the interpreter finds in the scripts of a flow document, as publishing reports them. */
import type { EngineClient } from '../client';
import type { ScriptIssue } from '../effects/script';
import type { Issue } from '../types';
import { isFlowPack } from './flow-pack';
import { asList, asMembers, type Members } from './members';

/** A node with a script, and the path of its code. */
export interface ScriptNode {
  path: string;
  /** The index of its document in the pack. */
  document: number;
  graph: string;
  node: string;
  code: string;
}

/** The code of an issue that makes a script invalid. */
const INVALID_SCRIPT = 'P001';

/** Lists the scripts of the documents of a pack. */
export function scriptNodes(pack: string): ScriptNode[] {
  if (!pack.includes('"python"')) return [];
  return asList((JSON.parse(pack) as Members)['documents']).flatMap((document, index) =>
    asList(document['graphs']).flatMap((graph, at) => graphScripts(graph, `/graphs/${at}`, index)).concat(graphScripts(document, '', index)),
  );
}

function graphScripts(graph: Members, pointer: string, document: number): ScriptNode[] {
  return asList(graph['nodes']).flatMap(({ id, type, data }, index) => {
    const { code } = asMembers(data);
    return type === 'python' && typeof code === 'string' ? [{ path: `${pointer}/nodes/${index}/data/code`, document, graph: String(graph['id']), node: String(id), code }] : [];
  });
}

/** Adds what the interpreter finds in the scripts of a pack; `undefined` without scripts or interpreter. */
export async function addScriptIssues(client: Pick<EngineClient, 'checkScripts'>, pack: string, issues: Issue[]): Promise<Issue[] | undefined> {
  const nodes = isFlowPack(pack) ? scriptNodes(pack) : [];
  const found = nodes.length === 0 ? undefined : await client.checkScripts(nodes.map((it) => it.code)).catch(() => undefined);
  return found && mergeScriptIssues(issues, nodes, found);
}

/** Adds what the interpreter has found to the engine's issues; its words replace those of the engine for the same script. */
export function mergeScriptIssues(issues: Issue[], nodes: ScriptNode[], found: ScriptIssue[][]): Issue[] {
  const key = ({ document = 0, path }: { document?: number; path: string }) => `${document} ${path}`;
  const replaced = new Set(nodes.flatMap((it, index) => ((found[index]?.length ?? 0) > 0 ? [key(it)] : [])));
  const kept = issues.filter((it) => it.rule !== INVALID_SCRIPT || !replaced.has(key(it)));
  const added = nodes.flatMap(({ path, document, graph, node }, index) =>
    (found[index] ?? []).map(({ line, message }): Issue => ({ severity: 'error', path, reason: `line ${line}: ${message}`, hint: 'correct the script', rule: INVALID_SCRIPT, graph, node, document })),
  );
  return [...kept, ...added];
}
