import '../../style/details.css';
import '../../style/session.css';

// The panels of the inspector, loaded after it has been rendered.
export { default as Details } from './Details.svelte';
export { default as Diff } from './Diff.svelte';
export { default as Params } from './Params.svelte';
export { default as Stored } from './Stored.svelte';
export { default as SessionTree } from './SessionTree.svelte';
export { default as Variables } from './Variables.svelte';
export { default as Explanation } from './Explanation.svelte';
