import { describe, expect, it } from 'vitest';
import { groupReplyFaults, rerunWithAnswer, findComparable, rerunWithFault, createFaultRule, groupFaults, rerunFromEffect, rerunFromStep } from '../../src/timeline/actions';
import { ruleText, ruleTarget } from '../../src/timeline/fault-rule';
import { findFirstOrigin } from '../../src/timeline/first-origin';
import { toJsonLines } from '../../src/timeline/raw';
import { tokensText, timeSpan } from '../../src/timeline/time';
import { turnItems, locateEffects } from '../../src/timeline/items';
import type { Origin } from '../../src/session/turn-data';
import { llm, Script, tool } from './turn';

/** A turn that asks a model in its first step and a tool twice in its third one. */
function plannedTurn(id = 1, year = 2026, more = {}) {
  const script = new Script();
  script
    .addStep('DialogueActStep', () => script.addEffect(llm('dialogue_act'), { text: '{}', usage: { input_tokens: 12, output_tokens: 3 } }, 'live', 30).addAudit('DIALOGUE_ACT_CLASSIFIED'))
    .addStep('RulesStep')
    .addStep('McpToolStep', () => script.addEffect(tool('rates', { year: 1 }), { text: 'a' }).addAudit('X').addEffect(tool('rates', { year }), { text: 'b' }, 'script', 10).addAudit('Y'));
  return script.finish(id, {}, more);
}

describe('actions', () => {
  it('offer the faults of an effect by group', () => {
    const groups = groupFaults(plannedTurn().exchanges[1]!.effect);
    expect(groups.map((it) => it.title)).toEqual(['Failure', 'Bad answer', 'Time and process']);
    const names = groups.flatMap((it) => it.faults.map(({ fault }) => fault.name));
    expect(names).toContain('timeout');
    expect(names).not.toContain('filtered');
  });

  it('delay an answer by one second, ten or a minute', () => {
    const titles = groupFaults(plannedTurn().exchanges[1]!.effect).flatMap((it) => it.faults.map(({ title }) => title));
    expect(titles.filter((it) => it.startsWith('Delayed'))).toEqual(['Delayed by 1 s', 'Delayed by 10 s', 'Delayed by 60 s']);
    expect(rerunWithFault(plannedTurn(), 1, { name: 'delay', delayMs: 60_000 }).reason).toBe('tool rates #1: Delayed by 60 s');
  });

  it('offer only faults that end neither the turn nor the process for a pending answer', () => {
    const names = groupReplyFaults(plannedTurn().exchanges[0]!.effect).flatMap((it) => it.faults.map(({ fault }) => fault.name));
    expect(names).toEqual(expect.arrayContaining(['timeout', 'filtered', 'not_json']));
    for (const name of ['delay', 'never', 'crash']) expect(names).not.toContain(name);
  });

  it('describe the target and occurrence of an active fault', () => {
    const rule = createFaultRule(plannedTurn().exchanges[1]!.effect, { name: 'delay', delayMs: 1000 }, 2);
    expect([ruleTarget(rule), ruleText(rule)]).toEqual(['Tool rates', 'Delayed by 1 s, second time in a turn']);
    expect([ruleTarget({ ...rule, on: '' }), ruleTarget({ ...rule, on: 'llm' })]).toEqual(['Every effect', 'Every model']);
    expect(ruleText({ ...rule, nth: 0, fault: { name: 'delay' } })).toBe('Delayed by 10 s, every time');
  });

  it('rerun a turn with a fault, another answer, or new answers from a position on', () => {
    const turn = plannedTurn();
    expect(rerunWithFault(turn, 1, { name: 'timeout' })).toEqual({ edits: [{ place: 1, decision: { fault: { name: 'timeout' } } }], reason: 'tool rates #1: Timeout' });
    expect(rerunWithAnswer(turn, 0, '{"ok":1}')).toEqual({ edits: [{ place: 0, decision: { outcome: '{"ok":1}', origin: 'edited' } }], reason: 'llm dialogue_act with another answer' });
    expect(rerunFromEffect(turn, 2).until).toBe(2);
    expect([0, 1, 2].map((step) => rerunFromStep(turn, step).until)).toEqual([0, 1, 1]);
    expect(createFaultRule(turn.exchanges[1]!.effect, { name: 'status_500' })).toEqual({ on: 'tool rates', nth: 0, fault: { name: 'status_500' } });
  });

  it('give each rerun of an effect a name of its own', () => {
    const turn = plannedTurn();
    const reasons = turn.exchanges.map((_, place) => rerunWithFault(turn, place, { name: 'timeout' }).reason);
    expect(reasons).toEqual(['llm dialogue_act: Timeout', 'tool rates #1: Timeout', 'tool rates #2: Timeout']);
    expect(rerunWithAnswer(turn, 2, '{}').reason).toBe('tool rates #2 with another answer');
    expect(rerunFromEffect(turn, 2).reason).toBe('turn 1 from tool rates #2');
  });

  it('find the first origin of a reused answer', () => {
    const run = (origins: Origin[], original?: ReturnType<typeof plannedTurn>) => {
      const script = new Script();
      for (const origin of origins) script.addEffect(tool('rates', { year: 1 }), { text: 'a' }, origin);
      return { ...script.finish(1), original };
    };
    const first = run(['live', 'edited']);
    const again = run(['reused', 'reused', 'script'], run(['reused', 'reused'], first));
    expect(again.exchanges.map((it) => findFirstOrigin(again, it))).toEqual(['live', 'edited', 'script']);
    const alone = run(['reused']);
    expect(findFirstOrigin(alone, alone.exchanges[0]!)).toBe('reused');
  });

  it('find the corresponding effect of the original run', () => {
    const first = plannedTurn(1, 2026);
    const other = { ...plannedTurn(2, 2027), original: first };
    expect(findComparable(other, 2)?.effect.request['args']).toEqual({ year: 2026 });
    expect(findComparable(first, 2)).toBeUndefined();
  });
});

