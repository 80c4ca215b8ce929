import type { EngineError } from '../client';
import { JsonSyntaxError } from '../json-text';
import { boundTasks, extensionName, fileProblem, sha256, withModule, type DroppedModule } from '../pack-extension';
import type { Simulator } from '../simulator.svelte';

/** The extension module most recently added to the page. */
export class ExtensionState {
  dropped = $state.raw<DroppedModule>();

  constructor(private readonly simulator: Simulator) {}

  /** Adds a module to the pack and applies the pack. */
  async addFile(file: File): Promise<void> {
    const name = extensionName(file.name);
    const problem = fileProblem(file.name, file.size);
    if (problem) {
      this.dropped = { name, bytes: file.size, hash: '', tasks: [], problem };
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const fault = (await this.checkModule(name, bytes)) || this.addToPack(name, bytes);
    if (!fault) await this.simulator.apply();
    const tasks = fault ? [] : boundTasks(this.simulator.text, name);
    this.dropped = { name, bytes: bytes.length, hash: await sha256(bytes), tasks, problem: fault };
  }

  private checkModule(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    return this.simulator.client.checkExtension(name, bytes).catch((error: EngineError) => error.message);
  }

  private addToPack(name: string, bytes: Uint8Array): string {
    try {
      this.simulator.edit(withModule(this.simulator.text, name, bytes));
      return '';
    } catch (fault) {
      if (!(fault instanceof JsonSyntaxError)) throw fault;
      return `'${name}' was not added because the pack is not valid JSON; fix the pack first`;
    }
  }
}
