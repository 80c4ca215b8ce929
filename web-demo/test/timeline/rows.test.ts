import { describe, expect, it } from 'vitest';
import type { KindFilter } from '../../src/timeline/kind';
import type { OutcomeFilter } from '../../src/timeline/outcome';
import { findRowAt, layOutRows, type Density, type TimelineRow } from '../../src/timeline/rows';
import { formatStepName } from '../../src/timeline/step-name';
import type { TimelineTurn } from '../../src/timeline/items';
import { llm, Script, tool } from './turn';

/** A turn in which a model is asked, a rule matches, a tool fails and a message is shown. */
function loan(id = 1, more: Partial<TimelineTurn> = {}) {
  const script = new Script();
  script
    .audit('USER_INPUT', { text: 'a loan' })
    .step('DialogueActStep', () =>
      script
        .audit('DIALOGUE_ACT_LLM_INPUT')
        .asks(llm('dialogue_act'), { text: '{"act":"ASK"}' })
        .audit('DIALOGUE_ACT_LLM_OUTPUT')
        .audit('DIALOGUE_ACT_CLASSIFIED', { dialogueAct: 'ASK', dialogueActSource: 'LLM', dialogueActConfidence: 0.9 })
        .audit('RULE_NO_MATCH (DialogueActStep)'),
    )
    .step('PolicyEnforcementStep')
    .step('McpToolStep', () => script.says('Looking').audit('MCP_TOOL_CALL').asks(tool('rates', { year: 2026 }), 'timeout', 'fault').audit('MCP_TOOL_ERROR', { tool_code: 'rates' }), true);
  return script.ends(id, { intent: 'LOAN', state: 'OPEN', payload: { type: 'TEXT', value: 'Sorry' } }, more);
}

function lines(turns: TimelineTurn[], density: Density, { kinds = [], outcomes = [], search = '', folded = [] }: { kinds?: KindFilter[]; outcomes?: OutcomeFilter[]; search?: string; folded?: string[] } = {}): string[] {
  const rows = layOutRows(turns, { density, kinds: new Set(kinds), outcomes: new Set(outcomes), search, folded: new Set(folded) });
  return rows.map((it) => `${'  '.repeat(it.level - 1)}${it.kind} ${it.name}`);
}

