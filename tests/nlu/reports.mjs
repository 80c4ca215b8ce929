/** Prints the reports of the browser's engine on packs: `reports.mjs ENGINE_FOLDER PACKS_FILE`, a pack a line. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, packs] = process.argv.slice(2).map((it) => resolve(it));
const engine = await import(pathToFileURL(join(folder, 'convengine_wasm.js')).href);
engine.initSync({ module: readFileSync(join(folder, 'convengine_wasm_bg.wasm')) });
for (const pack of readFileSync(packs, 'utf8').split('\n')) console.log(engine.classifier_reports(pack));
