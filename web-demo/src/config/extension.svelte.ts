import type { EngineError } from '../client';
import { JsonFault } from '../json-text';
import { boundTasks, extensionName, refusal, sha256, withModule, type Taken } from '../pack-extension';
import type { Simulator } from '../simulator.svelte';

/** The module that was dropped onto the page last. */
export class ExtensionState {
  taken = $state.raw<Taken>();

  constructor(private readonly simulator: Simulator) {}

  /** Takes a module up into the pack and runs the pack with it. */
  async take(file: File): Promise<void> {
    const name = extensionName(file.name);
    const refused = refusal(file.name, file.size);
    if (refused) {
      this.taken = { name, bytes: file.size, hash: '', tasks: [], refused };
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const fault = (await this.check(name, bytes)) || this.takeUp(name, bytes);
    if (!fault) await this.simulator.apply();
    const tasks = fault ? [] : boundTasks(this.simulator.text, name);
    this.taken = { name, bytes: bytes.length, hash: await sha256(bytes), tasks, refused: fault };
  }

  private check(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    return this.simulator.client.check(name, bytes).catch((error: EngineError) => error.message);
  }

  private takeUp(name: string, bytes: Uint8Array): string {
    try {
      this.simulator.edit(withModule(this.simulator.text, name, bytes));
      return '';
    } catch (fault) {
      if (!(fault instanceof JsonFault)) throw fault;
      return `the pack is not JSON, so '${name}' was not taken up: correct it first`;
    }
  }
}
