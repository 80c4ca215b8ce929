import type { Engine } from 'convengine-wasm';
import { runTurn, type TurnResult, type TurnObserver } from '../turn-runner';
import { ExtensionRunner } from '../effects/extension';
import type { LiveEffects, LiveAccess } from '../effects/live';
import { ScriptEffects } from '../effects/script';
import { loadInterpreter } from './load-interpreter';
import { messageText, type Ask, type Decision, type TurnJournal, type Run } from '../protocol';
import type { AnsweredEffect, UserInput } from '../session/turn-data';
import type { Completion, Effect, Notice, RecordedExchange, TurnDetails, TurnMessage, Slice, StepInfo, StepSessions, TurnRecord } from '../types';
import { parseEvent, eventText } from '../flow/event';
import { createEffectHandler } from './effect-handler';

/** A finished turn in the worker: everything that cannot be derived. */
interface StoredTurn {
  journal: string;
  /** Text of the pack that it ran on. */
  pack: string;
  /** Hash of the compiled configuration. */
  config: string;
  /** The conversation as stored after the turn. */
  after: string;
  /** The engine that ran it, and the script position after it. */
  engine: Engine;
  mark: number;
}

/** Maximum number of cached engines, for earlier versions of an edited pack. */
const MAX_ENGINES = 6;

/** Runs turns and stores those of all branches, so that they can be continued and inspected. */
export class TurnStore {
  readonly extensions = new ExtensionRunner();
  readonly scripts = new ScriptEffects(loadInterpreter);
  private readonly stored = new Map<number, StoredTurn>();
  private readonly engines = new Map<string, Engine>();
  /** A second engine, to inspect a turn while another one waits for an answer. */
  private viewer: { engine: Engine; pack: string; turn: number | undefined } | undefined;
  private latestLive: { key: string; live: Promise<LiveEffects> } | undefined;
  private pack = '';
  /** The engine of the running turn, which must not be freed. */
  private runningEngine: Engine | undefined;

  /** `compile` makes the engine of a pack. */
  constructor(private readonly compile: (pack: string) => Engine) {}

  /** Sets the pack of future turns, with its engine. */
  usePack(pack: string, engine: Engine): void {
    this.pack = pack;
    // The cached engine has the script marks of its turns.
    if (this.engines.has(pack)) engine.free();
    else this.cacheEngine(pack, engine);
  }

  /** Runs a turn and stores it by its number. */
  async run(turn: number, run: Run, observer: TurnObserver, ask: (ask: Ask) => Promise<Decision | 'stop'>): Promise<TurnRecord> {
    const pack = run.pack ?? this.pack;
    const engine = this.engines.get(pack) ?? (run.pack === undefined ? undefined : this.cacheEngine(pack, this.compile(pack)));
    if (!engine) throw new Error('no pack is loaded; choose one');
    const parent = run.parent === null ? undefined : this.getTurn(run.parent);
    const before = run.before === null ? undefined : this.getTurn(run.before);
    engine.setConversation(run.input.conversationId, before?.after);
    engine.rewind(parent?.engine === engine ? parent.mark : undefined);
    const options = { engine, pack, extensions: this.extensions, scripts: this.scripts, live: () => this.getLive(run.liveAccess), observer: observer, salt: randomSalt(), ask };
    const begin = performance.now();
    this.runningEngine = engine;
    const result = await runTurn(engine, messageText(run.input), observer, createEffectHandler(run, options)).finally(() => (this.runningEngine = undefined));
    return this.storeTurn(turn, engine, pack, run.input, result, performance.now() - begin);
  }

  /** Replays a turn from its journal, on its own pack, and stores it by its number. */
  replay(turn: number, journal: string, pack: string, before: number | null): TurnRecord {
    const engine = this.engines.get(pack) ?? this.cacheEngine(pack, this.compile(pack));
    const parent = before === null ? undefined : this.getTurn(before);
    engine.rewind(parent?.engine === engine ? parent.mark : undefined);
    const begin = performance.now();
    const { end, notices } = JSON.parse(engine.restore(journal, true)) as Slice;
    if (!end) throw new Error('the journal is incomplete; export it again after the turn has ended');
    // Stored journals contain no requests; the replay has produced them again.
    const exchanges = engine.exchanges().map((it) => toAnsweredEffect(it, notices));
    return this.storeTurn(turn, engine, pack, toUserInput(engine.message(), 'main'), { outcome: end, notices, exchanges }, performance.now() - begin);
  }

  /** Discards the keys and secrets of recent calls. */
  forgetKeys(): void {
    this.latestLive = undefined;
  }

