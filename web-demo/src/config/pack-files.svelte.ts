import type { Simulator } from '../simulator.svelte';
import { ExtensionState } from './extension.svelte';
import { isImportable, readFiles, sizeProblem } from './files';

/** Handles files dropped onto the page or chosen by the user. */
export class PackFiles {
  readonly extension: ExtensionState;
  /** Whether a file is being dragged over the page. */
  dragging = $state(false);
  /** Why the last file was rejected. */
  problem = $state('');
  /** The result of importing the last file. */
  status = $state('');

  constructor(private readonly simulator: Simulator) {
    this.extension = new ExtensionState(simulator);
  }

  /** Adds a `.wasm` module to the pack, or imports other files. */
  async open(files: FileList | null | undefined): Promise<void> {
    const [first, ...rest] = files ?? [];
    this.status = this.problem = '';
    if (!first) return;
    const all = [first, ...rest];
    const foreign = all.find((it) => !isImportable(it.name) && !/\.wasm$/i.test(it.name));
    if (foreign) {
      const { describeUnknownFile, findBuilder } = await import('../session/unknown-file');
      // The beginning is enough, whatever the size.
      const text = await foreign.slice(0, 1 << 20).text();
      if (findBuilder(foreign.name, text) !== undefined) {
        this.problem = describeUnknownFile(foreign.name, text);
        return;
      }
    }
    if (!all.every((it) => isImportable(it.name))) return this.extension.addFile(first);
    this.problem = all.map((it) => sizeProblem(it.name, it.size)).find(Boolean) ?? '';
    if (this.problem) return;
    try {
      const { importFiles } = await import('../session/import');
      const done = await importFiles(this.simulator, await readFiles(all));
      this.status = [done.verdict, ...done.notes].join('\n');
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }
}
