import { describe, expect, it } from 'vitest';
import { readNodeData, findNodePlace, writeNodeData } from '../../src/flow/edit';
import { parseDocument } from '../../src/flow/graph';
import { countNodeIssues, locateInData, nodeIssues, findIssueNode } from '../../src/flow/issues';
import { redactSession } from '../../src/flow/redaction';
import { parseSpans } from '../../src/json-text';
import { locateIssue } from '../../src/locate';
import type { Issue } from '../../src/types';
import { BANK } from './bank';

const bank = parseDocument(BANK);
if (!bank) throw new Error('the bank has no document');
const say = findNodePlace(bank, 'g_balance', 'b_say');
if (!say) throw new Error('the bank does not say the balance');

const issue = (path: string, more: Partial<Issue> = {}) => ({ severity: 'error' as const, path, reason: 'is wrong', hint: '', rule: 'N001', range: undefined, ...more });

describe('the data of a node', () => {
  it('is read unindented and written back in place', () => {
    const text = readNodeData(BANK, say);
    expect(text.startsWith('{\n')).toBe(true);
    expect(JSON.parse(text)).toEqual((JSON.parse(BANK) as { documents: [{ graphs: { id: string; nodes: { id: string; data: unknown }[] }[] }] }).documents[0].graphs.find((it) => it.id === 'g_balance')?.nodes.find((it) => it.id === 'b_say')?.data);
    expect(writeNodeData(BANK, say, text).length).toBeGreaterThanOrEqual(BANK.length);
    const other = writeNodeData(BANK, say, '{\n  "blocks": []\n}');
    expect(JSON.parse(readNodeData(other, say))).toEqual({ blocks: [] });
    const [before, after] = [BANK.split('\n'), other.split('\n')];
    expect(after[0]).toBe(before[0]);
    expect(after.at(-3)).toBe(before.at(-3));
  });

  it('keeps its spelling', () => {
    const pack = '{"documents": [{"doc": "conversation_flow", "graphs": [{"id": "r", "nodes": [{"id": "n", "data": {"x": 1.0}}, {"id": "m"}]}]}]}';
    const document = parseDocument(pack);
    const [n, m] = ['n', 'm'].map((it) => (document ? findNodePlace(document, 'r', it) : undefined));
    if (!n || !m) throw new Error('no place');
    expect(readNodeData(pack, n)).toBe('{"x": 1.0}');
    expect(writeNodeData(pack, n, '{"x": 2.50}')).toBe(pack.replace('1.0', '2.50'));
    expect(readNodeData(pack, m)).toBe('{}');
    expect(JSON.parse(writeNodeData(pack, m, '{"y": 1}'))).toMatchObject({ documents: [{ graphs: [{ nodes: [{}, { data: { y: 1 } }] }] }] });
    expect(() => writeNodeData(pack, n, '[1]')).toThrow('a JSON object');
    expect(() => writeNodeData(pack, n, '{')).toThrow();
    expect(() => writeNodeData(pack, { ...n, pointer: '/graphs/0/nodes/9' }, '{}')).toThrow('no longer exists');
  });
});

describe('issues of a document', () => {
  const at = say.pointer;

  it('are located in the pack by JSON pointer', () => {
    const place = locateIssue(BANK, parseSpans(BANK), `${at}/data/blocks/0/text`);
    expect(BANK.slice(place?.start, place?.end)).toMatch(/^"Your \{\{/);
    expect(locateIssue(BANK, parseSpans(BANK), '')?.line).toBeLessThan(7);
    expect(locateIssue('{"documents": []}', parseSpans('{"documents": []}'), '/graphs')).toBeUndefined();
  });

  it('belong to nodes, by name or pointer', () => {
    const all = [issue(at), issue('/settings'), issue('', { graph: 'g_balance', node: 'b_say', severity: 'warning' })];
    expect(findIssueNode(all[0] ?? issue(''), bank)).toEqual({ graph: 'g_balance', node: 'b_say' });
    expect(findIssueNode(issue('/graphs/99/nodes/0'), bank)).toBeUndefined();
    expect([...countNodeIssues(all, bank, 'g_balance')]).toEqual([['b_say', { errors: 1, warnings: 1 }]]);
    expect(nodeIssues(all, bank, 'g_balance', 'b_say')).toHaveLength(2);
    expect(nodeIssues(all, bank, 'root', 'r_start')).toHaveLength(0);
  });

  it('are located in the text of the data', () => {
    const data = readNodeData(BANK, say);
    const [one, whole] = locateInData(data, [issue(`${at}/data/blocks/0/text`), issue(at)], say);
    expect(data.slice(one?.start, one?.end)).toMatch(/^"Your \{\{/);
    expect(whole).toMatchObject({ start: 0, line: 1 });
    expect(locateInData('{"a": ', [])).toMatchObject([{ rule: 'not JSON', line: 1 }]);
  });
});

describe('redactSession', () => {
  it('replaces values with their names, also in frames', () => {
    const session = { vars: { user_pin: '1234', a: { secret: 1, b: 2 }, none: null }, stack: [{ locals: { user_pin: 9 } }, 'x'], status: 'active' };
    expect(redactSession(session, ['user_pin', 'a.secret', 'none', 'absent.deep'])).toEqual({
      vars: { user_pin: '[user_pin]', a: { secret: '[a.secret]', b: 2 }, none: null },
      stack: [{ locals: { user_pin: '[user_pin]' } }, 'x'],
      status: 'active',
    });
    expect(redactSession(session, [])).toBe(session);
  });
});
