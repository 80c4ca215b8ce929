import { encodeBase64 } from './base64';
import { parseSpans, type Span } from './json-text';

/** A module that was dropped onto the page. */
export interface DroppedModule {
  name: string;
  bytes: number;
  /** SHA-256 in hexadecimal; empty where the browser has no `crypto.subtle`, without TLS. */
  hash: string;
  /** The tasks of the pack that are bound to it. */
  tasks: string[];
  /** Why it was rejected; empty if accepted. */
  problem: string;
}

/** Maximum module size; the whole pack is text on this page. */
const MAX_MODULE_BYTES = 4 << 20;

/** Checks name and size of a file; returns the problem, or an empty text. */
export function fileProblem(file: string, size: number): string {
  if (!/\.wasm$/i.test(file)) return `'${file}' is not an extension: drop a .wasm file, or a pack, a talk, journals or an SQL dump (.json, .talk, .sql)`;
  if (size > MAX_MODULE_BYTES) return `'${file}' exceeds ${MAX_MODULE_BYTES} bytes: build it for size`;
  return '';
}

/** Returns the extension name of a file: its name without `.wasm`. */
export function extensionName(file: string): string {
  return file.replace(/\.wasm$/i, '');
}

/** Embeds a module in the text of a pack and keeps all other text, including permissions. */
export function withModule(text: string, name: string, bytes: Uint8Array): string {
  const root = parseSpans(text);
  const wasm = `"wasm": ${JSON.stringify(encodeBase64(bytes))}`;
  const extensions = root.members?.get('extensions');
  if (!extensions?.members) return insertMember(text, root, `"extensions": {${JSON.stringify(name)}: {${wasm}}}`);
  const extension = extensions.members.get(name);
  if (!extension?.members) return insertMember(text, extensions, `${JSON.stringify(name)}: {${wasm}}`);
  const old = extension.members.get('wasm');
  const place = old ?? extension.members.get('file');
  if (!place) return insertMember(text, extension, wasm);
  const before = text.slice(0, place.start);
  const key = old ? before : before.replace(/"file"\s*:\s*$/, '"wasm": ');
  return key + JSON.stringify(encodeBase64(bytes)) + text.slice(place.end);
}

/** Lists the tasks of a pack that are bound to an extension. */
export function boundTasks(text: string, name: string): string[] {
  const { tables } = JSON.parse(text) as { tables?: Record<string, { task?: unknown; binding?: unknown }[]> };
  const bound = (tables?.['ce_task'] ?? []).filter((it) => parseBinding(it.binding)?.extension === name);
  return [...new Set(bound.map((it) => String(it.task)))];
}

/** Returns the SHA-256 in hexadecimal; empty without `crypto.subtle`. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!globalThis.crypto.subtle) return '';
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((it) => it.toString(16).padStart(2, '0')).join('');
}

function parseBinding(binding: unknown): { extension?: unknown } | undefined {
  try {
    return (typeof binding === 'string' ? JSON.parse(binding) : binding) as { extension?: unknown } | undefined;
  } catch {
    // The engine reports the invalid binding.
    return undefined;
  }
}

/** Inserts a member before those of an object, on its own line. */
function insertMember(text: string, object: Span, member: string): string {
  const at = object.start + 1;
  const more = (object.members?.size ?? 0) > 0;
  return `${text.slice(0, at)}\n  ${member}${more ? ',' : '\n'}${text.slice(at)}`;
}
