import { describe, expect, it } from 'vitest';
import { isEditable, isShown, loadFields, nodeFields, parseList, readField, writeField, type Field } from '../../src/flow/node-forms';
import type { Json, JsonObject } from '../../src/types';

const DATA = '{\n  "code": "x = 1",\n  "timeout_ms": 5e2,\n  "query": {"from": ["last_user"]}\n}';

/** A schema as the engine writes it, with these members in the data of the type `script`. */
function schema(properties: Record<string, Json>, required: string[] = []): JsonObject {
  const data = { type: 'object', properties, required };
  const kinds = [{ properties: { type: { const: 'start' } } }, { properties: { type: { const: 'script' }, data } }];
  const localized = { anyOf: [{ $ref: '#/$defs/Template' }, { type: 'array', items: { $ref: '#/$defs/Template' } }] };
  return { $defs: { Template: { type: 'string', maxLength: 32768 }, LocalizedText: localized, Node: { oneOf: kinds } } };
}

function fields(properties: Record<string, Json>, required?: string[]): Field[] {
  return nodeFields(schema(properties, required), 'conversation_flow', 'script');
}

const edited = (properties: Record<string, Json>) => fields(properties).map((it) => [it.path.join('.'), it.kind, it.choices]);

describe('the fields of a form', () => {
  it('are what the schema says of the members', () => {
    const timeout = { title: 'Time limit in ms', description: 'Time limit.', type: 'integer', minimum: 10, maximum: 30000, default: 100 };
    expect(fields({ timeout_ms: timeout, code: { title: 'Code', type: 'string', 'x-meaning': 'script' } }, ['code'])).toEqual([
      { path: ['timeout_ms'], label: 'Time limit in ms', kind: 'number', hint: 'Time limit. 10 to 30,000.', default: 100, choices: undefined, optional: true, shownIf: undefined },
      { path: ['code'], label: 'Code', kind: 'code', hint: '', default: undefined, choices: undefined, optional: false, shownIf: undefined },
    ]);
    expect(nodeFields(schema({}), 'conversation_flow', 'other')).toEqual([]);
    expect(nodeFields(schema({}), 'ai_agent', 'script')).toEqual([]);
  });

  it('are edited by type and meaning, and left to the JSON where a form cannot show a value', () => {
    const template = { $ref: '#/$defs/Template', 'x-meaning': 'template' };
    expect(
      edited({
        line: template,
        lines: { ...template, 'x-multiline': true },
        text: { $ref: '#/$defs/LocalizedText' },
        flag: { type: 'boolean', default: false },
        ids: { type: 'array', items: { type: 'string' } },
        maybe: { type: 'boolean' },
        texts: { type: 'array', items: template },
        any: {},
        map: { type: 'object', additionalProperties: { type: 'string' } },
      }),
    ).toEqual([
      ['line', 'line', undefined],
      ['lines', 'text', undefined],
      ['text', 'text', undefined],
      ['flag', 'flag', undefined],
      ['ids', 'list', undefined],
    ]);
  });

  it('offer words with what they mean', () => {
    const words = { enum: ['call', 'goto'], enumDescriptions: ['As a call.', 'As a jump.'] };
    const labelled = [['call', 'As a call'], ['goto', 'As a jump']];
    expect(edited({ mode: words, modes: { type: 'array', items: words }, method: { enum: ['GET'] } })).toEqual([
      ['mode', 'line', labelled],
      ['modes', 'list', labelled],
      ['method', 'line', [['GET', 'GET']]],
    ]);
  });

  it('of an object within the data name both, and are shown when they matter or have a value', () => {
    const from = { title: 'From', enum: ['a', 'b'], default: 'a' };
    const template = { title: 'Template', type: 'string', 'x-shown-if': { from: 'b' } };
    const [, field] = fields({ query: { title: 'Query', type: 'object', properties: { from, template } } });
    expect(field && [field.path, field.label]).toEqual([['query', 'template'], 'Query template']);
    expect(field && ['{}', '{"query": {"from": "b"}}', '{"query": {"template": "t"}}'].map((it) => isShown(field, it))).toEqual([false, true, true]);
  });

  it('of a kind of documents are loaded once, and again after a failure', async () => {
    let calls = 0;
    const client = { documentSchema: () => (++calls === 1 ? Promise.reject(new Error('offline')) : Promise.resolve(schema({ code: { title: 'Code', type: 'string' } }))) };
    await expect(loadFields(client, 'conversation_flow', 'script')).rejects.toThrow('offline');
    expect((await loadFields(client, 'conversation_flow', 'script')).map((it) => it.label)).toEqual(['Code']);
    expect((await loadFields(client, 'conversation_flow', 'start')).length + calls).toBe(2);
  });
});

describe('a form of a node', () => {
  it('reads and writes single members and leaves the other text unchanged', () => {
    expect(readField(DATA, ['query', 'from'])).toEqual(['last_user']);
    expect(writeField(DATA, ['code'], 'y\n')).toBe(DATA.replace('x = 1', 'y\\n'));
    expect(writeField(DATA, ['query', 'template'], 'q')).toContain('{"from": ["last_user"], "template": "q"}');
    expect(writeField(DATA, ['a', 'b', 'c'], 1)).toContain('"a": {"b": {"c": 1}}');
    expect(writeField(DATA, ['code'], undefined)).toBe('{\n  "timeout_ms": 5e2,\n  "query": {"from": ["last_user"]}\n}');
  });

  it('writes into empty data and nested members that do not exist', () => {
    expect(JSON.parse(writeField('{}', ['query', 'from'], ['summary']))).toEqual({ query: { from: ['summary'] } });
    expect(writeField('{}', ['query', 'from'], undefined)).toBe('{}');
  });

  it('leaves values of another form to the JSON', () => {
    const [code, ids] = fields({ code: { type: 'string' }, ids: { type: 'array', items: { type: 'string' } } });
    expect(code && [isEditable(code, 'x'), isEditable(code, { en: 'x' }), isEditable(code, undefined)]).toEqual([true, false, true]);
    expect(ids && [isEditable(ids, ['x']), isEditable(ids, ['x, y'])]).toEqual([true, false]);
    expect(readField('{"code": ', ['code'])).toBeUndefined();
  });

  it('splits lists at commas', () => {
    expect(parseList(' a, b ,,c')).toEqual(['a', 'b', 'c']);
  });
});
