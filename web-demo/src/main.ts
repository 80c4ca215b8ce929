import { mount } from 'svelte';
import { openLinked } from './session/replace-session';
import { startAutosave } from './session/start-autosave.svelte';
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
    /** Resolves when the engine is ready. */
    ready: Promise<void>;
    /** Resolves when the page shows its first session and works without the network. */
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
const opened = open();

globalThis.convengine = {
  play: async (pack) => (await simulator.client.play(pack)).map(({ index, hash }) => ({ index, hash })),
  extend: (pack, effects) => simulator.client.callExtensions(pack, effects),
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
  complete: Promise.all([opened, simulator.ready.then(prefetch)]).then(() => {}),
};

const target = document.getElementById('page');
if (target) mount(Page, { target, props: { simulator } });
addEventListener('hashchange', () => void openFragment());
void startAutosave(simulator);
// Caching the page must not delay its start.
if (import.meta.env.PROD) void simulator.ready.catch(() => {}).then(() => pageUpdate.register());

/** Opens the session in the address, or else the served project, or else plays the first sample. */
async function open(): Promise<void> {
  if (linkedSession() !== undefined) await openFragment();
  else if (isProjectServed()) await openProject();
  else await simulator.playOpening();
}

/** Whether `convengine dev` serves the page. */
function isProjectServed(): boolean {
  return document.querySelector('meta[name="convengine-project"]') !== null;
}

async function openProject(): Promise<void> {
  const { Project } = await import('./session/project.svelte');
  simulator.project = new Project(simulator);
  await simulator.project.start();
}

/** Opens the session in the address; if there already is one, the page asks first. */
async function openFragment(): Promise<void> {
  const fragment = linkedSession();
  if (fragment === undefined) return;
  if (simulator.tree.turns.length > 0 && !simulator.untouched) {
    simulator.offeredLink = fragment;
    return;
  }
  await openLinked(simulator, fragment);
}

function linkedSession(): string | undefined {
  return /^#s=(.+)$/.exec(location.hash)?.[1];
}
