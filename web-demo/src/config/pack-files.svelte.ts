import type { Simulator } from '../simulator.svelte';
import { ExtensionState } from './extension.svelte';
import { isImportable, sizeProblem } from './files';

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

  /** Adds a `.wasm` module to the pack, or imports any other file. */
  async openFile(file: File): Promise<void> {
    this.status = this.problem = '';
    if (!isImportable(file.name)) return this.extension.addFile(file);
    this.problem = sizeProblem(file.name, file.size);
    if (this.problem) return;
    try {
      const { importText } = await import('../session/import');
      const done = await importText(this.simulator, await file.text(), file.name);
      this.status = [done.verdict, ...done.notes].join(' ');
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }
}
