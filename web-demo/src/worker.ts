import { conversation_id as conversationId, finds, type Engine } from 'convengine-wasm';
import { drive, type Watch } from './drive';
import { memberText } from './json-text';
import { messageText, type Ask, type Decision, type Failure, type PlayedTurn, type Progress, type Reply, type Request, type Run } from './protocol';
import { answers } from './run/answers';
import { Programs } from './run/programs';
import { Turns } from './run/turns';
import type { Said } from './session/saved';
import { eventOf, eventWords } from './flow/event';
import { issueOf, type Raw } from './config/issue';
import type { Effect } from './types';

const QUIET: Watch = { notices: () => {}, effect: () => {}, answer: () => {}, again: () => {} };
/** A turn that only the pack's script answers. */
const ALONE: Omit<Run, 'said'> = {
  parent: null,
  before: null,
  sources: { models: 'pack', others: 'script', stale: {} },
  reach: { models: [], secrets: [] },
  faults: [],
};

const programs = new Programs();
const turns = new Turns(programs);
const started = Promise.all([programs.ready, turns.extensions.ready]);
// It has to be here when the network is not.
void started.then(() => import('./run/auto')).catch(() => {});
/** Effects that wait for a person, by run and effect. */
const waiting = new Map<string, (decision: Decision | 'stop') => void>();
const NOBODY = () => Promise.reject(new Error('a pack that is played reaches nobody'));
/** The errors of the pack that runs. */
let known = new Set<string>();
let queue: Promise<void> = Promise.resolve();

/** What needs the engine of a turn, which may wait for a person. */
const IN_LINE: Request['type'][] = ['run', 'adopt', 'play', 'extend'];

// Turns run one after the other; looking, answering and compiling go on meanwhile.
self.onmessage = ({ data }: MessageEvent<Request>) => {
  if (IN_LINE.includes(data.type)) queue = queue.then(() => handle(data));
  else void handle(data);
};

async function handle(request: Request): Promise<void> {
  try {
    await started;
    if ('pack' in request && request.pack !== undefined) await programs.load(request.pack);
    say(await perform(request));
  } catch (error) {
    say({ id: request.id, type: 'failed', ...failure(error) });
  }
}

function perform(request: Request): Reply | Promise<Reply> {
  const { id } = request;
  switch (request.type) {
    case 'load':
      return load(id, request.pack, request.strict);
    case 'run':
      return turns.run(id, request, watched(id), (ask) => asked(id, ask)).then((turn) => ({ id, type: 'ran', turn }));
    case 'answer':
      return decide(id, `${request.run} ${request.effect}`, request.decision);
    case 'stop':
      for (const key of [...waiting.keys()].filter((it) => it.startsWith(`${request.run} `))) decide(id, key, 'stop');
      return { id, type: 'noted' };
    case 'ping':
      return { id, type: 'noted' };
    case 'find':
      return { id, type: 'found', found: JSON.parse(finds(request.kind, request.pattern, JSON.stringify(request.texts))) as (boolean | null)[] };
    case 'forget':
      turns.forget(request.turns);
      return { id, type: 'noted' };
    case 'forgetKeys':
      turns.forgetKeys();
      return { id, type: 'noted' };
    case 'adopt':
      return { id, type: 'ran', turn: turns.adopt(id, request.journal, request.pack, request.parent) };
    case 'look':
      return { id, type: 'seen', ...turns.look(request.turn) };
    case 'step':
      return { id, type: 'step', ...turns.step(request.turn, request.index) };
    case 'journals':
      return { id, type: 'journals', journals: turns.journals(request.turns) };
    case 'play':
      return play(id, request.pack);
    case 'extend':
      return extend(id, request.pack, request.effects);
    case 'check':
      return turns.extensions.check(request.extension, request.bytes).then((refused) => ({ id, type: 'checked', refused }));
  }
}

function load(id: number, pack: string, strict: boolean): Reply {
  const candidate = programs.open(pack);
  const issues = (JSON.parse(candidate.issues()) as Raw[]).map(issueOf);
  const hash = candidate.hash();
  const scripted = scriptedOf(candidate);
  const errors = new Set(issues.filter((it) => it.severity === 'error').map((it) => `${it.rule} ${it.path}`));
  // As on the server: what was wrong before does not keep anybody from editing.
  const accepted = !strict || [...errors].every((it) => known.has(it));
  if (accepted) {
    turns.use(pack, candidate);
    known = errors;
  } else candidate.free();
  return { id, type: 'loaded', accepted, issues, hash, turns: scripted, main: conversationId('main') };
}

function watched(id: number): Watch {
  return {
    notices: (notices) => say({ id, type: 'notices', notices }),
    effect: (effect) => say({ id, type: 'effect', effect }),
    token: (token) => say({ id, type: 'token', token }),
    answer: (answered) => say({ id, type: 'answer', answered }),
    again: () => say({ id, type: 'again' }),
  };
}

function asked(id: number, ask: Ask): Promise<Decision | 'stop'> {
  return new Promise((resolve) => {
    waiting.set(`${id} ${ask.effect.id}`, resolve);
    say({ id, type: 'ask', ask });
  });
}

function decide(id: number, key: string, decision: Decision | 'stop'): Reply {
  waiting.get(key)?.(decision);
  waiting.delete(key);
  return { id, type: 'noted' };
}

/** Plays the turns of a pack by its own script alone, and keeps nothing of them. */
async function play(id: number, pack: string): Promise<Reply> {
  const engine = programs.open(pack);
  const around = { engine, pack, extensions: turns.extensions, live: NOBODY, watch: QUIET, salt: '', ask: async () => 'stop' as const };
  const played: PlayedTurn[] = [];
  for (const [index, said] of scriptedOf(engine).entries()) {
    const fulfil = answers({ ...ALONE, said }, around);
    const { outcome } = await drive(engine, messageText(said), QUIET, fulfil);
    const { payload, intent, state } = outcome;
    played.push({ index, hash: engine.turn_hash(), payload, intent, state });
  }
  engine.free();
  return { id, type: 'played', turns: played };
}

async function extend(id: number, pack: string, effects: string[]): Promise<Reply> {
  const caller = programs.open(pack);
  const completions: string[] = [];
  for (const text of effects) {
    const answer = await turns.extensions.answer(caller, JSON.parse(text) as Effect, text);
    completions.push(memberText(answer ?? '{}', 'completion') ?? '');
  }
  caller.free();
  return { id, type: 'extended', completions };
}

/** The turns of a pack; what is typed later goes on in the same manner. */
function scriptedOf(engine: Engine): Said[] {
  const labels = new Map<string, string>();
  return Array.from({ length: engine.scripted_turns() }, (_, index) => {
    const text = engine.scripted_turn(index);
    const it = JSON.parse(text) as { conversation_id: string; message: string | null; reset: boolean; at: number; seed: number };
    const id = it.conversation_id;
    if (!labels.has(id)) labels.set(id, labels.size === 0 ? 'main' : String.fromCharCode(97 + labels.size));
    const params = memberText(text, 'input_params') ?? '{}';
    const event = memberText(text, 'flow');
    const happens = eventOf(event);
    return {
      conversation: labels.get(id) ?? 'main',
      conversationId: id,
      message: happens ? eventWords(happens) : (it.message ?? ''),
      inputParams: params === '{}' ? '' : params,
      reset: it.reset,
      at: it.at,
      seed: it.seed,
      text,
      ...(event === undefined ? {} : { event }),
    };
  });
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
