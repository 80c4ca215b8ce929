import init, { Engine } from 'convengine-wasm';
import { isFlowPack } from '../flow/flow-pack';

/** Loads the engines for tables and for flow documents; the latter on first use. */
export class EngineLoader {
  /** Resolves when packs with tables can run. */
  readonly ready = init();
  private flow: typeof Engine | undefined;
  private loading: Promise<void> | undefined;

  /** Loads the engine that a pack needs. */
  async load(pack: string): Promise<void> {
    await this.ready;
    if (!isFlowPack(pack)) return;
    this.loading ??= import('convengine-wasm-flow').then(async (it) => {
      await it.default();
      this.flow = it.Engine;
    });
    // Allows a retry after a failed download.
    await this.loading.catch((error: unknown) => {
      this.loading = undefined;
      throw error;
    });
  }

  /** Compiles a pack whose engine is loaded. */
  open(pack: string): Engine {
    if (!isFlowPack(pack)) return new Engine(pack);
    if (!this.flow) throw new Error('the engine for flow documents is not loaded; open the pack first');
    return new this.flow(pack);
  }
}
