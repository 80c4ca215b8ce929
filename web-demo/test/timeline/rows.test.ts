import { describe, expect, it } from 'vitest';
import type { KindFilter } from '../../src/timeline/kind';
import type { OutcomeFilter } from '../../src/timeline/outcome';
import { findRowAt, layOutRows, type Density, type TimelineRow } from '../../src/timeline/rows';
import { formatStepName } from '../../src/timeline/step-name';
import type { TimelineTurn } from '../../src/timeline/items';
import { llm, Script, tool } from './turn';

/** A turn with a model call, a rule, a failing tool and a message. */
function loanTurn(id = 1, more: Partial<TimelineTurn> = {}) {
  const script = new Script();
  script
    .addAudit('USER_INPUT', { text: 'a loan' })
    .addStep('DialogueActStep', () =>
      script
        .addAudit('DIALOGUE_ACT_LLM_INPUT')
        .addEffect(llm('dialogue_act'), { text: '{"act":"ASK"}' })
        .addAudit('DIALOGUE_ACT_LLM_OUTPUT')
        .addAudit('DIALOGUE_ACT_CLASSIFIED', { dialogueAct: 'ASK', dialogueActSource: 'LLM', dialogueActConfidence: 0.9 })
        .addAudit('RULE_NO_MATCH (DialogueActStep)'),
    )
    .addStep('PolicyEnforcementStep')
    .addStep('McpToolStep', () => script.addMessage('Looking').addAudit('MCP_TOOL_CALL').addEffect(tool('rates', { year: 2026 }), 'timeout', 'fault').addAudit('MCP_TOOL_ERROR', { tool_code: 'rates' }), true);
  return script.finish(id, { intent: 'LOAN', state: 'OPEN', payload: { type: 'TEXT', value: 'Sorry' } }, more);
}

function rowLines(turns: TimelineTurn[], density: Density, { kinds = [], outcomes = [], search = '', folded = [] }: { kinds?: KindFilter[]; outcomes?: OutcomeFilter[]; search?: string; folded?: string[] } = {}): string[] {
  const rows = layOutRows(turns, { density, kinds: new Set(kinds), outcomes: new Set(outcomes), search, folded: new Set(folded) });
  return rows.map((it) => `${'  '.repeat(it.level - 1)}${it.kind} ${it.name}`);
}

