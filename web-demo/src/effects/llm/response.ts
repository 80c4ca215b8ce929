import { ModelError } from './model-error';
import type { AnswerMode } from './call';

/** The response of a model so far, independent of the provider. */
export class ModelResponse {
  text = '';
  /** The refusal given instead of an answer. */
  refusal = '';
  /** The model that answered, if the provider names it. */
  model = '';
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  stopReason: 'done' | 'cut' | 'refused' = 'done';
  /** Whether the provider has marked the end of the response. */
  isComplete = false;

  /** Validates that the response is a usable answer; throws a `ModelError` otherwise. */
  validate(mode: AnswerMode): void {
    if (!this.isComplete) throw ModelError.truncated();
    if (this.stopReason === 'refused' || this.refusal) throw ModelError.refusal(this.refusal);
    if (this.stopReason === 'cut' && mode !== 'text') throw ModelError.unusable('its JSON was truncated');
    if (!this.text) throw ModelError.unusable('it is empty');
  }
}
