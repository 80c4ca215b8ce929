import { describe, expect, it } from 'vitest';
import { countChanges, clipText, filterChanges, diffRows } from '../src/diff';
import type { Json } from '../src/types';

/** Writes rows as `path change before → after`. */
function lines(before: Json, after: Json, all = false): string[] {
  const list = diffRows(before, after);
  return (all ? list : filterChanges(list)).map((it) => `${it.path} ${it.change} ${it.before} → ${it.after}`);
}

describe('diffRows', () => {
  it('shows changed, added and removed leaves with their branches', () => {
    const before = { intent: 'A', context: { locked: false, old: 1 }, list: [1, 2] };
    const after = { intent: 'A', context: { locked: true, fresh: [null] }, list: [1, 3] };
    expect(lines(before, after)).toEqual([
      'context changed { } → { }',
      'context.locked changed false → true',
      'context.old removed 1 → null',
      'context.fresh added null → [ ]',
      'context.fresh[0] added null → null',
      'list changed [ ] → [ ]',
      'list[1] changed 2 → 3',
    ]);
    expect(countChanges(diffRows(before, after))).toBe(4);
  });

  it('keeps unchanged leaves on demand and has no changes for equal values', () => {
    const value = { a: 1, b: { c: 'x' } };
    expect(lines(value, structuredClone(value))).toEqual([]);
    expect(lines(value, value, true)).toEqual(['a same 1 → 1', 'b same { } → { }', 'b.c same "x" → "x"']);
  });

  it('opens an empty object that gains members and compares other kinds as a whole', () => {
    expect(lines({ a: {} }, { a: { b: 1 } })).toEqual(['a changed { } → { }', 'a.b added null → 1']);
    expect(lines({ a: { b: 1 } }, { a: 'x' })).toEqual(['a changed {"b":1} → "x"']);
    expect(lines({ a: null }, { a: {} })).toEqual(['a changed null → {}']);
  });

  it('ignores inherited members', () => {
    expect(lines({}, { constructor: 1 })).toEqual(['constructor added null → 1']);
  });
});

describe('clipText', () => {
  const long = 'a'.repeat(300);

  it('keeps short texts and clips long ones at the first difference', () => {
    expect(clipText('short', 'other')).toBe('short');
    expect(clipText(`${long}HERE${long}`, `${long}THERE`)).toMatch(/^…a{24}HEREa{92}…$/);
    expect(clipText(`${long}END`, long)).toBe(`…${'a'.repeat(24)}END`);
    expect([clipText(long, null), clipText(long, `${long}more`)]).toEqual([`${'a'.repeat(120)}…`, `${'a'.repeat(120)}…`]);
  });
});
