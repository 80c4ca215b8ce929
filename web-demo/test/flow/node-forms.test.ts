import { describe, expect, it } from 'vitest';
import { isEditable, NODE_FORMS, parseList, readField, writeField } from '../../src/flow/node-forms';

const DATA = '{\n  "code": "x = 1",\n  "timeout_ms": 5e2,\n  "query": {"from": ["last_user"]}\n}';

describe('a form of a node', () => {
  it('reads and writes single members and leaves the other text unchanged', () => {
    expect(readField(DATA, ['query', 'from'])).toEqual(['last_user']);
    expect(writeField(DATA, ['code'], 'y\n')).toBe(DATA.replace('x = 1', 'y\\n'));
    expect(writeField(DATA, ['query', 'template'], 'q')).toContain('{"from": ["last_user"], "template": "q"}');
    expect(writeField(DATA, ['code'], undefined)).toBe('{\n  "timeout_ms": 5e2,\n  "query": {"from": ["last_user"]}\n}');
  });

  it('writes into empty data and nested members that do not exist', () => {
    expect(JSON.parse(writeField('{}', ['query', 'from'], ['summary']))).toEqual({ query: { from: ['summary'] } });
    expect(writeField('{}', ['query', 'from'], undefined)).toBe('{}');
  });

  it('leaves values of another form to the JSON', () => {
    const [code] = NODE_FORMS['python'] ?? [];
    expect(code && [isEditable(code, 'x'), isEditable(code, { en: 'x' }), isEditable(code, undefined)]).toEqual([true, false, true]);
    expect(readField('{"code": ', ['code'])).toBeUndefined();
  });

  it('splits lists at commas', () => {
    expect(parseList(' a, b ,,c')).toEqual(['a', 'b', 'c']);
  });
});
