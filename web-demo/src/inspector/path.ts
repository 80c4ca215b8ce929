import type { Json, JsonObject } from '../types';

/** Returns the value at a path such as `context.items[0].id`. */
export function valueAt(from: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = from;
  for (const key of path.match(/[^.[\]]+/g) ?? []) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value)) value = value[Number(key)];
    else value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

/** Lists the paths of all leaves. */
export function listPaths(from: JsonObject, prefix = ''): string[] {
  return Object.entries(from).flatMap(([key, value]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    const inside = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
    return inside ? listPaths(value, path) : [path];
  });
}
