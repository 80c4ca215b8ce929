import { HttpCallError } from './call-error';

/** A header for the signature of a body. */
export interface SignedHeader {
  header: string;
  prefix?: string;
  /** The name of the signing secret. */
  secret: string;
  /** Whether the header is left out when the secret does not exist. */
  optional?: boolean;
}

/** Returns the header with the HMAC-SHA-256 of a body in hexadecimal; throws an `HttpCallError` for an unknown secret. */
export async function signBody({ header, prefix = '', secret, optional }: SignedHeader, body: string, secrets: Map<string, string>): Promise<[name: string, value: string][]> {
  const value = secrets.get(secret);
  if (value === undefined) {
    if (optional) return [];
    throw new HttpCallError('denied', `unknown secret '${secret}': add it under "Secrets" on this page`);
  }
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(value), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(body)));
  return [[header, prefix + [...bytes].map((it) => it.toString(16).padStart(2, '0')).join('')]];
}
