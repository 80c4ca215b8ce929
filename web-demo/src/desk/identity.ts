/** Who uses the desk. It is forgotten when the tab is closed. */

const STORAGE_KEY = 'convengine.desk';

export interface Identity {
  /** A key or token; empty where the server asks for none. */
  credential: string;
  /** The name that users see. */
  name: string;
}

export function storedIdentity(): Identity | undefined {
  try {
    const found = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') as Partial<Identity> | null;
    return typeof found?.credential === 'string' && found.name ? { credential: found.credential, name: found.name } : undefined;
  } catch {
    return undefined;
  }
}

export function storeIdentity(identity: Identity | undefined): void {
  try {
    if (identity) sessionStorage.setItem(STORAGE_KEY, JSON.stringify(identity));
    else sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Without storage, the person signs in again after a reload.
  }
}
