import { mount } from 'svelte';
import { autosaveSession } from './session/autosave.svelte';
import { prefetch } from './prefetch';
import { Simulator } from './simulator.svelte';
import './style.css';
import { pageUpdate } from './page-update.svelte';
import Page from './view/Page.svelte';

declare global {
  /** The door for the browser tests. */
  var convengine: {
    play(pack: string): Promise<{ index: number; hash: string }[]>;
    extend(pack: string, effects: string[]): Promise<string[]>;
    /** The turns of the branch that is shown. */
    turns(): TurnSummary[];
    ready: Promise<void>;
    /** Settles when the page can do without the network. */
    complete: Promise<void>;
  };
}

/** A turn as tests see it. */
interface TurnSummary {
  message: string;
  hash: string;
  stateHash: string;
  state: string | null;
  reply: string | null;
  fault: string | null;
  origins: string[];
}

const simulator = new Simulator();

globalThis.convengine = {
  play: async (pack) => (await simulator.play(pack)).map(({ index, hash }) => ({ index, hash })),
  extend: (pack, effects) => simulator.callExtensions(pack, effects),
  turns: () =>
    simulator.tree.path.map(({ input, record, error, exchanges }) => ({
      message: input.message,
      hash: record?.hash ?? '',
      stateHash: record?.stateHash ?? '',
      state: record?.outcome.state ?? null,
      reply: record?.outcome.payload?.value ?? null,
      fault: record?.outcome.fault?.code ?? error?.code ?? null,
      origins: exchanges.map((it) => it.origin),
    })),
  ready: simulator.ready,
  complete: simulator.ready.then(prefetch),
};

const target = document.getElementById('page');
if (target) mount(Page, { target, props: { simulator } });
void openFragment();
addEventListener('hashchange', () => void openFragment());
autosaveSession(simulator);
// What is kept for later must not be in the way of what is needed now.
if (import.meta.env.PROD) void simulator.ready.catch(() => {}).then(() => pageUpdate.register());

/** Opens the session that the address holds. What is there already is kept until somebody wants the new one. */
async function openFragment(): Promise<void> {
  const fragment = /^#s=(.+)$/.exec(location.hash)?.[1];
  if (fragment === undefined) return;
  if (simulator.tree.turns.length > 0) {
    simulator.offeredLink = fragment;
    return;
  }
  await simulator.openLink(fragment);
}