  /** Replays a turn with observation and returns its details. */
  inspect(turn: number): TurnDetails {
    return readDetails(this.inspectedEngine(turn));
  }

  /** Returns the session before and after a step. */
  sessionsAround(turn: number, index: number): StepSessions {
    return this.inspectedEngine(turn).step(index);
  }

  /** Returns the journals of turns, with their packs. */
  journals(turns: number[]): TurnJournal[] {
    return turns.map((it) => {
      const { journal, pack, config } = this.getTurn(it);
      return { journal, pack, config, stateHash: this.inspectedEngine(it).stateHash() };
    });
  }

  /** Searches a knowledge base of the loaded pack; takes and returns JSON text. */
  searchKnowledge(search: string): string {
    const engine = this.engines.get(this.pack);
    if (!engine) throw new Error('no pack is loaded; choose one');
    return engine.searchKnowledge(search);
  }

  /** Caches an engine and frees the oldest idle ones. */
  private cacheEngine(pack: string, engine: Engine): Engine {
    this.engines.set(pack, engine);
    for (const [text, old] of this.engines) {
      if (this.engines.size <= MAX_ENGINES) break;
      if (text === pack || text === this.pack || old === this.runningEngine) continue;
      old.free();
      this.engines.delete(text);
    }
    return engine;
  }

  /** Deletes turns that cannot be continued any more. */
  deleteTurns(turns: number[]): void {
    turns.forEach((it) => this.stored.delete(it));
  }

  private inspectedEngine(turn: number): Engine {
    const { pack, journal } = this.getTurn(turn);
    if (this.viewer?.pack !== pack) {
      this.viewer?.engine.free();
      this.viewer = { engine: this.compile(pack), pack, turn: undefined };
    }
    if (this.viewer.turn !== turn) this.viewer.engine.restore(journal, true);
    this.viewer.turn = turn;
    return this.viewer.engine;
  }

  private getTurn(turn: number): StoredTurn {
    const stored = this.stored.get(turn);
    if (!stored) throw new Error('the engine no longer has this turn; replay its branch from the first turn');
    return stored;
  }

  private storeTurn(turn: number, engine: Engine, pack: string, input: UserInput, result: TurnResult, durationMs: number): TurnRecord {
    const [journal, config] = [engine.journal(), engine.hash()];
    this.stored.set(turn, { journal, pack, config, after: engine.conversation(result.outcome.conversation_id), engine, mark: engine.mark() });
    return { turn, input, ...result, journal, hash: engine.turnHash(), config, durationMs, ...readDetails(engine) };
  }

  /** Returns the live effects, reused while the settings are unchanged because they learn what models support. */
  private getLive(access: LiveAccess): Promise<LiveEffects> {
    const text = JSON.stringify(access);
    if (this.latestLive?.key !== text) this.latestLive = { key: text, live: import('../effects/live').then((it) => new it.LiveEffects(access)) };
    return this.latestLive.live;
  }
}

/** Reads the details of a turn; empty if it was not observed. */
function readDetails(engine: Engine): TurnDetails {
  const steps = engine.steps().map(includeEntry);
  return { steps, explanations: engine.explanations(), stateHash: engine.stateHash() };
}

/** Lets a step of a flow begin with the notice that its node was entered, as steps of the pipeline do. The engine publishes it first. */
function includeEntry(it: StepInfo): StepInfo {
  return it.step.includes('/') ? { ...it, seq: Math.max(0, it.seq - 1) } : it;
}

function randomSalt(): string {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((it) => it.toString(16).padStart(2, '0')).join('') + '-';
}

/** The input of a turn, from its message. */
export function toUserInput({ conversationId, message, inputParams, reset, at, seed, event }: TurnMessage, conversation: string): UserInput {
  const flowEvent = parseEvent(event);
  return {
    conversation,
    conversationId,
    message: flowEvent ? eventText(flowEvent) : (message ?? ''),
    inputParams: inputParams === '{}' ? '' : inputParams,
    reset,
    at,
    seed,
    ...(event === undefined ? {} : { event }),
  };
}

function toAnsweredEffect({ effect: id, at, request, outcome }: RecordedExchange, notices: Notice[]): AnsweredEffect {
  const raw = { request: request ?? 'null', outcome };
  const effect: Effect = { id, key: '', class: 'read', deadline_ms: 0, request: (JSON.parse(raw.request) as Effect['request'] | null) ?? { kind: 'recorded' } };
  const completion: Completion = { id, at, outcome: JSON.parse(outcome) as Completion['outcome'] };
  return { effect, completion, delayMs: 0, origin: 'recorded', seq: notices.find((it) => it.at >= at)?.seq ?? notices.length, raw };
}
