/** Depth down to which each element has its own line: members of the pack, tables, rows. */
const MAX_LINE_DEPTH = 3;

/** Formats a one-line pack with one row per line. Only whitespace is added, so numbers keep their spelling. */
export function formatPack(pack: string): string {
  if (pack.trim().includes('\n')) return pack;
  let [out, depth] = ['', 0];
  for (const [token] of pack.matchAll(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[^"]/g)) {
    if (token === '{' || token === '[') out += token + line(++depth);
    else if (token === '}' || token === ']') out += line(--depth, depth + 1) + token;
    else if (token === ',') out += token + (line(depth) || ' ');
    else if (token.trim() !== '') out += token === ':' ? ': ' : token;
  }
  return out;

  function line(at: number, inside = at): string {
    return inside <= MAX_LINE_DEPTH ? `\n${'  '.repeat(at)}` : '';
  }
}
