import { describe, expect, it } from 'vitest';
import { elementTexts, JsonSyntaxError, memberText, position, parseSpans } from '../src/json-text';
import { locateIssue } from '../src/locate';
import { messageText } from '../src/protocol';

function syntaxError(text: string): string {
  try {
    parseSpans(text);
    return 'none';
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { line, column } = position(text, error.offset);
    return `${line}:${column} ${error.message}`;
  }
}

describe('parseSpans', () => {
  it('returns parts exactly as written', () => {
    const text = '{ "effects" : [ {"n": 1.0, "s":"a,]\\"}"} , 12345678901234567890 ], "x": null }';
    expect(elementTexts(text, 'effects')).toEqual(['{"n": 1.0, "s":"a,]\\"}"}', '12345678901234567890']);
    expect(memberText(text, 'x')).toBe('null');
    expect(memberText(text, 'y')).toBeUndefined();
  });

  it('reports the position of a syntax error', () => {
    expect(syntaxError('{"a":\n  tru}')).toBe('2:3 expected a value');
    expect(syntaxError('{"a": 1,}')).toBe('1:9 expected a name in double quotes');
    expect(syntaxError('{"a" 1}')).toBe('1:6 expected a colon');
    expect(syntaxError('[1 2]')).toBe('1:4 expected a comma or a closing bracket');
    expect(syntaxError('"a\nb"')).toBe('1:3 control character in a string: use \\n or \\t');
    expect(syntaxError('"\\x"')).toBe('1:2 invalid escape: double the backslash or complete it');
    expect(syntaxError('{} {}')).toBe('1:4 unexpected text after the value');
    expect(syntaxError('[1,')).toBe('1:4 expected a value before the end of the text');
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
    for (const text of texts) expect([text, syntaxError(text) === 'none']).toEqual([text, parses(text)]);
  });
});

describe('locate', () => {
  const pack = '{\n"tables": {\n"ce_rule": [\n{"rule_id": 1},\n{"rule_id": 2, "match_pattern": "(("}\n]}}';
  const at = (path: string) => {
    const place = locateIssue(pack, parseSpans(pack), path);
    return place && `${place.line} ${pack.slice(place.start, place.end)}`;
  };

  it('finds a value by row id or position, or the row that lacks it', () => {
    expect(at('ce_rule[2].match_pattern')).toBe('5 "(("');
    expect(at('ce_rule[1].match_pattern')).toBe('4 {"rule_id": 1}');
    expect(at('tables.ce_rule[0].rule_id')).toBe('4 1');
    expect(at('ce_rule[0].action')).toBe('4 {"rule_id": 1}');
    expect(at('ce_intent[0]')).toBeUndefined();
  });
});

describe('messageText', () => {
  it('keeps input params as typed', () => {
    const message = { conversation: 'main', conversationId: 'c', message: 'say "hi"', reset: false, inputParams: '{"rate": 1.0}', at: 5, seed: 7 };
    expect(messageText(message)).toBe(
      '{"conversation_id":"c","message":"say \\"hi\\"","reset":false,"input_params":{"rate": 1.0},"at":5,"seed":7}',
    );
    expect(messageText({ ...message, inputParams: ' ' })).toContain('"input_params":{},');
  });
});
