/** Returns the `Retry-After` header (seconds or a date) in milliseconds. A page sees it only if the service exposes it. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,12}(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  // `Date.parse` accepts more than HTTP dates.
  const until = text.endsWith(' GMT') ? Date.parse(text) : NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}
