import { plural } from '../plural';
import type { Json, JsonObject } from '../types';

/** A configured MCP server. */
export interface McpServer {
  key: string;
  transport: 'http' | 'stdio';
  endpoint?: string;
  enabled: boolean;
  description?: string | null;
  protocol_mode: string;
  /** The names of its approved tools. */
  approved: string[];
}

/** When a person has to approve a call; `null` for the default, which is `write`. */
export type CallApproval = 'always' | 'write' | 'never' | null;

/** A tool as its server offers it. All of its texts are untrusted. */
export interface McpTool {
  name: string;
  code: string;
  title?: string | null;
  description?: string | null;
  input_schema?: Json;
  output_schema?: Json;
  annotations?: Json;
  effect: string;
  idempotent: boolean;
  approval: CallApproval;
  state: 'new' | 'approved' | 'changed' | 'not_allowed';
  /** The hash of the definition. */
  digest: string;
  /** The members that have changed since the approval. */
  changes: string[];
}

/** The tools of a server. */
export interface McpToolList {
  server: { name?: string | null; version?: string | null; protocol?: string | null } | null;
  tools: McpTool[];
  /** The names of approved tools that the server does not offer any more. */
  missing: string[];
  /** What is wrong with the list: tools that cannot be used, with the reason. Earlier servers do not send it. */
  problems?: string[];
}

/** The result of a call by hand. */
export type McpCallResult = { ok: true; result: Json } | { ok: false; error: { kind: string; message: string } };

/** What an approval says, beside the hash of the reviewed definition. */
export interface McpApproval {
  digest: string;
  approval: CallApproval;
  intent_code?: string;
  state_code?: string;
}

/** The label of each state. */
export const STATE_LABELS: Record<McpTool['state'], string> = {
  new: 'not approved',
  approved: 'approved',
  changed: 'changed since its approval',
  not_allowed: 'not allowed',
};

/** Describes the effect of a tool. */
export function effectText({ effect, idempotent }: { effect: string; idempotent: boolean }): string {
  const texts: Record<string, string> = { read: 'only reads', write: 'writes', irreversible: 'writes irreversibly' };
  return `${texts[effect] ?? effect}${idempotent && effect !== 'read' ? ', repeatable' : ''}`;
}

/** Whether a tool only reads, as its server says. */
export function isReadOnly({ effect }: Pick<McpTool, 'effect'>): boolean {
  return effect === 'read';
}

/** The tools whose name, title or description contains a text. */
export function filterTools(tools: McpTool[], search: string): McpTool[] {
  const text = search.trim().toLowerCase();
  return text === '' ? tools : tools.filter((it) => [it.name, it.title, it.description].some((part) => part?.toLowerCase().includes(text)));
}

/** Describes the tools of a server in one line. */
export function listSummary({ server, tools }: McpToolList): string {
  const name = [server?.name, server?.version].filter(Boolean).join(' ');
  const count = (state: McpTool['state']) => tools.filter((it) => it.state === state).length;
  const states = (['approved', 'changed'] as const).filter((it) => count(it) > 0).map((it) => `${count(it)} ${it}`);
  return [`${plural(tools.length, 'tool')}${name ? ` of ${name}` : ''}`, server?.protocol && `protocol ${server.protocol}`, ...states].filter(Boolean).join(', ');
}

/** Invisible characters, which could hide instructions from the person who approves a tool. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Returns a text of a server with its invisible characters as `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (it) => (/[\n\t]/.test(it) ? it : `⟨U+${(it.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`));
}

/** Characters of a value that are shown. */
const SHOWN_CHARS = 50_000;

/** Returns a value of a server as text for display, with invisible characters marked, and the beginning only if it is long. */
export function shownJson(value: Json | JsonObject): string {
  const text = visibleText(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
  return text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS)}\n… ${text.length - SHOWN_CHARS} more characters`;
}
