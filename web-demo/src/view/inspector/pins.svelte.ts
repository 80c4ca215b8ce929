import type { Cursor } from '../../tree.svelte';

/** What the inspector holds on to while the cursor moves. */
class Pins {
  /** What the session is compared with; nothing for what was there before. */
  base = $state.raw<Cursor>();
  /** Paths whose values are shown turn by turn. */
  paths = $state.raw<string[]>([]);

  /** Watches a path from now on. */
  watch(path: string): void {
    if (path !== '' && !this.paths.includes(path)) this.paths = [...this.paths, path];
  }

  /** Watches a path no more. */
  unwatch(path: string): void {
    this.paths = this.paths.filter((it) => it !== path);
  }
}

/** The pins of this page. */
export const pins = new Pins();
