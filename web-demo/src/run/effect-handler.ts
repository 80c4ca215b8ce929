import type { Fulfil, Fulfilled, Watch } from '../drive';
import type { Extensions } from '../fulfil/extension';
import type { Live } from '../fulfil/live';
import { title } from '../exchange';
import { memberText } from '../json-text';
import type { Ask, Decision, FaultRule, Recorded, Run } from '../protocol';
import type { Origin } from '../session/saved';
import type { Completion, Effect, Json } from '../types';
import { askedFor } from '../session/talk-answer';
import { outcomeOf } from './by-hand';
import { struck, type Fault } from './fault';
import { named } from './name';

/** What answering needs of the engine. */
export interface AnswerEngine {
  scripted(effect: number): boolean;
  answer(effect: number, at?: number): string;
  module(sha256: string): Uint8Array | undefined;
  extended(effect: string, said: Uint8Array | undefined, failure: string, at?: number): string;
  now(): number;
}

/** What answers a turn: its configuration, the world, and people. */
export interface Around {
  engine: AnswerEngine;
  /** The text of the pack, for the automatic model. */
  pack: string;
  extensions: Extensions;
  /** What answers from outside; loaded when somebody wants it. */
  live(): Promise<Pick<Live, 'answer'>>;
  watch: Watch;
  /** Sets the keys of calls that really leave apart from those of other sessions and branches, whose clock and seeds are the same. */
  salt: string;
  /** Asks a person; ends the turn when nobody answers any more. */
  ask(ask: Ask): Promise<Decision | 'stop'>;
}

/** The automatic model, which many a conversation never needs. */
const stub = () => import('./auto');

/** An answer as text, with what it took. */
interface Given {
  outcome: string;
  origin: Origin;
  delayMs: number;
}

const TURN_MS = 120_000;
const INTERRUPTED = '{"error":{"kind":"interrupted","message":"the process ended before the answer was known"}}';

