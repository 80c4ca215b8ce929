import type { FaultRule } from '../protocol';
import { faultTitle } from '../run/fault';
import { effectKind, KIND_LABELS } from './kind';

/** Which calls of a turn a rule may strike, in the order in which people are offered them: 0 for each. */
export const OCCURRENCES = [0, 1, 2, 3];

/** Says which calls of a turn a rule strikes. */
export function occurrenceText(nth: number): string {
  const names = ['each time', 'the first time in a turn', 'the second time in a turn', 'the third time in a turn'];
  return names[nth] ?? `time ${nth} in a turn`;
}

/** Says what a rule strikes: one kind of effects, those of one name, or all. */
export function ruleTarget({ on }: FaultRule): string {
  if (on === '') return 'Every effect';
  const [kind = '', ...name] = on.split(' ');
  const word = KIND_LABELS[effectKind({ request: { kind } })];
  return name.length === 0 ? `Every ${word.toLowerCase()}` : `${word} ${name.join(' ')}`;
}

/** Says what a rule does and when. */
export function ruleText(rule: FaultRule): string {
  return `${faultTitle(rule.fault)}, ${occurrenceText(rule.nth)}`;
}
