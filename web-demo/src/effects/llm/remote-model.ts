import type { JsonObject } from '../../types';
import { baseUrl, findConfigProblem, type ModelConfig, type Provider } from './model-config';
import { anthropic } from './anthropic';
import type { ModelCall, LlmRequest } from './call';
import type { DeltaStream } from './delta-stream';
import { ModelError } from './model-error';
import { ollama } from './ollama';
import { openai } from './openai';
import type { ProviderProtocol } from './protocol';
import { ModelResponse } from './response';
import { readDocument, readEvents, parseJson, readLines, send, type Deadline } from './transport';

const PROTOCOLS: Record<Provider, ProviderProtocol> = { openai, anthropic, ollama };

/** A model, with the request options that it turned out to support. */
export class RemoteModel {
  /** Provider and model. */
  readonly name: string;
  private readonly protocol: ProviderProtocol;
  private readonly model: string;
  private temperature: number | undefined = 0;
  private usesCompletionTokens = false;

  constructor(private readonly config: ModelConfig) {
    this.model = config.model.trim();
    this.name = `${config.provider}:${this.model}`;
    this.protocol = PROTOCOLS[config.provider];
  }

  /** Calls the model once, streaming deltas if there is an observer; throws a `ModelError`. */
  async ask(request: LlmRequest, deltas: DeltaStream | undefined, deadline: Deadline): Promise<JsonObject & { kind: string }> {
    const problem = findConfigProblem(this.config);
    if (problem) throw new ModelError('denied', 'next', problem);
    for (;;) {
      const { model, temperature, usesCompletionTokens } = this;
      const call = { request, model, temperature, usesCompletionTokens, stream: deltas !== undefined };
      try {
        return this.toReply(await this.sendOnce(call, deltas, deadline));
      } catch (error) {
        if (!(error instanceof ModelError && this.adaptTo(call, error))) throw error;
      }
    }
  }

  private async sendOnce(call: ModelCall, deltas: DeltaStream | undefined, deadline: Deadline): Promise<ModelResponse> {
    const { path, headers, buildBody } = this.protocol;
    const url = baseUrl(this.config) + path;
    const http = await send(url, headers(this.config.key.trim()), JSON.stringify(buildBody(call)), deadline);
    const response = new ModelResponse();
    if (deltas) {
      await this.readStream(call, response, http, deltas, deadline);
    } else {
      const text = await readDocument(http, deadline);
      this.protocol.readResponse(call, response, parseJson(text), text);
    }
    response.validate(call.request.mode);
    deltas?.finish();
    return response;
  }

  private async readStream(call: ModelCall, response: ModelResponse, http: Response, deltas: DeltaStream, deadline: Deadline): Promise<void> {
    const all = this.protocol.streamFormat === 'events' ? readEvents(http, deadline) : readLines(http, deadline);
    for await (const piece of all) {
      const emitted = response.text.length;
      this.protocol.readChunk(call, response, piece);
      deltas.push(response.text.slice(emitted));
      if (response.isComplete) return;
    }
  }

  private toReply({ text, model, inputTokens, outputTokens }: ModelResponse): JsonObject & { kind: string } {
    const hasUsage = inputTokens !== undefined && outputTokens !== undefined;
    return {
      kind: 'llm',
      // Lone surrogates are valid only in JavaScript.
      text: text.toWellFormed(),
      provider: this.config.provider,
      model: model.toWellFormed() || this.model,
      ...(hasUsage ? { usage: { input_tokens: inputTokens, output_tokens: outputTokens } } : {}),
    };
  }

  /**
   * Adapts the request options to a model that rejected one of them; returns whether another attempt is worthwhile.
   *
   * The set of such models changes too often for a list of names.
   */
  private adaptTo(call: ModelCall, { error }: ModelError): boolean {
    const message = error.message.toLowerCase();
    const isUnsupported = ['support', 'deprecated', 'not permitted', 'not allowed'].some((it) => message.includes(it));
    if (!isUnsupported || (error.status !== 400 && error.status !== 422)) return false;
    if (this.config.provider === 'openai' && !call.usesCompletionTokens && message.includes('max_completion_tokens')) {
      return (this.usesCompletionTokens = true);
    }
    if (call.temperature === undefined || !message.includes('temperature')) return false;
    this.temperature = undefined;
    return true;
  }
}