describe('rows', () => {
  it('tell a story without steps and without what is said elsewhere', () => {
    expect(lines([loan()], 'story')).toEqual([
      'turn message 1',
      '  model dialogue_act',
      '  decision Dialogue act',
      '  tool rates',
      '  error Tool failed',
      '  change LOAN / OPEN',
      '  reply Sorry',
    ]);
  });

  it('put decisions, messages and effects into their steps, where they were asked', () => {
    expect(lines([loan()], 'steps')).toEqual([
      'turn message 1',
      '  step Dialogue act',
      '    model dialogue_act',
      '    decision Dialogue act',
      '  step Policy enforcement',
      '  step MCP tool',
      '    progress Looking',
      '    tool rates',
      '    error Tool failed',
      '  change LOAN / OPEN',
      '  reply Sorry',
    ]);
  });

  it('can be those that failed, were answered otherwise, or still wait', () => {
    const script = new Script();
    script.asks(llm('a'), { text: 'x' }).asks(llm('b'), { text: 'x' }, 'edited').asks(llm('c'), 'timeout', 'fault').asks(llm('d'), { text: 'x' }, 'live');
    const pendingEffects = [{ id: 9, key: 'k', class: 'read' as const, deadline_ms: 1, request: llm('e') }];
    const of = (...outcomes: OutcomeFilter[]) => lines([script.ends(1, {}, { pendingEffects })], 'story', { outcomes }).slice(1);
    expect(of('failed')).toEqual(['  model c']);
    expect(of('otherwise')).toEqual(['  model b', '  model c']);
    expect(of('waiting')).toEqual(['  model e']);
    expect(of('otherwise', 'waiting').toSorted()).toEqual(['  model b', '  model c', '  model e']);
    expect(lines([loan()], 'story', { outcomes: ['failed'], kinds: ['tool'] })).toEqual(['turn message 1', '  tool rates']);
    expect(of()).toHaveLength(5);
  });

  it('leave nothing out but the edges of steps when everything is shown', () => {
    const all = lines([loan()], 'everything');
    expect(all).toContain('  decision User said');
    expect(all.slice(2, 8)).toEqual([
      '  step Dialogue act',
      '    decision Dialogue act LLM input',
      '    model dialogue_act',
      '    decision Dialogue act LLM output',
      '    decision Dialogue act',
      '    decision Rule did not match',
    ]);
    expect(all.some((it) => it.includes('Step enter'))).toBe(false);
  });

  it('show only the kinds and texts that are asked for, with the turns and steps around them', () => {
    const turns = [loan(1), new Script().step('RulesStep').ends(2)];
    expect(lines(turns, 'steps', { kinds: ['tool'] })).toEqual(['turn message 1', '  step MCP tool', '    tool rates']);
    expect(lines(turns, 'story', { kinds: ['error'] })).toEqual(['turn message 1', '  tool rates', '  error Tool failed']);
    expect(lines(turns, 'story', { search: ' 2026 ' })).toEqual(['turn message 1', '  tool rates']);
    expect(lines(turns, 'story', { search: '"ACT":"ask"' })).toEqual(['turn message 1', '  model dialogue_act']);
    expect(lines(turns, 'story', { search: 'nothing of it' })).toEqual([]);
    expect(lines(turns, 'story', { search: 'sorry' })).toEqual(['turn message 1', '  reply Sorry']);
  });

  it('hide what is folded and count all that are beside each other', () => {
    expect(lines([loan()], 'story', { folded: ['1'] })).toEqual(['turn message 1']);
    expect(lines([loan()], 'steps', { folded: ['1:s0'] })).not.toContain('    model dialogue_act');
    const rows = layOutRows([loan(1), loan(2)], { density: 'steps', kinds: new Set(), search: '', folded: new Set(['2']) });
    const told = (it: TimelineRow | undefined) => it && [it.name, it.position, it.setSize, it.expanded];
    expect(told(rows[0])).toEqual(['message 1', 1, 2, true]);
    expect(told(rows.find((it) => it.name === 'rates'))).toEqual(['rates', 2, 3, false]);
    expect(told(rows.find((it) => it.name === 'Policy enforcement'))).toEqual(['Policy enforcement', 2, 5, false]);
    expect(told(rows.at(-1))).toEqual(['message 2', 2, 2, false]);
  });

  it('mark steps that changed something, that had nothing to do and turns that failed', () => {
    const rows = layOutRows([loan()], { density: 'everything', kinds: new Set(), search: '', folded: new Set() });
    const of = (name: string) => rows.find((it) => it.kind === 'step' && it.name === name);
    expect([of('MCP tool')?.changed, of('MCP tool')?.idle]).toEqual([true, false]);
    expect([of('Policy enforcement')?.changed, of('Policy enforcement')?.idle]).toEqual([false, true]);
    const failed = new Script().step('RulesStep').ends(3, { fault: { code: 'X', message: 'y', recoverable: false } });
    expect(layOutRows([failed], { density: 'story', kinds: new Set(), search: '', folded: new Set() }).map((it) => [it.kind, it.failed])).toEqual([
      ['turn', true],
      ['error', true],
    ]);
  });

  it('show a turn that still runs, with what it waits for at its end', () => {
    const { record: _, ...turn } = loan();
    const pendingEffects = [{ id: 9, key: '', class: 'read' as const, deadline_ms: 1, request: llm('response_text') }];
    const rows = lines([{ ...turn, record: undefined, pendingEffects }], 'steps');
    expect(rows.slice(1, 3)).toEqual(['  step Dialogue act', '    model dialogue_act']);
    expect(rows.at(-1)).toBe('    model response_text');
  });

  it('tell where the conversation went only when it went somewhere', () => {
    const parent = loan(1);
    expect(lines([loan(2, { parent })], 'story')).not.toContain('  change LOAN / OPEN');
  });
});

describe('rowAt', () => {
  const turns = [loan(1), loan(2)];
  const at = (density: Density, step: number | undefined) => {
    const rows = layOutRows(turns, { density, kinds: new Set(), search: '', folded: new Set() });
    const row = rows[findRowAt(rows, turns[1]!, step)];
    return row && `${row.turn.id} ${row.kind} ${row.name}`;
  };

  it('finds the row of a step, or the nearest one before it, or the turn', () => {
    expect(at('steps', 1)).toBe('2 step Policy enforcement');
    expect(at('story', 2)).toBe('2 tool rates');
    expect(at('story', 1)).toBe('2 decision Dialogue act');
    expect(at('story', undefined)).toBe('2 turn message 2');
  });
});

describe('stepName', () => {
  it('writes names as words', () => {
    expect(['McpToolStep', 'LoadOrCreateConversationStep', 'custom'].map(formatStepName)).toEqual(['MCP tool', 'Load or create conversation', 'custom']);
  });
});

describe('many turns', () => {
  it('are not laid out anew when another one is folded or added', () => {
    const turns = Array.from({ length: 3 }, (_, id) => loan(id + 1));
    const of = (all: TimelineTurn[], folded: string[] = []) => layOutRows(all, { density: 'everything', kinds: new Set(), search: '', folded: new Set(folded) });
    const inside = (rows: TimelineRow[], id: number) => rows.filter((it) => it.turn.id === id && it.level > 1);
    const before = of(turns);
    const after = of([...turns, loan(4)], ['1:s0']);
    expect(inside(after, 2).every((it, index) => it === inside(before, 2)[index])).toBe(true);
    expect(inside(after, 1)).toHaveLength(inside(before, 1).length - 5);
    expect(after.filter((it) => it.level === 1).map((it) => [it.position, it.setSize])).toEqual([1, 2, 3, 4].map((it) => [it, 4]));
  });
});
