import type { Cursor } from '../../tree.svelte';

/** Inspector selections that survive cursor moves. */
class Pins {
  /** The position to compare with; `undefined` for the one before. */
  base = $state.raw<Cursor>();
  /** Watched paths. */
  paths = $state.raw<string[]>([]);

  /** Watches a path. */
  watch(path: string): void {
    if (path !== '' && !this.paths.includes(path)) this.paths = [...this.paths, path];
  }

  /** Stops watching a path. */
  unwatch(path: string): void {
    this.paths = this.paths.filter((it) => it !== path);
  }
}

/** The pins of this page. */
export const pins = new Pins();
