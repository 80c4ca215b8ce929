const STORAGE_KEY = 'convengine.single-keys';

/** Single-key shortcuts such as `b` and `[`; users of speech input can turn them off. */
class SingleKeys {
  enabled = $state(readSetting());

  /** Toggles the shortcuts and stores the setting in the browser. */
  toggle(): void {
    this.enabled = !this.enabled;
    try {
      if (this.enabled) localStorage.removeItem(STORAGE_KEY);
      else localStorage.setItem(STORAGE_KEY, 'off');
    } catch {
      // Without storage, the setting lasts until the page is closed.
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

/** The single-key shortcuts of this page. */
export const singleKeys = new SingleKeys();
