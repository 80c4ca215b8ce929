/**
 * The service worker: caches all files of one build, so that the page works without a network. Large files that few sessions need are
 * cached when they are first used.
 *
 * Each build has its own cache. Requests for other files, such as API calls, are not intercepted. A newer build is fetched alongside
 * the one in use, and takes over when the page requests it or when no page is open.
 */

/** The files of this build with their SHA-256, and the name of the build; both are filled in by the build. */
declare const __FILES__: [path: string, sha256: string][];
declare const __BUILD__: string;

interface Extendable extends Event {
  waitUntil(done: Promise<unknown>): void;
}

interface Fetch extends Extendable {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** The parts of the service worker scope that are missing in the types of a page. */
interface Scope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: Extendable) => void): void;
  addEventListener(type: 'fetch', listener: (event: Fetch) => void): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
}

const worker = self as unknown as Scope;
const root = worker.registration.scope;
/** Caches belong to the whole origin, so their names contain the scope. */
const CACHE_PREFIX = `convengine ${root} `;
const FILE_HASHES = new Map(__FILES__.map(([path, sha256]) => [new URL(path, root).href, sha256]));
/** The interpreter of scripts, which only documents with scripts need. */
const ON_DEMAND = new URL('python.wasm', root).href;
const INDEX = new URL('index.html', root).href;
const CACHE_NAME = CACHE_PREFIX + __BUILD__;

worker.addEventListener('install', (event) => event.waitUntil(install()));
worker.addEventListener('activate', (event) => event.waitUntil(deleteOldBuilds().then(() => worker.clients.claim())));
worker.addEventListener('message', (event) => event.data === 'take over' && void worker.skipWaiting());
worker.addEventListener('fetch', (event) => {
  const url = requestedFile(event.request);
  if (url !== undefined) event.respondWith(respond(url, event.request));
});

/** Caches all files of the build, or fails. */
async function install(): Promise<void> {
  const cache = await caches.open(CACHE_NAME);
  const files = [...FILE_HASHES];
  // A page that has used it may be offline when this build takes over.
  const isUsed = (await findCached(ON_DEMAND)) !== undefined;
  await Promise.all(files.filter(([url]) => url !== ON_DEMAND || isUsed).map(([url, sha256]) => cacheFile(cache, url, sha256)));
}

async function cacheFile(cache: Cache, url: string, sha256: string): Promise<void> {
  if (await cache.match(url)) return;
  const found = (isNamedByContent(url) ? await findCached(url) : undefined) ?? (await fetchFile(url, sha256));
  await cache.put(url, found);
}

/** Fetches a file; the browser verifies its hash, so that files of two builds are never mixed. */
async function fetchFile(url: string, sha256: string): Promise<Response> {
  const cache = isNamedByContent(url) ? 'default' : 'no-cache';
  // Some servers redirect `index.html`, and browsers reject a redirected response to a navigation.
  const found = await fetch(url === INDEX ? root : url, { cache, integrity: `sha256-${sha256}` });
  if (!found.ok) throw new Error(`${url} answered with status ${found.status}`);
  return found;
}

function isNamedByContent(url: string): boolean {
  return url.startsWith(`${root}assets/`);
}

/** Deletes old builds except the previous one, whose open pages may still load parts lazily. */
async function deleteOldBuilds(): Promise<void> {
  const others = (await listBuilds()).filter((it) => it !== CACHE_NAME);
  await Promise.all(others.slice(0, -1).map((it) => caches.delete(it)));
}

/** Lists the cached builds, oldest first. */
async function listBuilds(): Promise<string[]> {
  return (await caches.keys()).filter((it) => it.startsWith(CACHE_PREFIX));
}

/** Returns the URL of the requested file if it belongs to the page. */
function requestedFile({ method, url, mode }: Request): string | undefined {
  if (method !== 'GET' || !url.startsWith(root)) return undefined;
  const plain = url.replace(/[?#].*$/s, '');
  if (mode === 'navigate') return plain === root || plain === INDEX ? INDEX : undefined;
  return FILE_HASHES.has(plain) || isNamedByContent(plain) ? plain : undefined;
}

async function respond(url: string, request: Request): Promise<Response> {
  const cache = await caches.open(CACHE_NAME);
  const own = await cache.match(url);
  const sha256 = url === ON_DEMAND ? FILE_HASHES.get(url) : undefined;
  if (own || sha256 === undefined) return own ?? (await findCached(url)) ?? fetch(request);
  const fetched = await fetchFile(url, sha256);
  await cache.put(url, fetched.clone());
  return fetched;
}

/** Finds a file in any build, for pages of the previous build. */
async function findCached(url: string): Promise<Response | undefined> {
  for (const name of (await listBuilds()).reverse()) {
    const found = await (await caches.open(name)).match(url);
    if (found) return found;
  }
  return undefined;
}
