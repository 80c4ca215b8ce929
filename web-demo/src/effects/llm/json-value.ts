/** Looks into a value of JSON whose form is not known; nothing when there is nothing. */
export function look(value: unknown, ...path: (string | number)[]): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

/** Looks for a text; an empty one when there is none. */
export function lookText(value: unknown, ...path: (string | number)[]): string {
  const found = look(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** Looks for a number of things. */
export function lookCount(value: unknown, ...path: (string | number)[]): number | undefined {
  const found = look(value, ...path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}
