import init, { Engine } from 'convengine-wasm';
import { drive, type Clock, type Elsewhere, type Watch } from './drive';
import { Extensions } from './fulfil/extension';
import { Live, type Reach } from './fulfil/live';
import { memberText } from './json-text';
import { messageText, type Failure, type Message, type PlayedTurn, type Progress, type Reply, type Request } from './protocol';
import type { Effect, Issue, TurnRecord } from './types';

const QUIET: Watch = { notices: () => {}, effect: () => {}, answer: () => {} };

const LIVE: Clock = {
  now: () => Date.now(),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

const extensions = new Extensions();
const started = Promise.all([init(), extensions.ready]);
let engine: Engine | undefined;
let lately: { reach: string; live: Live } | undefined;
let queue: Promise<void> = Promise.resolve();

// One request after the other: the engine runs one turn at a time.
self.onmessage = (event: MessageEvent<Request>) => {
  queue = queue.then(() => handle(event.data));
};

async function handle(request: Request): Promise<void> {
  try {
    await started;
    say(await perform(request));
  } catch (error) {
    say({ id: request.id, type: 'failed', ...failure(error) });
  }
}

function perform(request: Request): Reply | Promise<Reply> {
  switch (request.type) {
    case 'load':
      return load(request.id, request.pack, request.strict);
    case 'send':
      return send(request.id, request, request.reach);
    case 'play':
      return play(request.id, request.pack, request.keep);
    case 'extend':
      return extend(request.id, request.pack, request.effects);
    case 'check':
      return check(request.id, request.extension, request.bytes);
  }
}

function load(id: number, pack: string, strict: boolean): Reply {
  const candidate = new Engine(pack);
  const issues = JSON.parse(candidate.issues()) as Issue[];
  const hash = candidate.hash();
  const turns = scripted(candidate).map((it) => spoken(it));
  const accepted = !strict || issues.every((it) => it.severity !== 'error');
  if (accepted) take(candidate);
  else candidate.free();
  return { id, type: 'loaded', accepted, issues, hash, turns };
}

async function send(id: number, message: Message, reach: Reach): Promise<Reply> {
  if (!engine) throw new Error('no pack is loaded: choose one');
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  const watch: Watch = {
    notices: (notices) => say({ id, type: 'notices', notices }),
    effect: (effect) => say({ id, type: 'effect', effect }),
    token: (token) => say({ id, type: 'token', token }),
    answer: (exchange) => say({ id, type: 'answer', exchange }),
  };
  return { id, type: 'done', turn: await turn(engine, messageText(message, Date.now(), seed), watch, LIVE, living(reach)) };
}

async function play(id: number, pack: string, keep: boolean): Promise<Reply> {
  const player = new Engine(pack);
  if (keep) take(player);
  const turns: PlayedTurn[] = [];
  for (const [index, message] of scripted(player).entries()) {
    const record = await turn(player, message, QUIET);
    if (keep) say({ id, type: 'turn', turn: record });
    const { payload, intent, state } = record.outcome;
    turns.push({ index, hash: record.hash, payload, intent, state });
  }
  if (!keep) player.free();
  return { id, type: 'played', turns };
}

async function extend(id: number, pack: string, effects: string[]): Promise<Reply> {
  const caller = new Engine(pack);
  const completions: string[] = [];
  for (const text of effects) {
    const answer = await extensions.answer(caller, JSON.parse(text) as Effect, text);
    completions.push(memberText(answer ?? '{}', 'completion') ?? '');
  }
  caller.free();
  return { id, type: 'extended', completions };
}

async function check(id: number, extension: string, bytes: Uint8Array<ArrayBuffer>): Promise<Reply> {
  return { id, type: 'checked', refused: await extensions.check(extension, bytes) };
}

/** The same as before while nothing changed, because it learns which model takes what. */
function living(reach: Reach): Live {
  const text = JSON.stringify(reach);
  if (lately?.reach !== text) lately = { reach: text, live: new Live(reach) };
  return lately.live;
}

async function turn(on: Engine, message: string, watch: Watch, clock?: Clock, live?: Live): Promise<TurnRecord> {
  const elsewhere: Elsewhere = (effect, text, now) =>
    extensions.answer(on, effect, text, now) ?? (now && live?.answer(on, effect, text, now, watch));
  const begin = performance.now();
  const driven = await drive(on, message, watch, clock, elsewhere);
  const durationMs = performance.now() - begin;
  return { ...driven, message: spoken(message), hash: on.turn_hash(), views: on.views(), durationMs };
}

function scripted(of: Engine): string[] {
  return Array.from({ length: of.scripted_turns() }, (_, index) => of.scripted_turn(index));
}

function spoken(message: string): string {
  return (JSON.parse(message) as { message?: string }).message ?? '';
}

function take(next: Engine): void {
  engine?.free();
  engine = next;
}

function say(message: Reply | Progress): void {
  self.postMessage(message);
}

/** After a trap the engine's memory cannot be trusted, so the failure is fatal for this worker. */
function failure(error: unknown): Failure {
  const fatal = error instanceof WebAssembly.RuntimeError;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  return {
    code: fatal ? 'ENGINE_STOPPED' : typeof code === 'string' ? code : 'PAGE',
    message: fatal ? `an internal fault: ${text}` : text,
    fatal,
  };
}
