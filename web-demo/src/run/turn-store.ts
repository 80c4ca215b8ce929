import type { Engine } from 'convengine-wasm';
import { drive, type Driven, type Watch } from '../drive';
import { Extensions } from '../fulfil/extension';
import type { Live, Reach } from '../fulfil/live';
import { elementTexts, memberText } from '../json-text';
import { messageText, type Ask, type Decision, type Journaled, type Run } from '../protocol';
import type { Answered, Said } from '../session/saved';
import type { Completion, Effect, Notice, Seen, Slice, StepInfo, TurnRecord, Why } from '../types';
import { eventOf, eventWords } from '../flow/event';
import { answers } from './answers';
import type { Programs } from './programs';

/** A finished turn as the worker keeps it: all that it cannot derive again. */
interface Stored {
  journal: string;
  /** The text of the pack that it ran on. */
  pack: string;
  /** The hash of what that compiles to. */
  config: string;
  /** The conversation as stored after it. */
  after: string;
  /** The engine that ran it, and where its script stood afterwards. */
  engine: Engine;
  mark: number;
}

/** Engines that are kept for packs that have been edited since. */
const ENGINES_KEPT = 6;

/** The turns of all branches, each with what it takes to look at it again. */
export class Turns {
  readonly extensions = new Extensions();
  private readonly stored = new Map<number, Stored>();
  private readonly engines = new Map<string, Engine>();
  /** A second engine, so that somebody can look at a turn while another one waits for an answer. */
  private viewer: { engine: Engine; pack: string; turn: number | undefined } | undefined;
  private lately: { reach: string; live: Promise<Live> } | undefined;
  private pack = '';
  /** The engine of a turn that runs, while other packs are loaded. */
  private busy: Engine | undefined;

  constructor(private readonly programs: Pick<Programs, 'open'>) {}

  /** Takes the pack that turns run on from now on, with an engine of it. */
  use(pack: string, engine: Engine): void {
    this.pack = pack;
    // The one that is there knows where the script stood after each of its turns.
    if (this.engines.has(pack)) engine.free();
    else this.hold(pack, engine);
  }

  /** Runs a turn and keeps it under a number of its own. */
  async run(turn: number, run: Run, watch: Watch, ask: (ask: Ask) => Promise<Decision | 'stop'>): Promise<TurnRecord> {
    const pack = run.pack ?? this.pack;
    const engine = this.engines.get(pack) ?? (run.pack === undefined ? undefined : this.hold(pack, this.programs.open(pack)));
    if (!engine) throw new Error('no pack is loaded: choose one');
    const parent = run.parent === null ? undefined : this.kept(run.parent);
    const before = run.before === null ? undefined : this.kept(run.before);
    engine.place(run.said.conversationId, before?.after);
    engine.back(parent?.engine === engine ? parent.mark : undefined);
    const around = { engine, pack, extensions: this.extensions, live: () => this.living(run.reach), watch, salt: salt(), ask };
    const begin = performance.now();
    this.busy = engine;
    const driven = await drive(engine, messageText(run.said), watch, answers(run, around)).finally(() => (this.busy = undefined));
    return this.keep(turn, engine, pack, run.said, driven, performance.now() - begin);
  }

  /** Runs a recorded turn again, on the pack that it ran on, and keeps it under a number of its own. */
  adopt(turn: number, journal: string, pack: string, before: number | null): TurnRecord {
    const engine = this.engines.get(pack) ?? this.hold(pack, this.programs.open(pack));
    const parent = before === null ? undefined : this.kept(before);
    engine.back(parent?.engine === engine ? parent.mark : undefined);
    const begin = performance.now();
    const { end, notices } = JSON.parse(engine.restore(journal, true)) as Slice;
    if (!end) throw new Error('the journal ends before its turn does: export it again when the turn has ended');
    // Journals that are stored keep no requests; the turn that was run again has asked them anew.
    const whole = engine.journal();
    const answered = elementTexts(whole, 'entries').map((it) => answeredOf(it, notices));
    return this.keep(turn, engine, pack, saidOf(whole), { outcome: end, notices, answered }, performance.now() - begin);
  }

  /** Lets the keys and secrets of the latest calls go. */
  forgetKeys(): void {
    this.lately = undefined;
  }

  /** Runs a turn again, watched. */
  look(turn: number): Seen {
    return seen(this.looking(turn));
  }

