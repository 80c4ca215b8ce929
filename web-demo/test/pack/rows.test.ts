import { describe, expect, it } from 'vitest';
import { JsonSyntaxError, parseSpans } from '../../src/json-text';
import { addRow, addTable, removeRow, setCell, listTables } from '../../src/pack/rows';
import { packs } from '../demo';

type Value = Record<string, unknown>;
type Tables = Record<string, Value[]>;

const PACK = `{
  "name": "shop",
  "tables": {
    "ce_rule": [
      { "rule_id": 1, "match_pattern": "a \\"b\\" ]}", "rate": 1.0 },
      { "rule_id": 2, "action_value": {"x": [1, {"y": 2.50}]} }
    ],
    "ce_intent": []
  },
  "llm": [ ]
}
`;

const tables = (text: string) => (JSON.parse(text) as { tables: Tables }).tables;
const line = (text: string, number: number) => text.split('\n')[number - 1];

describe('listTables', () => {
  it('lists columns in order of appearance, and values as written', () => {
    const [rules, intents] = listTables(PACK);
    expect(rules?.columns).toEqual(['rule_id', 'match_pattern', 'rate', 'action_value']);
    expect(rules?.rows.map((it) => it.cells['rate']?.text)).toEqual(['1.0', undefined]);
    const cell = rules?.rows[1]?.cells['action_value'];
    expect(cell && PACK.slice(cell.start, cell.end)).toBe('{"x": [1, {"y": 2.50}]}');
    expect(intents).toEqual({ name: 'ce_intent', columns: [], rows: [] });
  });

  it('accepts a pack without tables', () => {
    expect(listTables('{"name": "n"}')).toEqual([]);
    expect(listTables('[]')).toEqual([]);
  });

  it('accepts any column name', () => {
    const [table] = listTables('{"tables": {"t": [{"__proto__": 1, "constructor": 2}]}}');
    expect(table?.columns).toEqual(['__proto__', 'constructor']);
  });
});

describe('setCell', () => {
  it('replaces a value and nothing else', () => {
    expect(setCell(PACK, 'ce_rule', 0, 'rate', '2.0')).toBe(PACK.replace('1.0', '2.0'));
    expect(setCell(PACK, 'ce_rule', 1, 'action_value', '"n"')).toBe(PACK.replace('{"x": [1, {"y": 2.50}]}', '"n"'));
  });

  it('adds a member in the style of the row', () => {
    expect(line(setCell(PACK, 'ce_rule', 1, 'enabled', 'true'), 6)).toBe('      { "rule_id": 2, "action_value": {"x": [1, {"y": 2.50}]}, "enabled": true }');
    const spread = '{"tables": {"t": [{\r\n    "a" : 1\r\n  }]}}';
    expect(setCell(spread, 't', 0, 'b', '2')).toBe('{"tables": {"t": [{\r\n    "a" : 1,\r\n    "b" : 2\r\n  }]}}');
    expect(setCell('{"tables":{"t":[{"a":1}]}}', 't', 0, 'b', '2')).toBe('{"tables":{"t":[{"a":1,"b":2}]}}');
    expect(setCell('{"tables": {"t": [{}, { "a": 1 }]}}', 't', 0, 'b', '2')).toBe('{"tables": {"t": [{ "b": 2 }, { "a": 1 }]}}');
  });

  it('removes a member with its comma', () => {
    expect(line(setCell(PACK, 'ce_rule', 0, 'rule_id', undefined), 5)).toBe('      { "match_pattern": "a \\"b\\" ]}", "rate": 1.0 },');
    expect(line(setCell(PACK, 'ce_rule', 0, 'rate', undefined), 5)).toBe('      { "rule_id": 1, "match_pattern": "a \\"b\\" ]}" },');
    expect(setCell('{"tables": {"t": [{ "a": 1 }]}}', 't', 0, 'a', undefined)).toBe('{"tables": {"t": [{}]}}');
    expect(setCell('{"tables": {"t": [{"a": 1, "b": 2, "a": 3}]}}', 't', 0, 'a', undefined)).toBe('{"tables": {"t": [{"b": 2}]}}');
    expect(setCell(PACK, 'ce_rule', 0, 'none', undefined)).toBe(PACK);
  });

  it('rejects invalid edits', () => {
    expect(() => setCell(PACK, 'ce_rule', 0, 'rate', '1,')).toThrow(JsonSyntaxError);
    expect(() => setCell(PACK, 'ce_rule', 7, 'rate', '1')).toThrow("'ce_rule' has no row 8");
    expect(() => setCell(PACK, 'ce_none', 0, 'rate', '1')).toThrow("unknown table 'ce_none'");
    expect(() => setCell('{"tables": {"t": [1]}}', 't', 0, 'a', '1')).toThrow("row 1 of 't' is not an object");
    expect(() => setCell('{"tables": {"t": {}}}', 't', 0, 'a', '1')).toThrow("'t' must be a list of rows");
  });
});

