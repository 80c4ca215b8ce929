import { elementTexts } from './json-text';
import type { AnsweredEffect } from './session/turn-data';
import type { Effect, Notice, Outcome, Slice, Token } from './types';

/** The engine methods that running a turn needs. */
export interface TurnEngine {
  start(message: string): string;
  resume(completions: string): string;
  cancel(reason: 'timeout' | 'lost', at: number): string;
  journal(): string;
  restore(journal: string): string;
}

/** The result of an effect: its completion, or what happens instead. */
export type EffectResult =
  | { completion: string; exchange: Omit<AnsweredEffect, 'seq'> }
  /** The turn times out at this time. */
  | { cancelAt: number }
  /** The process crashes, and another one takes over the turn. */
  | { crash: true };

/** Answers one effect. The text preserves numbers such as `1.0`; `place` is the effect's position in the turn. */
export type EffectHandler = (effect: Effect, text: string, place: number) => Promise<EffectResult>;

/** Observes a turn while it runs. */
export interface TurnObserver {
  notices(notices: Notice[]): void;
  effect(effect: Effect): void;
  answer(answered: AnsweredEffect): void;
  /** Everything published so far is published again from the beginning. */
  restart(): void;
  /** A delta of a streamed answer. */
  token?: (token: Token) => void;
}

/** The result of a turn. */
export interface TurnResult {
  outcome: Outcome;
  notices: Notice[];
  exchanges: AnsweredEffect[];
}

/** Runs one turn to its end and answers its effects one at a time. */
export async function runTurn(engine: TurnEngine, message: string, observer: TurnObserver, handleEffect: EffectHandler): Promise<TurnResult> {
  const exchanges: AnsweredEffect[] = [];
  let notices: Notice[] = [];
  let open: { text: string; seq: number }[] = [];
  let text = engine.start(message);
  for (;;) {
    const slice = JSON.parse(text) as Slice;
    notices.push(...slice.notices);
    observer.notices(slice.notices);
    slice.effects.forEach((it) => observer.effect(it));
    if (slice.end) return { outcome: slice.end, notices, exchanges };
    const seq = (notices.at(-1)?.seq ?? -1) + 1;
    if (slice.effects.length > 0) open.push(...elementTexts(text, 'effects').map((it) => ({ text: it, seq })));
    const effect = open.shift();
    if (effect === undefined) throw new Error('the turn neither ended nor requested an effect; please report this pack');
    const result = await handleEffect(JSON.parse(effect.text) as Effect, effect.text, exchanges.length);
    if ('completion' in result) {
      const exchange = { ...result.exchange, seq: effect.seq };
      exchanges.push(exchange);
      observer.answer(exchange);
      text = engine.resume(`[${result.completion}]`);
    } else if ('cancelAt' in result) {
      text = engine.cancel('timeout', result.cancelAt);
    } else {
      text = engine.restore(engine.journal());
      [notices, open] = [[], []];
      observer.restart();
    }
  }
}
