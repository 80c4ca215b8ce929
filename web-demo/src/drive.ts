import { elementTexts, memberText } from './json-text';
import type { Completion, Effect, Exchange, Notice, Outcome, Slice, Token } from './types';

/** What driving a turn needs of the engine. */
export interface TurnEngine {
  start(message: string): string;
  answer(effect: string, at?: number): string;
  resume(completions: string): string;
}

/** Time for a live chat; a turn that is played has none and runs on the engine's virtual clock. */
export interface Clock {
  now(): number;
  wait(milliseconds: number): Promise<void>;
}

/** Answers an effect that the engine does not answer by itself; nothing for all others. */
export type Elsewhere = (effect: Effect, text: string, now?: () => number) => Promise<string> | undefined;

/** Whoever follows a turn while it runs. */
export interface Watch {
  notices(notices: Notice[]): void;
  effect(effect: Effect): void;
  answer(exchange: Exchange): void;
  /** A piece of an answer that is still being made. */
  token?: (token: Token) => void;
}

/** What a driven turn leaves behind. */
export interface Driven {
  outcome: Outcome;
  notices: Notice[];
  exchanges: Exchange[];
}

/** Runs one turn to its end, answering its effects from the pack one at a time. */
export async function drive(engine: TurnEngine, message: string, watch: Watch, clock?: Clock, elsewhere?: Elsewhere): Promise<Driven> {
  const notices: Notice[] = [];
  const exchanges: Exchange[] = [];
  const open: string[] = [];
  let text = engine.start(message);
  for (;;) {
    const slice = JSON.parse(text) as Slice;
    notices.push(...slice.notices);
    watch.notices(slice.notices);
    slice.effects.forEach((it) => watch.effect(it));
    if (slice.end) return { outcome: slice.end, notices, exchanges };
    if (slice.effects.length > 0) open.push(...elementTexts(text, 'effects'));
    const effect = open.shift();
    if (effect === undefined) throw new Error('the turn neither ended nor asked for anything: report this pack');
    const { exchange, completion } = await fulfil(engine, effect, clock, elsewhere);
    exchanges.push(exchange);
    watch.answer(exchange);
    text = engine.resume(`[${completion}]`);
  }
}

/** Asks the pack, or who else has it, for an answer. Texts travel unparsed, because `1.0` must not come back as `1`. */
async function fulfil(engine: TurnEngine, text: string, clock?: Clock, elsewhere?: Elsewhere) {
  const effect = JSON.parse(text) as Effect;
  const now = clock && (() => clock.now());
  const answer = (await elsewhere?.(effect, text, now)) ?? (clock ? engine.answer(text, clock.now()) : engine.answer(text));
  const parsed = JSON.parse(answer) as { completion: Completion; delay_ms?: number };
  const completion = memberText(answer, 'completion');
  if (completion === undefined) throw new Error('the pack gave no completion for an effect: report this pack');
  const delayMs = parsed.delay_ms ?? 0;
  if (clock && delayMs > 0) await clock.wait(delayMs);
  const exchange: Exchange = { effect, completion: parsed.completion, delayMs };
  return { exchange, completion };
}
