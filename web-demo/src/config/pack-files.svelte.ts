import type { Simulator } from '../simulator.svelte';
import { ExtensionState } from './extension.svelte';
import { isImport, tooLarge } from './files';

/** The files that a person gives to the page. */
export class PackFiles {
  readonly extension: ExtensionState;
  /** Whether a file is held over the page. */
  dragging = $state(false);
  /** Why the last file was not taken. */
  refused = $state('');
  /** What became of the last file. */
  said = $state('');

  constructor(private readonly simulator: Simulator) {
    this.extension = new ExtensionState(simulator);
  }

  /** Takes a module up into the pack; everything else is brought in like any file. */
  async take(file: File): Promise<void> {
    this.said = this.refused = '';
    if (!isImport(file.name)) return this.extension.take(file);
    this.refused = tooLarge(file.name, file.size);
    if (this.refused) return;
    try {
      const { importText } = await import('../session/import');
      const done = await importText(this.simulator, await file.text(), file.name);
      this.said = [done.verdict, ...done.left].join(' ');
    } catch (error) {
      this.refused = (error as Error).message;
    }
  }
}
