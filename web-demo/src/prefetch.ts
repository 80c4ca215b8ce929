import { samples } from './samples';

const parts = import.meta.glob([
  './view/dialog/*.svelte',
  './view/chat/AskCard.svelte',
  './view/flow/{chat.ts,FlowView.svelte,Sources.svelte}',
  './view/timeline/*.svelte',
  './view/inspector/*.{svelte,ts}',
  './view/config/TableView.svelte',
  './view/phrases/Phrases.svelte',
  './config/editor.ts',
  './config/completion.ts',
  './late-issues.svelte.ts',
  './session/{transfer,import}.ts',
  './view/TurnPanels.svelte',
]);

/** Preloads lazy parts, so that the page works without a network. Failed parts are loaded again when needed. */
export async function prefetch(): Promise<void> {
  const loads = [...Object.values(parts), ...samples.map((it) => it.load)];
  await Promise.allSettled(loads.map((load) => load()));
}
