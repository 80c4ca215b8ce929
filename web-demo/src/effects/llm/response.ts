import { Failed } from './failed';
import type { Mode } from './call';

/** What a model has said so far, in the form that all providers share. */
export class Said {
  text = '';
  /** What the model says instead of an answer. */
  refusal = '';
  /** Who says it, where the provider tells. */
  model = '';
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  ending: 'done' | 'cut' | 'refused' = 'done';
  /** Whether the provider has said that there is no more. */
  complete = false;

  /** Makes sure that it is an answer, or throws why it is none. */
  end(mode: Mode): void {
    if (!this.complete) throw Failed.truncated();
    if (this.ending === 'refused' || this.refusal) throw Failed.refusal(this.refusal);
    if (this.ending === 'cut' && mode !== 'text') throw Failed.unreadable('it was cut off before its JSON was complete');
    if (!this.text) throw Failed.unreadable('it is empty');
  }
}
