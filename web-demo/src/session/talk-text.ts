/** Texts and times as a talk writes them. */

const UNITS: [name: string, milliseconds: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** Writes a time that passes, in the largest unit that has no rest. */
export function duration(milliseconds: number): string {
  const unit = UNITS.find(([, length]) => milliseconds >= length && milliseconds % length === 0);
  return unit ? `+${milliseconds / unit[1]}${unit[0]}` : `+${milliseconds}ms`;
}

/** Puts JSON on one line: line ends stand between its parts only, because strings have none. */
export function oneLine(json: string): string {
  return json.trim().replace(/[ \t]*[\r\n]+[ \t\r\n]*/g, ' ');
}

/** Tells whether a text may stand as it is where these beginnings mean something else. */
export function plain(text: string, marks: RegExp): boolean {
  return text !== '' && !marks.test(text) && !/^\s|\s$|[\x00-\x1f\x7f-\x9f]/.test(text);
}
