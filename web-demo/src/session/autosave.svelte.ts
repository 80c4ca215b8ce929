import type { Simulator } from '../simulator.svelte';

const KEY = 'convengine.session';
/** The session of the previous visit, so that opening a sample or a link does not lose it. */
const PREVIOUS_KEY = `${KEY}.before`;
const PAUSE_MS = 1000;

/** Autosaves the session in the browser's storage, in the form of a link: without keys and secrets. */
export function autosaveSession(simulator: Simulator): void {
  const before = load(KEY);
  simulator.savedSessions = [before, load(PREVIOUS_KEY)].filter((it) => it !== undefined);
  let pause: ReturnType<typeof setTimeout> | undefined;
  $effect.root(() => {
    $effect(() => {
      const done = simulator.tree.turns.filter((it) => it.record).length;
      if (done === 0) return;
      clearTimeout(pause);
      pause = setTimeout(() => void store(simulator, before), PAUSE_MS);
    });
  });
}

async function store(simulator: Simulator, before: string | undefined): Promise<void> {
  const [{ createLink }, { linkSize }] = await Promise.all([import('./transfer'), import('./share')]);
  try {
    const fragment = await createLink(simulator);
    if (before !== undefined && before !== fragment) localStorage.setItem(PREVIOUS_KEY, before);
    if (linkSize(fragment).as !== 'file only') return localStorage.setItem(KEY, fragment);
    if (localStorage.getItem(KEY) === null) return;
    localStorage.removeItem(KEY);
    simulator.notification = 'This session is too large to autosave. Save it as a file (Share) before you leave.';
  } catch {
    // Storage may be full or blocked; the session works without it.
  }
}

function load(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}
