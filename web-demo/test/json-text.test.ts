import { describe, expect, it } from 'vitest';
import { elementTexts, JsonFault, memberText, position, spans } from '../src/json-text';
import { locate } from '../src/locate';
import { messageText } from '../src/protocol';

function fault(text: string): string {
  try {
    spans(text);
    return 'none';
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { line, column } = position(text, error.offset);
    return `${line}:${column} ${error.message}`;
  }
}

describe('spans', () => {
  it('gives parts exactly as they were written', () => {
    const text = '{ "effects" : [ {"n": 1.0, "s":"a,]\\"}"} , 12345678901234567890 ], "x": null }';
    expect(elementTexts(text, 'effects')).toEqual(['{"n": 1.0, "s":"a,]\\"}"}', '12345678901234567890']);
    expect(memberText(text, 'x')).toBe('null');
    expect(memberText(text, 'y')).toBeUndefined();
  });

  it('says where a text stops being JSON', () => {
    expect(fault('{"a":\n  tru}')).toBe('2:3 write a value here');
    expect(fault('{"a": 1,}')).toBe('1:9 write a name in double quotes here');
    expect(fault('{"a" 1}')).toBe('1:6 write a colon after the name');
    expect(fault('[1 2]')).toBe('1:4 write a comma or a closing bracket here');
    expect(fault('"a\nb"')).toBe('1:3 write \\n or \\t: a string stays on one line');
    expect(fault('"\\x"')).toBe('1:2 double this backslash or complete the escape');
    expect(fault('{} {}')).toBe('1:4 remove the text after the end of the value');
    expect(fault('[1,')).toBe('1:4 write a value here: the text ends too early');
  });

  it('agrees with the browser on what JSON is', () => {
    const texts = ['0', '-0.5e+3', '01', '1.', '"\\u00e9"', '[]', '{}', '[,]', '', ' \n[null , true]', '{"a":{"b":[{}]}}'];
    const parses = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    for (const text of texts) expect([text, fault(text) === 'none']).toEqual([text, parses(text)]);
  });
});

describe('locate', () => {
  const pack = '{\n"tables": {\n"ce_rule": [\n{"rule_id": 1},\n{"rule_id": 2, "match_pattern": "(("}\n]}}';
  const at = (path: string) => {
    const place = locate(pack, spans(pack), path);
    return place && `${place.line} ${pack.slice(place.start, place.end)}`;
  };

  it('finds a value by the id of its row or else by its place, or the row that lacks it', () => {
    expect(at('ce_rule[2].match_pattern')).toBe('5 "(("');
    expect(at('ce_rule[1].match_pattern')).toBe('4 {"rule_id": 1}');
    expect(at('tables.ce_rule[0].rule_id')).toBe('4 1');
    expect(at('ce_rule[0].action')).toBe('4 {"rule_id": 1}');
    expect(at('ce_intent[0]')).toBeUndefined();
  });
});

describe('messageText', () => {
  it('keeps input params as they were typed', () => {
    const message = { conversation: 'main', conversationId: 'c', message: 'say "hi"', reset: false, inputParams: '{"rate": 1.0}', at: 5, seed: 7 };
    expect(messageText(message)).toBe(
      '{"conversation_id":"c","message":"say \\"hi\\"","reset":false,"input_params":{"rate": 1.0},"at":5,"seed":7}',
    );
    expect(messageText({ ...message, inputParams: ' ' })).toContain('"input_params":{},');
  });
});
