const KEY = 'convengine.single-keys';

/** Whether keys such as `b` and `[` do something by themselves: whoever speaks to the computer can turn them off. */
class SingleKeys {
  on = $state(read());

  /** Turns them on or off, and keeps that in the browser. */
  toggle(): void {
    this.on = !this.on;
    try {
      if (this.on) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, 'off');
    } catch {
      // Without storage it holds until the page is left.
    }
  }
}

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true;
  }
}

/** The single keys of this page. */
export const singleKeys = new SingleKeys();
