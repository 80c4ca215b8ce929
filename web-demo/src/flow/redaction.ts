import type { Json, JsonObject } from '../types';

/** Hides the values of variables that a document calls private, by the names that stand in their place. */
export function redacted(session: JsonObject, names: string[]): JsonObject {
  if (names.length === 0) return session;
  const stack = session['stack'];
  return {
    ...session,
    ...(isObject(session['vars']) ? { vars: hidden(session['vars'], names) } : {}),
    ...(Array.isArray(stack) ? { stack: stack.map((it) => (isObject(it) && isObject(it['locals']) ? { ...it, locals: hidden(it['locals'], names) } : it)) } : {}),
  };
}

function hidden(vars: JsonObject, names: string[]): JsonObject {
  return names.reduce((all, name) => at(all, name.split('.'), name), vars);
}

function at(all: JsonObject, [key, ...rest]: string[], name: string): JsonObject {
  const value = key === undefined ? undefined : all[key];
  if (key === undefined || value === undefined || value === null) return all;
  if (rest.length === 0) return { ...all, [key]: `[${name}]` };
  return isObject(value) ? { ...all, [key]: at(value, rest, name) } : all;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
