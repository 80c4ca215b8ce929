/**
 * Puts a session into the fragment of a link, and reads it back.
 *
 * A link holds what cannot be derived: what was said and answered, and how the pack differs from a sample. Whoever opens one
 * did not write it, so that reading believes nothing: sizes, depth and every member are checked.
 */
import { base64 } from '../base64';
import { spans } from '../json-text';
import { inflated, squeezed } from './deflate';
import type { Origin, Said } from './saved';

/** A session as a link or a file has it. */
export interface Shared {
  /** How the shown branch ended: the first 16 digits of the hash of its newest turn; empty without turns. */
  end: string;
  /** The whole text. */
  pack: string;
  /** The sample that the text came from. */
  sample?: string;
  turns: SharedTurn[];
  /** The turn that the chat ends with, counted from 0; -1 for none. */
  head: number;
  cursor?: [turn: number, step: number];
  /** The whole texts of other packs that turns ran on. */
  others?: string[];
}

/** A turn of a tree of turns. */
export interface SharedTurn {
  /** A turn that stands before this one. */
  parent: number | null;
  said: Said;
  /** Answers with their outcomes as JSON text. */
  answers: { origin: Origin; outcome: string; at: number }[];
  /** Why the chat forks here. */
  reason?: string;
  /** The other pack that it ran on, counted from 0. */
  pack?: number;
  /** Faults that left no answer behind, by the places of their effects. */
  struck?: [place: number, fault: string][];
}

/** Gives the text of a sample that the page has. */
export type SampleText = (name: string) => Promise<string | undefined>;

/** Says why a link cannot be opened, and what to do. */
export class LinkFault extends Error {}

/** Characters up to which a link is handy. */
const HANDY = 8 << 10;
/** Characters that a link has at most. */
const LONGEST = 64 << 10;
const DEPTH = 24;
const MOST_TURNS = 1000;
const MOST_PACKS = 50;
const MINUTE = 60_000;
/** In the order of the numbers that stand for them: only ever add to the end. */
const ORIGINS: Origin[] = ['script', 'auto', 'manual', 'live', 'reused', 'stale', 'fault', 'edited', 'recorded'];

/** Everything by one letter, and absent where it is what is to be expected. */
interface Packed {
  v: 1;
  e: string;
  /** The pack, or what differs from the sample between a beginning and an end that are equal. */
  p: string | ({ s: string; n: number; c: number } & Cut);
  s?: string;
  /** Labels and ids of the conversations. */
  c: [string, string][];
  t: PackedTurn[];
  h?: number;
  u?: [number, number];
  /** The other packs, as they differ from this one. */
  o?: Cut[];
}

/** What stands between a beginning and an end that two texts have in common. */
interface Cut {
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
  /** What happens to a session of a flow. */
  f?: string;
}

/** How many characters a link's fragment has, and whether it should be sent: `file` means that a file is handier. */
export function sizeOf(fragment: string): { characters: number; as: 'link' | 'file' | 'file only' } {
  const characters = fragment.length;
  return { characters, as: characters <= HANDY ? 'link' : characters <= LONGEST ? 'file' : 'file only' };
}

