import { mount } from 'svelte';
import { keepSession } from './session/autosave.svelte';
import { Simulator } from './simulator.svelte';
import './style.css';
import Page from './view/Page.svelte';

declare global {
  /** The door for the browser tests. */
  var convengine: {
    play(pack: string): Promise<{ index: number; hash: string }[]>;
    extend(pack: string, effects: string[]): Promise<string[]>;
    ready: Promise<void>;
  };
}

const simulator = new Simulator();

globalThis.convengine = {
  play: async (pack) => (await simulator.play(pack)).map(({ index, hash }) => ({ index, hash })),
  extend: (pack, effects) => simulator.answer(pack, effects),
  ready: simulator.ready,
};

const target = document.getElementById('page');
if (target) mount(Page, { target, props: { simulator } });
void openFragment();
addEventListener('hashchange', () => void openFragment());
keepSession(simulator);
if ('serviceWorker' in navigator && import.meta.env.PROD) void navigator.serviceWorker.register('./sw.js').catch(() => {});

/** Opens the session that the address holds. What is there already is kept until somebody wants the new one. */
async function openFragment(): Promise<void> {
  const fragment = /^#s=(.+)$/.exec(location.hash)?.[1];
  if (fragment === undefined) return;
  if (simulator.tree.turns.length > 0) {
    simulator.offer = fragment;
    return;
  }
  await simulator.openLink(fragment);
}
