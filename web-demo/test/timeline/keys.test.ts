import { describe, expect, it } from 'vitest';
import { visibleRows, keyAction } from '../../src/timeline/keys';

const line = (level: number, parent = false, expanded = false) => ({ level, parent, expanded });
/** Two turns: an open one with an open step and a folded step, and a folded one. */
const rows = [line(1, true, true), line(2, true, true), line(3), line(3), line(2, true, false), line(1, true, false)];

describe('keys', () => {
  it('move up and down and stop at the ends', () => {
    expect(keyAction('ArrowDown', 1, rows)).toEqual({ to: 2 });
    expect(keyAction('ArrowUp', 0, rows)).toEqual({ to: 0 });
    expect(keyAction('ArrowDown', 5, rows)).toEqual({ to: 5 });
    expect([keyAction('Home', 3, rows), keyAction('End', 3, rows), keyAction('PageDown', 0, rows)]).toEqual([{ to: 0 }, { to: 5 }, { to: 5 }]);
  });

  it('expand and enter to the right, collapse and leave to the left', () => {
    expect(keyAction('ArrowRight', 4, rows)).toEqual({ fold: 4 });
    expect(keyAction('ArrowRight', 1, rows)).toEqual({ to: 2 });
    expect(keyAction('ArrowRight', 2, rows)).toBeUndefined();
    expect(keyAction('ArrowLeft', 1, rows)).toEqual({ fold: 1 });
    expect(keyAction('ArrowLeft', 3, rows)).toEqual({ to: 1 });
    expect(keyAction('ArrowLeft', 4, rows)).toEqual({ to: 0 });
    expect(keyAction('ArrowLeft', 5, rows)).toBeUndefined();
  });

  it('toggle parents and show leaves', () => {
    expect(keyAction('Enter', 0, rows)).toEqual({ fold: 0 });
    expect(keyAction('Enter', 2, rows)).toEqual({ show: 2 });
    expect(keyAction('ContextMenu', 2, rows)).toEqual({ menu: 2 });
    expect(keyAction('x', 2, rows)).toBeUndefined();
  });
});

describe('visible rows', () => {
  it('are those in view, some around them, and the focused one', () => {
    expect(visibleRows(0, 90, 30, 1000, 0)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const far = visibleRows(15_000, 90, 30, 1000, 3);
    expect([far[0], far[1], far.at(-1), far.length]).toEqual([3, 492, 510, 20]);
    expect(visibleRows(0, 90, 30, 1000, 900).at(-1)).toBe(900);
    expect(visibleRows(0, 90, 30, 2, 0)).toEqual([0, 1]);
    expect(visibleRows(0, 90, 30, 0, -1)).toEqual([]);
  });
});
