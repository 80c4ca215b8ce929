/** The decision of a person: what is typed into the form of a wait, and the event that it becomes. */
import type { Json, JsonObject } from '../types';
import type { RunEvent } from './event';
import type { FormField, Wait } from './run';

/** How the value of a field is entered. */
export type FieldInput = 'text' | 'number' | 'checkbox' | 'json';

/** Returns how the value of a field is entered. */
export function fieldInput({ type = 'any' }: FormField): FieldInput {
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'checkbox';
  return ['object', 'list', 'array', 'any', 'map'].includes(type) ? 'json' : 'text';
}

/** The initial text of a field: its default. */
export function initialText(field: FormField): string {
  const { default: value } = field;
  if (value === undefined || value === null) return fieldInput(field) === 'checkbox' ? 'false' : '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Reads the typed texts of a form; empty ones are left out. What does not fit a type is left to the engine, which refuses it. */
export function readFields(form: FormField[], typed: Record<string, string>): JsonObject {
  return Object.fromEntries(
    form.flatMap((field): [string, Json][] => {
      const text = (typed[field.name] ?? initialText(field)).trim();
      if (text === '') return [];
      const input = fieldInput(field);
      if (input === 'checkbox') return [[field.name, text === 'true']];
      if (input === 'number') return [[field.name, Number.isNaN(Number(text)) ? text : Number(text)]];
      return [[field.name, input === 'json' ? parseLoose(text) : text]];
    }),
  );
}

/** Lists the required fields that are empty. */
export function missingFields(form: FormField[], typed: Record<string, string>): string[] {
  const fields = readFields(form, typed);
  return form.flatMap(({ name, required }) => (required && fields[name] === undefined ? [name] : []));
}

/** Builds the event of a decision. */
export function decisionEvent(wait: Wait, decision: string, typed: Record<string, string>, comment: string, by: string): RunEvent {
  const fields = readFields(wait.form ?? [], typed);
  return {
    type: 'run.resume',
    step: wait.path,
    ...(decision.trim() ? { decision: decision.trim() } : {}),
    ...(Object.keys(fields).length > 0 ? { fields } : {}),
    ...(comment.trim() ? { comment: comment.trim() } : {}),
    ...(by.trim() ? { by: by.trim() } : {}),
  };
}

/** Reads JSON, or else text. */
function parseLoose(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
