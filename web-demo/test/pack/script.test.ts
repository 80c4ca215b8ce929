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
  it('is inserted before all others and keeps the rest of the text', () => {
    const text = addScriptRule(PACK, RULE);
    expect(text.split('\n').slice(2, 5)).toEqual(['  "llm": [', '    { "purpose": "mcp_plan", "user_text": "yes", "reply": {"action":"ANSWER"} },', '    { "purpose": "policy", "reply": "no" },']);
    expect(text.replace('    { "purpose": "mcp_plan", "user_text": "yes", "reply": {"action":"ANSWER"} },\n', '')).toBe(PACK);
  });

  it('replaces one with the same conditions, but not one with more', () => {
    const once = addScriptRule(PACK, RULE);
    const twice = addScriptRule(once, { ...RULE, replies: ['one', 'two'] });
    expect((JSON.parse(twice) as { llm: unknown[] }).llm).toEqual([
      { purpose: 'mcp_plan', user_text: 'yes', replies: ['one', 'two'] },
      { purpose: 'policy', reply: 'no' },
      { purpose: 'mcp_plan', user_text: 'yes', times: 1, reply: { a: 1 } },
    ]);
  });

  it('creates a missing list', () => {
    for (const pack of ['{}', '{"name": "n"}', '{\n  "name": "n",\n  "llm": []\n}\n']) {
      expect((JSON.parse(addScriptRule(pack, { ...RULE, userText: undefined })) as { llm: unknown[] }).llm).toEqual([{ purpose: 'mcp_plan', reply: { action: 'ANSWER' } }]);
    }
    expect(() => addScriptRule('{"llm": {}}', RULE)).toThrow('must be a list of rules');
  });

  it('stays a text if the engine would spell it differently', () => {
    const reply = (text: string) => (JSON.parse(addScriptRule('{}', { ...RULE, replies: [text] })) as { llm: { reply: unknown }[] }).llm[0]?.reply;
    for (const text of ['{"a": 1}', '{"a":1.0}', '{"a":1,"a":2}', '{"a":12345678901234567}', '[1e+30]', 'plain', '{{ broken']) expect(reply(text)).toBe(text);
    expect(reply('[1,"a"]')).toEqual([1, 'a']);
  });
});

describe('an answer of a model', () => {
  const plan = (user_text = 'yes') => ({ kind: 'llm', purpose: 'mcp_plan', user_text });

  it('becomes a rule with all answers to the same request in its turn', () => {
    const script = new Script();
    script.addEffect(plan(), { text: 'one' }, 'live').addEffect({ kind: 'llm', purpose: 'policy', user_text: 'yes' }, { text: 'no' }).addEffect(plan(), { text: 'two' }).addEffect(plan('no'), { text: 'three' });
    const { exchanges } = script.finish(1);
    expect(createScriptRule(exchanges, exchanges[2]!)).toEqual({ purpose: 'mcp_plan', userText: 'yes', replies: ['one', 'two'] });
    expect(createScriptRule(exchanges, exchanges[3]!)).toEqual({ purpose: 'mcp_plan', userText: 'no', replies: ['three'] });
  });

  it('becomes no rule if it failed or is not of a model', () => {
    const { exchanges } = new Script().addEffect(plan(), 'timeout').addEffect({ kind: 'tool', tool_code: 't' }, { text: 'a' }).finish(1);
    expect(exchanges.map((it) => createScriptRule(exchanges, it))).toEqual([undefined, undefined]);
  });
});