describe('raw lines', () => {
  it('list notices, effects and answers in order, as the engine spells them', () => {
    const script = new Script();
    script.addAudit('A').addEffect(tool('t'), { text: 'x' }).addAudit('B');
    const turn = script.finish(1);
    turn.exchanges[0]!.raw = { request: '{"kind":"tool","args":{"a":1.0}}', outcome: '{"ok":{"kind":"tool","text":"x"}}' };
    const lines = toJsonLines(turn).split('\n');
    expect(lines.map((it) => (JSON.parse(it) as { kind: string }).kind)).toEqual(['audit', 'effect', 'answer', 'audit', 'end']);
    expect(lines[1]).toContain('"a":1.0');
  });
});

describe('time', () => {
  it('gives an effect its span in the turn, and tokens if they are reported', () => {
    const items = turnItems(plannedTurn());
    const effects = items.list.filter((it) => it.effect);
    expect(items.durationMs).toBe(40);
    expect(effects.map((it) => timeSpan(it, items))).toEqual([{ from: 0, width: 75 }, undefined, { from: 75, width: 25 }]);
    expect(effects.map(tokensText)).toEqual(['12 + 3 tokens', '', '']);
  });

  it('locates the effects of a recorded turn by nearby notices', () => {
    const script = new Script();
    script
      .addStep('A', () => script.addAudit('DIALOGUE_ACT_LLM_INPUT').addEffect(llm('dialogue_act'), {}, 'recorded').addAudit('DIALOGUE_ACT_LLM_OUTPUT'))
      .addStep('B', () => script.addAudit('MCP_TOOL_CALL').addEffect(tool('t'), {}, 'recorded').addAudit('MCP_TOOL_RESULT'));
    const asked = script.exchanges.map((it) => it.seq);
    const lost = script.exchanges.map((it) => ({ ...it, seq: 0 }));
    expect(locateEffects(lost, script.notices)).toEqual(asked);
  });
});
