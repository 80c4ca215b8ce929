import { base64 } from './base64';
import { spans, type Span } from './json-text';

/** What the page tells of a module that was dropped onto it. */
export interface Taken {
  name: string;
  bytes: number;
  /** SHA-256 in hexadecimal; empty where the browser has no hashes, without TLS. */
  hash: string;
  /** The tasks of the pack that it carries out. */
  tasks: string[];
  /** Why it was not taken up. */
  refused: string;
}

/** More than any extension needs: the whole pack is text on this page. */
const LARGEST = 4 << 20;

/** Says why a file cannot be an extension, as far as that shows without looking into it. */
export function refusal(file: string, size: number): string {
  if (!/\.wasm$/i.test(file)) return `'${file}' is no extension: drop a file that ends with .wasm`;
  if (size > LARGEST) return `'${file}' has more than ${LARGEST} bytes: build it for size`;
  return '';
}

/** Names the extension of a file by its stem. */
export function extensionName(file: string): string {
  return file.replace(/\.wasm$/i, '');
}

/** Puts a module into the text of a pack, which stays as it was written otherwise; the rights that stand there stay. */
export function withModule(text: string, name: string, bytes: Uint8Array): string {
  const root = spans(text);
  const wasm = `"wasm": ${JSON.stringify(base64(bytes))}`;
  const extensions = root.members?.get('extensions');
  if (!extensions?.members) return insert(text, root, `"extensions": {${JSON.stringify(name)}: {${wasm}}}`);
  const extension = extensions.members.get(name);
  if (!extension?.members) return insert(text, extensions, `${JSON.stringify(name)}: {${wasm}}`);
  const old = extension.members.get('wasm');
  const place = old ?? extension.members.get('file');
  if (!place) return insert(text, extension, wasm);
  const before = text.slice(0, place.start);
  const key = old ? before : before.replace(/"file"\s*:\s*$/, '"wasm": ');
  return key + JSON.stringify(base64(bytes)) + text.slice(place.end);
}

/** Lists the tasks of a pack that an extension carries out. */
export function boundTasks(text: string, name: string): string[] {
  const { tables } = JSON.parse(text) as { tables?: Record<string, { task?: unknown; binding?: unknown }[]> };
  const bound = (tables?.['ce_task'] ?? []).filter((it) => bindingOf(it.binding)?.extension === name);
  return [...new Set(bound.map((it) => String(it.task)))];
}

/** Names bytes by their content. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!globalThis.crypto.subtle) return '';
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((it) => it.toString(16).padStart(2, '0')).join('');
}

function bindingOf(binding: unknown): { extension?: unknown } | undefined {
  try {
    return (typeof binding === 'string' ? JSON.parse(binding) : binding) as { extension?: unknown } | undefined;
  } catch {
    // The engine says what is wrong with it.
    return undefined;
  }
}

/** Adds a member in front of those that an object has, on a line of its own. */
function insert(text: string, object: Span, member: string): string {
  const at = object.start + 1;
  const more = (object.members?.size ?? 0) > 0;
  return `${text.slice(0, at)}\n  ${member}${more ? ',' : '\n'}${text.slice(at)}`;
}
