import { effectTitle } from '../exchange';
import type { Effect } from '../types';

/** Names an effect by kind and title, as fault rules do. */
export function effectName(effect: Effect): string {
  return `${effect.request.kind} ${effectTitle(effect)}`;
}
