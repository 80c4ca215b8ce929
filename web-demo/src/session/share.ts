/**
 * Encodes a session as a link fragment and decodes it.
 *
 * A link contains what cannot be derived: inputs, answers, and the difference between the pack and a sample. Links are untrusted
 * input, so sizes, depth and every member are validated.
 */
import { encodeBase64 } from '../base64';
import { parseSpans } from '../json-text';
import { inflate, deflate } from './deflate';
import type { Origin, UserInput } from './turn-data';

/** A session in a link. */
export interface SharedSession {
  /** First 16 digits of the hash of the shown branch's last turn; empty without turns. */
  end: string;
  /** The text of the pack. */
  pack: string;
  /** Name of the sample that the pack is based on. */
  sample?: string;
  turns: SharedTurn[];
  /** Index of the last turn of the shown branch, from 0; -1 for none. */
  head: number;
  cursor?: [turn: number, step: number];
  /** Texts of other packs that turns ran on. */
  otherPacks?: string[];
}

/** A turn in the tree of a shared session. */
export interface SharedTurn {
  /** Index of the parent turn. */
  parent: number | null;
  input: UserInput;
  /** Answers, with outcomes as JSON text. */
  answers: { origin: Origin; outcome: string; at: number }[];
  /** Why a branch starts here. */
  reason?: string;
  /** Index in `otherPacks` of the pack that it ran on. */
  pack?: number;
  /** Faults without an answer, by effect position. */
  silentFaults?: [place: number, fault: string][];
}

/** Loads the text of a sample by name. */
export type LoadSample = (name: string) => Promise<string | undefined>;

/** Why a link cannot be opened, and what to do. */
export class LinkError extends Error {}

/** Length up to which a link is recommended, in characters. */
const HANDY_CHARS = 8 << 10;
/** Maximum length of a link, in characters. */
const MAX_CHARS = 64 << 10;
const MAX_DEPTH = 24;
const MAX_TURNS = 1000;
const MAX_PACKS = 50;
const MINUTE = 60_000;
/** The index is the encoded value: append only. */
const ORIGINS: Origin[] = ['script', 'auto', 'manual', 'live', 'reused', 'stale', 'fault', 'edited', 'recorded'];

/** The encoded form: one-letter members, absent where they have their default. */
interface Packed {
  v: 1;
  e: string;
  /** The pack, or its difference from the sample. */
  p: string | ({ s: string; n: number; c: number } & TextDiff);
  s?: string;
  /** Labels and ids of the conversations. */
  c: [string, string][];
  t: PackedTurn[];
  h?: number;
  u?: [number, number];
  /** Other packs, as differences from this pack. */
  o?: TextDiff[];
}

/** The part of a text between the prefix and the suffix that it shares with another text. */
interface TextDiff {
  b: number;
  e: number;
  t: string;
}

interface PackedTurn {
  p?: number | null;
  c?: number;
  m?: string;
  i?: string;
  r?: 1;
  d?: number;
  s?: number;
  a?: [outcome: string, origin?: number, at?: number][];
  w?: string;
  k?: number;
  x?: [place: number, fault: string][];
  /** The flow event. */
  f?: string;
}

/** Measures a link fragment and recommends how to share it: `file` means that a file is preferable. */
export function linkSize(fragment: string): { characters: number; as: 'link' | 'file' | 'file only' } {
  const characters = fragment.length;
  return { characters, as: characters <= HANDY_CHARS ? 'link' : characters <= MAX_CHARS ? 'file' : 'file only' };
}

