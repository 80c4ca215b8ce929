import init, { conversationId, Engine } from 'convengine-wasm';
import { runTurn, type TurnObserver } from './turn-runner';
import { messageText, type Ask, type Decision, type Failure, type PlayedTurn, type Progress, type Reply, type Request, type Run } from './protocol';
import { createEffectHandler } from './run/effect-handler';
import { Linter } from './run/linter';
import { toUserInput, TurnStore } from './run/turn-store';
import type { UserInput } from './session/turn-data';
import { conversationLabels } from './pack/conversation-labels';
import type { Effect, Issue } from './types';

const SILENT_OBSERVER: TurnObserver = { notices: () => {}, effect: () => {}, answer: () => {}, restart: () => {} };
/** Options of a turn that only the pack's script answers. */
const SCRIPT_ONLY: Omit<Run, 'input'> = {
  parent: null,
  before: null,
  sources: { models: 'pack', others: 'script', stale: {} },
  liveAccess: { models: [], secrets: [] },
  faults: [],
};

const turns = new TurnStore((pack) => new Engine(pack));
const started = Promise.all([init(), turns.extensions.ready]);
// Preloaded for use without a network.
void started.then(() => import('./run/auto-reply')).catch(() => {});
/** Effects that wait for a person, by request and effect id. */
const pendingDecisions = new Map<string, (decision: Decision | 'stop') => void>();
const rejectLive = () => Promise.reject(new Error('live calls are disabled while a pack is played'));
const linter = new Linter();
/** The running pack, and its errors once it has been linted. */
let running: { pack: string; errors: Set<string> | undefined } = { pack: '', errors: new Set() };
let queue: Promise<void> = Promise.resolve();

/** Requests that need the engine exclusively. */
const QUEUED_TYPES: Request['type'][] = ['run', 'replay', 'play', 'extend'];

// Turns run one after the other; other requests are handled concurrently.
self.onmessage = ({ data }: MessageEvent<Request>) => {
  if (QUEUED_TYPES.includes(data.type)) queue = queue.then(() => handle(data));
  else void handle(data);
};

async function handle(request: Request): Promise<void> {
  try {
    await started;
    post(await perform(request));
  } catch (error) {
    post({ id: request.id, type: 'failed', ...toFailure(error) });
  }
}

function perform(request: Request): Reply | Promise<Reply> {
  const { id } = request;
  switch (request.type) {
    case 'load':
      return loadPack(id, request.pack, request.strict);
    case 'run':
      return turns.run(id, request, createObserver(id), (ask) => waitForPerson(id, ask)).then((turn) => ({ id, type: 'turn', turn }));
    case 'answer':
      return decide(id, `${request.run} ${request.effect}`, request.decision);
    case 'stop':
      for (const key of [...pendingDecisions.keys()].filter((it) => it.startsWith(`${request.run} `))) decide(id, key, 'stop');
      return { id, type: 'done' };
    case 'ping':
      return { id, type: 'done' };
    case 'match':
      return linter.match(request.kind, request.pattern, request.texts).then((matches) => ({ id, type: 'matches', matches }));
    case 'schema':
      return linter.schema(request.doc).then((schema) => ({ id, type: 'schema', schema }));
    case 'lint':
      return linter.issues(request.pack).then((issues) => {
        // The first edit is compared with these.
        if (request.pack === running.pack) running.errors = errorKeys(issues);
        return { id, type: 'issues', issues };
      });
    case 'forget':
      turns.deleteTurns(request.turns);
      return { id, type: 'done' };
    case 'forgetKeys':
      turns.forgetKeys();
      return { id, type: 'done' };
    case 'replay':
      return { id, type: 'turn', turn: turns.replay(id, request.journal, request.pack, request.parent) };
    case 'inspect':
      return { id, type: 'details', ...turns.inspect(request.turn) };
    case 'step':
      return { id, type: 'step', ...turns.sessionsAround(request.turn, request.index) };
    case 'journals':
      return { id, type: 'journals', journals: turns.journals(request.turns) };
    case 'play':
      return playPack(id, request.pack);
    case 'conversationIds':
      return { id, type: 'conversationIds', ids: request.labels.map((it) => conversationId(it)) };
    case 'extend':
      return callExtensions(id, request.pack, request.effects);
    case 'search':
      return { id, type: 'found', found: turns.searchKnowledge(request.search) };
    case 'checkScripts':
      return Promise.all(request.codes.map((it) => turns.scripts.check(it))).then((issues) => ({ id, type: 'scriptIssues', issues }));
    case 'check':
      return turns.extensions.check(request.extension, request.bytes).then((problem) => ({ id, type: 'checked', problem }));
  }
}

