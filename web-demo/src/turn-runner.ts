import { elementTexts } from './json-text';
import type { Answered } from './session/saved';
import type { Effect, Notice, Outcome, Slice, Token } from './types';

/** What driving a turn needs of the engine. */
export interface TurnEngine {
  start(message: string): string;
  resume(completions: string): string;
  abandon(why: 'timeout' | 'lost', at: number): string;
  journal(): string;
  restore(journal: string): string;
}

/** What comes of an effect: its answer, or what happens in place of one. */
export type Fulfilled =
  | { completion: string; answered: Omit<Answered, 'seq'> }
  /** No answer came before the turn was given up. */
  | { abandon: number }
  /** The process ended, and another one takes the turn over. */
  | { crash: true };

/** Answers one effect; gets its text as well, because `1.0` must not come back as `1`. */
export type Fulfil = (effect: Effect, text: string, place: number) => Promise<Fulfilled>;

/** Whoever follows a turn while it runs. */
export interface Watch {
  notices(notices: Notice[]): void;
  effect(effect: Effect): void;
  answer(answered: Answered): void;
  /** What was told so far is told again from the beginning. */
  again(): void;
  /** A piece of an answer that is still being made. */
  token?: (token: Token) => void;
}

/** What a driven turn leaves behind. */
export interface Driven {
  outcome: Outcome;
  notices: Notice[];
  answered: Answered[];
}

/** Runs one turn to its end, answering its effects one at a time. */
export async function drive(engine: TurnEngine, message: string, watch: Watch, fulfil: Fulfil): Promise<Driven> {
  const answered: Answered[] = [];
  let notices: Notice[] = [];
  let open: { text: string; seq: number }[] = [];
  let text = engine.start(message);
  for (;;) {
    const slice = JSON.parse(text) as Slice;
    notices.push(...slice.notices);
    watch.notices(slice.notices);
    slice.effects.forEach((it) => watch.effect(it));
    if (slice.end) return { outcome: slice.end, notices, answered };
    const seq = (notices.at(-1)?.seq ?? -1) + 1;
    if (slice.effects.length > 0) open.push(...elementTexts(text, 'effects').map((it) => ({ text: it, seq })));
    const effect = open.shift();
    if (effect === undefined) throw new Error('the turn neither ended nor asked for anything: report this pack');
    const fulfilled = await fulfil(JSON.parse(effect.text) as Effect, effect.text, answered.length);
    if ('completion' in fulfilled) {
      const told = { ...fulfilled.answered, seq: effect.seq };
      answered.push(told);
      watch.answer(told);
      text = engine.resume(`[${fulfilled.completion}]`);
    } else if ('abandon' in fulfilled) {
      text = engine.abandon('timeout', fulfilled.abandon);
    } else {
      text = engine.restore(engine.journal());
      [notices, open] = [[], []];
      watch.again();
    }
  }
}
