/** Returns an HTTP or HTTPS URL; `undefined` for other schemes, which could run code or read files. */
export function safeLink(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:\/\//i.test(url.trim()) ? url.trim() : undefined;
}
