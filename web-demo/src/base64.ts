/** Writes bytes as base64. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  // In parts: a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
