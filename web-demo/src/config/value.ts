/** How cell values are displayed and typed: strings as plain text, everything else as JSON. */

/** Formats a cell: a string without quotes, unless it would then read as another type. */
export function formatCell(json: string | undefined): string {
  if (json === undefined) return '';
  const value = tryParse(json);
  if (typeof value !== 'string') return json;
  const other = tryParse(value.trim());
  const plain = value !== '' && (other === undefined || isTree(other));
  return plain && value === value.trim() ? value : json;
}

/**
 * Parses text typed into a cell to JSON; `undefined` for empty text.
 *
 * JSON values stay as they are, everything else becomes a string. JSON that was stored in a string stays in one.
 */
export function parseCell(input: string, before?: string): string | undefined {
  const text = input.trim();
  if (text === '') return undefined;
  const value = tryParse(text);
  if (value === undefined) return JSON.stringify(input);
  const inString = before !== undefined && isTree(tryParse(parseString(before) ?? ''));
  return isTree(value) && inString ? JSON.stringify(input) : text;
}

/** The kind of value in a cell, which decides its colour. */
export function cellKind(json: string | undefined): 'none' | 'text' | 'number' | 'word' | 'tree' {
  if (json === undefined) return 'none';
  if (json.startsWith('"')) return 'text';
  if (/^[{[]/.test(json)) return 'tree';
  return /^(true|false|null)$/.test(json) ? 'word' : 'number';
}

/** The text of a JSON string; `undefined` for other values. */
export function parseString(json: string | undefined): string | undefined {
  const value = json === undefined ? undefined : tryParse(json);
  return typeof value === 'string' ? value : undefined;
}

/** The text of a cell for comparing ids: `7` and `"7"` are equal. */
export function idText(json: string | undefined): string {
  return json === undefined ? '' : (parseString(json) ?? json);
}

/** Parses JSON; `undefined` for invalid text. */
function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isTree(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
