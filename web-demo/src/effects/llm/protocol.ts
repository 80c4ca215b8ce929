import type { JsonObject } from '../../types';
import type { ModelCall } from './call';
import type { ModelResponse } from './response';

/** The protocol of a provider. */
export interface ProviderProtocol {
  /** Path below the base URL. */
  path: string;
  /** Format of a streamed response. */
  streamFormat: 'events' | 'lines';
  /** Returns the request headers, with the key if there is one. */
  headers(key: string): Record<string, string>;
  /** Builds the request body. */
  buildBody(call: ModelCall): JsonObject;
  /** Reads a complete response; `text` preserves the spelling of numbers. */
  readResponse(call: ModelCall, response: ModelResponse, body: unknown, text: string): void;
  /** Reads the data of one event or line of a stream. */
  readChunk(call: ModelCall, response: ModelResponse, data: string): void;
  /** Completes a streamed answer that the model has ended and whose end the provider has not marked. */
  end(call: ModelCall, response: ModelResponse): void;
}
