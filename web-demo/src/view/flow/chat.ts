import '../../style/flow-chat.css';

// The chat parts of flows, loaded with the first flow.
export { default as Messages } from './Messages.svelte';
export { default as SessionStatus } from './SessionStatus.svelte';
