/** Prints the reports of the browser's module of lint on packs: `reports.mjs LINT_FOLDER PACKS_FILE`, a pack a line. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, packs] = process.argv.slice(2).map((it) => resolve(it));
const lint = await import(pathToFileURL(join(folder, 'convengine_wasm.js')).href);
lint.initSync({ module: readFileSync(join(folder, 'convengine_wasm_bg.wasm')) });
for (const pack of readFileSync(packs, 'utf8').split('\n')) console.log(lint.classifierReports(pack));
