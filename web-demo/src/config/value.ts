/** How a value of a row is shown and typed: text as it is, everything else as JSON. */

/** Writes a cell out for people: a string without its quotes, unless it would read as something else than a string then. */
export function shown(json: string | undefined): string {
  if (json === undefined) return '';
  const value = parsed(json);
  if (typeof value !== 'string') return json;
  const other = parsed(value.trim());
  const plain = value !== '' && (other === undefined || isTree(other));
  return plain && value === value.trim() ? value : json;
}

/**
 * Reads what was typed into a cell as JSON; nothing where nothing was typed.
 *
 * Numbers, words and trees stay what they are, everything else is a string, and JSON that was kept in a string stays in one.
 */
export function typed(input: string, before?: string): string | undefined {
  const text = input.trim();
  if (text === '') return undefined;
  const value = parsed(text);
  if (value === undefined) return JSON.stringify(input);
  const inString = before !== undefined && isTree(parsed(stringOf(before) ?? ''));
  return isTree(value) && inString ? JSON.stringify(input) : text;
}

/** What kind of value a cell holds, as its colour and its description say. */
export function kind(json: string | undefined): 'none' | 'text' | 'number' | 'word' | 'tree' {
  if (json === undefined) return 'none';
  if (json.startsWith('"')) return 'text';
  if (/^[{[]/.test(json)) return 'tree';
  return /^(true|false|null)$/.test(json) ? 'word' : 'number';
}

/** The text of a JSON string; nothing for other values. */
export function stringOf(json: string | undefined): string | undefined {
  const value = json === undefined ? undefined : parsed(json);
  return typeof value === 'string' ? value : undefined;
}

/** The value of a cell as ids are compared: `7` and `"7"` are alike. */
export function idText(json: string | undefined): string {
  return json === undefined ? '' : (stringOf(json) ?? json);
}

/** Undefined stands for what is no JSON, which JSON itself cannot say. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isTree(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
