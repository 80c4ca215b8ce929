import type { Json, JsonObject } from '../types';

/** Replaces the values of private variables with their names in brackets. */
export function redactSession(session: JsonObject, names: string[]): JsonObject {
  if (names.length === 0) return session;
  const { stack, child, vars } = session;
  return {
    ...session,
    ...(isObject(vars) ? { vars: redactChildren(redactVariables(vars, names), names) } : {}),
    ...(isObject(child) ? { child: redactSession(child, names) } : {}),
    ...(Array.isArray(stack) ? { stack: stack.map((it) => (isObject(it) && isObject(it['locals']) ? { ...it, locals: redactVariables(it['locals'], names) } : it)) } : {}),
  };
}

/** Sessions of nested programs are stored in a variable, by node. */
function redactChildren(vars: JsonObject, names: string[]): JsonObject {
  const children = vars['_child'];
  if (!isObject(children)) return vars;
  return { ...vars, _child: Object.fromEntries(Object.entries(children).map(([node, it]) => [node, isObject(it) ? redactSession(it, names) : it])) };
}

function redactVariables(vars: JsonObject, names: string[]): JsonObject {
  return names.reduce((all, name) => redactPath(all, name.split('.'), name), vars);
}

function redactPath(all: JsonObject, [key, ...rest]: string[], name: string): JsonObject {
  const value = key === undefined ? undefined : all[key];
  if (key === undefined || value === undefined || value === null) return all;
  if (rest.length === 0) return { ...all, [key]: `[${name}]` };
  return isObject(value) ? { ...all, [key]: redactPath(value, rest, name) } : all;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
