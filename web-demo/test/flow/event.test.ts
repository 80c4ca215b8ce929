import { describe, expect, it } from 'vitest';
import { parseEvent, eventText, isUserEvent, START_EVENT, type FlowEvent } from '../../src/flow/event';
import { safeLink } from '../../src/flow/safe-link';
import { findNoticeNode, parseStepNode } from '../../src/flow/node-reference';
import { messageButtons, hasSessionEnded, turnMessages, readFlowSession, readTimers, type FlowAnswer, type Message } from '../../src/flow/session';
import { sessionsAroundTurn } from '../../src/inspector/flow-session';
import { messageText } from '../../src/protocol';
import { writeTalk, DEFAULT_ASSERTIONS } from '../../src/session/talk';
import type { FinishedTurn } from '../../src/session/turn-data';
import { decode, encode } from '../../src/session/share';
import { summarizeSession } from '../../src/session-summary';
import { turnItems, turnSteps } from '../../src/timeline/items';
import { nextInput } from '../../src/user-input';
import type { Json, Outcome } from '../../src/types';
import { Script } from '../timeline/turn';

const TO = { main: 'id', flow: true };
const PRESS: FlowEvent = { type: 'user.button', button_id: 'chk', label: 'Checking' };

function message(text: string, more: Partial<Message> = {}): Message {
  return { id: '1.1', text, blocks: [{ kind: 'text', text }], role: 'bot', ...more };
}

function outcome(messages: Message[], more: Partial<FlowAnswer> = {}, vars = {}): Outcome {
  const debug = { matched_intent: null, nodes: [], variables_changed: [], warnings: [], stop_reason: null };
  const flow = { turn: 1, status: 'awaiting_input' as const, messages, awaiting: null, debug, ...more };
  const value = messages.map((it) => it.text).join('\n');
  return { conversation_id: 'id', intent: '', state: 'root/r', payload: { type: 'TEXT', value }, context: null, fault: null, writes: [{ table: 'flow', state: { status: 'active', turn: 1, vars } }], flow };
}

describe('flow events', () => {
  it('have a short text', () => {
    const all: FlowEvent[] = [START_EVENT, { type: 'user.message', text: 'hi' }, PRESS, { type: 'user.button', button_id: 'x' }, { type: 'timer.fired', timer_id: 'no_input' }];
    expect(all.map(eventText)).toEqual(['Session started', 'hi', 'Checking', 'x', 'Timer no-input fired']);
    const decided = (more: object) => eventText({ type: 'approval.decision', call_id: 'c', approved: true, ...more });
    expect([{}, { edited_args: {} }, { approved: false, reason: 'no' }].map(decided)).toEqual(['Call approved', 'Call approved with other arguments', 'Call rejected: no']);
    const report = (more: object) => eventText({ type: 'handoff.status', state: 'completed', author: 'Ann', ...more });
    expect([{ state: 'accepted' }, { state: 'failed', author: undefined }, {}, { disposition: 'returned' }].map(report)).toEqual([
      'Ann (desk) accepted the conversation',
      'The desk declined the conversation',
      'Ann (desk) closed the conversation',
      'Ann (desk) returned the conversation',
    ]);
    const wrote: FlowEvent = { type: 'handoff.message', text: 'hi' };
    expect(eventText(wrote)).toBe('The desk wrote');
    expect([PRESS, START_EVENT, undefined, wrote].map(isUserEvent)).toEqual([true, false, true, false]);
  });

  it('replace the message, and follow the previous turn by its clock', () => {
    const first = nextInput({ message: '', event: START_EVENT }, undefined, TO);
    expect(first).toMatchObject({ conversationId: 'id', message: 'Session started', event: '{"type":"session.start"}', seed: 1 });
    expect(JSON.parse(messageText(first))).toMatchObject({ conversation_id: 'id', flow: { type: 'session.start' } });
    const next = nextInput({ message: 'hello', inputParams: '{"a": 1}', wait: 5 }, { input: first, number: 1 }, TO);
    expect(next).toMatchObject({ at: first.at + 5, seed: 2, inputParams: '', event: '{"type":"user.message","text":"hello"}' });
    const table = nextInput({ message: 'hello' }, undefined, { main: 'id', flow: false });
    expect(table.event).toBeUndefined();
    expect(JSON.parse(messageText(table))).not.toHaveProperty('flow');
  });

  it('are part of share links', async () => {
    const lines = nextInput({ message: '', event: PRESS }, undefined, TO);
    const shared = { end: '', pack: '{}', turns: [{ parent: null, input: lines, answers: [] }], head: 0 };
    const none = () => Promise.resolve(undefined);
    expect(await decode(await encode(shared, none), none)).toEqual(shared);
    const forged = { ...shared, turns: [{ parent: null, input: { ...lines, event: '[1]' }, answers: [] }] };
    await expect(decode(await encode(forged, none), none)).rejects.toThrow('an event');
  });

  it('are written as talk lines', () => {
    const play = (event: FlowEvent, nodeOf: Outcome): FinishedTurn => ({ input: nextInput({ message: '', event }, undefined, TO), exchanges: [], outcome: nodeOf, notices: [] });
    const turns = [
      play(START_EVENT, outcome([message('Welcome')])),
      play({ ...START_EVENT, locale: 'de-DE' } as FlowEvent, outcome([message('Willkommen')])),
      play({ type: 'user.message', text: 'balance' }, { ...outcome([message('Which?'), message('Really')], {}, { kind: 'a' }), intent: 'check' }),
      play({ type: 'user.message', text: '/start' }, outcome([])),
      play({ type: 'user.button', button_id: 'b' }, outcome([])),
      play(PRESS, outcome([])),
      play({ type: 'timer.fired', timer_id: 'no_input' }, outcome([])),
      play({ type: 'approval.decision', call_id: 'c1', approved: false }, outcome([])),
      play({ type: 'session.end' }, outcome([], { status: 'completed' })),
    ];
    const { text, notes } = writeTalk(turns, { file: 'bank.json', name: 'bank', flow: 'flow bank' }, { ...DEFAULT_ASSERTIONS, calls: false, context: ['kind', 'awaiting'] });
    expect(notes.filter((it) => !it.includes('was said before'))).toEqual([]);
    expect(text).toContain('program flow bank\n');
    const lines = text.split('\n').filter((it) => it.startsWith('>')).map((it) => it.replace(/^> (\+\S+ )?/, ''));
    expect(lines).toEqual(['/start', '/start {"locale":"de-DE"}', 'balance', '{"type":"user.message","text":"/start"}', '/press b', JSON.stringify(PRESS), '/timer no_input', '/reject c1', '/end']);
    expect(text).toContain('< Which?\n< Really\n= check / root/r\n? vars.kind = "a"\n? awaiting = null\n');
    expect(text).toContain('? status = "completed"');
  });
});

