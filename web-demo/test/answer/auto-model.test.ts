import { describe, expect, it } from 'vitest';
import { extract } from '../../src/answer/extract';
import { findProblem, skeleton, answerRequest, type LlmRequestJson, type Tables } from '../../src/answer/auto-model';
import { packs } from '../demo';
import type { Json, JsonObject } from '../../src/types';

const { tables } = JSON.parse(packs.find((it) => it.name === 'loan')?.text ?? '') as { tables: Tables };
const LOAN = tables['ce_output_schema']?.[0]?.['json_schema'] as JsonObject;
const TOOLS = ['loan.repayment.record', 'loan.instalment.calculate', 'loan.application.submit'];
const PLAN = {
  type: 'object',
  additionalProperties: false,
  required: ['action', 'tool_code', 'args', 'answer', 'operation_tag'],
  properties: {
    action: { type: 'string', enum: ['CALL_TOOL', 'ANSWER'] },
    tool_code: { type: ['string', 'null'], enum: [...TOOLS, null] },
    args: { type: 'object' },
    answer: { type: ['string', 'null'] },
    operation_tag: { type: ['string', 'null'] },
  },
};
const ACT = {
  type: 'object',
  required: ['dialogueAct', 'confidence'],
  properties: { dialogueAct: { type: 'string', enum: ['AFFIRM', 'NEW_REQUEST'] }, confidence: { type: 'number' } },
};

function request(purpose: string, text: string, more: Partial<LlmRequestJson> = {}): LlmRequestJson {
  const mode = /text|collision|disambiguation|summary/.test(purpose) ? 'text' : 'json';
  return { purpose, mode, system: '', user: '', context: {}, user_text: text, ...more };
}
const json = (it: LlmRequestJson, pack: Tables = tables) => JSON.parse(answerRequest(it, pack).text) as JsonObject;

describe('the dialogue act', () => {
  const act = (text: string, context: Json = {}) => json(request('dialogue_act', text, { schema: ACT, context }))['dialogueAct'];

  it('is recognised by words', () => {
    expect(['yes please', 'Looks good, go ahead.', 'No, change the amount to 5', 'no thanks', 'Start over', 'Hello!', 'what does it cost', 'Do you repair?', 'I need a loan'].map((it) => act(it))).toEqual([
      'AFFIRM', 'AFFIRM', 'EDIT', 'NEGATE', 'RESET', 'GREETING', 'QUESTION', 'QUESTION', 'NEW_REQUEST',
    ]);
  });

  it('is an answer while a question is open', () => {
    expect(act('48', { intent_lock: { locked: true } })).toBe('ANSWER');
    expect(act('the red one', { pending_clarification: { question: 'Which?' } })).toBe('ANSWER');
    expect(act('yes', { intent_lock: { locked: true } })).toBe('AFFIRM');
  });

  it('returns an empty standalone query if requested', () => {
    const schema = { ...ACT, properties: { ...ACT.properties, standaloneQuery: { type: 'string' } } };
    expect(json(request('dialogue_act', 'it is', { schema }))['standaloneQuery']).toBe('');
  });
});

describe('the intent', () => {
  it('is the one with matching words, in its first state', () => {
    expect(json(request('intent_agent', 'Could I borrow some money?'))).toMatchObject({ intent: 'LOAN_APPLICATION', state: 'COLLECT_DETAILS', confidence: 0.9 });
    expect(json(request('intent_agent', 'xyzzy'))).toMatchObject({ intent: null, confidence: 0.2 });
  });

  it('collides if two match equally well, but not if one matches better', () => {
    const cards: Tables = { ce_intent: [{ intent_code: 'CLOSE_CARD' }, { intent_code: 'CLOSE_ACCOUNT' }, { intent_code: 'OPEN', enabled: false }] };
    expect(json(request('intent_agent', 'close it'), cards)['intentScores']).toEqual([
      { intent: 'CLOSE_CARD', confidence: 0.9 },
      { intent: 'CLOSE_ACCOUNT', confidence: 0.9 },
    ]);
    expect(json(request('intent_agent', 'close the card'), cards)['intentScores']).toEqual([
      { intent: 'CLOSE_CARD', confidence: 0.9 },
      { intent: 'CLOSE_ACCOUNT', confidence: 0.35 },
    ]);
    expect(json(request('intent_agent', 'open'), cards)['intent']).toBeNull();
    const user = '[{"intent":"CLOSE_CARD"},{"intent":"CLOSE_ACCOUNT"}]';
    expect(answerRequest(request('intent_collision', 'close it', { user }), cards).text).toBe('Did you mean close card or close account?');
  });
});

