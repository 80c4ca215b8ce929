import type { EffectHandler, EffectResult, TurnObserver } from '../turn-runner';
import type { ExtensionRunner } from '../effects/extension';
import type { LiveEffects } from '../effects/live';
import type { ScriptEngine, ScriptEffects } from '../effects/script';
import { effectTitle } from '../exchange';
import type { Ask, Decision, FaultRule, RecordedAnswer, Run } from '../protocol';
import type { Origin } from '../session/turn-data';
import type { Answer, Completion, Effect, Json } from '../types';
import { effectTarget } from '../session/talk-answer';
import { outcomeFromText } from './manual-outcome';
import { applyFault, EMPTY_SEARCH, type Fault } from './fault';
import { effectName } from './effect-name';

/** The engine methods that the effect handler needs. */
export interface EffectEngine extends ScriptEngine {
  hasScript(effect: number): boolean;
  request(effect: number): string;
  answer(effect: number, at?: number): Answer;
  module(sha256: string): Uint8Array | undefined;
  extensionMessages(effect: string): string[];
  completeExtension(effect: string, output: Uint8Array | undefined, failure: string, at?: number): Answer;
  now(): number;
}

/** The engine, services and people that answer the effects of a turn. */
export interface RunOptions {
  engine: EffectEngine;
  /** The text of the pack, for the automatic model. */
  pack: string;
  extensions: ExtensionRunner;
  scripts: Pick<ScriptEffects, 'answer'>;
  /** Live effects; loaded on first use. */
  live(): Promise<Pick<LiveEffects, 'answer'>>;
  observer: TurnObserver;
  /** Prefix of idempotency keys of live calls: sessions and branches share clocks and seeds. */
  salt: string;
  /** Asks a person; `stop` ends the turn. */
  ask(ask: Ask): Promise<Decision | 'stop'>;
}

/** Loads the automatic model, which many conversations do not need. */
const loadAutoModel = () => import('./auto-reply');

/** An answer as text, with its origin and duration. */
interface ResolvedAnswer {
  outcome: string;
  origin: Origin;
  delayMs: number;
}

const TURN_TIMEOUT_MS = 120_000;
const INTERRUPTED_OUTCOME = '{"error":{"kind":"interrupted","message":"the process ended before the answer was known"}}';

