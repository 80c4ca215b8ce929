import { asObject, choicesOf, propertiesOf, typesOf } from '../answer/schema';
import type { Json, JsonObject } from '../types';

/** A field of a form for the arguments of a tool. */
export interface ArgumentField {
  name: string;
  label: string;
  help: string;
  required: boolean;
  kind: 'text' | 'number' | 'choice' | 'json';
  /** JSON texts of the allowed values. */
  choices: string[];
}

/** Properties that a form shows; for more, arguments are written as JSON. */
const MAX_FIELDS = 30;

/** Lists the fields for the properties of a schema; `undefined` where only JSON can be written. */
export function argumentFields(schema: Json | undefined): ArgumentField[] | undefined {
  const members = asObject(schema);
  if (members['type'] !== undefined && members['type'] !== 'object') return undefined;
  const properties = propertiesOf(members);
  if (properties.length > MAX_FIELDS || properties.some((it) => it.name === '__proto__')) return undefined;
  return properties.map(({ name, schema: own, required }) => {
    const { title, description } = own;
    const choices = choicesOf(own).map((it) => JSON.stringify(it));
    return { name, label: typeof title === 'string' && title !== '' ? `${name}: ${title}` : name, help: typeof description === 'string' ? description : '', required, ...fieldKind(own, choices) };
  });
}

function fieldKind(schema: JsonObject, choices: string[]): Pick<ArgumentField, 'kind' | 'choices'> {
  const types = typesOf(schema);
  const [type] = types;
  if (choices.length > 0) return { kind: 'choice', choices };
  if (types.length !== 1) return { kind: 'json', choices };
  if (type === 'boolean') return { kind: 'choice', choices: ['true', 'false'] };
  if (type === 'string') return { kind: 'text', choices };
  return { kind: type === 'number' || type === 'integer' ? 'number' : 'json', choices };
}

/** Builds the arguments from the texts of a form, as JSON; blank fields are left out. Throws where a text does not fit. */
export function buildArguments(fields: ArgumentField[], texts: Record<string, string>): string {
  const members: string[] = [];
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text.trim() !== '') members.push(`${JSON.stringify(field.name)}:${valueText(field, text)}`);
    else if (field.required) throw new Error(`'${field.name}' is missing: enter a value, or write the arguments as JSON`);
  }
  return `{${members.join(',')}}`;
}

function valueText({ name, kind }: ArgumentField, text: string): string {
  if (kind === 'text') return JSON.stringify(text);
  if (kind === 'number' && !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim())) throw new Error(`'${name}' is not a number`);
  try {
    JSON.parse(text);
  } catch {
    throw new Error(kind === 'number' ? `'${name}' is not a number` : `'${name}' is not JSON; texts are written in quotes`);
  }
  return text.trim();
}

/** Checks arguments that were written as JSON; returns them, or throws. */
export function checkArguments(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`the arguments are not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('the arguments must be a JSON object: {…}');
  return text.trim();
}
