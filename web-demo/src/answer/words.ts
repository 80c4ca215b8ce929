/** Words of a text and their stems. */

const STOP_WORDS = new Set(
  ('a an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it its let like me my no not of on one ' +
    'or our out please she should so some tell than that the their them then there they this to too up us want wants was we were what when where which who ' +
    'will with would yes you your customer user says wish need needs about').split(' '),
);

/** Lists the stems of a text's content words. */
export function contentWords(text: string): string[] {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((it) => it.toLowerCase()).filter((it) => it.length > 1 && !STOP_WORDS.has(it)).map(stem);
}

/** Strips English word endings. */
export function stem(word: string): string {
  if (word.length < 5) return word.replace(/(?<=\w\w)s$/, '');
  return word.replace(/(?:ing|ed|ies|es|s|e|y)$/, '');
}

/** Converts an identifier to words: `customerNumber` becomes 'customer number'. */
export function toWords(name: string): string {
  return name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .split(/[\s_.-]+/)
    .filter(Boolean)
    .join(' ')
    .toLowerCase();
}

/** Joins items for a sentence. */
export function joinList(items: string[], last = 'and'): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;
}
