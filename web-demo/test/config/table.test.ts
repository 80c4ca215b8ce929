import { describe, expect, it } from 'vitest';
import { duplicateRow, nextId, moveCell, createRow, orderColumns, findRow } from '../../src/config/grid';
import { idColumn } from '../../src/config/id-column';
import { findPattern, isExample } from '../../src/config/pattern';
import { issuesByTable, groupIssues } from '../../src/config/table-issues';
import { countUses, rowVerdicts, usedRows, unusedReason } from '../../src/config/row-usage';
import { formatCell, parseCell } from '../../src/config/value';
import { listTables, type PackTable } from '../../src/pack/rows';
import type { AuditNotice, Json, Explanation } from '../../src/types';

const table = (name: string, rows: unknown[]): PackTable => {
  const [found] = listTables(JSON.stringify({ tables: { [name]: rows } }));
  if (!found) throw new Error('no table');
  return found;
};
const audit = (stage: string, payload: Json): AuditNotice => ({ seq: 1, at: 0, kind: 'audit', stage, payload });

describe('moveCell', () => {
  const go = (key: string, row: number, column: number, ctrlKey = false) => {
    const to = moveCell({ row, column }, { key, ctrlKey, metaKey: false }, 30, 4);
    return to && [to.row, to.column];
  };

  it('moves to the neighbour and stays in the grid', () => {
    expect(go('ArrowDown', 0, 1)).toEqual([1, 1]);
    expect(go('ArrowUp', 0, 1)).toEqual([0, 1]);
    expect(go('ArrowRight', 2, 3)).toEqual([2, 3]);
    expect(go('ArrowLeft', 2, 3)).toEqual([2, 2]);
    expect(go('PageDown', 25, 0)).toEqual([29, 0]);
  });

  it('moves to the ends', () => {
    expect(go('Home', 5, 2)).toEqual([5, 0]);
    expect(go('End', 5, 2, true)).toEqual([29, 3]);
    expect(go('ArrowUp', 5, 2, true)).toEqual([0, 2]);
    expect(go('x', 5, 2)).toBeUndefined();
  });
});

describe('ids', () => {
  it('are in the column named after the table', () => {
    expect(idColumn('ce_verbose', ['rule_id', 'verbose_id'])).toBe('verbose_id');
    expect(idColumn('ce_intent_classifier', ['intent_code', 'classifier_id'])).toBe('classifier_id');
    expect(idColumn('ce_intent', ['description', 'intent_code'])).toBe('intent_code');
    expect(idColumn('ce_container_config', ['container_id', 'id'])).toBe('id');
    expect(orderColumns('ce_rule', ['phase', 'rule_id'])).toEqual(['rule_id', 'phase']);
    expect(orderColumns('strange', ['phase'])).toEqual(['', 'phase']);
  });

  it('are new in new rows and copies', () => {
    const rules = table('ce_rule', [{ rule_id: 3, intent_code: 'A' }, { rule_id: '9', intent_code: 'B' }]);
    expect(findRow(rules, '9')).toBe(1);
    expect(createRow(rules)).toBe('{"rule_id": 10, "intent_code": "ANY"}');
    expect(rules.rows[0] && duplicateRow(rules, rules.rows[0])).toBe('{"rule_id": 10, "intent_code": "A"}');
    const intents = table('ce_intent', [{ intent_code: 'ORDER' }, { intent_code: 'ORDER_2' }]);
    expect(nextId(intents, 'ORDER_2')).toBe('"ORDER_3"');
    expect(createRow(intents)).toBe('{"intent_code": "NEW"}');
  });
});

describe('values', () => {
  const texts = ['"a b"', '5', '"5"', 'true', '"true"', 'null', '1.0', '""', '" a"', '{"a": [1]}', '"{\\"a\\": 1}"', '"(a|b)"', '"[0-9]+"'];

  it('round-trip unchanged', () => {
    expect(texts.filter((json) => json !== '" a"').map((json) => parseCell(formatCell(json), json))).toEqual(texts.filter((json) => json !== '" a"'));
    expect(parseCell(formatCell('" a"'), '" a"')).toBe('" a"');
  });

  it('are strings unless they parse as another type', () => {
    expect(parseCell('two words')).toBe('"two words"');
    expect(parseCell('7')).toBe('7');
    expect(parseCell('{"a":1}')).toBe('{"a":1}');
    expect(parseCell('{"a":')).toBe('"{\\"a\\":"');
    expect(parseCell('  ')).toBeUndefined();
    expect(parseCell('{"a": 2}', '"{\\"a\\": 1}"')).toBe('"{\\"a\\": 2}"');
  });
});