describe('rows', () => {
  it('show a story without steps and without covered stages', () => {
    expect(rowLines([loanTurn()], 'story')).toEqual([
      'turn message 1',
      '  model dialogue_act',
      '  decision Dialogue act',
      '  tool rates',
      '  error Tool failed',
      '  change LOAN / OPEN',
      '  reply Sorry',
    ]);
  });

  it('place decisions, messages and effects in their steps', () => {
    expect(rowLines([loanTurn()], 'steps')).toEqual([
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

  it('can be filtered by outcome', () => {
    const script = new Script();
    script.addEffect(llm('a'), { text: 'x' }).addEffect(llm('b'), { text: 'x' }, 'edited').addEffect(llm('c'), 'timeout', 'fault').addEffect(llm('d'), { text: 'x' }, 'live');
    const pendingEffects = [{ id: 9, key: 'k', class: 'read' as const, deadline_ms: 1, request: llm('e') }];
    const byName = (...outcomes: OutcomeFilter[]) => rowLines([script.finish(1, {}, { pendingEffects })], 'story', { outcomes }).slice(1);
    expect(byName('failed')).toEqual(['  model c']);
    expect(byName('replaced')).toEqual(['  model b', '  model c']);
    expect(byName('waiting')).toEqual(['  model e']);
    expect(byName('replaced', 'waiting').toSorted()).toEqual(['  model b', '  model c', '  model e']);
    expect(rowLines([loanTurn()], 'story', { outcomes: ['failed'], kinds: ['tool'] })).toEqual(['turn message 1', '  tool rates']);
    expect(byName()).toHaveLength(5);
  });

  it('omit only step boundaries at full detail', () => {
    const all = rowLines([loanTurn()], 'everything');
    expect(all).toContain('  decision User input');
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

  it('show only matching kinds and texts, with their turns and steps', () => {
    const turns = [loanTurn(1), new Script().addStep('RulesStep').finish(2)];
    expect(rowLines(turns, 'steps', { kinds: ['tool'] })).toEqual(['turn message 1', '  step MCP tool', '    tool rates']);
    expect(rowLines(turns, 'story', { kinds: ['error'] })).toEqual(['turn message 1', '  tool rates', '  error Tool failed']);
    expect(rowLines(turns, 'story', { search: ' 2026 ' })).toEqual(['turn message 1', '  tool rates']);
    expect(rowLines(turns, 'story', { search: '"ACT":"ask"' })).toEqual(['turn message 1', '  model dialogue_act']);
    expect(rowLines(turns, 'story', { search: 'nothing of it' })).toEqual([]);
    expect(rowLines(turns, 'story', { search: 'sorry' })).toEqual(['turn message 1', '  reply Sorry']);
  });

  it('hide collapsed rows and count siblings', () => {
    expect(rowLines([loanTurn()], 'story', { folded: ['1'] })).toEqual(['turn message 1']);
    expect(rowLines([loanTurn()], 'steps', { folded: ['1:s0'] })).not.toContain('    model dialogue_act');
    const rows = layOutRows([loanTurn(1), loanTurn(2)], { density: 'steps', kinds: new Set(), search: '', folded: new Set(['2']) });
    const summary = (it: TimelineRow | undefined) => it && [it.name, it.position, it.setSize, it.expanded];
    expect(summary(rows[0])).toEqual(['message 1', 1, 2, true]);
    expect(summary(rows.find((it) => it.name === 'rates'))).toEqual(['rates', 2, 3, false]);
    expect(summary(rows.find((it) => it.name === 'Policy enforcement'))).toEqual(['Policy enforcement', 2, 5, false]);
    expect(summary(rows.at(-1))).toEqual(['message 2', 2, 2, false]);
  });

  it('mark changed and idle steps and failed turns', () => {
    const rows = layOutRows([loanTurn()], { density: 'everything', kinds: new Set(), search: '', folded: new Set() });
    const byName = (name: string) => rows.find((it) => it.kind === 'step' && it.name === name);
    expect([byName('MCP tool')?.changed, byName('MCP tool')?.idle]).toEqual([true, false]);
    expect([byName('Policy enforcement')?.changed, byName('Policy enforcement')?.idle]).toEqual([false, true]);
    const failed = new Script().addStep('RulesStep').finish(3, { fault: { code: 'X', message: 'y', recoverable: false } });
    expect(layOutRows([failed], { density: 'story', kinds: new Set(), search: '', folded: new Set() }).map((it) => [it.kind, it.failed])).toEqual([
      ['turn', true],
      ['error', true],
    ]);
  });

  it('show a running turn with its pending effects at the end', () => {
    const { record: _, ...turn } = loanTurn();
    const pendingEffects = [{ id: 9, key: '', class: 'read' as const, deadline_ms: 1, request: llm('response_text') }];
    const rows = rowLines([{ ...turn, record: undefined, pendingEffects }], 'steps');
    expect(rows.slice(1, 3)).toEqual(['  step Dialogue act', '    model dialogue_act']);
    expect(rows.at(-1)).toBe('    model response_text');
  });

  describe('of intent and state', () => {
    const other = { conversation: 'other', conversationId: 'd', message: 'm', inputParams: '', reset: false, at: 0, seed: 1 };
    const stopped = (parent: TimelineTurn) => ({ ...loanTurn(2), record: undefined, error: { code: 'STOPPED', message: 'stopped' }, parent });
    const changes = (turn: TimelineTurn) =>
      layOutRows([turn], { density: 'story', kinds: new Set(), search: '', folded: new Set() }).flatMap((it) => (it.kind === 'change' ? [`${it.name}: ${it.detail}`] : []));

    it('appear only when they changed', () => {
      expect(changes(loanTurn(1))).toEqual(['LOAN / OPEN: conversation started']);
      expect(changes(loanTurn(2, { parent: loanTurn(1) }))).toEqual([]);
      const parent = new Script().finish(1, { intent: 'CARD', state: 'LOST' });
      expect(changes(loanTurn(2, { parent }))).toEqual(['LOAN / OPEN: was CARD / LOST']);
      expect(changes(loanTurn(2, { parent: new Script().finish(1, { intent: 'UNKNOWN', state: 'UNKNOWN' }) }))).toEqual(['LOAN / OPEN: no intent before']);
    });

    it('are compared with the turn before a cancelled or failed one', () => {
      expect(changes(loanTurn(3, { parent: stopped(loanTurn(1)) }))).toEqual([]);
      const fault = { code: 'LLM_CALL_FAILED', message: '', recoverable: true };
      const failed = new Script().finish(2, { intent: 'ERROR', state: 'ERROR', fault }, { parent: loanTurn(1) });
      expect(changes(failed)).toEqual([]);
      expect(changes(loanTurn(3, { parent: failed }))).toEqual([]);
      expect(changes(loanTurn(2, { parent: stopped(new Script().finish(1, { intent: 'CARD', state: 'LOST' })) }))).toEqual(['LOAN / OPEN: was CARD / LOST']);
    });

    it('are compared within a conversation', () => {
      const second = loanTurn(2, { parent: loanTurn(1), input: other });
      expect(changes(second)).toEqual(['LOAN / OPEN: conversation started']);
      expect(changes(loanTurn(3, { parent: second }))).toEqual([]);
    });
  });
});

describe('rows of turns', () => {
  it('name the conversation where it changes', () => {
    const input = { ...loanTurn(3).input, conversation: 'second thoughts', conversationId: 'd' };
    const rows = layOutRows([loanTurn(1), loanTurn(2), loanTurn(3, { input })], { density: 'story', kinds: new Set(), search: '', folded: new Set() });
    const details = rows.filter((it) => it.kind === 'turn').map((it) => it.detail);
    expect(details).toEqual(['conversation main · 2 effects', '2 effects', 'conversation second thoughts · 2 effects']);
  });
});

describe('findRowAt', () => {
  const turns = [loanTurn(1), loanTurn(2)];
  const at = (density: Density, step: number | undefined) => {
    const rows = layOutRows(turns, { density, kinds: new Set(), search: '', folded: new Set() });
    const row = rows[findRowAt(rows, turns[1]!, step)];
    return row && `${row.turn.id} ${row.kind} ${row.name}`;
  };

  it('finds the row of a step, the nearest earlier one, or the turn', () => {
    expect(at('steps', 1)).toBe('2 step Policy enforcement');
    expect(at('story', 2)).toBe('2 tool rates');
    expect(at('story', 1)).toBe('2 decision Dialogue act');
    expect(at('story', undefined)).toBe('2 turn message 2');
  });
});

describe('formatStepName', () => {
  it('formats names as words', () => {
    expect(['McpToolStep', 'LoadOrCreateConversationStep', 'custom'].map(formatStepName)).toEqual(['MCP tool', 'Load or create conversation', 'custom']);
  });
});

describe('many turns', () => {
  it('are not laid out again when another one is folded or added', () => {
    const turns = Array.from({ length: 3 }, (_, id) => loanTurn(id + 1));
    const byName = (all: TimelineTurn[], folded: string[] = []) => layOutRows(all, { density: 'everything', kinds: new Set(), search: '', folded: new Set(folded) });
    const inside = (rows: TimelineRow[], id: number) => rows.filter((it) => it.turn.id === id && it.level > 1);
    const before = byName(turns);
    const after = byName([...turns, loanTurn(4)], ['1:s0']);
    expect(inside(after, 2).every((it, index) => it === inside(before, 2)[index])).toBe(true);
    expect(inside(after, 1)).toHaveLength(inside(before, 1).length - 5);
    expect(after.filter((it) => it.level === 1).map((it) => [it.position, it.setSize])).toEqual([1, 2, 3, 4].map((it) => [it, 4]));
  });
});