/** Answers the effects of one turn: what was recorded, else faults, the script, the automatic model, a person or a live model. */
export function answers(run: Run, around: Around): Fulfil {
  const seen = new Map<string, number>();
  const crashed = new Set<number>();
  let liveLeft = run.liveLeft ?? Infinity;
  const left = ranked(run.again?.recorded ?? []).slice(0, run.again?.until);
  const asks = new Map<string, number>();

  return async (effect, text, place): Promise<Fulfilled> => {
    const { engine } = around;
    const request = memberText(text, 'request') ?? '';
    const fault = faultOf(run, effect, place, seen, crashed);
    if (crashed.has(place) && !harmless(effect)) return fulfilled(effect, request, { outcome: INTERRUPTED, origin: 'fault', delayMs: 0 });
    const edit = run.again?.edits.find((it) => it.place === place)?.decision;
    const normal = () => given(effect, text, request, place, edit && !('fault' in edit) ? edit : undefined);
    if (!fault) return fulfilled(effect, request, await normal());
    if (fault.name === 'crash') {
      // Nobody has answered: that is for the process that takes over.
      crashed.add(place);
      return { crash: true };
    }
    const usual = await wouldBe(effect, request, place);
    const found = struck(fault, effect, () => usual.outcome);
    if ('outcome' in found) return fulfilled(effect, request, { outcome: found.outcome, origin: 'fault', delayMs: usual.delayMs });
    if ('late' in found) return fulfilled(effect, request, { ...usual, origin: 'fault', delayMs: usual.delayMs + found.late });
    return { abandon: engine.now() + TURN_MS };
  };

  /** What would come without a fault, as far as it is known without asking anybody. A script that answers is used up by it. */
  async function wouldBe(effect: Effect, request: string, place: number): Promise<Given> {
    const recorded = before(request, effect, place);
    if (recorded && recorded.origin !== 'script') return { outcome: recorded.outcome, origin: 'fault', delayMs: recorded.took };
    if (around.engine.scripted(effect.id)) return fromEngine(around.engine.answer(effect.id), 'fault');
    return { outcome: said((await stub()).auto(effect, around.pack) ?? '{}'), origin: 'fault', delayMs: 0 };
  }

  /** The recorded answer to the same request, or else to the one that was as often asked for the same; each is used once. */
  function before(request: string, effect: Effect, place: number) {
    const [name, wanted] = [named(effect), askedFor(effect)];
    const nth = (asks.get(name) ?? 0) + 1;
    asks.set(name, nth);
    const equal = left.find((it) => (it.asks !== undefined ? it.asks === wanted : it.request === null ? it.index === place : it.request === request));
    const near = equal ?? left.find((it) => it.name === name && it.nth === nth);
    if (!near) return undefined;
    left.splice(left.indexOf(near), 1);
    const outcome = near.asks === undefined || near.outcome.startsWith('{"error":') ? near.outcome : outcomeOf(effect, near.outcome);
    return { ...near, outcome, request: near.request ?? request, equal: near === equal };
  }

  function fulfilled(effect: Effect, request: string, { outcome, origin, delayMs }: Given): Fulfilled {
    const at = around.engine.now() + delayMs;
    const completion = `{"id":${effect.id},"at":${at},"outcome":${outcome}}`;
    const raw = { request, outcome };
    const answered = { effect, completion: JSON.parse(completion) as Completion, delayMs, origin, raw };
    return { completion, answered };
  }

  async function given(effect: Effect, text: string, request: string, place: number, decision: Decision | undefined): Promise<Given> {
    const { engine, extensions } = around;
    const own = extensions.answer(engine, effect, text);
    if (own) return fromEngine(await own, 'script');
    const recorded = before(request, effect, place);
    if (decision) return decided(decision, effect, recorded?.outcome);
    if (effect.request.kind === 'sleep') return fromEngine(engine.answer(effect.id), 'script');
    const isModel = effect.request.kind === 'llm' || effect.request.kind === 'embed';
    const source = isModel ? run.sources.models : run.sources.others;
    const scripted = (source === 'script' || (source === 'live' && !isModel)) && engine.scripted(effect.id);
    // A script counts its answers and may have been changed, so it gives its own again.
    if (recorded?.equal && !(scripted && recorded.origin === 'script')) return { outcome: recorded.outcome, origin: 'reused', delayMs: recorded.took };
    if (source === 'pack') return fromEngine(engine.answer(effect.id), 'script');
    if (scripted) {
      const answer = fromEngine(engine.answer(effect.id), 'script');
      return recorded?.equal && recorded.outcome === answer.outcome ? { ...answer, origin: 'reused' } : answer;
    }
    if (recorded && !recorded.equal) {
      const remembered = run.sources.stale[title(effect)];
      return decided(remembered ? { use: remembered } : await asked(effect, recorded), effect, recorded.outcome);
    }
    if (source === 'live' && (isModel || effect.request.kind === 'http')) return decided({ use: 'live' }, effect, undefined);
    const guess = source === 'manual' ? null : (await stub()).auto(effect, around.pack);
    if (guess !== null) return { outcome: said(guess), origin: 'auto', delayMs: 0 };
    return decided(await asked(effect, undefined), effect, undefined);
  }

  async function decided(decision: Decision | 'stop', effect: Effect, recorded: string | undefined): Promise<Given> {
    const { engine, watch } = around;
    if (decision === 'stop') throw new Stopped();
    if ('outcome' in decision) return { outcome: decision.outcome, origin: decision.origin, delayMs: decision.delayMs ?? 0 };
    if ('fault' in decision) return decidedFault(decision.fault, effect);
    if (decision.use === 'recorded' && recorded !== undefined) return { outcome: recorded, origin: 'stale', delayMs: 0 };
    if (decision.use === 'auto') return { outcome: said((await stub()).auto(effect, around.pack) ?? ''), origin: 'auto', delayMs: 0 };
    if (decision.use === 'live') {
      const isModel = effect.request.kind === 'llm';
      liveLeft = decision.liveLeft ?? liveLeft;
      if (isModel && liveLeft <= 0) return decided(await asked(effect, undefined, true), effect, recorded);
      const begin = performance.now();
      const apart = { ...effect, key: `${around.salt}${effect.key}` };
      const answer = await (await around.live()).answer(engine, apart, () => engine.now(), watch);
      if (answer) {
        if (isModel) liveLeft -= 1;
        return { ...fromEngine(answer, 'live'), delayMs: Math.round(performance.now() - begin) };
      }
    }
    return fromEngine(engine.answer(effect.id), 'script');
  }

  /** Of a fault that a person chose in place of an answer; what ends the turn is not offered there. */
  function decidedFault(fault: Fault, effect: Effect): Given {
    const found = struck(fault, effect, () => memberText(memberText(around.engine.answer(effect.id), 'completion') ?? '{}', 'outcome') ?? '{}');
    const outcome = 'outcome' in found ? found.outcome : JSON.stringify({ error: { kind: 'timeout', message: 'no answer came in time' } });
    return { outcome, origin: 'fault', delayMs: 0 };
  }

  async function asked(effect: Effect, recorded: { request: string; outcome: string } | undefined, limited = false): Promise<Decision | 'stop'> {
    const { auto, skeleton } = await stub();
    return around.ask({
      effect,
      recorded: recorded ? { request: JSON.parse(recorded.request) as Json, outcome: recorded.outcome } : null,
      scripted: around.engine.scripted(effect.id),
      auto: auto(effect, around.pack),
      skeleton: skeleton(effect),
      ...(limited ? { limited } : {}),
    });
  }
}

