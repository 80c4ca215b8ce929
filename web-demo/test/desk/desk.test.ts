import { expect, test } from 'vitest';
import { addedByUser, keyed } from '../../src/desk/transcript';
import type { Entry, Variable, VariableType } from '../../src/desk/types';
import { readVariables, showPerson, showValue } from '../../src/desk/variables';
import { waitingTime } from '../../src/desk/waiting-time';

const variable = (type: VariableType): Variable => ({ name: type, type, value: null, redacted: false });
const ALL = (['string', 'number', 'boolean', 'array', 'object', 'any'] as const).map(variable);

test('fields become values of their types, and blank ones are left out', () => {
  const fields = { string: ' 12 ', number: '1.5', boolean: 'false', array: '[1]', object: '{"a": 1}', any: 'free text' };
  expect(readVariables(ALL, fields)).toEqual({ string: '12', number: 1.5, boolean: false, array: [1], object: { a: 1 }, any: 'free text' });
  expect(readVariables(ALL, { string: ' ', number: '' })).toEqual({});
  expect(readVariables([variable('any')], { any: '7' })).toEqual({ any: 7 });
});

test.each([
  ['number', 'twelve'],
  ['boolean', 'yes'],
  ['array', '{}'],
  ['object', '[1]'],
  ['object', '{'],
] as const)('a %s cannot be %s', (type, text) => {
  expect(() => readVariables([variable(type)], { [type]: text })).toThrow(`${type} is not`);
});

test('values are shown as text', () => {
  expect([null, 'a', 1, [1], { a: true }].map(showValue)).toEqual(['', 'a', '1', '[1]', '{"a":true}']);
});

test('what is known of a user is one line', () => {
  expect(showPerson({ id: 'u-2', name: 'Eve', address: { city: 'Bern' }, verified: false })).toBe('id: u-2, name: Eve, address: {"city":"Bern"}');
  expect(showPerson({ verified: false })).toBe('');
});

test('entries keep their keys while old ones are dropped', () => {
  const entry = (turn: number, role: Entry['role'], text: string): Entry => ({ turn, role, text });
  const before = [entry(1, 'user', 'a'), entry(2, 'user', 'b'), entry(2, 'bot', 'b')];
  const after = [entry(2, 'user', 'b'), entry(2, 'bot', 'b'), entry(3, 'user', 'b'), entry(3, 'human', 'c')];
  expect(addedByUser(before, after)).toEqual([after[2]]);
  expect(new Set(keyed([...before, ...before]).map((it) => it.key)).size).toBe(6);
});

test('waiting times are short', () => {
  const at = (ms: number) => waitingTime('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:00Z') + ms);
  expect([-5, 40_000, 60_000, 3_600_000, 200_000_000].map(at)).toEqual(['0 s', '40 s', '1 min', '1 h', '2 d']);
});
