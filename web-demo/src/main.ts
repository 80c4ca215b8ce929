import { mount } from 'svelte';
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
