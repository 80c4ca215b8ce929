/** The sessions that the browser keeps: the latest, and that of the visit before. */
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { SharedSession } from './share';

/** A session as it is stored; earlier versions of the page stored links. */
export type SavedSession = SharedSession | { fragment: string };

/** The slot of a session. */
export type Slot = 'latest' | 'previous';

interface Sessions extends DBSchema {
  sessions: { key: Slot; value: SavedSession };
}

const DATABASE = 'convengine';
/** Where earlier versions of the page stored links. */
const LEGACY_KEYS: Record<Slot, string> = { latest: 'convengine.session', previous: 'convengine.session.before' };
const SLOTS: Slot[] = ['latest', 'previous'];

/** Loads the stored sessions, the latest first, and adopts those of earlier versions of the page. */
export async function loadSessions(): Promise<SavedSession[]> {
  try {
    return await withDatabase(async (database) => {
      await adoptLegacy(database);
      const found = await Promise.all(SLOTS.map((it) => database.get('sessions', it)));
      return found.filter((it) => it !== undefined);
    });
  } catch {
    // Without a database, sessions of earlier versions can still be opened.
    return SLOTS.flatMap((it) => legacySession(it) ?? []);
  }
}

/** Stores sessions in their slots, all or none; throws if the browser refuses. */
export function saveSessions(sessions: Partial<Record<Slot, SavedSession>>): Promise<void> {
  return withDatabase(async (database) => {
    const transaction = database.transaction('sessions', 'readwrite');
    const puts = SLOTS.flatMap((slot) => (sessions[slot] ? [transaction.store.put(sessions[slot], slot)] : []));
    await Promise.all([...puts, transaction.done]);
  });
}

async function withDatabase<T>(use: (database: IDBPDatabase<Sessions>) => Promise<T>): Promise<T> {
  const database = await openDB<Sessions>(DATABASE, 1, { upgrade: (it) => void it.createObjectStore('sessions') });
  // An open connection would block a newer version of the page in another tab.
  return use(database).finally(() => database.close());
}

async function adoptLegacy(database: IDBPDatabase<Sessions>): Promise<void> {
  for (const slot of SLOTS) {
    const session = legacySession(slot);
    if (!session) continue;
    if ((await database.get('sessions', slot)) === undefined) await database.put('sessions', session, slot);
    localStorage.removeItem(LEGACY_KEYS[slot]);
  }
}

function legacySession(slot: Slot): SavedSession | undefined {
  try {
    const fragment = localStorage.getItem(LEGACY_KEYS[slot]);
    return fragment === null ? undefined : { fragment };
  } catch {
    return undefined;
  }
}
