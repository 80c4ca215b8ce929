/** The error of a request. */
export class ConvEngineError extends Error {
  constructor(message, { status = 0, code, retryAfterMs, body, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConvEngineError';
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }

  /** Reads the error body of a response. Its form depends on the path: one of each family of endpoints. */
  static async fromResponse(response) {
    const text = await response.text();
    const body = parse(text);
    const { code, message } = describe(body, response);
    return new ConvEngineError(message, { status: response.status, code, retryAfterMs: retryAfter(response.headers), body: body ?? text });
  }
}

function describe(body, { status, statusText }) {
  if (body?.error?.code) return body.error;
  const words = typeof body?.error === 'string' ? body.error : statusText || `status ${status}`;
  return { code: body?.code ?? words.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'), message: body?.message ?? words };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The header is a number of seconds, or a date if a proxy has sent it. */
function retryAfter(headers) {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}
