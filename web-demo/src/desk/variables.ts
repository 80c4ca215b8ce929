/** Values that a person returns to the assistant. */
import type { Variable } from './types';

/** The values of a form by variable; blank fields are left out. Throws with the name of a field whose text is not of its type. */
export function readVariables(variables: Variable[], fields: Record<string, string>): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const variable of variables) {
    const text = (fields[variable.name] ?? '').trim();
    if (text !== '') found[variable.name] = readValue(variable, text);
  }
  return found;
}

function readValue({ name, type }: Variable, text: string): unknown {
  const fail = (expected: string): never => {
    throw new Error(`${name} is not ${expected}`);
  };
  switch (type) {
    case 'string':
      return text;
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : fail('a number');
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : fail('true or false');
    case 'array': {
      const value = parse(text);
      return Array.isArray(value) ? value : fail('a JSON list, such as ["a", "b"]');
    }
    case 'object': {
      const value = parse(text);
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : fail('a JSON object, such as {"a": 1}');
    }
    case 'any':
      return parse(text) ?? text;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A value as a person reads it. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What is known of a user, as one line. Whether it is verified is shown beside it. */
export function showPerson(person: Record<string, unknown>): string {
  const members = Object.entries(person).filter(([name]) => name !== 'verified');
  return members.map(([name, value]) => `${name}: ${showValue(value)}`).join(', ');
}
