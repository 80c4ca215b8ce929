import '../../style/details.css';
import '../../style/session.css';

// The parts of the inspector, which are loaded when it has shown itself.
export { default as Details } from './Details.svelte';
export { default as Diff } from './Diff.svelte';
export { default as Params } from './Params.svelte';
export { default as Stored } from './Stored.svelte';
export { default as SessionTree } from './SessionTree.svelte';
export { default as Variables } from './Variables.svelte';
export { default as Explanation } from './Explanation.svelte';
