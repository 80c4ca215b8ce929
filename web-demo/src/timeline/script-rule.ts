import type { ScriptRule } from '../pack/script';
import type { Answered } from '../session/saved';

/**
 * Makes a rule of what a model answered; nothing for what has no text.
 *
 * A model that is asked for the same thing several times in a turn gets a rule that gives all of its answers in their order.
 */
export function scriptRule(answered: Answered[], of: Answered): ScriptRule | undefined {
  const asks = asksOf(of);
  if (!asks || textOf(of) === undefined) return undefined;
  const alike = answered.filter((it) => asksOf(it)?.purpose === asks.purpose && asksOf(it)?.userText === asks.userText);
  return { ...asks, replies: alike.flatMap((it) => textOf(it) ?? []) };
}

function asksOf({ effect: { request } }: Answered): Omit<ScriptRule, 'replies'> | undefined {
  const { kind, purpose, user_text: userText } = request;
  if (kind !== 'llm' || typeof purpose !== 'string') return undefined;
  return { purpose, userText: typeof userText === 'string' && userText !== '' ? userText : undefined };
}

function textOf({ completion: { outcome } }: Answered): string | undefined {
  const text = 'ok' in outcome ? outcome.ok['text'] : undefined;
  return typeof text === 'string' ? text : undefined;
}
