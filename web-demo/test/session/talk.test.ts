import { describe, expect, it } from 'vitest';
import type { AnsweredEffect, Origin, FinishedTurn, UserInput } from '../../src/session/turn-data';
import { writeTalk, DEFAULT_ASSERTIONS, type Assertions } from '../../src/session/talk';
import type { JsonObject, Outcome } from '../../src/types';

const PACK = { file: 'shop.json', name: 'shop' };
const START = Date.UTC(2026, 1, 1, 9, 0, 0);

const userInput = (message: string, more: Partial<UserInput> = {}): UserInput => ({
  conversation: 'main',
  conversationId: 'c1',
  message,
  inputParams: '',
  reset: false,
  at: START,
  seed: 1,
  ...more,
});

function outcome(value: string, more: Partial<Outcome> = {}): Outcome {
  const context = { amount: 5, items: [{ code: 'a' }] };
  return { conversation_id: 'c1', intent: 'LOAN', state: 'IDLE', payload: { type: 'TEXT', value }, context, fault: null, writes: [], ...more };
}

let ids = 0;
function answer(origin: Origin, request: JsonObject & { kind: string }, ok: JsonObject & { kind: string }, delayMs = 0, raw?: string): AnsweredEffect {
  const effect = { id: ids++, key: '', class: 'read' as const, deadline_ms: 1, request };
  return { effect, completion: { id: effect.id, at: 1, outcome: { ok } }, delayMs, origin, seq: 0, ...(raw === undefined ? {} : { raw: { request: '{}', outcome: raw } }) };
}

function failed(origin: Origin, request: JsonObject & { kind: string }, kind: string, message: string): AnsweredEffect {
  const it = answer(origin, request, { kind: '' });
  return { ...it, completion: { ...it.completion, outcome: { error: { kind, message } } } };
}

const llm = (purpose: string, mode = 'json') => ({ kind: 'llm', purpose, mode });
const text = (it: string) => ({ kind: 'llm', text: it });
const turn = (it: UserInput, value: string, exchanges: AnsweredEffect[] = []): FinishedTurn => ({ input: it, exchanges, outcome: outcome(value), notices: [] });

/** Returns the lines of one turn below its message, with the given assertions only. */
function lines(it: FinishedTurn, assertions: Partial<Assertions> = {}) {
  const talk = writeTalk([it], PACK, { ...DEFAULT_ASSERTIONS, reply: 'none', position: false, calls: false, ...assertions });
  return { lines: talk.text.trimEnd().split('\n').slice(6), notes: talk.notes };
}

