/** The client for TypeScript (`clients/typescript`), as its types describe it. Its own tests run against a server. */
import { describe, expect, it, test } from 'vitest';
import { Client, ConvEngineError, type AnswerEvent, type ConversationEvent, type SessionEvent, type TurnEvent } from '../../clients/typescript/index.js';
import { testTalks } from '../../clients/typescript/talks.js';

const TURN = { session_id: 's1', turn: 1, status: 'awaiting_input', messages: [{ id: 'm1', text: 'Hello' }], awaiting: null };

/** A client whose server answers each path, and what it was asked. */
function fakeClient(bodies: Record<string, unknown>) {
  const asked: { path: string; body: unknown }[] = [];
  const answer: typeof fetch = (address, request) => {
    const path = new URL(String(address)).pathname;
    asked.push({ path, body: JSON.parse(String(request?.body ?? 'null')) });
    const body = bodies[path];
    return Promise.resolve(new Response(typeof body === 'string' ? body : JSON.stringify(body), { status: body === undefined ? 404 : 200 }));
  };
  return { client: new Client({ url: 'http://server.test', fetch: answer }), asked };
}

describe('the client', () => {
  it('sends messages and events', async () => {
    const sessions = '/v1/runtime/assistants/desk/sessions';
    const { client, asked } = fakeClient({
      '/api/v1/conversation/message': { success: true, conversationId: 'c1', payload: { type: 'TEXT', value: 'Hi' } },
      [sessions]: TURN,
      [`${sessions}/s1/turns`]: TURN,
    });
    const answer = await client.tables.send({ message: 'hello', inputParams: { n: 1 } });
    expect(answer.payload?.value).toBe('Hi');
    const session = await client.assistant('desk').start({ locale: 'de' });
    expect(session.started?.messages[0]?.text).toBe('Hello');
    const button: SessionEvent = { type: 'user.button', button_id: 'yes', event_id: 'e1' };
    expect((await session.send(button)).status).toBe('awaiting_input');
    expect(asked.map((it) => it.body)).toMatchObject([{ message: 'hello', inputParams: { n: 1 } }, { locale: 'de' }, button]);
    // @ts-expect-error an event has a type
    await session.send({ text: 'hello' });
    await expect(client.assistant('nobody').start()).rejects.toBeInstanceOf(ConvEngineError);
  });

  it('tells the events of streams apart by their types', async () => {
    const turns = '/v1/runtime/assistants/desk/sessions/s1/turns';
    const { client } = fakeClient({ [turns]: `event: token\ndata: {"effect":1,"delta":"Hel"}\n\nevent: done\ndata: ${JSON.stringify(TURN)}\n\n` });
    const shown: (string | undefined)[] = [];
    const show = (event: TurnEvent) => shown.push(event.type === 'token' ? event.data.delta : event.type === 'done' ? event.data.status : event.type);
    for await (const event of client.assistant('desk').session('s1').stream('hello')) show(event);
    expect(shown).toEqual(['Hel', 'awaiting_input']);
    const text = (event: ConversationEvent | AnswerEvent) => (event.type === 'ANSWER' ? event.data.payload?.value : event.type === 'VERBOSE' ? event.data.verbose?.text : '');
    expect(text({ type: 'VERBOSE', data: { stage: 'VERBOSE', createdAt: '', payload: {}, verbose: { text: 'Looking …', level: 'INFO' } } })).toBe('Looking …');
  });
});

describe('talks as tests', () => {
  it('makes a test of each talk by the function of Vitest', () => {
    const names: string[] = [];
    // The types of Vitest's own function fit.
    const register: Parameters<typeof testTalks>[1] = test;
    const collect: typeof register = (name) => names.push(name);
    testTalks('../tests/talks', collect);
    expect(names).toContain('order_kept.talk');
    expect(names.every((it) => it.endsWith('.talk'))).toBe(true);
  });
});
