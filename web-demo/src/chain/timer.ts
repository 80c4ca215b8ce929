/** The timers of a run. */

/** What happens when a timer of a run fires, by its id. */
const NAMES: Record<string, string> = {
  step: 'The run goes on',
  wake: 'The sleep ends',
  retry: 'The next attempt begins',
  expire: 'The wait expires',
  deadline: 'The run exceeds its time limit',
};

/** What happens when a timer fires. */
export function timerName(id: string): string {
  return NAMES[id] ?? `Timer ${id.replace(/^child\./, '').replaceAll('_', '-')} fires`;
}

/** The time between two moments in words, such as `3 days` or `30 s`. */
export function formatWait(milliseconds: number): string {
  const units: [size: number, one: string, more: string][] = [
    [86_400_000, 'day', 'days'],
    [3_600_000, 'h', 'h'],
    [60_000, 'min', 'min'],
    [1000, 's', 's'],
  ];
  const [size, one, more] = units.find((it) => milliseconds >= it[0]) ?? [1, 'ms', 'ms'];
  const count = Number((milliseconds / size).toFixed(1));
  return `${count} ${count === 1 ? one : more}`;
}

/** A moment as date and time, such as `2026-01-01 09:00`; with seconds where they are not zero. */
export function formatMoment(iso: string): string {
  const [, date, time, seconds] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)/.exec(iso) ?? [];
  return date === undefined ? iso : `${date} ${time}${seconds === ':00' ? '' : seconds}`;
}
