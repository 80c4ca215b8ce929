/** Personal data of one kind that was found in a text. */
export interface PersonalData {
  kind: string;
  /** The distinct matches. */
  texts: string[];
}

const KINDS: [what: string, pattern: RegExp][] = [
  ['e-mail address', /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g],
  ['card number', /\b(?:\d[ -]?){13,19}\b/g],
  ['phone number', /(?:\+|\b00)\d[\d ()/-]{7,24}\d/g],
];

/** Finds likely personal data, so that it can be reviewed before sharing. */
export function findPersonalData(texts: string[]): PersonalData[] {
  const all = texts.join('\n');
  const found = KINDS.map(([what, pattern]) => ({ kind: what, texts: [...new Set(all.match(pattern) ?? [])] }));
  return found.map((it) => (it.kind === 'card number' ? { ...it, texts: it.texts.filter(hasValidChecksum) } : it)).filter((it) => it.texts.length > 0);
}

/** Verifies the Luhn check digit of a card number. */
function hasValidChecksum(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => total + (index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return digits.length >= 13 && sum % 10 === 0;
}