/** Creates the handler for the effects of one turn: recorded answers, faults, the script, the automatic model, a person or a live model. */
export function createEffectHandler(run: Run, options: RunOptions): EffectHandler {
  const counts = new Map<string, number>();
  const crashed = new Set<number>();
  let liveCallsLeft = run.liveCallsLeft ?? Infinity;
  const unused = rankRecorded(run.repeat?.recorded ?? []).slice(0, run.repeat?.until);
  const requestCounts = new Map<string, number>();

  return async (effect, text, place): Promise<EffectResult> => {
    const { engine } = options;
    const request = engine.request(effect.id);
    const fault = matchFault(run, effect, place, counts, crashed);
    if (crashed.has(place) && !isRepeatable(effect)) return toResult(effect, request, { outcome: INTERRUPTED_OUTCOME, origin: 'fault', delayMs: 0 });
    const edit = run.repeat?.edits.find((it) => it.place === place)?.decision;
    const resolve = () => resolveAnswer(effect, text, request, place, edit && !('fault' in edit) ? edit : undefined);
    if (!fault) return toResult(effect, request, await resolve());
    if (fault.name === 'crash') {
      // The process that takes over answers the effect.
      crashed.add(place);
      return { crash: true };
    }
    const normal = await answerWithoutFault(effect, text, request, place);
    const applied = applyFault(fault, effect, () => normal.outcome);
    if ('outcome' in applied) return toResult(effect, request, { outcome: applied.outcome, origin: 'fault', delayMs: normal.delayMs });
    if ('delayMs' in applied) return toResult(effect, request, { ...normal, origin: 'fault', delayMs: normal.delayMs + applied.delayMs });
    return { cancelAt: engine.now() + TURN_TIMEOUT_MS };
  };

  /** Returns the answer without the fault, as far as known without a person or a live call. It consumes the script's answer. */
  async function answerWithoutFault(effect: Effect, text: string, request: string, place: number): Promise<ResolvedAnswer> {
    const recorded = takeRecorded(request, effect, place);
    if (recorded && recorded.origin !== 'script') return { outcome: recorded.outcome, origin: 'fault', delayMs: recorded.delayMs };
    const own = answerByRunning(effect, text);
    if (own) return fromEngineAnswer(await own, 'fault');
    if (options.engine.hasScript(effect.id)) return fromEngineAnswer(options.engine.answer(effect.id), 'fault');
    if (effect.request.kind === 'knowledge') return { outcome: EMPTY_SEARCH, origin: 'fault', delayMs: 0 };
    return { outcome: scriptedReply((await loadAutoModel()).autoReply(effect, options.pack) ?? '{}'), origin: 'fault', delayMs: 0 };
  }

  /** Takes the recorded answer to the same request, or else to the nth request of the same name. Each is used once. */
  function takeRecorded(request: string, effect: Effect, place: number) {
    const [name, target] = [effectName(effect), effectTarget(effect)];
    const nth = (requestCounts.get(name) ?? 0) + 1;
    requestCounts.set(name, nth);
    const equal = unused.find((it) => (it.target !== undefined ? it.target === target : it.request === null ? it.index === place : it.request === request));
    const match = equal ?? unused.find((it) => it.name === name && it.nth === nth);
    if (!match) return undefined;
    unused.splice(unused.indexOf(match), 1);
    const outcome = match.target === undefined || match.outcome.startsWith('{"error":') ? match.outcome : outcomeFromText(effect, match.outcome);
    return { ...match, outcome, request: match.request ?? request, equal: match === equal };
  }

  function toResult(effect: Effect, request: string, { outcome, origin, delayMs }: ResolvedAnswer): EffectResult {
    const at = options.engine.now() + delayMs;
    const completion = `{"id":${effect.id},"at":${at},"outcome":${outcome}}`;
    const raw = { request, outcome };
    const exchange = { effect, completion: JSON.parse(completion) as Completion, delayMs, origin, raw };
    return { completion, exchange };
  }

  /** Runs an extension or a script; `undefined` for other effects. */
  function answerByRunning(effect: Effect, text: string): Promise<Answer> | undefined {
    return options.extensions.answer(options.engine, effect, text) ?? options.scripts.answer(options.engine, effect, text);
  }

  async function resolveAnswer(effect: Effect, text: string, request: string, place: number, decision: Decision | undefined): Promise<ResolvedAnswer> {
    const { engine, extensions } = options;
    const extensionAnswer = extensions.answer(engine, effect, text);
    if (extensionAnswer) return fromEngineAnswer(await extensionAnswer, 'script');
    const recorded = takeRecorded(request, effect, place);
    if (decision) return applyDecision(decision, effect, recorded?.outcome);
    if (effect.request.kind === 'sleep') return fromEngineAnswer(engine.answer(effect.id), 'script');
    if (effect.request.kind === 'script') return runScript(effect, text, recorded?.equal ? recorded : undefined);
    const isModel = effect.request.kind === 'llm' || effect.request.kind === 'embed';
    const source = isModel ? run.sources.models : run.sources.others;
    const scripted = (source === 'script' || (source === 'live' && !isModel)) && engine.hasScript(effect.id);
    // A script counts its answers and may have been edited, so it answers again itself.
    if (recorded?.equal && !(scripted && recorded.origin === 'script')) return { outcome: recorded.outcome, origin: 'reused', delayMs: recorded.delayMs };
    if (source === 'pack') return fromEngineAnswer(engine.answer(effect.id), 'script');
    if (scripted) {
      const answer = fromEngineAnswer(engine.answer(effect.id), 'script');
      return recorded?.equal && recorded.outcome === answer.outcome ? { ...answer, origin: 'reused' } : answer;
    }
    if (recorded && !recorded.equal) {
      const remembered = run.sources.stale[effectTitle(effect)];
      return applyDecision(remembered ? { use: remembered } : await askPerson(effect, recorded), effect, recorded.outcome);
    }
    if (effect.request.kind === 'knowledge' && source !== 'manual') return { outcome: EMPTY_SEARCH, origin: 'auto', delayMs: 0 };
    if (source === 'live' && (isModel || effect.request.kind === 'http')) return applyDecision({ use: 'live' }, effect, undefined);
    const guess = source === 'manual' ? null : (await loadAutoModel()).autoReply(effect, options.pack);
    if (guess !== null) return { outcome: scriptedReply(guess), origin: 'auto', delayMs: 0 };
    return applyDecision(await askPerson(effect, undefined), effect, undefined);
  }

  /** Runs a script, unless a person has replaced its answer in the earlier run of the turn. */
  async function runScript(effect: Effect, text: string, recorded: { outcome: string; delayMs: number; origin: Origin } | undefined): Promise<ResolvedAnswer> {
    if (recorded && recorded.origin !== 'script') return { outcome: recorded.outcome, origin: 'reused', delayMs: recorded.delayMs };
    const answer = await options.scripts.answer(options.engine, effect, text);
    if (!answer) throw new Error('the effect runs no script');
    return fromEngineAnswer(answer, 'script');
  }

  async function applyDecision(decision: Decision | 'stop', effect: Effect, recorded: string | undefined): Promise<ResolvedAnswer> {
    const { engine, observer } = options;
    if (decision === 'stop') throw new StoppedError();
    if ('outcome' in decision) return { outcome: decision.outcome, origin: decision.origin, delayMs: decision.delayMs ?? 0 };
    if ('fault' in decision) return applyChosenFault(decision.fault, effect);
    if (decision.use === 'recorded' && recorded !== undefined) return { outcome: recorded, origin: 'stale', delayMs: 0 };
    if (decision.use === 'auto') return { outcome: scriptedReply((await loadAutoModel()).autoReply(effect, options.pack) ?? ''), origin: 'auto', delayMs: 0 };
    if (decision.use === 'live') {
      const isModel = effect.request.kind === 'llm';
      liveCallsLeft = decision.liveCallsLeft ?? liveCallsLeft;
      if (isModel && liveCallsLeft <= 0) return applyDecision(await askPerson(effect, undefined, true), effect, recorded);
      const begin = performance.now();
      const salted = { ...effect, key: `${options.salt}${effect.key}` };
      const answer = await (await options.live()).answer(engine, salted, () => engine.now(), observer);
      if (answer) {
        if (isModel) liveCallsLeft -= 1;
        return { ...fromEngineAnswer(answer, 'live'), delayMs: Math.round(performance.now() - begin) };
      }
    }
    return fromEngineAnswer(engine.answer(effect.id), 'script');
  }

  /** Applies a fault that a person chose instead of an answer. Faults that end the turn are not offered there. */
  function applyChosenFault(fault: Fault, effect: Effect): ResolvedAnswer {
    const applied = applyFault(fault, effect, () => options.engine.answer(effect.id).outcome);
    const outcome = 'outcome' in applied ? applied.outcome : JSON.stringify({ error: { kind: 'timeout', message: 'no answer came in time' } });
    return { outcome, origin: 'fault', delayMs: 0 };
  }

  async function askPerson(effect: Effect, recorded: { request: string; outcome: string } | undefined, limited = false): Promise<Decision | 'stop'> {
    const { autoReply, skeleton } = await loadAutoModel();
    return options.ask({
      effect,
      recorded: recorded ? { request: JSON.parse(recorded.request) as Json, outcome: recorded.outcome } : null,
      scripted: options.engine.hasScript(effect.id),
      auto: autoReply(effect, options.pack),
      skeleton: skeleton(effect),
      ...(limited ? { limited } : {}),
    });
  }
}

