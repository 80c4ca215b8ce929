/** Replaces the session with a linked or stored one; a failure becomes a notification. */
import type { Simulator } from '../simulator.svelte';
import type { SavedSession } from './session-store';

/** Opens the session of a link. */
export async function openLinked(simulator: Simulator, fragment: string): Promise<void> {
  simulator.offeredLink = undefined;
  await replace(simulator, 'the link', { fragment });
}

/** Opens a session that the browser has stored. */
export async function openStored(simulator: Simulator, session: SavedSession): Promise<void> {
  await replace(simulator, 'the stored session', session);
}

async function replace(simulator: Simulator, what: string, session: SavedSession): Promise<void> {
  simulator.untouched = false;
  try {
    const { openSession } = await import('./transfer');
    await openSession(simulator, session);
  } catch (error) {
    simulator.notification = `Could not open ${what}: ${(error as Error).message}`;
  }
}
