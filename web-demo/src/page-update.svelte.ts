/** The page as the browser keeps it for use without a network, and a newer build of it that waits. */
class PageUpdate {
  /** Whether a newer build is there, which the page goes over to when it is asked to. */
  isAvailable = $state(false);
  private waiting: ServiceWorker | undefined;

  /** Has the page kept, and looks for a newer build; where a browser keeps no pages, nothing is different. */
  async register(): Promise<void> {
    if (!('serviceWorker' in navigator)) return;
    const { serviceWorker } = navigator;
    const first = serviceWorker.controller === null;
    try {
      const found = await serviceWorker.register('./sw.js');
      this.watch(found);
      // Whoever comes back to a page that was open for days hears of the newer one too.
      document.addEventListener('visibilitychange', () => !document.hidden && void found.update().catch(() => {}));
    } catch {
      // Without a network, and from places that the browser does not trust, the page goes on as it is.
    }
    // Another window may have gone over: then this one is behind, and stays so until somebody wants otherwise.
    if (!first) serviceWorker.addEventListener('controllerchange', () => (this.isAvailable = true));
  }

  /** Goes over to the newer build. */
  apply(): void {
    const reload = () => location.reload();
    if (this.waiting?.state !== 'installed') return reload();
    navigator.serviceWorker.addEventListener('controllerchange', reload, { once: true });
    this.waiting.postMessage('take over');
  }

  /** Leaves everything as it is until the page is opened again. */
  dismiss(): void {
    this.isAvailable = false;
  }

  private watch(found: ServiceWorkerRegistration): void {
    const offer = (worker: ServiceWorker | null) => {
      // The very first build replaces nothing.
      if (worker?.state !== 'installed' || !navigator.serviceWorker.controller) return;
      this.waiting = worker;
      this.isAvailable = true;
    };
    const follow = (worker: ServiceWorker | null) => worker?.addEventListener('statechange', () => offer(worker));
    offer(found.waiting);
    follow(found.installing);
    found.addEventListener('updatefound', () => follow(found.installing));
  }
}

/** The one of this page. */
export const pageUpdate = new PageUpdate();
