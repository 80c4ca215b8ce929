import { effectTitle, isHandoff } from '../exchange';
import type { Effect } from '../types';

/** Names an effect by kind and title, as fault rules do. */
export function effectName(effect: Effect): string {
  if (effect.request.kind === 'script') return 'script';
  return `${isHandoff(effect) ? 'handoff' : effect.request.kind} ${effectTitle(effect)}`;
}
