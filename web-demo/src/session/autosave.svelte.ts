import type { Simulator } from '../simulator.svelte';

const KEY = 'convengine.session';
const PAUSE_MS = 1000;

/** Keeps what was said in the browser's storage, as a link would: without keys and secrets. */
export function keepSession(simulator: Simulator): void {
  simulator.kept = read();
  let pause: ReturnType<typeof setTimeout> | undefined;
  $effect.root(() => {
    $effect(() => {
      const done = simulator.tree.turns.filter((it) => it.record).length;
      if (done === 0) return;
      clearTimeout(pause);
      pause = setTimeout(() => void write(simulator), PAUSE_MS);
    });
  });
}

async function write(simulator: Simulator): Promise<void> {
  const [{ linkOf }, { sizeOf }] = await Promise.all([import('./carry'), import('./share')]);
  try {
    const fragment = await linkOf(simulator);
    // One that could not be opened again is worse than none.
    if (sizeOf(fragment).as === 'file only') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, fragment);
  } catch {
    // Storage may be full or forbidden; the session goes on without it.
  }
}

function read(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
