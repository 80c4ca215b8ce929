import type { EffectError, ErrorKind } from '../outcome';

/** An HTTP call that got no reply. */
export class HttpCallError extends Error {
  readonly error: EffectError;

  constructor(kind: ErrorKind, message: string, status?: number, detail?: EffectError['detail']) {
    super(message);
    this.error = { kind, message, ...(status === undefined ? {} : { status }), ...(detail ? { detail } : {}) };
  }
}
