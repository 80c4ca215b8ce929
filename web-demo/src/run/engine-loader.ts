import init, { Engine } from 'convengine-wasm';
import { playsFlow } from '../flow/plays';

/** The engines by what packs play; the one of flow documents is loaded when a pack first needs it. */
export class Programs {
  /** Settles when packs with tables can be run. */
  readonly ready = init();
  private flow: typeof Engine | undefined;
  private loading: Promise<void> | undefined;

  /** Sees to it that a pack can be opened. */
  async load(pack: string): Promise<void> {
    await this.ready;
    if (!playsFlow(pack)) return;
    this.loading ??= import('convengine-wasm-flow').then(async (it) => {
      await it.default();
      this.flow = it.Engine;
    });
    // What could not be fetched may be there the next time.
    await this.loading.catch((error: unknown) => {
      this.loading = undefined;
      throw error;
    });
  }

  /** Compiles a pack whose program has been loaded. */
  open(pack: string): Engine {
    if (!playsFlow(pack)) return new Engine(pack);
    if (!this.flow) throw new Error('the engine of flow documents is not loaded yet: open the pack first');
    return new this.flow(pack);
  }
}
