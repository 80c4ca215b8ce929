import '../../style/flow-chat.css';

// What the chat shows of a flow, which is loaded with the first one.
export { default as Messages } from './Messages.svelte';
export { default as SessionStatus } from './SessionStatus.svelte';
