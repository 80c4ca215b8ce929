/** The part of JSON Schema that is needed to build a valid answer. */
import type { Json, JsonObject } from '../types';

/** A property of an object's schema. */
export interface Property {
  name: string;
  schema: JsonObject;
  required: boolean;
}

/** Returns a value as an object, also from JSON text; empty otherwise. */
export function asObject(value: Json | undefined): JsonObject {
  if (typeof value === 'string' && value.trim().startsWith('{')) {
    try {
      return asObject(JSON.parse(value) as Json);
    } catch {
      return {};
    }
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** Lists the properties of an object's schema. */
export function propertiesOf(schema: JsonObject): Property[] {
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries(asObject(schema['properties'])).map(([name, it]) => ({ name, schema: asObject(it), required: required.includes(name) }));
}

/** The allowed types; empty for any. */
export function typesOf(schema: JsonObject): string[] {
  const type = schema['type'];
  if (Array.isArray(type)) return type.filter((it) => typeof it === 'string');
  if (typeof type === 'string') return [type];
  return schema['properties'] === undefined ? [] : ['object'];
}

/** The allowed values; empty for any. */
export function choicesOf(schema: JsonObject): Json[] {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : [];
}

/** Whether a value has an allowed type and is an allowed value. Members are not checked. */
export function matchesSchema(value: Json, schema: JsonObject): boolean {
  const chosen = choicesOf(schema);
  if (chosen.length > 0 && !chosen.some((it) => JSON.stringify(it) === JSON.stringify(value))) return false;
  const allowed = typesOf(schema);
  return allowed.length === 0 || allowed.some((it) => hasType(value, it));
}

/** Builds a value that matches a schema; `known` returns known values by name. */
export function buildValue(schema: JsonObject, known: (name: string, schema: JsonObject) => Json | undefined, name = ''): Json {
  const value = known(name, schema) ?? schema['default'];
  if (value !== undefined && matchesSchema(value, schema)) return value;
  const [choice] = choicesOf(schema);
  if (choice !== undefined) return choice;
  const [type] = typesOf(schema);
  switch (type) {
    case 'object': {
      const all = propertiesOf(schema);
      const included = all.some((it) => it.required) ? all.filter((it) => it.required) : all;
      return Object.fromEntries(included.map((it) => [it.name, buildValue(it.schema, known, it.name)]));
    }
    case 'array': {
      const least = Math.min(Number(schema['minItems'] ?? 0), 20);
      return Array.from({ length: least }, () => buildValue(asObject(schema['items']), known));
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

function hasType(value: Json, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