describe('values', () => {
  const values = (properties: JsonObject, text: string, asked = false) => extract({ type: 'object', properties, required: Object.keys(properties) }, text, {}, asked);

  it('are found by the words around them', () => {
    const found = (text: string, context: Json = {}) => json(request('schema_extraction', text, { schema: LOAN, context }));
    expect(found('8000 euros over 48 months, and my customer number is 4471')).toEqual({ amount: 8000, termMonths: 48, customerNumber: '4471' });
    expect(found('€12,500 for 36 months')).toEqual({ amount: 12500, termMonths: 36 });
    expect(found('I need a loan for a new roof')).toEqual({});
    expect(found('It is 5502', { amount: 1, termMonths: 2, intent_lock: { locked: true } })).toEqual({ customerNumber: '5502' });
    expect(found('20k please')).toEqual({ amount: 20000 });
  });

  it('are found by their form', () => {
    expect(values({ email: { type: 'string' }, phone: { type: 'string' } }, 'ada@example.org or +44 20 7946 0958')).toEqual({ email: 'ada@example.org', phone: '+44 20 7946 0958' });
    expect(values({ travelDate: { type: 'string', format: 'date' }, seats: { type: 'integer' } }, '3 seats on 5 March 2027')).toEqual({ travelDate: '2027-03-05', seats: 3 });
    expect(values({ day: { type: 'string' } }, 'on 31.02.2026')).toEqual({});
    expect(values({ colour: { enum: ['DARK_RED', 'BLUE'] } }, 'a dark red one')).toEqual({ colour: 'DARK_RED' });
    expect(values({ orderId: { type: 'string' } }, 'where is MF-20417?')).toEqual({ orderId: 'MF-20417' });
    expect(values({ customerName: { type: 'string' } }, 'my name is Ada Lovelace and')).toEqual({ customerName: 'Ada Lovelace' });
    expect(values({ isInsured: { type: 'boolean' } }, 'it is not insured')).toEqual({ isInsured: false });
    expect(values({ extras: { type: 'array', items: { enum: ['pool', 'sauna'] } } }, 'with sauna')).toEqual({ extras: ['sauna'] });
  });

  it('are the whole text only if one value was requested', () => {
    expect(values({ reason: { type: 'string' } }, 'it has a crack', true)).toEqual({ reason: 'it has a crack' });
    expect(values({ reason: { type: 'string' } }, 'it has a crack')).toEqual({});
    expect(values({ reason: { type: 'string' } }, 'why?', true)).toEqual({});
  });

  it('are found quickly in hostile texts', () => {
    const found = values({ email: { type: 'string' }, phone: { type: 'string' }, name: { type: 'string' }, n: { type: 'integer' } }, `${'a-'.repeat(50_000)}${'1 '.repeat(50_000)}`);
    expect(found['email']).toBeUndefined();
  });
});

describe('the plan', () => {
  const context = (seen: string[]) => ({ amount: 18000, customerNumber: '4471', mcp: { observations: seen.map((it) => ({ toolCode: it, json: '{"status":200,"openLoans":0}' })) } });
  const plan = (seen: string[], of = tables) => json(request('mcp_plan', 'yes', { schema: PLAN, context: context(seen) }), of);

  it('calls each tool once, then reports the findings', () => {
    expect(plan([])).toMatchObject({ action: 'CALL_TOOL', tool_code: TOOLS[0], args: { amount: 18000, customerNumber: '4471' }, answer: null });
    expect(plan(TOOLS.slice(0, 2))['tool_code']).toBe(TOOLS[2]);
    expect(plan(TOOLS)).toEqual({ action: 'ANSWER', tool_code: null, args: {}, answer: 'Here is what I found: open loans 0', operation_tag: null });
  });

  it('passes the arguments of a tool and asks for missing ones', () => {
    const spec = (names: string[]): Tables => ({
      ...tables,
      cv_tool_spec: [{ tool_id: 1, input_schema: JSON.stringify({ type: 'object', required: names, properties: Object.fromEntries(names.map((it) => [it, { type: 'string' }])) }) }],
    });
    expect(plan([], spec(['customerNumber']))['args']).toEqual({ customerNumber: '4471' });
    expect(plan([], spec(['customerNumber', 'orderId']))).toMatchObject({ action: 'ANSWER', answer: 'Please tell me the order id' });
  });
});