describe('issues', () => {
  const rules = table('ce_rule', [{ rule_id: 131, action: 'X' }, { rule_id: 2 }]);
  const issue = (path: string, severity: 'error' | 'warning' = 'error') => ({ severity, path, reason: 'r', hint: '', rule: '', range: undefined });

  it('belong to their cells, or else to the table', () => {
    const found = groupIssues(rules, [issue('ce_rule[131].action'), issue('ce_rule[1]'), issue('ce_rule[99].x'), issue('ce_intent[1].x')]);
    expect([...found.rows].map(([row, columns]) => [row, [...columns.keys()]])).toEqual([
      [0, ['action']],
      [1, ['']],
    ]);
    expect(found.unplaced.map((it) => it.path)).toEqual(['ce_rule[99].x']);
  });

  it('are counted by table', () => {
    expect(issuesByTable([issue('ce_rule[1].a'), issue('ce_rule[2].b', 'warning')]).get('ce_rule')).toEqual({ errors: 1, warnings: 1 });
  });
});

describe('row usage', () => {
  const explanation = (rows: Explanation['rows'] & object): Explanation => ({ seq: 1, step: 'RulesStep', topic: 'rules', verdict: 'rule 131 matched', rows });
  const explanations = [
    explanation([
      { table: 'ce_rule', id: 131, verdict: 'matched' },
      { table: 'ce_rule', id: 4, verdict: 'not_matched', reason: 'the amount is 5', facts: { amount: 5 } },
    ]),
  ];

  it('includes rows that won or matched', () => {
    expect([...usedRows({ explanations, notices: [] })]).toEqual(['ce_rule 131']);
  });

  it('is read from audit records without explanations', () => {
    const notices = [
      audit('INTENT_CLASSIFICATION_MATCHED', { matchedByRule: { '2': 'LOAN' } }),
      audit('RULE_MATCH (RulesStep)', { ruleId: 7 }),
      audit('RULE_NO_MATCH (RulesStep)', { ruleId: 8 }),
      audit('RESOLVE_RESPONSE', { responseId: 5 }),
    ];
    expect([...usedRows({ explanations: [], notices })]).toEqual(['ce_intent_classifier 2', 'ce_rule 7', 'ce_response 5']);
    expect(rowVerdicts({ explanations: [], notices }, 'ce_rule', '8')).toMatchObject([{ verdict: 'not_matched' }]);
  });

  it('counts turns, not decisions', () => {
    const twice = { explanations: [...explanations, ...explanations], notices: [] };
    expect(countUses([twice, twice, { explanations: [], notices: [] }]).get('ce_rule 131')).toBe(2);
  });

  it('lists the verdicts on a row, or why it may not have been considered', () => {
    expect(rowVerdicts({ explanations, notices: [] }, 'ce_rule', '4')).toMatchObject([{ verdict: 'not_matched', reason: 'the amount is 5', facts: { amount: 5 } }]);
    expect(unusedReason({ enabled: false }, 'ce_rule')).toContain('disabled');
    expect(unusedReason({ intent_code: 'ORDER' }, 'ce_rule')).toContain('no row of ce_rule was used');
  });
});

describe('patterns', () => {
  it('are found in rows that have one', () => {
    expect(findPattern({ match_pattern: 'x', rule_type: 'REGEX' })).toEqual({ column: 'match_pattern', kind: 'REGEX', pattern: 'x' });
    expect(findPattern({ match_pattern: '$.a', rule_type: 'JSON_PATH' })).toBeUndefined();
    expect(findPattern({ action: 'x' })).toBeUndefined();
  });

  it('are not the phrases of example rows', () => {
    const row = { pattern: 'where is my order', rule_type: 'example' };
    expect([findPattern(row), isExample(row), isExample({ ...row, rule_type: 'CONTAINS' })]).toEqual([undefined, true, false]);
    expect(unusedReason(row, 'ce_intent_classifier')).toMatch(/^the example rows of an intent/);
  });
});
