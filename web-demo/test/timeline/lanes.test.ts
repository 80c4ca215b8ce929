import { describe, expect, it } from 'vitest';
import { layOutLanes } from '../../src/timeline/lanes';
import { llm, Script, tool } from './turn';

describe('lanes', () => {
  it('lay out effects by column, with engine work in between', () => {
    const script = new Script();
    script
      .addStep('LoadStep')
      .addStep('DialogueActStep', () => script.addAudit('A').addEffect(llm('dialogue_act'), {}, 'live', 30).addAudit('B'))
      .addStep('McpToolStep', () => script.addAudit('C').addEffect(tool('rates'), {}, 'script', 10).addAudit('D'))
      .addStep('MemoryStep');
    const { lanes, columns, durationMs } = layOutLanes(script.finish(1));
    expect(durationMs).toBe(40);
    expect(lanes.map((it) => [it.title, it.bars.map((bar) => [bar.column, bar.name, bar.steps])])).toEqual([
      ['Engine', [[0, 'Dialogue act', 2], [2, 'MCP tool', 2], [4, 'Memory', 2]]],
      ['Model', [[1, 'dialogue_act', undefined]]],
      ['Tool', [[3, 'rates', undefined]]],
    ]);
    expect(lanes.flatMap((it) => it.bars.map((bar) => bar.step)).sort()).toEqual([1, 1, 2, 2, 3]);
    expect(columns.map((it) => it.startMs)).toEqual([0, 0, 30, 30, 40]);
    expect(columns.map((it) => it.isLater)).toEqual([true, false, true, false, true]);
    expect(columns.map((it) => it.weight)).toEqual([1, 4.75, 1, 2.25, 1]);
  });

  it('give each name the room up to the next bar in its lane', () => {
    const script = new Script();
    script.addStep('McpToolStep', () => script.addEffect(tool('a'), {}).addAudit('A').addEffect(tool('b'), {}).addAudit('B'));
    const { lanes } = layOutLanes(script.finish(1));
    expect(lanes.map((it) => it.bars.map((bar) => [bar.column, bar.until, bar.share]))).toEqual([
      [[0, 2, 0.5], [2, 4, 0.5], [4, 6, 0.25]],
      [[1, 3, 0.5], [3, 6, 0.2]],
    ]);
  });

  it('put no engine work between concurrent effects', () => {
    const script = new Script();
    script.addStep('McpToolStep', () => script.addAudit('A').addEffect(tool('a'), {}).addEffect(tool('b'), {}).addAudit('B'));
    const { lanes, columns } = layOutLanes(script.finish(1));
    expect(lanes.find((it) => it.kind === 'tool')?.bars.map((it) => it.column)).toEqual([1, 2]);
    expect(columns.every((it) => it.weight === 1)).toBe(true);
  });

  it('end with the pending effects of a running turn', () => {
    const script = new Script();
    script.addStep('DialogueActStep', () => script.addAudit('A'));
    const pendingEffects = [{ id: 0, key: 'k', class: 'read' as const, deadline_ms: 1, request: llm('dialogue_act') }];
    const { lanes } = layOutLanes(script.finish(1, {}, { record: undefined, pendingEffects }));
    expect(lanes.map((it) => it.kind)).toEqual(['engine', 'model']);
    expect(lanes[1]?.bars.at(-1)?.item?.exchange).toBeUndefined();
  });

  it('are empty for a turn without activity', () => {
    expect(layOutLanes(new Script().finish(1))).toEqual({ lanes: [], columns: [], durationMs: 0 });
  });
});
