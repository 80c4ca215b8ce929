/** Reads members of unchecked JSON. */
export type Members = Record<string, unknown>;

/** A list of objects; empty for other values. */
export function asList(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(asMembers) : [];
}

/** An object; empty for other values. */
export function asMembers(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

/** A text; empty for other values. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A list of texts; other elements are left out. */
export function asTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((it) => typeof it === 'string') : [];
}
