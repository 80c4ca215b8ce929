import { describe, expect, it } from 'vitest';
import { complete, buildVocabulary } from '../../src/config/completion';
import { packFileName, isImportable } from '../../src/config/files';
import { issueAnnouncement, countIssues, issueCountText, toFindings, parseRowPath } from '../../src/config/findings';
import { JsonSyntaxError, parseSpans } from '../../src/json-text';
import { locateIssue } from '../../src/locate';
import { listTables } from '../../src/pack/rows';
import type { Issue } from '../../src/types';

const PACK = `{
  "name": "p",
  "tables": {
    "ce_intent": [ {"intent_code": "ORDER"} ],
    "ce_rule": [
      {"rule_id": 7, "phase": "PRE_RESPONSE_RESOLUTION", "match_pattern": "((", "intent_code": "ANY"}
    ]
  }
}`;
const SAMPLE = '{"tables": {"ce_rule": [{"rule_id": 1, "action": "SET_STATE", "rule_type": "REGEX", "state_code": "SHOP"}], "ce_policy": [{"policy_id": 1}]}}';

const placed = (issue: Issue) => ({ ...issue, range: locateIssue(PACK, parseSpans(PACK), issue.path) });
const issue = (path: string, severity: Issue['severity'] = 'error'): Issue => ({ severity, path, reason: 'r', hint: 'h', rule: 'c' });

describe('findings', () => {
  it('marks the value of an issue, or the first line of a longer range', () => {
    const at = (path: string) => toFindings(PACK, [placed(issue(path))], undefined).map((it) => PACK.slice(it.start, it.end));
    expect(at('ce_rule[7].match_pattern')).toEqual(['"(("']);
    expect(at('ce_rule')).toEqual(['[']);
    expect(at('nowhere[1].x')).toEqual([]);
  });

  it('omits issues outside of the text', () => {
    expect(toFindings('{}', [placed(issue('ce_rule[7].match_pattern'))], undefined)).toEqual([]);
  });

  it('marks one character at a syntax error, the last one if the text ends too early', () => {
    const marked = (text: string) => {
      try {
        parseSpans(text);
        throw new Error('is JSON');
      } catch (fault) {
        if (!(fault instanceof JsonSyntaxError)) throw fault;
        const syntax = { line: 1, column: 1, offset: fault.offset, message: fault.message };
        const [found] = toFindings(text, [], syntax);
        return found && [found.start, found.end];
      }
    };
    expect(marked('{"a": x}')).toEqual([6, 7]);
    expect(marked('{"a": 1 \n')).toEqual([6, 7]);
    expect(marked('')).toEqual([0, 0]);
  });

  it('counts issues, and announces them only when they appear or disappear', () => {
    expect(issueCountText(countIssues([issue('a'), issue('b', 'warning'), issue('c', 'warning')]))).toBe('1 error, 2 warnings');
    expect(issueAnnouncement(0, 2, undefined, undefined)).toBe('The pack has 2 issues');
    expect(issueAnnouncement(2, 1, undefined, undefined)).toBe('');
    expect(issueAnnouncement(2, 0, undefined, undefined)).toContain('issues resolved');
  });

  it('parses tables, rows and columns of paths, also where ids contain dots', () => {
    expect(parseRowPath('ce_rule[7].match_pattern')).toEqual({ table: 'ce_rule', row: '7', column: 'match_pattern' });
    expect(parseRowPath('tables.ce_intent[A.B].x')).toEqual({ table: 'ce_intent', row: 'A.B', column: 'x' });
    expect(parseRowPath('ce_rule')).toEqual({ table: 'ce_rule', row: undefined, column: undefined });
  });
});

describe('complete', () => {
  const known = buildVocabulary(listTables(PACK), [listTables(SAMPLE)]);
  /** Offers at the bar in a text, which is taken out of it. */
  const offers = (text: string) => {
    const at = text.indexOf('|');
    const plain = text.replace('|', '');
    const found = complete(plain, at, known);
    return found && { replaced: plain.slice(found.from, found.to), labels: found.options.map((it) => it.label), apply: found.options[0]?.apply };
  };

  it('offers missing tables', () => {
    expect(offers('{"tables": {"ce_rule": [], "|')).toEqual({ replaced: '"', labels: ['"ce_intent"', '"ce_policy"'], apply: '"ce_intent": ' });
  });

  it('offers missing columns of a row, also those of samples', () => {
    const found = offers('{"tables": {"ce_rule": [{"rule_id": 1, "a|"');
    expect(found?.replaced).toBe('"a"');
    expect(found?.labels).toContain('"action"');
    expect(found?.labels).not.toContain('"rule_id"');
  });

  it('inserts no second colon', () => {
    expect(offers('{"tables": {"ce_rule": [{"a|": 1}]}}')?.apply).not.toContain(':');
  });

  it('offers values of the same column and intents of any table, but no states of other packs', () => {
    expect(offers('{"tables": {"ce_rule": [{}, {"action": |')?.labels).toEqual(['"SET_STATE"']);
    expect(offers('{"tables": {"ce_rule": [{"intent_code": "O|')?.labels).toEqual(['"ANY"', '"ORDER"']);
    expect(offers('{"tables": {"ce_rule": [{"state_code": "|')?.labels).toEqual([]);
  });

  it('offers nothing inside of values and outside of tables', () => {
    expect(offers('{"na|')).toBeUndefined();
    expect(offers('{"tables": {"ce_rule": [{"action_value": {"|')).toBeUndefined();
    expect(offers('{"tables": {"ce_rule": [|')).toBeUndefined();
  });
});

describe('files', () => {
  it('are named after their pack', () => {
    expect(packFileName('{"name": "loan, second try"}')).toBe('loan_second_try.json');
    expect(packFileName('{"name": "../../x"}')).toBe('x.json');
    expect(packFileName('{')).toBe('pack.json');
  });

  it('are distinguished by extension', () => {
    expect(['a.JSON', 'b.sql', 'c.wasm', 'd'].map(isImportable)).toEqual([true, true, false, false]);
  });
});
