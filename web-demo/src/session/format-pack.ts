/** Down to here everything stands on a line of its own: members of the pack, tables, rows. */
const DEEP = 3;

/** Spreads a pack that stands on one line over many, a row a line. Only blanks are added, so that numbers stay as they are spelled. */
export function pretty(pack: string): string {
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
    return inside <= DEEP ? `\n${'  '.repeat(at)}` : '';
  }
}
