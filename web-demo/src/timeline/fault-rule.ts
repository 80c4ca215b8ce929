import type { FaultRule } from '../protocol';
import { faultTitle } from '../run/fault';
import { effectKind, KIND_LABELS } from './kind';

/** Which occurrences in a turn a rule applies to; 0 for all. */
export const OCCURRENCES = [0, 1, 2, 3];

/** Formats which occurrences in a turn a rule applies to. */
export function occurrenceText(nth: number): string {
  const names = ['every time', 'first time in a turn', 'second time in a turn', 'third time in a turn'];
  return names[nth] ?? `occurrence ${nth} in a turn`;
}

/** Formats the target of a rule: all effects, one kind, or one name. */
export function ruleTarget({ on }: FaultRule): string {
  if (on === '') return 'Every effect';
  const [kind = '', ...name] = on.split(' ');
  const word = KIND_LABELS[effectKind({ request: { kind } })];
  return name.length === 0 ? `Every ${word.toLowerCase()}` : `${word} ${name.join(' ')}`;
}

/** Formats the fault of a rule and when it applies. */
export function ruleText(rule: FaultRule): string {
  return `${faultTitle(rule.fault)}, ${occurrenceText(rule.nth)}`;
}
