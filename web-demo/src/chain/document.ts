/** Reads a chain for display; lenient, because a document is often invalid while it is edited. */
import { asList, asMembers, asText, asTexts, type Members } from '../flow/members';
import { documentId } from '../flow/flow-pack';

/** A step of a chain. */
export interface ChainStep {
  id: string;
  kind: string;
  label: string;
  disabled: boolean;
  /** The branches that can follow, with what leads to each. */
  exits: { branch: string; label: string }[];
  /** The branch that runs when it fails. */
  errorBranch: string | undefined;
  /** Whether a decision without a default goes on with the next step. */
  continues: boolean;
  /** The JSON pointer to it in its document. */
  pointer: string;
  config: Members;
}

/** A branch of a chain. */
export interface ChainBranch {
  id: string;
  name: string;
  steps: ChainStep[];
  /** Whether the run ends after it. */
  stops: boolean;
}

/** A chain. */
export interface Chain {
  slug: string;
  name: string;
  /** What starts its runs: `manual`, `webhook`, `schedule` or `event`. */
  trigger: string;
  steps: ChainStep[];
  branches: ChainBranch[];
}

/** Reads the chain that a pack plays; `undefined` where there is none. */
export function parseChain(pack: string): Chain | undefined {
  try {
    const documents = asList((JSON.parse(pack) as Members)['documents']);
    const document = documents.find((it) => it['doc'] === 'workflow_chain');
    return document && readChain(document);
  } catch {
    return undefined;
  }
}

/** Reads a chain. */
export function readChain(document: Members): Chain {
  const branches = asList(document['branches']).map((it, at) => ({
    id: asText(it['id']) || `#${at}`,
    name: asText(it['name']) || asText(it['id']),
    steps: asList(it['steps']).map((step, index) => readStep(step, `/branches/${at}/steps/${index}`)),
    stops: it['then'] === 'stop',
  }));
  const steps = asList(document['steps']).map((it, at) => readStep(it, `/steps/${at}`));
  const trigger = asText(asMembers(document['trigger'])['kind']) || 'manual';
  return { slug: documentId(document), name: asText(document['name']) || documentId(document), trigger, steps, branches };
}

function readStep(step: Members, pointer: string): ChainStep {
  const config = asMembers(step['config']);
  const kind = asText(step['kind']);
  const id = asText(step['id']) || pointer;
  const fallback = asText(config['default']);
  const cases = asList(config['cases']).map((it) => ({ branch: asText(it['branch']), label: asTexts(it['match']).join(', ') || asText(it['expr']) }));
  const exits = kind === 'decide' ? [...cases, ...(fallback ? [{ branch: fallback, label: 'otherwise' }] : [])] : [];
  const errorBranch = step['on_error'] === 'branch' ? asText(step['error_branch']) || undefined : undefined;
  return { id, kind, label: asText(step['label']) || id, disabled: step['disabled'] === true, exits, errorBranch, continues: fallback === '', pointer, config };
}
