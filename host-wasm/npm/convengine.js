import { bindModules } from './modules.js';

export const { createEngine, lint } = bindModules();
export { runTurn } from './turn-runner.js';
