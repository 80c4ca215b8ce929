import { runTurn as runPackageTurn } from 'convengine/turn-runner';
import type { AnsweredEffect } from './session/turn-data';
import type { Effect, Notice, Outcome, Token } from './types';

/** The engine methods that running a turn needs. */
export interface TurnEngine {
  start(message: string): string;
  effects(): string[];
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

/** Runs one turn to its end by the runner of the npm package, and records its exchanges. */
export async function runTurn(engine: TurnEngine, message: string, observer: TurnObserver, handleEffect: EffectHandler): Promise<TurnResult> {
  const exchanges: AnsweredEffect[] = [];
  /** The number of the next notice when an effect was requested. */
  const requestedAt = new Map<number, number>();
  let next = 0;
  const answer = async (effect: Effect, text: string) => {
    const result = await handleEffect(effect, text, exchanges.length);
    if ('completion' in result) {
      const exchange = { ...result.exchange, seq: requestedAt.get(effect.id) ?? 0 };
      exchanges.push(exchange);
      observer.answer(exchange);
    }
    return result;
  };
  const { outcome, notices } = await runPackageTurn(engine, message, answer, {
    notices(list) {
      next = (list.at(-1)?.seq ?? next - 1) + 1;
      observer.notices(list);
    },
    effect(effect) {
      requestedAt.set(effect.id, next);
      observer.effect(effect);
    },
    restart() {
      next = 0;
      observer.restart();
    },
  });
  return { outcome, notices, exchanges };
}
