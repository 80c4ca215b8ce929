const STORAGE_KEY = 'convengine.single-keys';

/** Whether keys such as `b` and `[` do something by themselves: whoever speaks to the computer can turn them off. */
class SingleKeys {
  enabled = $state(readSetting());

  /** Turns them on or off, and keeps that in the browser. */
  toggle(): void {
    this.enabled = !this.enabled;
    try {
      if (this.enabled) localStorage.removeItem(STORAGE_KEY);
      else localStorage.setItem(STORAGE_KEY, 'off');
    } catch {
      // Without storage it holds until the page is left.
    }
  }
}

function readSetting(): boolean {
  try {
    return localStorage.getItem(STORAGE_KEY) !== 'off';
  } catch {
    return true;
  }
}

/** The single keys of this page. */
export const singleKeys = new SingleKeys();