describe('addRow', () => {
  it('formats a row like the previous one', () => {
    const text = addRow(PACK, 'ce_rule', '{"rule_id":3,\n"rate":4.0}');
    expect(text).toBe(PACK.replace('2.50}]} }\n', '2.50}]} },\n      { "rule_id": 3, "rate": 4.0 }\n'));
    expect(addRow('{"tables":{"t":[{"a":1}]}}', 't', '{"a": 2}')).toBe('{"tables":{"t":[{"a":1},{"a":2}]}}');
  });

  it('fills an empty table, a missing one, and a pack without any', () => {
    const filled = PACK.replace('[]\n', '[\n      { "intent_code": "A" }\n    ]\n');
    expect(addRow(PACK, 'ce_intent', '{"intent_code": "A"}')).toBe(filled);
    const made = PACK.replace('[]\n', '[],\n    "ce_response": [\n      { "response_id": 1 }\n    ]\n');
    expect(addRow(PACK, 'ce_response', '{"response_id": 1}')).toBe(made);
    expect(addRow('{}', 't', '{"a": 1}')).toBe('{\n  "tables": {\n    "t": [\n      {"a": 1}\n    ]\n  }\n}');
    const windows = '{\r\n\t"name": "n"\r\n}\r\n';
    expect(addRow(windows, 't', '{"a": 1}')).toBe('{\r\n\t"name": "n",\r\n\t"tables": {\r\n\t\t"t": [\r\n\t\t\t{"a": 1}\r\n\t\t]\r\n\t}\r\n}\r\n');
    expect(addRow('{"name":"n"}', 't', '{"a": 1}')).toBe('{"name":"n","tables":{"t":[{"a":1}]}}');
  });

  it('accepts rows only', () => {
    expect(() => addRow(PACK, 'ce_rule', '[1]')).toThrow("a row of 'ce_rule' must be a JSON object");
    expect(() => addRow('[]', 't', '{}')).toThrow('a pack must be a JSON object');
    expect(() => addRow('{"tables": []}', 't', '{}')).toThrow("'tables' must be an object");
  });
});

describe('removeRow and addTable', () => {
  it('removes a row with its line', () => {
    expect(removeRow(PACK, 'ce_rule', 0).split('\n')).toEqual(PACK.split('\n').toSpliced(4, 1));
    const none = removeRow(removeRow(PACK, 'ce_rule', 1), 'ce_rule', 0);
    expect(line(none, 4)).toBe('    "ce_rule": [],');
    expect(() => removeRow(PACK, 'ce_rule', 2)).toThrow("'ce_rule' has no row 3");
  });

  it('keeps an existing table', () => {
    expect(addTable(PACK, 'ce_rule')).toBe(PACK);
    expect(addTable(PACK, 'ce_x')).toBe(PACK.replace('[]\n', '[],\n    "ce_x": []\n'));
  });
});

describe('any change of any pack', () => {
  const forms = packs.flatMap(({ text }) => [text, text.replaceAll('\n', '\r\n'), JSON.stringify(JSON.parse(text))]);
  const values = ['1.0', '"a, \\"b\\" ]}"', 'null', '{"x": [1, {"y": "}"}]}', '[]'];
  let state = 7;
  const below = (limit: number) => (state = (state * 48271) % 2147483647) % limit;

  /** The text outside a table. */
  const around = (text: string, name: string) => {
    const table = parseSpans(text).members?.get('tables')?.members?.get(name);
    return [text.slice(0, table?.start), text.slice(table?.end)];
  };

  it.each(forms)('has the expected result: %#', (pack) => {
    let text = pack;
    for (let change = 0; change < 40; change++) {
      const expected = JSON.parse(text) as { tables: Tables };
      const names = Object.keys(expected.tables);
      const name = below(9) === 0 ? `new_${change}` : (names[below(names.length)] ?? '');
      const rows = (expected.tables[name] ??= []);
      const at = below(rows.length || 1);
      const row = rows[at];
      const json = values[below(values.length)] ?? '';
      const before = text;
      if (!row || below(4) === 0) {
        text = addRow(text, name, `{"a": ${json}, "b": 2.0}`);
        rows.push({ a: JSON.parse(json) as unknown, b: 2 });
      } else if (below(4) === 0) {
        text = removeRow(text, name, at);
        rows.splice(at, 1);
      } else {
        const columns = [...Object.keys(row), 'fresh'];
        const column = columns[below(columns.length)] ?? '';
        const gone = below(3) === 0;
        text = setCell(text, name, at, column, gone ? undefined : json);
        if (gone) delete row[column];
        else row[column] = JSON.parse(json);
      }
      expect(JSON.parse(text)).toEqual(expected);
      if (name.startsWith('ce_')) expect(around(text, name)).toEqual(around(before, name));
      expect(text.includes('\r\n')).toBe(pack.includes('\r\n'));
      expect(/[^\r]\n/.test(text)).toBe(/[^\r]\n/.test(pack));
    }
    expect(Object.keys(tables(text)).length).toBeGreaterThan(0);
  });
});