describe('writeTalk', () => {
  it('writes turns, answers and assertions', () => {
    const turns = [
      turn(userInput('I need a loan', { at: START + 5 }), 'How much?\n\n{"a"} ', [
        answer('script', llm('policy'), text('no')),
        answer('live', llm('dialogue_act'), text('{"act": "NEW",\n  "confidence": 1.0}'), 850),
      ]),
      turn(userInput('5', { at: START + 60_005 }), 'Five.'),
      turn(userInput('yes', { at: START + 2_760_005, conversation: 'second thoughts', conversationId: 'c2', reset: true, inputParams: '{\n "rate": 1.0 }' }), 'x'),
    ];
    expect(writeTalk(turns, PACK, DEFAULT_ASSERTIONS)).toEqual({
      text: `# A recorded chat with shop.
config shop.json
name shop
at 2026-02-01T09:00:00Z

> +5ms I need a loan
  llm dialogue_act {"act": "NEW", "confidence": 1.0} +850ms
< How much?
<
< "{\\"a\\"} "
= LOAN / IDLE
$ policy, dialogue_act

> 5
< Five.
= LOAN / IDLE
$ none

> @second-thoughts +45m {"message": "yes", "inputParams": { "rate": 1.0 }, "reset": true}
< x
= LOAN / IDLE
$ none
`,
      notes: [],
    });
  });

  it('writes a message as JSON where its text means something else', () => {
    const written = (message: string) => writeTalk([turn(userInput(message), 'x')], PACK, DEFAULT_ASSERTIONS).text.split('\n')[5];
    for (const plain of ['hi', '> a', '# b', '"c"', 'a {b}']) expect(written(plain)).toBe(`> ${plain}`);
    for (const other of ['', '{a', '@a b', '+5m', ' a', 'a ', 'a\nb', 'a\tb']) expect(written(other)).toBe(`> {"message": ${JSON.stringify(other)}}`);
  });

  it('keeps the id of a conversation whose reply contains it, and labels each conversation', () => {
    const turns = [turn(userInput('a'), 'your id is c1'), turn(userInput('b', { conversationId: 'c2', at: START + 1 }), 'x')];
    const { text: talk } = writeTalk(turns, PACK, DEFAULT_ASSERTIONS);
    expect(talk).toContain('> {"conversationId": "c1", "message": "a"}\n');
    expect(talk).toContain('> @main-2 +1ms b\n');
  });

  it('writes each kind of answer', () => {
    const all = [
      answer('manual', { kind: 'task', task: 'a:b' }, { kind: 'task', result: 1, set_params: { n: 1 }, set_context: {}, intent: null }, 0,
        '{"ok":{"kind":"task","result":1.0,"set_params":{"n": 2.50}}}'),
      answer('manual', { kind: 'tool', tool_code: null, tool_group: 'DB' }, { kind: 'tool', text: '{"n": 1.0}' }),
      answer('manual', { kind: 'tool', tool_code: 't.a', tool_group: 'DB' }, { kind: 'tool', text: '{"n":1}' }),
      answer('manual', { kind: 'container', pageId: 1, sectionId: 2, containerId: 3 }, { kind: 'container', data: { rows: [] } }),
      answer('manual', { kind: 'sql', tool_code: 't.b' }, { kind: 'sql', rows: [{ a: 1 }], truncated: false }),
      answer('manual', { kind: 'http', caller: { tool: 't.c' } }, { kind: 'http', status: 200, body: 'a b' }),
      answer('manual', { kind: 'http', caller: { task: 'a:c' } }, { kind: 'http', status: 200, body: '{"set_params": {"a": 1}}' }),
      failed('fault', llm('policy'), 'timeout', 'late'),
      failed('fault', llm('policy'), 'unavailable', 'the line is busy'),
      failed('fault', llm('policy'), 'unavailable', 'again in +5s'),
    ];
    expect(lines(turn(userInput('hi'), 'x', all))).toEqual({
      lines: [
        '  task a:b {"result": 1.0, "set_params": {"n": 2.50}}',
        '  tool DB "{\\"n\\": 1.0}"',
        '  tool t.a {"n":1}',
        '  container 1/2/3 {"rows":[]}',
        '  tool t.b [{"a":1}]',
        '  tool t.c a b',
        '  task a:c {"set_params": {"a": 1}}',
        '  llm policy timeout',
        '  llm policy ! the line is busy',
        '  llm policy unavailable',
        '? success = true',
      ],
      notes: [],
    });
  });

  it('quotes a text that would be read as something else', () => {
    const written = (it: string) => lines(turn(userInput('hi'), 'x', [answer('live', llm('response_text', 'text'), text(it))])).lines[0];
    for (const plain of ['Shall I?', '< a', '5', 'a +5 banks']) expect(written(plain)).toBe(`  llm response_text ${plain}`);
    for (const other of ['timeout', '', ' a', 'a ', '! a', '{a', '"a"', 'a +5s', '{"a": 1}', 'a\nb']) {
      expect(written(other)).toBe(`  llm response_text ${JSON.stringify(other)}`);
    }
  });

  it('writes the answers before and after one that is not the script’s', () => {
    const plan = (origin: Origin, it: string) => answer(origin, llm('mcp_plan'), text(it));
    const other = answer('script', llm('policy'), text('no'));
    const turns = [
      turn(userInput('a'), 'x', [plan('script', 'zero'), other]),
      turn(userInput('b'), 'x', [plan('script', 'one'), plan('edited', 'two'), plan('script', 'three')]),
      turn(userInput('c'), 'x', [plan('script', 'four')]),
    ];
    const written = (it: string) => it.split('\n').filter((line) => line.startsWith('  '));
    expect(written(writeTalk(turns, PACK, DEFAULT_ASSERTIONS).text)).toEqual(['one', 'two', 'three', 'four'].map((it) => `  llm mcp_plan ${it}`));
    expect(written(writeTalk(turns, PACK, { ...DEFAULT_ASSERTIONS, answers: 'all' }).text)).toHaveLength(6);
    // The runner has a database, unlike the page.
    const missing = turn(userInput('a'), 'x', [failed('script', { kind: 'sql', tool_code: 't' }, 'unsupported', 'no database')]);
    expect(lines(missing).lines[0]).toBe('  tool t unsupported');
  });

  it('adds notes for what a talk cannot express', () => {
    const all = [
      answer('manual', { kind: 'http', caller: { tool: 't' } }, { kind: 'http', status: 503, body: '' }),
      answer('manual', { kind: 'http', caller: { tool: 't' } }, { kind: 'http', status: 201, body: 'ok' }),
      answer('manual', { kind: 'embed', texts: ['a'] }, { kind: 'embed', vectors: [] }),
      answer('manual', { kind: 'sleep', ms: 5 }, { kind: 'slept' }),
      answer('manual', { kind: 'container', pageId: 1, sectionId: 2, containerId: 3 }, { kind: 'container', data: 5 }),
      answer('fault', llm('policy'), { kind: 'tool', text: '' }),
      failed('fault', llm('policy'), 'mismatch', 'what?'),
    ];
    const { lines: written, notes } = lines(turn(userInput('hi'), 'what? it said', all));
    expect(written.slice(0, 3)).toEqual(['  tool t unavailable', '  tool t ok', '  container 1/2/3 5']);
    expect(notes.map((it) => it.replace(/^Turn 1: /, '').slice(0, 60))).toEqual([
      "the service of 'tool t' answered with status 503, which a ta",
      "the service of 'tool t' answered with status 201; the talk u",
      "the answer to the effect 'embed' is omitted, because a talk ",
      "the data of 'container 1/2/3' is neither an object nor a lis",
      "the answer to 'llm policy' is of a different kind than the r",
      "'llm policy' failed with 'mismatch', which a talk cannot exp",
      "the failure of 'llm policy' appears in the reply or the cont",
    ]);
  });

  it('writes the chosen assertions', () => {
    const notices = ['STEP_ENTER', 'USER_INPUT', 'RULE_MATCH (RulesStep)'].map((stage, seq) => ({ seq, at: 1, kind: 'audit' as const, stage, payload: {} }));
    const it = { ...turn(userInput('hi'), '\nfirst \nsecond'), notices };
    expect(lines(it, { reply: 'contains', stages: true, context: ['amount', 'context.items.0.code', 'context.none', 'payload.type', 'params.x'] })).toEqual({
      lines: [
        '<~ first',
        '? context.amount = 5',
        '? context.items.0.code = "a"',
        '?! context.none',
        '? payload.type = "TEXT"',
        '~ USER_INPUT, RULE_MATCH (RulesStep)',
      ],
      notes: ["Turn 1: 'params.x' is not asserted: it is unknown here, or a talk cannot express it."],
    });
    const json = { ...it, outcome: outcome('', { payload: { type: 'JSON', value: '{\n "a": 1.0 }' }, state: null }) };
    expect(lines(json, { reply: 'equals', position: true }).lines).toEqual(['< { "a": 1.0 }', '? intent = "LOAN"', '? state = null']);
    const fault = { code: 'LLM_CALL_FAILED', message: '', recoverable: true };
    expect(lines({ ...it, outcome: outcome('', { fault }) }, { ...DEFAULT_ASSERTIONS, context: ['amount'] }).lines).toEqual(['! LLM_CALL_FAILED', '$ none']);
  });
});
