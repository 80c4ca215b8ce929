/**
 * Keeps the whole page for use without a network: every file of one build, and nothing else.
 *
 * A build is kept in a cache of its own. What is not one of its files, such as a call of an API, is no business of this script.
 * A newer build is fetched beside the one in use, and takes over when the page asks for it or when nobody has the page open.
 */

/** The files of this build with their SHA-256, and the name of the build; both are written here when it is made. */
declare const __FILES__: [path: string, sha256: string][];
declare const __BUILD__: string;

interface Extendable extends Event {
  waitUntil(done: Promise<unknown>): void;
}

interface Fetch extends Extendable {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** What this script uses of its global scope, which the types of a page do not have. */
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
/** Caches belong to the whole origin, so their names tell which folder they are for. */
const OURS = `convengine ${root} `;
const FILES = new Map(__FILES__.map(([path, sha256]) => [new URL(path, root).href, sha256]));
const INDEX = new URL('index.html', root).href;
const NAME = OURS + __BUILD__;

worker.addEventListener('install', (event) => event.waitUntil(install()));
worker.addEventListener('activate', (event) => event.waitUntil(tidy().then(() => worker.clients.claim())));
worker.addEventListener('message', (event) => event.data === 'take over' && void worker.skipWaiting());
worker.addEventListener('fetch', (event) => {
  const url = fileOf(event.request);
  if (url !== undefined) event.respondWith(answer(url, event.request));
});

/** Fetches all files, or none: a build of which some files are missing is not kept. */
async function install(): Promise<void> {
  const cache = await caches.open(NAME);
  await Promise.all([...FILES].map(([url, sha256]) => keep(cache, url, sha256)));
}

async function keep(cache: Cache, url: string, sha256: string): Promise<void> {
  if (await cache.match(url)) return;
  const found = (isNamedByContent(url) ? await kept(url) : undefined) ?? (await fetched(url, sha256));
  await cache.put(url, found);
}

/** Fetches a file; the browser compares its hash, so that files of two builds are never mixed. */
async function fetched(url: string, sha256: string): Promise<Response> {
  const cache = isNamedByContent(url) ? 'default' : 'no-cache';
  // Some servers redirect from the file's own name, and a redirected answer may not open a page.
  const found = await fetch(url === INDEX ? root : url, { cache, integrity: `sha256-${sha256}` });
  if (!found.ok) throw new Error(`${url} answered with status ${found.status}`);
  return found;
}

function isNamedByContent(url: string): boolean {
  return url.startsWith(`${root}assets/`);
}

/** Lets go of old builds. The one before stays: a page of it that is still open may ask for a part that it loads late. */
async function tidy(): Promise<void> {
  const others = (await builds()).filter((it) => it !== NAME);
  await Promise.all(others.slice(0, -1).map((it) => caches.delete(it)));
}

/** The kept builds, oldest first. */
async function builds(): Promise<string[]> {
  return (await caches.keys()).filter((it) => it.startsWith(OURS));
}

/** The file that is asked for, if it is one of the page's. */
function fileOf({ method, url, mode }: Request): string | undefined {
  if (method !== 'GET' || !url.startsWith(root)) return undefined;
  const plain = url.replace(/[?#].*$/s, '');
  if (mode === 'navigate') return plain === root || plain === INDEX ? INDEX : undefined;
  return FILES.has(plain) || isNamedByContent(plain) ? plain : undefined;
}

async function answer(url: string, request: Request): Promise<Response> {
  const own = await (await caches.open(NAME)).match(url);
  return own ?? (await kept(url)) ?? fetch(request);
}

/** A file of any build, for pages of the build before. */
async function kept(url: string): Promise<Response | undefined> {
  for (const name of (await builds()).reverse()) {
    const found = await (await caches.open(name)).match(url);
    if (found) return found;
  }
  return undefined;
}
