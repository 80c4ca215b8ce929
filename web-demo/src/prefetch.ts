import { samples } from './samples';

const parts = import.meta.glob([
  './view/dialog/*.svelte',
  './view/chat/AskCard.svelte',
  './view/flow/{chat.ts,FlowView.svelte}',
  './view/timeline/*.svelte',
  './view/inspector/*.{svelte,ts}',
  './view/config/TableView.svelte',
  './config/editor.ts',
  './config/completion.ts',
  './session/{carry,import}.ts',
  './view/Middle.svelte',
]);

/** Loads what is not needed at first, so that the page works when the network goes away; what cannot be had is loaded when it is needed. */
export async function prefetch(): Promise<void> {
  const loads = [...Object.values(parts), ...samples.map((it) => it.load)];
  await Promise.allSettled(loads.map((load) => load()));
}
