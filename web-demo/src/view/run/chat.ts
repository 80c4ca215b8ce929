import '../../style/flow-chat.css';
import '../../style/run.css';

// The chat parts of runs, loaded with the first chain.
export { default as RunControls } from './RunControls.svelte';
export { default as RunSteps } from './RunSteps.svelte';
export { default as RunTurn } from './RunTurn.svelte';