describe('the answer of a flow turn', () => {
  const buttons = [{ id: 'a', label: 'A' }];

  it('has messages while the turn runs, and lists their buttons', () => {
    const one = message('Hello', { blocks: [{ kind: 'buttons', buttons }, { kind: 'card', title: 'T', buttons }, { kind: 'carousel', items: [{ title: 'U', buttons }, { title: 'V' }] }, { kind: 'text', text: 't' }] });
    expect(messageButtons(one)).toHaveLength(3);
    const notices = [{ seq: 0, at: 1, kind: 'message' as const, message: one }];
    expect(turnMessages({ notices, record: undefined })).toEqual([one]);
    expect(turnMessages({ notices: [], record: { outcome: outcome([one]) } })).toEqual([one]);
  });

  it('ends a session', () => {
    expect([outcome([]), outcome([], { status: 'completed' }), outcome([], { status: 'failed' }), undefined].map(hasSessionEnded)).toEqual([false, true, true, false]);
  });

  it('has the session before and after the turn', () => {
    const nodeOf = outcome([], {}, { a: 1 });
    expect(readFlowSession({ outcome: nodeOf })?.vars).toEqual({ a: 1 });
    expect(readTimers({ timers: [{ id: 'session', due: 'd', purpose: 'session' }] })).toHaveLength(1);
    const journal = (flow: string) => `{"input": {"session": {"turns": 1${flow}}}}`;
    expect(sessionsAroundTurn({ journal: journal(', "flow": {"vars": {"b": 2}}'), outcome: nodeOf })).toMatchObject({ before: { vars: { b: 2 } }, after: { vars: { a: 1 } } });
    expect(sessionsAroundTurn({ journal: journal(''), outcome: nodeOf }).before).toEqual({});
  });

  it('appears in the timeline, with nodes as steps and messages as replies', () => {
    const script = new Script().addAudit('node.enter', { graph: 'g', node: 'n', name: 'N', type: 'message' });
    script.notices.push({ seq: 1, at: 1, kind: 'message', message: message('Hello') });
    const turn = script.addAudit('node.error', { name: 'N', code: 'status_5xx' }).finish(1, outcome([message('Hello')]));
    expect(turnSteps(turn).map((it) => it.step)).toEqual(['g/n']);
    const { list } = turnItems(turn);
    expect(list.filter((it) => it.kind === 'reply').map((it) => it.name)).toEqual(['Hello']);
    expect(list.find((it) => it.kind === 'error')).toMatchObject({ name: 'Node failed', detail: 'N: status_5xx', tone: 'error', inStory: true });
  });

  it('has a summary', () => {
    const session = { status: 'active', stack: [{ graph: 'root', node: 'r' }, { graph: 'g', node: 'n' }], awaiting: { kind: 'entity', variable: 'pin' }, vars: { a: 'x', _last: 1, none: null } };
    expect(summarizeSession(session).map((it) => [it.name, it.value])).toEqual([['Position', 'root/r › g/n'], ['Status', 'active'], ['Awaiting', 'entity pin'], ['Values', 'a x']]);
  });
});

describe('safeLink', () => {
  it('accepts only web addresses', () => {
    expect(safeLink(' https://bank.example/a ')).toBe('https://bank.example/a');
    expect(['javascript:alert(1)', 'data:text/html,x', '/a', undefined].map(safeLink)).toEqual([undefined, undefined, undefined, undefined]);
    expect(parseEvent(undefined)).toBeUndefined();
  });
});

describe('a node reference', () => {
  it('is read from a notice or a step name', () => {
    const nodeOf = (stage: string, payload: Json) => findNoticeNode({ seq: 0, at: 0, kind: 'audit', stage, payload });
    expect(nodeOf('edge', { graph: 'g', node: 'n', target: 't' })).toEqual({ graph: 'g', id: 'n' });
    expect(nodeOf('edge', { node: 'n' })).toBeUndefined();
    expect(nodeOf('RULE_MATCH', { graph: 'g', node: 'n' })).toBeUndefined();
    expect(nodeOf('edge', null)).toBeUndefined();
    expect([parseStepNode('g/n'), parseStepNode('RulesStep')]).toEqual([{ graph: 'g', id: 'n' }, undefined]);
  });
});
