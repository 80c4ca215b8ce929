/** An address of a document that a person may follow; nothing for what would run or read something. */
export function linkTo(url: string | undefined): string | undefined {
  return url !== undefined && /^https?:\/\//i.test(url.trim()) ? url.trim() : undefined;
}
