/** Gives the milliseconds of the header `Retry-After`, which has seconds or a date; a page sees it only where the service exposes it. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,12}(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  // What else browsers take for a date is none of a header.
  const until = text.endsWith(' GMT') ? Date.parse(text) : NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}
