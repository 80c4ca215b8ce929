import type { Row } from './rows';

/** What a key does: goes to a row, folds or unfolds one, or shows what it is about. */
export type Move = { to: number } | { fold: number } | { show: number } | { menu: number };

type Line = Pick<Row, 'level' | 'parent' | 'expanded'>;

/** How many rows the page keys go. */
const PAGE = 10;

/** Tells what a key does at a row, as in every tree grid; nothing when it does nothing there. */
export function moveOf(key: string, at: number, rows: Line[]): Move | undefined {
  const row = rows[at];
  if (!row) return undefined;
  const to = (index: number): Move => ({ to: Math.max(0, Math.min(index, rows.length - 1)) });
  switch (key) {
    case 'ArrowDown':
      return to(at + 1);
    case 'ArrowUp':
      return to(at - 1);
    case 'PageDown':
      return to(at + PAGE);
    case 'PageUp':
      return to(at - PAGE);
    case 'Home':
      return to(0);
    case 'End':
      return to(rows.length - 1);
    case 'ArrowRight':
      return row.parent ? (row.expanded ? to(at + 1) : { fold: at }) : undefined;
    case 'ArrowLeft':
      return row.expanded ? { fold: at } : outer(at, rows);
    case 'Enter':
    case ' ':
      return row.parent ? { fold: at } : { show: at };
    case 'ContextMenu':
      return { menu: at };
    default:
      return undefined;
  }
}

/** Goes to the row that it is in. */
function outer(at: number, rows: Line[]): Move | undefined {
  const level = rows[at]?.level ?? 1;
  for (let index = at - 1; index >= 0; index--) if ((rows[index]?.level ?? 1) < level) return { to: index };
  return undefined;
}

/** Tells which rows are drawn: those in sight with a few around them, and always the one with the focus. */
export function drawn(scrolled: number, height: number, rowHeight: number, count: number, focused: number): number[] {
  const from = Math.max(0, Math.floor(scrolled / rowHeight) - AROUND);
  const until = Math.min(count, Math.ceil((scrolled + height) / rowHeight) + AROUND);
  const out = Array.from({ length: Math.max(0, until - from) }, (_, index) => from + index);
  if (focused < 0 || focused >= count) return out;
  if (focused < from) out.unshift(focused);
  else if (focused >= until) out.push(focused);
  return out;
}

const AROUND = 8;
