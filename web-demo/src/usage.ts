import { formatDuration } from './format';
import { plural } from './plural';
import type { AnsweredEffect, UserInput } from './session/turn-data';
import { tokenUsage } from './token-usage';
import type { TurnRecord } from './types';

/** The parts of a turn that its usage is computed from. */
export interface UsageSource {
  input: UserInput;
  exchanges: AnsweredEffect[];
  record: TurnRecord | undefined;
  /** Number of new model calls. */
  newCallCount: number;
  /** Why it starts a branch; empty if it continues one. */
  reason: string;
}

/** The usage of a turn. */
export interface TurnUsage {
  effects: number;
  calls: number;
  /** Tokens of all calls whose provider reported them. */
  tokens: { input: number; output: number };
  /** Duration on the conversation's clock, in milliseconds. */
  elapsedMs: number;
  /** Real duration in milliseconds; undefined until it has ended. */
  durationMs: number | undefined;
}

/** Computes the usage of a turn. */
export function turnUsage({ input: input, exchanges, record }: UsageSource): TurnUsage {
  const tokens = { input: 0, output: 0 };
  let last = input.at;
  for (const { completion } of exchanges) {
    last = Math.max(last, completion.at);
    const used = tokenUsage(completion);
    tokens.input += used.input;
    tokens.output += used.output;
  }
  const calls = exchanges.filter((it) => it.effect.request.kind === 'llm').length;
  return { effects: exchanges.length, calls, tokens, elapsedMs: last - input.at, durationMs: record?.durationMs };
}

/** Formats the usage of a turn: in one line, and in full sentences. */
export function usageText(turn: UsageSource): { line: string; long: string } {
  const { effects, calls, tokens, elapsedMs, durationMs } = turnUsage(turn);
  const sum = tokens.input + tokens.output;
  const line = [
    calls > 0 ? callsText(calls, turn) : effects > 0 && plural(effects, 'effect'),
    sum > 0 && plural(sum, 'token'),
    elapsedMs > 0 && `took ${formatDuration(elapsedMs)}`,
    durationMs !== undefined && `ran in ${formatDuration(durationMs)}`,
  ];
  const long = [
    effects > 0 && `The engine requested ${plural(effects, 'effect')}, including ${plural(calls, 'model call')} (${turn.newCallCount} new).`,
    sum > 0 && `${tokens.input} input and ${tokens.output} output tokens.`,
    elapsedMs > 0 && `${formatDuration(elapsedMs)} on the conversation’s clock.`,
    durationMs !== undefined && `${formatDuration(durationMs)} of real time.`,
  ];
  return { line: line.filter(Boolean).join(', '), long: long.filter(Boolean).join(' ') };
}

/** Formats model calls; '0 new' is shown on branches only. */
function callsText(calls: number, { newCallCount, reason }: UsageSource): string {
  if (newCallCount === calls) return plural(calls, 'new model call');
  const showNew = newCallCount > 0 || reason !== '';
  return plural(calls, 'model call') + (showNew ? ` (${newCallCount} new)` : '');
}