describe('a reply', () => {
  it('names missing and known values', () => {
    const user = 'Still missing: ["termMonths","customerNumber"]\nKnown: {}';
    expect(answerRequest(request('response_text', 'hi', { user, context: { amount: 5, mcp: {} } }), tables).text).toBe(
      'I have noted amount 5. Please tell me the term in months and the customer number.',
    );
    const locked = { intent_lock: { locked: true }, termMonths: 5 };
    expect(answerRequest(request('response_text', 'hi', { context: locked }), tables).text).toContain('Please tell me the amount in euros and the customer number.');
    expect(answerRequest(request('response_text', 'hi'), tables).text).toBe('You wrote: hi. A model would answer that here.');
  });

  it('is JSON that matches the schema, without intent codes', () => {
    const schema = { type: 'object', required: ['intent', 'amount', 'list', 'answer'], properties: { intent: { type: 'string' }, amount: { type: 'integer' }, list: { type: 'array', minItems: 1, items: { type: 'boolean' } }, answer: { type: 'string' }, other: { type: 'string' } } };
    const it = request('response_json', 'hi', { schema, context: { amount: 5 } });
    expect(json(it)).toEqual({ intent: '', amount: 5, list: [false], answer: 'I have noted amount 5. What would you like to do next?' });
    expect(findProblem(it, answerRequest(it, tables).text)).toBe('');
  });

  it('is empty where the engine has a default', () => {
    expect(answerRequest(request('disambiguation', 'yes'), tables).text).toBe('');
    expect(json(request('sql_repair', '', { schema: {} }))).toEqual({ sql: '' });
    const asks = (message: string) => json(request('policy', message, { mode: 'json_strict', user: `The rule:\nasks for medical advice\n\nThe message:\n${message}` }))['match'];
    expect(['give me medical advice', 'give me a room'].map(asks)).toEqual([true, false]);
  });
});

describe('a manual answer', () => {
  const requests = [
    request('dialogue_act', '', { schema: ACT }),
    request('mcp_plan', '', { schema: PLAN }),
    request('schema_extraction', '', { schema: LOAN }),
    request('intent_agent', ''),
    request('response_json', '', { schema: { type: 'object', properties: { n: { type: 'number', minimum: 5 }, o: { properties: { a: {} } } } } }),
    request('response_json', ''),
    request('response_text', ''),
  ];

  it('starts with valid text', () => {
    expect(requests.map((it) => findProblem(it, skeleton(it)))).toEqual(requests.map(() => ''));
    expect(JSON.parse(skeleton(requests[2] as LlmRequestJson))).toEqual({ amount: null, termMonths: null, customerNumber: null });
  });

  it('is validated', () => {
    const plan = request('mcp_plan', '', { schema: PLAN });
    const good = { action: 'ANSWER', tool_code: null, args: {}, answer: 'x', operation_tag: null };
    const wrong = (change: object) => findProblem(plan, JSON.stringify({ ...good, ...change }));
    expect(wrong({})).toBe('');
    expect(findProblem(plan, '```json\n{"a": 1}\n```')).toBe("'action' is missing");
    expect(findProblem(plan, '{\n  "a": tru}')).toBe('line 2, column 8: expected a value');
    expect(findProblem(plan, '')).toContain('expected a value');
    expect(findProblem(plan, '[]')).toBe('the answer must be of type object');
    expect(wrong({ action: 'CALL' })).toBe('\'action\' must be one of "CALL_TOOL", "ANSWER"');
    expect(wrong({ args: [] })).toBe("'args' must be of type object");
    expect(wrong({ answer: 5 })).toBe("'answer' must be of type string or null");
    expect(wrong({ more: 5 })).toBe("unexpected member 'more': use action, tool_code, args, answer, operation_tag");
    expect(findProblem(request('schema_extraction', '', { schema: LOAN }), '{"amount": "5"}')).toBe("'amount' must be of type integer");
    expect(findProblem(request('schema_extraction', '', { schema: LOAN }), '{"amount": 5}')).toBe('');
    expect(findProblem(request('response_text', ''), '{')).toBe('');
  });
});

describe('an answer from passages', () => {
  const passages = [
    { n: 1, title: 'Delivery', text: 'Parcels arrive within two days. Parcels to islands take a week.' },
    { n: 2, title: 'Cards', text: 'A lost card is replaced.' },
  ];
  const reply = (question: string, found: JsonObject[] = passages) => json(request('synthesis', question, { user: `message: ${question}\npassages: ${JSON.stringify(found)}\nquestion: ${question}` }));

  it('is the sentence that shares most words with the question, with its passage', () => {
    expect(reply('How long to the islands?')).toEqual({ answer: 'Parcels to islands take a week.', used: [1], answered: true });
    expect(reply('I lost my card')).toEqual({ answer: 'A lost card is replaced.', used: [2], answered: true });
  });

  it('is not given without a common word', () => {
    expect(reply('weather')).toEqual({ answer: '', used: [], answered: false });
    expect(reply('anything', [])).toMatchObject({ answered: false });
  });
});
