import { describe, expect, it } from 'vitest';
import { addScriptRule } from '../../src/pack/script';
import { createScriptRule } from '../../src/timeline/script-rule';
import { Script } from '../timeline/turn';

const PACK = `{
  "name": "shop",
  "llm": [
    { "purpose": "policy", "reply": "no" },
    { "purpose": "mcp_plan", "user_text": "yes", "times": 1, "reply": {"a": 1.0} }
  ]
}
`;
const RULE = { purpose: 'mcp_plan', userText: 'yes', replies: ['{"action":"ANSWER"}'] };

describe('a rule of the script', () => {
  it('stands before all others and leaves the rest of the text alone', () => {
    const text = addScriptRule(PACK, RULE);
    expect(text.split('\n').slice(2, 5)).toEqual(['  "llm": [', '    { "purpose": "mcp_plan", "user_text": "yes", "reply": {"action":"ANSWER"} },', '    { "purpose": "policy", "reply": "no" },']);
    expect(text.replace('    { "purpose": "mcp_plan", "user_text": "yes", "reply": {"action":"ANSWER"} },\n', '')).toBe(PACK);
  });

  it('takes the place of one for the same, but not of one that asks for more', () => {
    const once = addScriptRule(PACK, RULE);
    const twice = addScriptRule(once, { ...RULE, replies: ['one', 'two'] });
    expect((JSON.parse(twice) as { llm: unknown[] }).llm).toEqual([
      { purpose: 'mcp_plan', user_text: 'yes', replies: ['one', 'two'] },
      { purpose: 'policy', reply: 'no' },
      { purpose: 'mcp_plan', user_text: 'yes', times: 1, reply: { a: 1 } },
    ]);
  });

  it('begins a list where there is none', () => {
    for (const pack of ['{}', '{"name": "n"}', '{\n  "name": "n",\n  "llm": []\n}\n']) {
      expect((JSON.parse(addScriptRule(pack, { ...RULE, userText: undefined })) as { llm: unknown[] }).llm).toEqual([{ purpose: 'mcp_plan', reply: { action: 'ANSWER' } }]);
    }
    expect(() => addScriptRule('{"llm": {}}', RULE)).toThrow('must be a list of rules');
  });

  it('keeps as a text what the engine would spell in another way', () => {
    const reply = (text: string) => (JSON.parse(addScriptRule('{}', { ...RULE, replies: [text] })) as { llm: { reply: unknown }[] }).llm[0]?.reply;
    for (const text of ['{"a": 1}', '{"a":1.0}', '{"a":1,"a":2}', '{"a":12345678901234567}', '[1e+30]', 'plain', '{{ broken']) expect(reply(text)).toBe(text);
    expect(reply('[1,"a"]')).toEqual([1, 'a']);
  });
});

describe('an answer of a model', () => {
  const plan = (user_text = 'yes') => ({ kind: 'llm', purpose: 'mcp_plan', user_text });

  it('makes a rule with all answers to the same in its turn', () => {
    const script = new Script();
    script.asks(plan(), { text: 'one' }, 'live').asks({ kind: 'llm', purpose: 'policy', user_text: 'yes' }, { text: 'no' }).asks(plan(), { text: 'two' }).asks(plan('no'), { text: 'three' });
    const { exchanges } = script.ends(1);
    expect(createScriptRule(exchanges, exchanges[2]!)).toEqual({ purpose: 'mcp_plan', userText: 'yes', replies: ['one', 'two'] });
    expect(createScriptRule(exchanges, exchanges[3]!)).toEqual({ purpose: 'mcp_plan', userText: 'no', replies: ['three'] });
  });

  it('makes none of a failure, nor of what no model said', () => {
    const { exchanges } = new Script().asks(plan(), 'timeout').asks({ kind: 'tool', tool_code: 't' }, { text: 'a' }).ends(1);
    expect(exchanges.map((it) => createScriptRule(exchanges, it))).toEqual([undefined, undefined]);
  });
});