/** Says that a person ended a turn that waited for them. */
export class Stopped extends Error {
  readonly code = 'STOPPED';

  constructor() {
    super('the turn was stopped while it waited for an answer; nothing of it is kept');
  }
}

/** Whether it may be asked again when nobody knows whether it was carried out. */
function harmless(effect: Effect): boolean {
  return effect.class === 'pure' || effect.class === 'read' || effect.repeatable === true;
}

/** The fault that strikes an effect; a process that has ended once does not end again. */
function faultOf(run: Run, effect: Effect, place: number, seen: Map<string, number>, crashed: Set<number>): Fault | undefined {
  if (crashed.has(place)) return undefined;
  const edit = run.again?.edits.find((it) => it.place === place)?.decision;
  const rule = run.faults.find((it) => fits(it, effect, seen));
  for (const name of ['', effect.request.kind, named(effect)]) seen.set(name, (seen.get(name) ?? 0) + 1);
  if (edit) return 'fault' in edit ? edit.fault : undefined;
  return rule?.fault;
}

function fits({ on, nth }: FaultRule, effect: Effect, seen: Map<string, number>): boolean {
  if (on !== '' && on !== effect.request.kind && on !== named(effect)) return false;
  return nth === 0 || (seen.get(on) ?? 0) + 1 === nth;
}

/** Recorded answers with their places, what they answer, and how often that was asked for until then. */
function ranked(recorded: Recorded[]) {
  const seen = new Map<string, number>();
  return recorded.map((it, index) => {
    const name = it.request === null ? null : named({ request: JSON.parse(it.request) as Effect['request'] } as Effect);
    const nth = (seen.get(name ?? '') ?? 0) + 1;
    seen.set(name ?? '', nth);
    return { ...it, index, name, nth };
  });
}

function fromEngine(answer: string, origin: Origin): Given {
  const { delay_ms: delayMs = 0 } = JSON.parse(answer) as { delay_ms?: number };
  const completion = memberText(answer, 'completion') ?? '{}';
  return { outcome: memberText(completion, 'outcome') ?? '{}', origin, delayMs };
}

/** What a model says, as the script would say it: a talk that tells it again then has the same hashes. */
function said(text: string): string {
  return JSON.stringify({ ok: { kind: 'llm', text, provider: 'scripted', model: 'scripted' } });
}