/** Writes a session as the fragment of a link; with the sample's text, only what differs from it. */
export async function encode(shared: Shared, sampleText: SampleText): Promise<string> {
  const { end, pack, sample, turns, head, cursor, others } = shared;
  const base = sample === undefined ? undefined : await sampleText(sample);
  const conversations = new Map<string, [string, string]>();
  for (const { said } of turns) conversations.set(nameOf(said), [said.conversation, said.conversationId]);
  const names = [...conversations.keys()];
  const packed: Packed = {
    v: 1,
    e: end,
    p: sample === undefined || base === undefined ? pack : splice(pack, sample, base),
    c: [...conversations.values()],
    t: turns.map((it, index) => packedTurn(it, index, turns, names)),
  };
  if (sample !== undefined && base === undefined) packed.s = sample;
  if (head !== turns.length - 1) packed.h = head;
  if (cursor) packed.u = cursor;
  if (others && others.length > 0) packed.o = others.map((it) => cut(it, pack));
  const bytes = await squeezed(new TextEncoder().encode(JSON.stringify(packed)));
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Reads the fragment of a link; throws a `LinkFault`. */
export async function decode(fragment: string, sampleText: SampleText): Promise<Shared> {
  if (fragment.length > LONGEST) throw new LinkFault(`the link has more than ${LONGEST} characters: ask for the session as a file`);
  const packed = record(await envelope(fragment), 'the session');
  if (packed['v'] !== 1) throw new LinkFault('the link was made by another version of this page: open it there, or ask for the session as a file');
  const { text: pack, sample } = await packOf(packed, sampleText);
  const conversations = list(packed['c'], 'the conversations').map((it): [string, string] => {
    const [label, id] = list(it, 'a conversation');
    return [text(label, 'a label'), text(id, 'an id')];
  });
  const turns: SharedTurn[] = [];
  const others = list(packed['o'] ?? [], 'the packs', MOST_PACKS).map((it) => joined(record(it, 'a pack'), pack));
  for (const it of list(packed['t'], 'the turns', MOST_TURNS)) turns.push(turnOf(record(it, 'a turn'), turns, conversations, others.length));
  const shared: Shared = {
    end: text(packed['e'], 'the hash of its end'),
    pack,
    turns,
    head: whole(packed['h'] ?? turns.length - 1, 'the last turn', -1, turns.length - 1),
  };
  if (sample !== undefined) shared.sample = sample;
  if (packed['u'] !== undefined) {
    const [turn, step] = list(packed['u'], 'the place');
    shared.cursor = [whole(turn, 'the place', 0, turns.length - 1), whole(step, 'the place')];
  }
  if (others.length > 0) shared.others = others;
  return shared;
}

function nameOf({ conversation, conversationId }: Said): string {
  return JSON.stringify([conversation, conversationId]);
}

function packedTurn({ parent, said, answers, reason, pack, struck }: SharedTurn, index: number, turns: SharedTurn[], names: string[]): PackedTurn {
  const out: PackedTurn = {};
  const before = turns[parent ?? -1];
  const conversation = names.indexOf(nameOf(said));
  if (parent !== (index > 0 ? index - 1 : null)) out.p = parent;
  if (conversation !== (before ? names.indexOf(nameOf(before.said)) : 0)) out.c = conversation;
  if (said.message !== '') out.m = said.message;
  if (said.inputParams.trim() !== '') out.i = said.inputParams;
  if (said.reset) out.r = 1;
  if (said.event !== undefined) out.f = said.event;
  if (said.at !== usualTime(before)) out.d = said.at - usualTime(before);
  if (said.seed !== usualSeed(turns[index - 1])) out.s = said.seed;
  let at = said.at;
  const packed = answers.map((it): [string, number?, number?] => {
    const origin = ORIGINS.indexOf(it.origin);
    const later = it.at - at;
    at = it.at;
    return later !== 0 ? [it.outcome, origin, later] : origin !== 0 ? [it.outcome, origin] : [it.outcome];
  });
  if (packed.length > 0) out.a = packed;
  if (reason !== undefined) out.w = reason;
  if (pack !== undefined) out.k = pack;
  if (struck && struck.length > 0) out.x = struck;
  return out;
}

function turnOf(it: Record<string, unknown>, turns: SharedTurn[], conversations: [string, string][], packs: number): SharedTurn {
  const latest = turns.length - 1;
  const wanted = it['p'] === undefined ? (latest < 0 ? null : latest) : it['p'];
  const parent = wanted === null ? null : whole(wanted, 'the turn before a turn', 0, latest);
  const before = turns[parent ?? -1];
  const number = it['c'] === undefined ? undefined : whole(it['c'], 'a conversation', 0, conversations.length - 1);
  const usual: [string, string] | undefined = before ? [before.said.conversation, before.said.conversationId] : conversations[0];
  const [conversation, conversationId] = (number === undefined ? usual : conversations[number]) ?? damaged('a conversation');
  let at = usualTime(before) + whole(it['d'] ?? 0, 'a time');
  const said: Said = {
    conversation,
    conversationId,
    message: text(it['m'] ?? '', 'a message'),
    inputParams: it['i'] === undefined ? '' : object(it['i'], 'input params'),
    reset: it['r'] === 1,
    at,
    seed: whole(it['s'] ?? usualSeed(turns[latest]), 'a seed', 0),
    ...(it['f'] === undefined ? {} : { event: object(it['f'], 'an event') }),
  };
  const answers = list(it['a'] ?? [], 'the answers', MOST_TURNS).map((answer) => {
    const [outcome, origin, later] = list(answer, 'an answer');
    at += whole(later ?? 0, 'a time');
    return { origin: ORIGINS[whole(origin ?? 0, 'an origin', 0)] ?? damaged('an origin'), outcome: object(outcome, 'an answer'), at };
  });
  const turn: SharedTurn = { parent, said, answers };
  if (it['w'] !== undefined) turn.reason = text(it['w'], 'a reason');
  if (it['k'] !== undefined) turn.pack = whole(it['k'], 'the pack of a turn', 0, packs - 1);
  if (it['x'] !== undefined) turn.struck = list(it['x'], 'the faults', MOST_TURNS).map(faultOf);
  return turn;
}

function faultOf(it: unknown): [number, string] {
  const [place, name] = list(it, 'a fault');
  return [whole(place, 'a fault', 0), text(name, 'a fault')];
}

function usualTime(before: SharedTurn | undefined): number {
  return before ? before.said.at + MINUTE : 0;
}

function usualSeed(before: SharedTurn | undefined): number {
  return (before?.said.seed ?? 0) + 1;
}

function splice(pack: string, name: string, base: string): Packed['p'] {
  return { s: name, n: base.length, c: checksum(base), ...cut(pack, base) };
}

function cut(pack: string, base: string): Cut {
  const most = Math.min(pack.length, base.length);
  let begin = 0;
  while (begin < most && pack[begin] === base[begin]) begin++;
  let end = 0;
  while (end < most - begin && pack.at(-1 - end) === base.at(-1 - end)) end++;
  return { b: begin, e: end, t: pack.slice(begin, pack.length - end) };
}

async function packOf(packed: Record<string, unknown>, sampleText: SampleText): Promise<{ text: string; sample?: string | undefined }> {
  if (typeof packed['p'] === 'string') {
    return { text: packed['p'], ...(packed['s'] === undefined ? {} : { sample: text(packed['s'], 'the sample') }) };
  }
  const splice = record(packed['p'], 'the pack');
  const sample = text(splice['s'], 'the sample');
  const base = await sampleText(sample);
  if (base === undefined) throw new LinkFault(`the link builds on the sample '${sample}', which this page does not have: ask for the session as a file`);
  if (base.length !== splice['n'] || checksum(base) !== splice['c']) {
    throw new LinkFault(`the sample '${sample}' is not the one that the link was made with: ask for the session as a file`);
  }
  return { text: joined(splice, base), sample };
}

function joined(cut: Record<string, unknown>, base: string): string {
  const begin = whole(cut['b'], 'the pack', 0, base.length);
  const end = whole(cut['e'], 'the pack', 0, base.length - begin);
  return base.slice(0, begin) + text(cut['t'], 'the pack') + base.slice(base.length - end);
}

/** FNV-1a: it notices a change, and protects from nothing. */
function checksum(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return sum >>> 0;
}

async function envelope(fragment: string): Promise<unknown> {
  if (!/^[\w-]+$/.test(fragment)) damaged('a character');
  let inner: string;
  try {
    const bytes = Uint8Array.from(atob(fragment.replaceAll('-', '+').replaceAll('_', '/')), (it) => it.charCodeAt(0));
    inner = new TextDecoder('utf-8', { fatal: true }).decode(await inflated(bytes));
  } catch (error) {
    if (error instanceof RangeError) throw new LinkFault(`the session in the link is too large (${error.message}): ask for it as a file`);
    return damaged('a part of it is missing');
  }
  if (deeperThan(DEPTH, inner)) damaged('it is nested too deeply');
  try {
    return JSON.parse(inner) as unknown;
  } catch {
    return damaged('it is not JSON');
  }
}

/** Tells before anybody reads it whether JSON is nested deeper than this. */
function deeperThan(most: number, json: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length && depth <= most; at++) {
    const it = json[at];
    if (it === '"') quoted = !quoted;
    else if (quoted) at += it === '\\' ? 1 : 0;
    else if (it === '[' || it === '{') depth++;
    else if (it === ']' || it === '}') depth--;
  }
  return depth > most;
}

function damaged(what: string): never {
  throw new LinkFault(`the link is damaged (${what}): copy it again as a whole, or ask for the session as a file`);
}

function record(value: unknown, what: string): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : damaged(what);
}

function list(value: unknown, what: string, most = Infinity): unknown[] {
  return Array.isArray(value) && value.length <= most ? (value as unknown[]) : damaged(what);
}

function text(value: unknown, what: string): string {
  return typeof value === 'string' ? value : damaged(what);
}

function whole(value: unknown, what: string, from = Number.MIN_SAFE_INTEGER, to = Number.MAX_SAFE_INTEGER): number {
  return Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to ? Number(value) : damaged(what);
}

/** A text that has a JSON object in it; the engine gets it as it stands. */
function object(value: unknown, what: string): string {
  const it = text(value, what);
  try {
    if (spans(it).members) return it;
  } catch {
    // What is no JSON is as little of use as what is no object.
  }
  return damaged(what);
}
