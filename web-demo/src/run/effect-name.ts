import { title } from '../exchange';
import type { Effect } from '../types';

/** Names an effect by its kind and what it is about, as faults do. */
export function named(effect: Effect): string {
  return `${effect.request.kind} ${title(effect)}`;
}