/** Compiles a pack. A strict load lints it too, and keeps the running pack if the new one adds errors. */
async function loadPack(id: number, pack: string, strict: boolean): Promise<Reply> {
  const issues = strict ? await linter.issues(pack) : undefined;
  const candidate = new Engine(pack);
  const accepted = !issues || (await addsNoErrors(issues));
  const loaded = { issues: issues ?? candidate.issues(), linted: strict };
  const hash = candidate.hash();
  const scripted = scriptedInputs(candidate, pack);
  if (accepted) {
    turns.usePack(pack, candidate);
    running = { pack, errors: issues && errorKeys(issues) };
  } else candidate.free();
  return { id, type: 'loaded', accepted, ...loaded, hash, turns: scripted, main: conversationId('main') };
}

/** As on the server, existing errors do not block an edit. */
async function addsNoErrors(issues: Issue[]): Promise<boolean> {
  const known = (running.errors ??= errorKeys(await linter.issues(running.pack)));
  return [...errorKeys(issues)].every((it) => known.has(it));
}

function errorKeys(issues: Issue[]): Set<string> {
  return new Set(issues.filter((it) => it.severity === 'error').map((it) => `${it.rule} ${it.path}`));
}

function createObserver(id: number): TurnObserver {
  return {
    notices: (notices) => post({ id, type: 'notices', notices }),
    effect: (effect) => post({ id, type: 'effect', effect }),
    token: (token) => post({ id, type: 'token', token }),
    answer: (exchange) => post({ id, type: 'answer', exchange }),
    restart: () => post({ id, type: 'restart' }),
  };
}

function waitForPerson(id: number, ask: Ask): Promise<Decision | 'stop'> {
  return new Promise((resolve) => {
    pendingDecisions.set(`${id} ${ask.effect.id}`, resolve);
    post({ id, type: 'ask', ask });
  });
}

function decide(id: number, key: string, decision: Decision | 'stop'): Reply {
  pendingDecisions.get(key)?.(decision);
  pendingDecisions.delete(key);
  return { id, type: 'done' };
}

/** Runs the turns of a pack with its script alone, without storing them. */
async function playPack(id: number, pack: string): Promise<Reply> {
  const engine = new Engine(pack);
  const options = { engine, pack, extensions: turns.extensions, scripts: turns.scripts, live: rejectLive, observer: SILENT_OBSERVER, salt: '', ask: async () => 'stop' as const };
  const played: PlayedTurn[] = [];
  for (const [index, input] of scriptedInputs(engine, pack).entries()) {
    const handleEffect = createEffectHandler({ ...SCRIPT_ONLY, input }, options);
    const { outcome } = await runTurn(engine, messageText(input), SILENT_OBSERVER, handleEffect);
    const { payload, intent, state } = outcome;
    played.push({ index, hash: engine.turnHash(), payload, intent, state });
  }
  engine.free();
  return { id, type: 'played', turns: played };
}

async function callExtensions(id: number, pack: string, effects: string[]): Promise<Reply> {
  const caller = new Engine(pack);
  const completions: string[] = [];
  for (const text of effects) {
    const answer = await turns.extensions.answer(caller, JSON.parse(text) as Effect, text);
    completions.push(answer?.completion ?? '');
  }
  caller.free();
  return { id, type: 'extended', completions };
}

/** Returns the inputs of a pack's turns. */
function scriptedInputs(engine: Engine, pack: string): UserInput[] {
  const labels = conversationLabels(pack);
  return Array.from({ length: engine.scriptedTurns() }, (_, index) => {
    const message = engine.scriptedTurn(index);
    return { ...toUserInput(message, labels[index] ?? 'main'), text: message.text };
  });
}

function post(message: Reply | Progress): void {
  self.postMessage(message);
}

/** Converts an error. A trap is fatal for this worker, because the engine's memory may be corrupt. */
function toFailure(error: unknown): Failure {
  const fatal = error instanceof WebAssembly.RuntimeError;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  return {
    code: fatal ? 'ENGINE_STOPPED' : typeof code === 'string' ? code : 'PAGE',
    message: fatal ? `internal error: ${text}` : text,
    fatal,
  };
}
