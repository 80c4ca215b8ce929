import { describe, expect, it } from 'vitest';
import { argumentFields, buildArguments, checkArguments } from '../../src/mcp/arguments';
import type { JsonObject } from '../../src/types';

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    orderId: { type: 'string', title: 'Order', description: 'Such as ORD-7017' },
    quantity: { type: 'integer' },
    gift: { type: 'boolean' },
    size: { enum: ['S', 'M', 1] },
    tags: { type: 'array' },
    anything: {},
  },
  required: ['orderId'],
};

const fields = argumentFields(SCHEMA) ?? [];

describe('the form of a tool', () => {
  it('has a field for each property of its schema', () => {
    expect(fields.map((it) => [it.label, it.kind, it.required])).toEqual([
      ['orderId: Order', 'text', true],
      ['quantity', 'number', false],
      ['gift', 'choice', false],
      ['size', 'choice', false],
      ['tags', 'json', false],
      ['anything', 'json', false],
    ]);
    expect([fields[0]?.help, fields[2]?.choices, fields[3]?.choices]).toEqual(['Such as ORD-7017', ['true', 'false'], ['"S"', '"M"', '1']]);
  });

  it('is absent where only JSON can be written', () => {
    const many = Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`p${index}`, {}]));
    for (const schema of [{ type: 'array' }, { properties: many }, JSON.parse('{"properties": {"__proto__": {}}}') as JsonObject]) expect(argumentFields(schema)).toBeUndefined();
    for (const schema of [undefined, null, {}, ['orderId'], { type: 'object' }, { properties: 'x' }]) expect(argumentFields(schema)).toEqual([]);
  });

  it('makes arguments of its texts', () => {
    const texts = { orderId: ' 7', quantity: '12345678901234567890', gift: 'false', size: '"M"', tags: '[1, "a"]', anything: 'null' };
    expect(buildArguments(fields, texts)).toBe('{"orderId":" 7","quantity":12345678901234567890,"gift":false,"size":"M","tags":[1, "a"],"anything":null}');
    expect(buildArguments(fields, { orderId: 'x', quantity: ' ' })).toBe('{"orderId":"x"}');
  });

  it.each([
    [{}, "'orderId' is missing"],
    [{ orderId: ' ' }, "'orderId' is missing"],
    [{ orderId: 'x', quantity: 'two' }, "'quantity' is not a number"],
    [{ orderId: 'x', quantity: '01' }, "'quantity' is not a number"],
    [{ orderId: 'x', anything: 'free text' }, "'anything' is not JSON"],
  ])('refuses %j', (texts, problem) => {
    expect(() => buildArguments(fields, texts as Record<string, string>)).toThrow(problem);
  });
});

describe('arguments as JSON', () => {
  it('are an object', () => {
    expect(checkArguments(' {"a": 1} ')).toBe('{"a": 1}');
    for (const text of ['[]', 'null', '"x"']) expect(() => checkArguments(text)).toThrow('must be a JSON object');
    expect(() => checkArguments('{')).toThrow('not JSON');
  });
});