  /** Gives the session before and after a step of a turn. */
  step(turn: number, index: number): { before: string; after: string | null } {
    const text = this.looking(turn).step(index);
    const after = memberText(text, 'after') ?? 'null';
    return { before: memberText(text, 'before') ?? '{}', after: after === 'null' ? null : after };
  }

  /** Gives the journals of turns, with the packs that they ran on. */
  journals(turns: number[]): Journaled[] {
    return turns.map((it) => {
      const { journal, pack, config } = this.kept(it);
      return { journal, pack, config, stateHash: this.looking(it).state_hash() };
    });
  }

  /** Keeps an engine, and lets the oldest one go that no turn runs on. */
  private hold(pack: string, engine: Engine): Engine {
    this.engines.set(pack, engine);
    for (const [text, old] of this.engines) {
      if (this.engines.size <= ENGINES_KEPT) break;
      if (text === pack || text === this.pack || old === this.busy) continue;
      old.free();
      this.engines.delete(text);
    }
    return engine;
  }

  /** Lets turns go that nobody can go on from any more. */
  forget(turns: number[]): void {
    turns.forEach((it) => this.stored.delete(it));
  }

  private looking(turn: number): Engine {
    const { pack, journal } = this.kept(turn);
    if (this.viewer?.pack !== pack) {
      this.viewer?.engine.free();
      this.viewer = { engine: this.programs.open(pack), pack, turn: undefined };
    }
    if (this.viewer.turn !== turn) this.viewer.engine.restore(journal, true);
    this.viewer.turn = turn;
    return this.viewer.engine;
  }

  private kept(turn: number): Stored {
    const stored = this.stored.get(turn);
    if (!stored) throw new Error('the engine has forgotten this turn: play its branch again from the first turn');
    return stored;
  }

  private keep(turn: number, engine: Engine, pack: string, said: Said, driven: Driven, durationMs: number): TurnRecord {
    const [journal, config] = [engine.journal(), engine.hash()];
    this.stored.set(turn, { journal, pack, config, after: engine.conversation(driven.outcome.conversation_id), engine, mark: engine.mark() });
    return { turn, said, ...driven, journal, hash: engine.turn_hash(), config, durationMs, ...seen(engine) };
  }

  /** The same as before while nothing changed, because it learns which model takes what. */
  private living(reach: Reach): Promise<Live> {
    const text = JSON.stringify(reach);
    if (this.lately?.reach !== text) this.lately = { reach: text, live: import('../fulfil/live').then((it) => new it.Live(reach)) };
    return this.lately.live;
  }
}

/** What there is to see of a turn; nothing of one that was not watched. */
function seen(engine: Engine): Seen {
  return { steps: JSON.parse(engine.steps()) as StepInfo[], whys: JSON.parse(engine.whys()) as Why[], stateHash: engine.state_hash() };
}

function salt(): string {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((it) => it.toString(16).padStart(2, '0')).join('') + '-';
}

/** A journal as far as the page reads it. */
interface Journal {
  input: { conversation: string; at: number; seed: number; event: { text: string | null; reset: boolean } };
}

interface Entry {
  effect: number;
  at: number;
  request: Effect['request'] | null;
  outcome: Completion['outcome'];
}

function saidOf(text: string): Said {
  const { input } = JSON.parse(text) as Journal;
  const event = memberText(memberText(text, 'input') ?? '{}', 'event') ?? '{}';
  const params = memberText(event, 'params') ?? '{}';
  const flow = memberText(event, 'flow');
  const happens = eventOf(flow);
  return {
    conversation: 'main',
    conversationId: input.conversation,
    message: happens ? eventWords(happens) : (input.event.text ?? ''),
    inputParams: params === '{}' ? '' : params,
    reset: input.event.reset,
    at: input.at,
    seed: input.seed,
    ...(flow === undefined ? {} : { event: flow }),
  };
}

function answeredOf(text: string, notices: Notice[]): Answered {
  const { effect: id, at, request, outcome } = JSON.parse(text) as Entry;
  const effect: Effect = { id, key: '', class: 'read', deadline_ms: 0, request: request ?? { kind: 'recorded' } };
  const raw = { request: memberText(text, 'request') ?? 'null', outcome: memberText(text, 'outcome') ?? '{}' };
  return { effect, completion: { id, at, outcome }, delayMs: 0, origin: 'recorded', seq: notices.find((it) => it.at >= at)?.seq ?? notices.length, raw };
}
