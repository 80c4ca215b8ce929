/** Formatting of texts and durations in talks. */

const UNITS: [name: string, milliseconds: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** Formats a duration in the largest unit that divides it. */
export function durationText(milliseconds: number): string {
  const unit = UNITS.find(([, length]) => milliseconds >= length && milliseconds % length === 0);
  return unit ? `+${milliseconds / unit[1]}${unit[0]}` : `+${milliseconds}ms`;
}

/** Parses a duration such as `+45m`, in milliseconds. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit] = /^\+(\d+)(ms|[smhd])$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  const milliseconds = Number(number) * (unit === 'ms' ? 1 : (UNITS.find(([name]) => name === unit)?.[1] ?? 1));
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}

/** Puts JSON on one line. JSON strings contain no line breaks. */
export function toOneLine(json: string): string {
  return json.trim().replace(/[ \t]*[\r\n]+[ \t\r\n]*/g, ' ');
}

/** Whether a text needs no quotes where these prefixes have a meaning. */
export function isPlain(text: string, marks: RegExp): boolean {
  return text !== '' && !marks.test(text) && !/^\s|\s$|[\x00-\x1f\x7f-\x9f]/.test(text);
}
