import { duration } from './pretty';
import type { Answered, Said } from './session/saved';
import { tokensOf } from './tokens';
import type { TurnRecord } from './types';

/** A turn as far as what it cost is read from it. */
export interface Spending {
  said: Said;
  answered: Answered[];
  record: TurnRecord | undefined;
  /** How many of its model calls were made anew. */
  newCalls: number;
  /** Why it branches off; empty where it goes on. */
  reason: string;
}

/** What a turn cost. */
export interface Spent {
  effects: number;
  calls: number;
  /** Tokens of all calls whose provider told them. */
  tokens: { input: number; output: number };
  /** Milliseconds that passed by the clock of the conversation. */
  passed: number;
  /** Milliseconds that it took here, once it has ended. */
  real: number | undefined;
}

/** Adds up what a turn cost. */
export function spent({ said, answered, record }: Spending): Spent {
  const tokens = { input: 0, output: 0 };
  let last = said.at;
  for (const { completion } of answered) {
    last = Math.max(last, completion.at);
    const { input, output } = tokensOf(completion);
    tokens.input += input;
    tokens.output += output;
  }
  const calls = answered.filter((it) => it.effect.request.kind === 'llm').length;
  return { effects: answered.length, calls, tokens, passed: last - said.at, real: record?.durationMs };
}

/** Tells what a turn cost: in one line, and in sentences that say what each number is. */
export function spentText(turn: Spending): { line: string; long: string } {
  const { effects, calls, tokens, passed, real } = spent(turn);
  const sum = tokens.input + tokens.output;
  const line = [
    calls > 0 ? called(calls, turn) : effects > 0 && some(effects, 'effect'),
    sum > 0 && `${sum} tokens`,
    passed > 0 && `took ${duration(passed)}`,
    real !== undefined && `ran in ${duration(real)}`,
  ];
  const long = [
    effects > 0 && `The engine asked for ${some(effects, 'effect')}, ${calls} of a model (${turn.newCalls} anew).`,
    sum > 0 && `${tokens.input} tokens were read and ${tokens.output} written.`,
    passed > 0 && `${duration(passed)} passed by the clock of the conversation.`,
    real !== undefined && `It ran here in ${duration(real)} of real time.`,
  ];
  return { line: line.filter(Boolean).join(', '), long: long.filter(Boolean).join(' ') };
}

/** That nothing was asked anew is news only of a branch. */
function called(calls: number, { newCalls, reason }: Spending): string {
  if (newCalls === calls) return some(calls, 'new model call');
  const told = newCalls > 0 || reason !== '';
  return some(calls, 'model call') + (told ? ` (${newCalls} new)` : '');
}

function some(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
