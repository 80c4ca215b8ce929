import { describe, expect, it } from 'vitest';
import { listSources, removeSource, sourceId, writeSource } from '../../src/pack/knowledge';

const PACK = '{\n  "name": "p",\n  "knowledge": [\n    {"id": "a", "title": "A", "text": "one", "assistant": "x"},\n    {"id": "b", "title": "B", "text": "two"}\n  ]\n}';

describe('the sources of a pack', () => {
  it('are listed; none without JSON', () => {
    expect(listSources(PACK).map((it) => [it.id, it.title, it.text])).toEqual([
      ['a', 'A', 'one'],
      ['b', 'B', 'two'],
    ]);
    expect(listSources('{')).toEqual([]);
  });

  it('are appended in the style of the others', () => {
    const text = writeSource(PACK, undefined, { id: 'c', title: 'C', url: '', text: 'three', format: 'markdown' });
    expect(text).toContain('"text": "two"},\n    {"id": "c", "title": "C", "format": "markdown", "text": "three"}\n  ]');
    expect(JSON.parse(writeSource('{"name": "p"}', undefined, { id: 'c', title: 'C', text: 't' }))).toEqual({ name: 'p', knowledge: [{ id: 'c', title: 'C', text: 't' }] });
  });

  it('are replaced with their other members kept, and removed', () => {
    const text = writeSource(PACK, 0, { id: 'a', title: 'New', text: 'one' });
    expect((JSON.parse(text) as { knowledge: unknown[] }).knowledge[0]).toEqual({ assistant: 'x', id: 'a', title: 'New', text: 'one' });
    expect(listSources(removeSource(PACK, 0)).map((it) => it.id)).toEqual(['b']);
  });

  it('get ids of their own', () => {
    expect(sourceId('Delivery & Zölle', [])).toBe('delivery_zolle');
    expect(sourceId('A', listSources(PACK))).toBe('a_2');
    expect(sourceId('…', [])).toBe('source');
  });
});
