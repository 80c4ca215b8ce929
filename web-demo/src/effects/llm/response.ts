import { ModelError } from './model-error';
import type { AnswerMode } from './call';
import { countAt, valueAt } from './json-value';
import { ReasoningSplitter } from './reasoning';

/** The response of a model so far, independent of the provider. */
export class ModelResponse {
  /** The answer, and what the model thought aloud. */
  readonly text = new ReasoningSplitter();
  /** The refusal given instead of an answer. */
  refusal = '';
  /** The model that answered, if the provider names it. */
  model = '';
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  stopReason: 'done' | 'cut' | 'refused' = 'done';
  /** Whether the model has ended its answer, of which the provider may still send the usage. */
  hasFinished = false;
  /** Whether the provider has marked the end of the response. */
  isComplete = false;
  /** The number of the answer among several, if the provider numbers them. */
  private choice: number | undefined;

  /** Takes one of the provider's choices; throws a `ModelError` if it is not the one that the answer began with. */
  takeChoice(choice: unknown): void {
    const index = countAt(choice, 'index') ?? 0;
    if ((this.choice ??= index) !== index) throw ModelError.severalChoices();
  }

  /** Adds content: a text, or parts, of which thoughts are kept apart. */
  pushContent(content: unknown): void {
    if (typeof content === 'string') return this.text.push(content);
    if (Array.isArray(content)) return content.forEach((it) => this.pushContent(it));
    if (/^(thinking|reasoning|reasoning_content)$/.test(String(valueAt(content, 'type')))) return this.pushThoughts(content);
    if (content) this.pushContent(valueAt(content, 'text'));
  }

  /** Adds the thoughts of a message or a part, under any name that providers use. */
  pushThoughts(message: unknown): void {
    const names = ['reasoning_content', 'reasoning', 'thinking', 'summary', 'reasoning_details'];
    const name = names.find((it) => (valueAt(message, it) ?? '') !== '');
    if (name !== undefined) this.text.reasoning += thoughtsOf(valueAt(message, name));
  }

  /** Validates that the response is a usable answer; throws a `ModelError` otherwise. */
  validate(mode: AnswerMode): void {
    if (!this.isComplete) throw ModelError.truncated();
    this.text.finish();
    if (this.stopReason === 'refused' || this.refusal) throw ModelError.refusal(this.refusal);
    if (this.stopReason === 'cut' && mode !== 'text') throw ModelError.unusable('its JSON was truncated');
    const { answer, reasoning } = this.text;
    if (!answer) throw ModelError.unusable(reasoning ? 'it has reasoning but no answer' : 'it is empty');
  }
}

/** The text of thoughts: a text, or parts with texts. */
function thoughtsOf(thoughts: unknown): string {
  if (typeof thoughts === 'string') return thoughts;
  if (Array.isArray(thoughts)) return thoughts.map(thoughtsOf).join('');
  const inner = ['text', 'thinking', 'summary'].map((it) => valueAt(thoughts, it)).find((it) => it !== undefined);
  return inner === undefined ? '' : thoughtsOf(inner);
}
