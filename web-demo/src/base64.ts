/** Encodes bytes as Base64. */
export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  // In chunks, because the number of call arguments is limited.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
