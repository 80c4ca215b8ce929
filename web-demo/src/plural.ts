/** Formats a count with its noun: `1 row`, `2 rows`, `2 matches`, `2 entries`. */
export function plural(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  if (/[^aeiou]y$/.test(noun)) return `${count} ${noun.slice(0, -1)}ies`;
  return `${count} ${noun}${/(s|x|ch|sh)$/.test(noun) ? 'es' : 's'}`;
}
