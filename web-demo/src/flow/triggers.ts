import { asList, asMembers, asText } from './members';
import { playedDocument } from './flow-pack';

/** A trigger of a workflow graph, with which a session may start. */
export interface Trigger {
  id: string;
  name: string;
}

/** Lists the triggers of the workflow graph that a pack plays. */
export function listTriggers(pack: string): Trigger[] {
  const document = playedDocument(pack);
  const nodes = asList(document?.['doc'] === 'workflow_graph' ? document['nodes'] : undefined);
  return nodes.filter((it) => it['type'] === 'trigger').map((it) => ({ id: asText(it['id']), name: asText(it['name']) || asText(asMembers(it['data'])['kind']) || asText(it['id']) }));
}
