/** The cached page for offline use, and updates of it. */
class PageUpdate {
  /** Whether a newer build can be applied. */
  isAvailable = $state(false);
  private waiting: ServiceWorker | undefined;

  /** Registers the service worker and checks for updates; does nothing in browsers without service workers. */
  async register(): Promise<void> {
    if (!('serviceWorker' in navigator)) return;
    const { serviceWorker } = navigator;
    const first = serviceWorker.controller === null;
    try {
      const found = await serviceWorker.register('./sw.js');
      this.watch(found);
      // A page that was open for days checks again when it becomes visible.
      document.addEventListener('visibilitychange', () => !document.hidden && void found.update().catch(() => {}));
    } catch {
      // Offline or in an insecure context the page works without the cache.
    }
    // Another window may have applied the update; this one offers a reload.
    if (!first) serviceWorker.addEventListener('controllerchange', () => (this.isAvailable = true));
  }

  /** Activates the newer build and reloads the page. */
  apply(): void {
    const reload = () => location.reload();
    if (this.waiting?.state !== 'installed') return reload();
    navigator.serviceWorker.addEventListener('controllerchange', reload, { once: true });
    this.waiting.postMessage('take over');
  }

  /** Hides the offer until the page is opened again. */
  dismiss(): void {
    this.isAvailable = false;
  }

  private watch(found: ServiceWorkerRegistration): void {
    const offer = (worker: ServiceWorker | null) => {
      // The first installation is not an update.
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

/** The update state of this page. */
export const pageUpdate = new PageUpdate();
