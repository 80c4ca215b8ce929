import { mount } from 'svelte';
import { autosaveSession } from './session/autosave.svelte';
import { prefetch } from './prefetch';
import { Simulator } from './simulator.svelte';
import './style.css';
import { pageUpdate } from './page-update.svelte';
import Page from './view/Page.svelte';

declare global {
  /** The interface for browser tests. */
  var convengine: {
    play(pack: string): Promise<{ index: number; hash: string }[]>;
    extend(pack: string, effects: string[]): Promise<string[]>;
    /** The turns of the visible branch. */
    turns(): TurnSummary[];
    ready: Promise<void>;
    /** Resolves when the page works without the network. */
    complete: Promise<void>;
  };
}

/** A turn as tests read it. */
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
// Caching the page must not delay its start.
if (import.meta.env.PROD) void simulator.ready.catch(() => {}).then(() => pageUpdate.register());

/** Opens the session in the address; if there already is one, the page asks first. */
async function openFragment(): Promise<void> {
  const fragment = /^#s=(.+)$/.exec(location.hash)?.[1];
  if (fragment === undefined) return;
  if (simulator.tree.turns.length > 0) {
    simulator.offeredLink = fragment;
    return;
  }
  await simulator.openLink(fragment);
}
