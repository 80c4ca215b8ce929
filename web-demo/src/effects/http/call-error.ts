import type { EffectError, ErrorKind } from '../answer';

/** A call without a reply. */
export class Refusal extends Error {
  readonly error: EffectError;

  constructor(kind: ErrorKind, message: string, status?: number, detail?: EffectError['detail']) {
    super(message);
    this.error = { kind, message, ...(status === undefined ? {} : { status }), ...(detail ? { detail } : {}) };
  }
}
