import { readFile } from 'node:fs/promises';
import { bindModules } from './modules.js';

export const { createEngine, conversation, lint } = bindModules((name) => readFile(new URL(`./${name}.wasm`, import.meta.url)));
export { runTurn } from './turn-runner.js';
