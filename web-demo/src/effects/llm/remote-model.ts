import type { JsonObject } from '../../types';
import { addressOf, problemOf, type Access, type Provider } from './access';
import { anthropic } from './anthropic';
import type { Call, LlmRequest } from './call';
import type { Deltas } from './deltas';
import { Failed } from './failed';
import { ollama } from './ollama';
import { openai } from './openai';
import type { Protocol } from './protocol';
import { Said } from './said';
import { document, events, json, lines, send, type Time } from './wire';

const PROTOCOLS: Record<Provider, Protocol> = { openai, anthropic, ollama };

/** A model, and what was learned about it. */
export class Remote {
  /** Provider and model. */
  readonly name: string;
  private readonly protocol: Protocol;
  private readonly model: string;
  private temperature: number | undefined = 0;
  private completionTokens = false;

  constructor(private readonly access: Access) {
    this.model = access.model.trim();
    this.name = `${access.provider}:${this.model}`;
    this.protocol = PROTOCOLS[access.provider];
  }

  /** Asks once, and shows the pieces of the answer when there is somebody to show them to; throws `Failed`. */
  async ask(request: LlmRequest, deltas: Deltas | undefined, time: Time): Promise<JsonObject & { kind: string }> {
    const problem = problemOf(this.access);
    if (problem) throw new Failed('denied', 'next', problem);
    for (;;) {
      const { model, temperature, completionTokens } = this;
      const call = { request, model, temperature, completionTokens, stream: deltas !== undefined };
      try {
        return this.reply(await this.once(call, deltas, time));
      } catch (error) {
        if (!(error instanceof Failed && this.learns(call, error))) throw error;
      }
    }
  }

  private async once(call: Call, deltas: Deltas | undefined, time: Time): Promise<Said> {
    const { path, headers, body } = this.protocol;
    const url = addressOf(this.access) + path;
    const response = await send(url, headers(this.access.key.trim()), JSON.stringify(body(call)), time);
    const said = new Said();
    if (deltas) {
      await this.inPieces(call, said, response, deltas, time);
    } else {
      const text = await document(response, time);
      this.protocol.whole(call, said, json(text), text);
    }
    said.end(call.request.mode);
    deltas?.end();
    return said;
  }

  private async inPieces(call: Call, said: Said, response: Response, deltas: Deltas, time: Time): Promise<void> {
    const all = this.protocol.pieces === 'events' ? events(response, time) : lines(response, time);
    for await (const piece of all) {
      const shown = said.text.length;
      this.protocol.part(call, said, piece);
      deltas.push(said.text.slice(shown));
      if (said.complete) return;
    }
  }

  private reply({ text, model, inputTokens, outputTokens }: Said): JsonObject & { kind: string } {
    const counted = inputTokens !== undefined && outputTokens !== undefined;
    return {
      kind: 'llm',
      // Half a pair of surrogates is no text for anybody but JavaScript.
      text: text.toWellFormed(),
      provider: this.access.provider,
      model: model.toWellFormed() || this.model,
      ...(counted ? { usage: { input_tokens: inputTokens, output_tokens: outputTokens } } : {}),
    };
  }

  /**
   * Tells whether a refusal says that the model takes less than others, so that it is worth asking in another way.
   *
   * Which models those are changes too often for a list of names.
   */
  private learns(call: Call, { error }: Failed): boolean {
    const message = error.message.toLowerCase();
    const unwanted = ['support', 'deprecated', 'not permitted', 'not allowed'].some((it) => message.includes(it));
    if (!unwanted || (error.status !== 400 && error.status !== 422)) return false;
    if (this.access.provider === 'openai' && !call.completionTokens && message.includes('max_completion_tokens')) {
      return (this.completionTokens = true);
    }
    if (call.temperature === undefined || !message.includes('temperature')) return false;
    this.temperature = undefined;
    return true;
  }
}
