import type { TimelineRow } from './rows';

/** The action of a key: move to a row, toggle it, show its details, or open its menu. */
export type GridAction = { to: number } | { fold: number } | { show: number } | { menu: number };

type TreeRow = Pick<TimelineRow, 'level' | 'parent' | 'expanded'>;

/** How many rows the page keys move. */
const PAGE_ROWS = 10;

/** The action of a key at a row, as in the ARIA tree grid pattern. */
export function keyAction(key: string, at: number, rows: TreeRow[]): GridAction | undefined {
  const row = rows[at];
  if (!row) return undefined;
  const to = (index: number): GridAction => ({ to: Math.max(0, Math.min(index, rows.length - 1)) });
  switch (key) {
    case 'ArrowDown':
      return to(at + 1);
    case 'ArrowUp':
      return to(at - 1);
    case 'PageDown':
      return to(at + PAGE_ROWS);
    case 'PageUp':
      return to(at - PAGE_ROWS);
    case 'Home':
      return to(0);
    case 'End':
      return to(rows.length - 1);
    case 'ArrowRight':
      return row.parent ? (row.expanded ? to(at + 1) : { fold: at }) : undefined;
    case 'ArrowLeft':
      return row.expanded ? { fold: at } : moveToParent(at, rows);
    case 'Enter':
    case ' ':
      return row.parent ? { fold: at } : { show: at };
    case 'ContextMenu':
      return { menu: at };
    default:
      return undefined;
  }
}

/** Moves to the parent row. */
function moveToParent(at: number, rows: TreeRow[]): GridAction | undefined {
  const level = rows[at]?.level ?? 1;
  for (let index = at - 1; index >= 0; index--) if ((rows[index]?.level ?? 1) < level) return { to: index };
  return undefined;
}

/** The rows to render: visible ones with overscan, and always the focused one. */
export function visibleRows(scrolled: number, height: number, rowHeight: number, count: number, focused: number): number[] {
  const from = Math.max(0, Math.floor(scrolled / rowHeight) - OVERSCAN_ROWS);
  const until = Math.min(count, Math.ceil((scrolled + height) / rowHeight) + OVERSCAN_ROWS);
  const out = Array.from({ length: Math.max(0, until - from) }, (_, index) => from + index);
  if (focused < 0 || focused >= count) return out;
  if (focused < from) out.unshift(focused);
  else if (focused >= until) out.push(focused);
  return out;
}

const OVERSCAN_ROWS = 8;
