import type { Simulator } from '../simulator.svelte';
import { Autosave } from './autosave';

const PAUSE_MS = 1000;

/** Saves the session in the browser once the user has done something, without keys and secrets; offers the stored sessions. */
export async function startAutosave(simulator: Simulator): Promise<void> {
  // Loaded after the engine, which has priority.
  await simulator.ready.catch(() => {});
  const [{ loadSessions, saveSessions }, { toSharedSession }] = await Promise.all([import('./session-store'), import('./transfer')]);
  simulator.savedSessions = await loadSessions();
  const autosave = new Autosave(simulator.savedSessions[0], saveSessions, (sentence) => (simulator.notification = sentence));
  let pause: ReturnType<typeof setTimeout> | undefined;
  $effect.root(() => {
    $effect(() => {
      const finished = simulator.tree.turns.filter((it) => it.record).length;
      if (simulator.untouched || finished === 0) return;
      clearTimeout(pause);
      pause = setTimeout(() => void autosave.store(toSharedSession(simulator)), PAUSE_MS);
    });
  });
}
