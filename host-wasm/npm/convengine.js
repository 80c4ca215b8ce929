import { bindModules } from './modules.js';

export const { createEngine, conversation, lint } = bindModules();
export { runTurn } from './turn-runner.js';