/** Encodes a session as a link fragment; of a known sample, only the difference is encoded. */
export async function encode(shared: SharedSession, sampleText: LoadSample): Promise<string> {
  const { end, pack, sample, turns, head, cursor, otherPacks } = shared;
  const base = sample === undefined ? undefined : await sampleText(sample);
  const conversations = new Map<string, [string, string]>();
  for (const { input } of turns) conversations.set(conversationKey(input), [input.conversation, input.conversationId]);
  const names = [...conversations.keys()];
  const packed: Packed = {
    v: 1,
    e: end,
    p: sample === undefined || base === undefined ? pack : diffSample(pack, sample, base),
    c: [...conversations.values()],
    t: turns.map((it, index) => packTurn(it, index, turns, names)),
  };
  if (sample !== undefined && base === undefined) packed.s = sample;
  if (head !== turns.length - 1) packed.h = head;
  if (cursor) packed.u = cursor;
  if (otherPacks && otherPacks.length > 0) packed.o = otherPacks.map((it) => diffText(it, pack));
  const bytes = await deflate(new TextEncoder().encode(JSON.stringify(packed)));
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Decodes a link fragment; throws a `LinkError`. */
export async function decode(fragment: string, sampleText: LoadSample): Promise<SharedSession> {
  if (fragment.length > MAX_CHARS) throw new LinkError(`the link exceeds ${MAX_CHARS} characters: ask for the session as a file`);
  const packed = asRecord(await unpackJson(fragment), 'the session');
  if (packed['v'] !== 1) throw new LinkError('the link was created by another version of this page: open it there, or ask for the session as a file');
  const { text: pack, sample } = await unpackPack(packed, sampleText);
  const conversations = asList(packed['c'], 'the conversations').map((it): [string, string] => {
    const [label, id] = asList(it, 'a conversation');
    return [asText(label, 'a label'), asText(id, 'an id')];
  });
  const turns: SharedTurn[] = [];
  const others = asList(packed['o'] ?? [], 'the packs', MAX_PACKS).map((it) => applyDiff(asRecord(it, 'a pack'), pack));
  for (const it of asList(packed['t'], 'the turns', MAX_TURNS)) turns.push(unpackTurn(asRecord(it, 'a turn'), turns, conversations, others.length));
  const shared: SharedSession = {
    end: asText(packed['e'], 'its state hash'),
    pack,
    turns,
    head: asInteger(packed['h'] ?? turns.length - 1, 'the last turn', -1, turns.length - 1),
  };
  if (sample !== undefined) shared.sample = sample;
  if (packed['u'] !== undefined) {
    const [turn, step] = asList(packed['u'], 'the position');
    shared.cursor = [asInteger(turn, 'the position', 0, turns.length - 1), asInteger(step, 'the position')];
  }
  if (others.length > 0) shared.otherPacks = others;
  return shared;
}

function conversationKey({ conversation, conversationId }: UserInput): string {
  return JSON.stringify([conversation, conversationId]);
}

function packTurn({ parent, input, answers, reason, pack, silentFaults }: SharedTurn, index: number, turns: SharedTurn[], names: string[]): PackedTurn {
  const out: PackedTurn = {};
  const before = turns[parent ?? -1];
  const conversation = names.indexOf(conversationKey(input));
  if (parent !== (index > 0 ? index - 1 : null)) out.p = parent;
  if (conversation !== (before ? names.indexOf(conversationKey(before.input)) : 0)) out.c = conversation;
  if (input.message !== '') out.m = input.message;
  if (input.inputParams.trim() !== '') out.i = input.inputParams;
  if (input.reset) out.r = 1;
  if (input.event !== undefined) out.f = input.event;
  if (input.at !== defaultTime(before)) out.d = input.at - defaultTime(before);
  if (input.seed !== defaultSeed(turns[index - 1])) out.s = input.seed;
  let at = input.at;
  const packed = answers.map((it): [string, number?, number?] => {
    const origin = ORIGINS.indexOf(it.origin);
    const later = it.at - at;
    at = it.at;
    return later !== 0 ? [it.outcome, origin, later] : origin !== 0 ? [it.outcome, origin] : [it.outcome];
  });
  if (packed.length > 0) out.a = packed;
  if (reason !== undefined) out.w = reason;
  if (pack !== undefined) out.k = pack;
  if (silentFaults && silentFaults.length > 0) out.x = silentFaults;
  return out;
}

function unpackTurn(it: Record<string, unknown>, turns: SharedTurn[], conversations: [string, string][], packCount: number): SharedTurn {
  const latest = turns.length - 1;
  const parentNumber = it['p'] === undefined ? (latest < 0 ? null : latest) : it['p'];
  const parent = parentNumber === null ? null : asInteger(parentNumber, 'the parent of a turn', 0, latest);
  const before = turns[parent ?? -1];
  const number = it['c'] === undefined ? undefined : asInteger(it['c'], 'a conversation', 0, conversations.length - 1);
  const previous: [string, string] | undefined = before ? [before.input.conversation, before.input.conversationId] : conversations[0];
  const [conversation, conversationId] = (number === undefined ? previous : conversations[number]) ?? failDamaged('a conversation');
  let at = defaultTime(before) + asInteger(it['d'] ?? 0, 'a time');
  const input: UserInput = {
    conversation,
    conversationId,
    message: asText(it['m'] ?? '', 'a message'),
    inputParams: it['i'] === undefined ? '' : asJsonObject(it['i'], 'input params'),
    reset: it['r'] === 1,
    at,
    seed: asInteger(it['s'] ?? defaultSeed(turns[latest]), 'a seed', 0),
    ...(it['f'] === undefined ? {} : { event: asJsonObject(it['f'], 'an event') }),
  };
  const answers = asList(it['a'] ?? [], 'the answers', MAX_TURNS).map((answer) => {
    const [outcome, origin, delay] = asList(answer, 'an answer');
    at += asInteger(delay ?? 0, 'a time');
    return { origin: ORIGINS[asInteger(origin ?? 0, 'an origin', 0)] ?? failDamaged('an origin'), outcome: asJsonObject(outcome, 'an answer'), at };
  });
  const turn: SharedTurn = { parent, input, answers };
  if (it['w'] !== undefined) turn.reason = asText(it['w'], 'a reason');
  if (it['k'] !== undefined) turn.pack = asInteger(it['k'], 'the pack of a turn', 0, packCount - 1);
  if (it['x'] !== undefined) turn.silentFaults = asList(it['x'], 'the faults', MAX_TURNS).map(unpackFault);
  return turn;
}

function unpackFault(it: unknown): [number, string] {
  const [place, name] = asList(it, 'a fault');
  return [asInteger(place, 'a fault', 0), asText(name, 'a fault')];
}

function defaultTime(before: SharedTurn | undefined): number {
  return before ? before.input.at + MINUTE : 0;
}

function defaultSeed(before: SharedTurn | undefined): number {
  return (before?.input.seed ?? 0) + 1;
}

function diffSample(pack: string, name: string, base: string): Packed['p'] {
  return { s: name, n: base.length, c: checksum(base), ...diffText(pack, base) };
}

function diffText(pack: string, base: string): TextDiff {
  const maxLength = Math.min(pack.length, base.length);
  let begin = 0;
  while (begin < maxLength && pack[begin] === base[begin]) begin++;
  let end = 0;
  while (end < maxLength - begin && pack.at(-1 - end) === base.at(-1 - end)) end++;
  return { b: begin, e: end, t: pack.slice(begin, pack.length - end) };
}

async function unpackPack(packed: Record<string, unknown>, sampleText: LoadSample): Promise<{ text: string; sample?: string | undefined }> {
  if (typeof packed['p'] === 'string') {
    return { text: packed['p'], ...(packed['s'] === undefined ? {} : { sample: asText(packed['s'], 'the sample') }) };
  }
  const splice = asRecord(packed['p'], 'the pack');
  const sample = asText(splice['s'], 'the sample');
  const base = await sampleText(sample);
  if (base === undefined) throw new LinkError(`the link is based on the sample '${sample}', which this page does not have: ask for the session as a file`);
  if (base.length !== splice['n'] || checksum(base) !== splice['c']) {
    throw new LinkError(`the sample '${sample}' has changed since the link was created: ask for the session as a file`);
  }
  return { text: applyDiff(splice, base), sample };
}

function applyDiff(cut: Record<string, unknown>, base: string): string {
  const begin = asInteger(cut['b'], 'the pack', 0, base.length);
  const end = asInteger(cut['e'], 'the pack', 0, base.length - begin);
  return base.slice(0, begin) + asText(cut['t'], 'the pack') + base.slice(base.length - end);
}

/** FNV-1a: detects changes, offers no security. */
function checksum(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}

async function unpackJson(fragment: string): Promise<unknown> {
  if (!/^[\w-]+$/.test(fragment)) failDamaged('a character');
  let inner: string;
  try {
    const bytes = Uint8Array.from(atob(fragment.replaceAll('-', '+').replaceAll('_', '/')), (it) => it.charCodeAt(0));
    inner = new TextDecoder('utf-8', { fatal: true }).decode(await inflate(bytes));
  } catch (error) {
    if (error instanceof RangeError) throw new LinkError(`the session in the link is too large (${error.message}): ask for it as a file`);
    return failDamaged('a part of it is missing');
  }
  if (isDeeperThan(MAX_DEPTH, inner)) failDamaged('it is nested too deeply');
  try {
    return JSON.parse(inner) as unknown;
  } catch {
    return failDamaged('it is not JSON');
  }
}

/** Checks the nesting depth of JSON without parsing it. */
function isDeeperThan(limit: number, json: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length && depth <= limit; at++) {
    const it = json[at];
    if (it === '"') quoted = !quoted;
    else if (quoted) at += it === '\\' ? 1 : 0;
    else if (it === '[' || it === '{') depth++;
    else if (it === ']' || it === '}') depth--;
  }
  return depth > limit;
}

function failDamaged(what: string): never {
  throw new LinkError(`the link is damaged (${what}): copy the whole link again, or ask for the session as a file`);
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : failDamaged(what);
}

function asList(value: unknown, what: string, maxLength = Infinity): unknown[] {
  return Array.isArray(value) && value.length <= maxLength ? (value as unknown[]) : failDamaged(what);
}

function asText(value: unknown, what: string): string {
  return typeof value === 'string' ? value : failDamaged(what);
}

function asInteger(value: unknown, what: string, from = Number.MIN_SAFE_INTEGER, to = Number.MAX_SAFE_INTEGER): number {
  return Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to ? Number(value) : failDamaged(what);
}

/** Validates a text that contains a JSON object; the engine gets it unchanged. */
function asJsonObject(value: unknown, what: string): string {
  const it = asText(value, what);
  try {
    if (parseSpans(it).members) return it;
  } catch {
    // Not JSON: damaged, as below.
  }
  return failDamaged(what);
}
