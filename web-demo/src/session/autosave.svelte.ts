import type { Simulator } from '../simulator.svelte';

const KEY = 'convengine.session';
/** Of the visit before: a sample that is opened, or a link that is followed, does not cost what was there. */
const BEFORE = `${KEY}.before`;
const PAUSE_MS = 1000;

/** Keeps what was said in the browser's storage, as a link would: without keys and secrets. */
export function keepSession(simulator: Simulator): void {
  const before = read(KEY);
  simulator.kept = [before, read(BEFORE)].filter((it) => it !== undefined);
  let pause: ReturnType<typeof setTimeout> | undefined;
  $effect.root(() => {
    $effect(() => {
      const done = simulator.tree.turns.filter((it) => it.record).length;
      if (done === 0) return;
      clearTimeout(pause);
      pause = setTimeout(() => void write(simulator, before), PAUSE_MS);
    });
  });
}

async function write(simulator: Simulator, before: string | undefined): Promise<void> {
  const [{ linkOf }, { sizeOf }] = await Promise.all([import('./carry'), import('./share')]);
  try {
    const fragment = await linkOf(simulator);
    if (before !== undefined && before !== fragment) localStorage.setItem(BEFORE, before);
    if (sizeOf(fragment).as !== 'file only') return localStorage.setItem(KEY, fragment);
    if (localStorage.getItem(KEY) === null) return;
    localStorage.removeItem(KEY);
    simulator.remark = 'This session has become too large for the browser to keep: save it as a file (Share) before you leave.';
  } catch {
    // Storage may be full or forbidden; the session goes on without it.
  }
}

function read(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}
