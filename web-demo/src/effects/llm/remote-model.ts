import { isJson } from '../../json-text';
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
import { readBody, parseJson, send, type BodyPart, type Deadline } from './transport';

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
    await this.readParts(call, response, http, deltas, deadline);
    response.validate(call.request.mode);
    deltas?.follow(response.text);
    deltas?.finish();
    return response;
  }

  private async readParts(call: ModelCall, response: ModelResponse, http: Response, deltas: DeltaStream | undefined, deadline: Deadline): Promise<void> {
    const parts = readBody(http, deadline, this.protocol.streamFormat, call.stream);
    try {
      while (!response.isComplete) {
        const next = await parts.next().catch((error: Error) => {
          // Nothing is missing but the mark of the end.
          if (response.hasFinished) return { done: true as const, value: undefined };
          throw error;
        });
        if (next.done) break;
        this.readPart(call, response, next.value);
        deltas?.follow(response.text);
      }
    } finally {
      await parts.return(undefined);
    }
    if (response.hasFinished && !response.isComplete) this.protocol.end(call, response);
  }

  private readPart(call: ModelCall, response: ModelResponse, part: BodyPart): void {
    if ('error' in part) throw ModelError.fromErrorBody(part.error);
    if ('document' in part) return this.protocol.readResponse(call, response, parseJson(part.document), part.document);
    // What was cut off counts as not received.
    if (part.isLast && part.part.trim() !== '[DONE]' && !isJson(part.part)) return;
    this.protocol.readChunk(call, response, part.part);
  }

  private toReply({ text, model, inputTokens, outputTokens }: ModelResponse): JsonObject & { kind: string } {
    const hasUsage = inputTokens !== undefined && outputTokens !== undefined;
    return {
      kind: 'llm',
      // Lone surrogates are valid only in JavaScript.
      text: text.answer.toWellFormed(),
      ...(text.reasoning ? { reasoning: text.reasoning.toWellFormed() } : {}),
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
