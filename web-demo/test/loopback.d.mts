/** A response, as bytes. */
export interface Sent {
  bytes: Uint8Array;
  /** Leaves the connection open after the last byte. */
  stays?: boolean;
}

/** A received request. */
export interface Got {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** A running server. */
export interface Loopback {
  address: string;
  got: Got[];
  close(): void;
}

export function loopback(answers: Sent[]): Promise<Loopback>;
export function sent(status: number, body: string | Uint8Array, headers?: Record<string, string>): Sent;
export function untilTheEnd(body: string | Uint8Array): Sent;
export function chunked(pieces: Uint8Array[]): Sent;
