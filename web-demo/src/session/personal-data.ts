/** A kind of text that people would not want to share. */
export interface Found {
  what: string;
  /** How often each is there. */
  texts: string[];
}

const KINDS: [what: string, pattern: RegExp][] = [
  ['e-mail address', /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g],
  ['card number', /\b(?:\d[ -]?){13,19}\b/g],
  ['phone number', /(?:\+|\b00)\d[\d ()/-]{7,24}\d/g],
];

/** Looks for what may be about a person, so that it is seen before it is shared. */
export function personal(texts: string[]): Found[] {
  const all = texts.join('\n');
  const found = KINDS.map(([what, pattern]) => ({ what, texts: [...new Set(all.match(pattern) ?? [])] }));
  return found.map((it) => (it.what === 'card number' ? { ...it, texts: it.texts.filter(checksum) } : it)).filter((it) => it.texts.length > 0);
}

/** The last digit of a card's number follows from the others. */
function checksum(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => total + (index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return digits.length >= 13 && sum % 10 === 0;
}
