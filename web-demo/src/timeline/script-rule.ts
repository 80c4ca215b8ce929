import type { ScriptRule } from '../pack/script';
import type { AnsweredEffect } from '../session/turn-data';

/**
 * Creates a script rule from a model answer; `undefined` for answers without text.
 *
 * If a turn made the same request several times, the rule has all of its answers in order.
 */
export function createScriptRule(answered: AnsweredEffect[], of: AnsweredEffect): ScriptRule | undefined {
  const asks = ruleConditions(of);
  if (!asks || replyText(of) === undefined) return undefined;
  const alike = answered.filter((it) => ruleConditions(it)?.purpose === asks.purpose && ruleConditions(it)?.userText === asks.userText);
  return { ...asks, replies: alike.flatMap((it) => replyText(it) ?? []) };
}

function ruleConditions({ effect: { request } }: AnsweredEffect): Omit<ScriptRule, 'replies'> | undefined {
  const { kind, purpose, user_text: userText } = request;
  if (kind !== 'llm' || typeof purpose !== 'string') return undefined;
  return { purpose, userText: typeof userText === 'string' && userText !== '' ? userText : undefined };
}

function replyText({ completion: { outcome } }: AnsweredEffect): string | undefined {
  const text = 'ok' in outcome ? outcome.ok['text'] : undefined;
  return typeof text === 'string' ? text : undefined;
}
