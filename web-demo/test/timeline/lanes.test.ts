import { describe, expect, it } from 'vitest';
import { layOutLanes } from '../../src/timeline/lanes';
import { llm, Script, tool } from './turn';

describe('lanes', () => {
  it('lay out who worked at which moment, and the engine in between', () => {
    const script = new Script();
    script
      .step('LoadStep')
      .step('DialogueActStep', () => script.audit('A').asks(llm('dialogue_act'), {}, 'live', 30).audit('B'))
      .step('McpToolStep', () => script.audit('C').asks(tool('rates'), {}, 'script', 10).audit('D'))
      .step('MemoryStep');
    const { lanes, columns, durationMs } = layOutLanes(script.ends(1));
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

  it('give each name the room until the next one in its lane', () => {
    const script = new Script();
    script.step('McpToolStep', () => script.asks(tool('a'), {}).audit('A').asks(tool('b'), {}).audit('B'));
    const { lanes } = layOutLanes(script.ends(1));
    expect(lanes.map((it) => it.bars.map((bar) => [bar.column, bar.until, bar.share]))).toEqual([
      [[0, 2, 0.5], [2, 4, 0.5], [4, 6, 0.25]],
      [[1, 3, 0.5], [3, 6, 0.2]],
    ]);
  });

  it('put no work of the engine between effects that are asked for at once', () => {
    const script = new Script();
    script.step('McpToolStep', () => script.audit('A').asks(tool('a'), {}).asks(tool('b'), {}).audit('B'));
    const { lanes, columns } = layOutLanes(script.ends(1));
    expect(lanes.find((it) => it.kind === 'tool')?.bars.map((it) => it.column)).toEqual([1, 2]);
    expect(columns.every((it) => it.weight === 1)).toBe(true);
  });

  it('end with what a running turn waits for', () => {
    const script = new Script();
    script.step('DialogueActStep', () => script.audit('A'));
    const pendingEffects = [{ id: 0, key: 'k', class: 'read' as const, deadline_ms: 1, request: llm('dialogue_act') }];
    const { lanes } = layOutLanes(script.ends(1, {}, { record: undefined, pendingEffects }));
    expect(lanes.map((it) => it.kind)).toEqual(['engine', 'model']);
    expect(lanes[1]?.bars.at(-1)?.item?.exchange).toBeUndefined();
  });

  it('tell nothing of a turn in which nothing happened', () => {
    expect(layOutLanes(new Script().ends(1))).toEqual({ lanes: [], columns: [], durationMs: 0 });
  });
});
