/** As much of JSON Schema as it takes to write an answer that fits. */
import type { Json, JsonObject } from '../types';

/** A property of an object's schema. */
export interface Property {
  name: string;
  schema: JsonObject;
  required: boolean;
}

/** Reads an object; also one that stands there as JSON text. */
export function objectOf(value: Json | undefined): JsonObject {
  if (typeof value === 'string' && value.trim().startsWith('{')) {
    try {
      return objectOf(JSON.parse(value) as Json);
    } catch {
      return {};
    }
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** Lists the properties of an object's schema. */
export function properties(schema: JsonObject): Property[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries(objectOf(schema['properties'])).map(([name, it]) => ({ name, schema: objectOf(it), required: required.includes(name) }));
}

/** The types that a value may have; none for any. */
export function types(schema: JsonObject): string[] {
  const type = schema['type'];
  if (Array.isArray(type)) return type.filter((it) => typeof it === 'string');
  if (typeof type === 'string') return [type];
  return schema['properties'] === undefined ? [] : ['object'];
}

/** The values that may be chosen; none when there is no choice. */
export function choices(schema: JsonObject): Json[] {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : [];
}

/** Tells whether a value has a type and is among the choices; what is within it is not looked at. */
export function fits(value: Json, schema: JsonObject): boolean {
  const chosen = choices(schema);
  if (chosen.length > 0 && !chosen.some((it) => JSON.stringify(it) === JSON.stringify(value))) return false;
  const allowed = types(schema);
  return allowed.length === 0 || allowed.some((it) => isOf(value, it));
}

/** Builds a value that fits a schema; `known` gives the values that are known by name. */
export function built(schema: JsonObject, known: (name: string, schema: JsonObject) => Json | undefined, name = ''): Json {
  const value = known(name, schema) ?? schema['default'];
  if (value !== undefined && fits(value, schema)) return value;
  const [choice] = choices(schema);
  if (choice !== undefined) return choice;
  const [type] = types(schema);
  switch (type) {
    case 'object': {
      const all = properties(schema);
      const wanted = all.some((it) => it.required) ? all.filter((it) => it.required) : all;
      return Object.fromEntries(wanted.map((it) => [it.name, built(it.schema, known, it.name)]));
    }
    case 'array': {
      const least = Math.min(Number(schema['minItems'] ?? 0), 20);
      return Array.from({ length: least }, () => built(objectOf(schema['items']), known));
    }
    case 'integer':
    case 'number':
      return Number(schema['minimum'] ?? 0);
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return '';
  }
}

function isOf(value: Json, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