/** A person stopped a turn that waited for an answer. */
export class StoppedError extends Error {
  readonly code = 'STOPPED';

  constructor() {
    super('the turn was stopped while waiting for an answer and discarded');
  }
}

/** Whether the effect may be repeated when its result is unknown. */
function isRepeatable(effect: Effect): boolean {
  return effect.class === 'pure' || effect.class === 'read' || effect.repeatable === true;
}

/** Returns the fault of an effect; a process crashes only once per effect. */
function matchFault(run: Run, effect: Effect, place: number, counts: Map<string, number>, crashed: Set<number>): Fault | undefined {
  if (crashed.has(place)) return undefined;
  const edit = run.repeat?.edits.find((it) => it.place === place)?.decision;
  const rule = run.faults.find((it) => matchesRule(it, effect, counts));
  for (const name of new Set(['', effect.request.kind, effectName(effect)])) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (edit) return 'fault' in edit ? edit.fault : undefined;
  return rule?.fault;
}

function matchesRule({ on, nth }: FaultRule, effect: Effect, counts: Map<string, number>): boolean {
  if (on !== '' && on !== effect.request.kind && on !== effectName(effect)) return false;
  return nth === 0 || (counts.get(on) ?? 0) + 1 === nth;
}

/** Adds position, effect name and its nth occurrence to recorded answers. */
function rankRecorded(recorded: RecordedAnswer[]) {
  const counts = new Map<string, number>();
  return recorded.map((it, index) => {
    const name = it.request === null ? null : effectName({ request: JSON.parse(it.request) as Effect['request'] } as Effect);
    const nth = (counts.get(name ?? '') ?? 0) + 1;
    counts.set(name ?? '', nth);
    return { ...it, index, name, nth };
  });
}

function fromEngineAnswer({ outcome, delayMs }: Answer, origin: Origin): ResolvedAnswer {
  return { outcome, origin, delayMs };
}

/** Builds a model reply like the script does, so that a talk with the same text has the same hashes. */
function scriptedReply(text: string): string {
  return JSON.stringify({ ok: { kind: 'llm', text, provider: 'scripted', model: 'scripted' } });
}

