import { describe, expect, it } from 'vitest';
import { checkTurn } from '../../src/session/talk-check';
import { talkLabels, talkPack } from '../../src/session/talk-pack';
import { isTalk, parseTalk } from '../../src/session/talk-reader';
import { DEFAULT_ASSERTIONS, writeTalk } from '../../src/session/talk';
import type { AnsweredEffect, FinishedTurn } from '../../src/session/turn-data';
import type { JsonObject, Outcome } from '../../src/types';

/** All talks of the corpus by file. */
const TALKS = import.meta.glob<string>('../../../tests/{talks,packs}/**/*.talk', { query: '?raw', import: 'default', eager: true });

const START = Date.UTC(2026, 1, 1, 9);

const TALK = `# A whole talk.
config shop.json
name   a shop
program pipeline v2
at 2026-02-01T09:00:00Z
set flow.dialogue-act.llm-threshold=0.50
set convengine.input.note=two words

> I need a loan
  llm DIALOGUE_ACT   {"act": "NEW", "confidence": 1.0}   +850ms
  llm response_text  Shall I ask +5 banks? +2s
  llm policy ! no line
  llm policy timeout
< first line
<
< third line
<~ line
= LOAN / IDLE
? context.amount = 5
$ dialogue_act, policy
# between turns
> @b +45m {"message": "yes", "reset": true, "inputParams": {"rate": 1.0}}
  task loan:file   {"result": "LA-1"}
  task loan:note   done
  container 1/2/30 {"rows": []}
< {"a": 1}
> +5 more, please
! LLM_CALL_FAILED
`;

const CONFIG = '{\n  "name": "shop",\n  "settings": {"flow": {"dialogueAct": {"llmThreshold": 0.9}}},\n  "tables": {},\n  "turns": [{"admin_sql": "drop"}]\n}\n';

function finished(outcome: Partial<Outcome>, more: Partial<FinishedTurn> = {}): FinishedTurn {
  const input = { conversation: 'main', conversationId: 'c1', message: 'I need a loan', inputParams: '', reset: false, at: START, seed: 1 };
  const end: Outcome = { conversation_id: 'c1', intent: 'LOAN', state: 'IDLE', payload: { type: 'TEXT', value: 'Hello.' }, context: { amount: 5 }, fault: null, writes: [], ...outcome };
  return { input, exchanges: [], outcome: end, notices: [], ...more };
}

/** Checks a turn with some lines. */
function check(turn: FinishedTurn, lines: string): { failed: string[]; skipped: number } {
  const { failed, skipped } = checkTurn(turn, parseTalk(`config c.json\n> hi\n${lines}\n`).turns[0]!.checks);
  return { failed, skipped: skipped.length };
}

describe('parseTalk', () => {
  it('recognises talks', () => {
    expect([TALK, CONFIG, 'hello\n> a quote', 'insert into ce_rule'].map(isTalk)).toEqual([true, false, false, false]);
  });

  it('parses header, messages, answers and checks', () => {
    const { about, name, config, settings, turns } = parseTalk(TALK);
    expect([about, name, config]).toEqual(['A whole talk.', 'a shop', 'shop.json']);
    expect(settings).toEqual([
      ['pipeline.profile', '"v2"'],
      ['flow.dialogue-act.llm-threshold', '0.50'],
      ['input.note', '"two words"'],
    ]);
    expect(turns.map((it) => [it.line, it.conversation, (it.at - START) / 60_000])).toEqual([
      [9, 'main', 0],
      [22, 'b', 45],
      [27, 'main', 46],
    ]);
    expect(turns[0]?.answers).toEqual([
      '{"llm":"dialogue_act","reply":{"act": "NEW", "confidence": 1.0},"delay_ms":850,"line":10}',
      '{"llm":"response_text","reply":"Shall I ask +5 banks?","delay_ms":2000,"line":11}',
      '{"llm":"policy","error":{"kind":"unavailable","message":"no line"},"delay_ms":0,"line":12}',
      `{"llm":"policy","error":{"kind":"timeout","message":"the script answers with 'timeout'"},"delay_ms":0,"line":13}`,
    ]);
    expect(turns[1]?.answers.map((it) => (JSON.parse(it) as JsonObject)['reply'])).toEqual([{ result: 'LA-1' }, { result: 'done' }, { rows: [] }]);
    expect(turns[0]?.checks[0]).toEqual({ line: 14, kind: 'reply', text: 'first line\n\nthird line' });
  });

  it('parses the events of a flow', () => {
    const { turns } = parseTalk('config c.json\nprogram flow desk\n> /start {"locale": "en-GB"}\n? turn = 1\n> /press card\n? turn = 2\n> hello\n? turn = 3\n> {"type": "session.end", "reason": "x"}\n? turn = 4\n');
    expect(turns.map((it) => it.path?.replace('/v1/runtime/assistants/desk/sessions', ''))).toEqual(['', '/${SESSION}/turns', '/${SESSION}/turns', '/${SESSION}/turns']);
    expect(turns.map((it) => JSON.parse(it.body) as JsonObject)).toEqual([
      { locale: 'en-GB' },
      { type: 'user.button', button_id: 'card' },
      { type: 'user.message', text: 'hello' },
      { type: 'session.end', reason: 'x' },
    ]);
  });

  it('parses every talk of the corpus', () => {
    const files = Object.entries(TALKS);
    expect(files.length).toBeGreaterThan(50);
    for (const [file, text] of files) expect(() => parseTalk(text), file).not.toThrow();
  });

  it('names the line of an error', () => {
    const broken = (text: string) => () => parseTalk(text);
    expect(broken('config c.json\n> hi\nhello')).toThrow(/^line 3: expected an indented answer/);
    expect(broken('config c.json\n> hi\n> ho\n< a')).toThrow(/^line 2: the message has no checks/);
    expect(broken('> hi\n< a')).toThrow(/^line 1: the talk has no configuration/);
    expect(broken('config c.json\n> hi\n  mail x y\n< a')).toThrow(/^line 3: unknown kind of answer/);
    expect(broken('config c.json\nat today\n> hi\n< a')).toThrow(/^line 2: invalid time/);
    expect(broken('config c.json\n> hi\n? context.x = {')).toThrow(/^line 3: invalid JSON/);
  });
});

describe('talkPack', () => {
  it('replaces turns and settings, and keeps all other text', () => {
    const talk = parseTalk(TALK);
    expect(talkLabels(talk)).toEqual(['main', 'b']);
    const pack = talkPack(talk, CONFIG, new Map([['main', 'id-1'], ['b', 'id-2']]));
    const { name, settings, turns } = JSON.parse(pack) as { name: string; settings: JsonObject; turns: { at: number; request: { body: JsonObject }; answers?: object[] }[] };
    expect(name).toBe('a shop');
    expect(settings).toEqual({ flow: { dialogueAct: { llmThreshold: 0.5 } }, pipeline: { profile: 'v2' }, input: { note: 'two words' } });
    expect(turns.map((it) => it.request.body)).toEqual([
      { message: 'I need a loan', conversationId: 'id-1' },
      { message: 'yes', reset: true, inputParams: { rate: 1 }, conversationId: 'id-2' },
      { message: '+5 more, please', conversationId: 'id-1' },
    ]);
    expect(turns.map((it) => it.answers?.length)).toEqual([4, 3, undefined]);
    expect(pack).toContain('"confidence": 1.0');
    expect(pack).toContain('\n  "tables": {},\n');
  });
});

describe('checkTurn', () => {
  it('accepts what an exported talk asserts', () => {
    const effect = { id: 0, key: '', class: 'read' as const, deadline_ms: 1, request: { kind: 'llm', purpose: 'policy', mode: 'json' } };
    const answered: AnsweredEffect = { effect, completion: { id: 0, at: 1, outcome: { ok: { kind: 'llm', text: 'no' } } }, delayMs: 0, origin: 'live', seq: 0 };
    const notices = [{ seq: 0, at: 0, kind: 'audit' as const, stage: 'USER_INPUT', payload: {} }];
    const turns = [
      finished({ payload: { type: 'TEXT', value: 'two\nlines ' } }, { exchanges: [answered], notices }),
      finished({ payload: { type: 'JSON', value: '{"a": 1.0}' }, state: 'two words' }),
      finished({ payload: null }),
      finished({ fault: { code: 'LLM_CALL_FAILED', message: 'x', recoverable: true } }),
    ];
    const { text } = writeTalk(turns, { file: 'shop.json', name: 'shop' }, { ...DEFAULT_ASSERTIONS, stages: true, context: ['amount', 'gone.deep'] });
    const talk = parseTalk(text);
    expect(talk.turns.map((it, index) => checkTurn(turns[index]!, it.checks))).toEqual(turns.map(() => ({ failed: [], skipped: [] })));
  });

  it('describes what differs', () => {
    expect(check(finished({}), '< Goodbye.').failed).toEqual(['the reply is “Hello.” instead of “Goodbye.”']);
    expect(check(finished({}), '= CARD / LOST').failed).toEqual(['it ends at LOAN / IDLE instead of CARD / LOST']);
    expect(check(finished({}), '? context.amount = 6').failed).toEqual(['context.amount is 5 instead of 6']);
    expect(check(finished({}), '$ policy').failed).toEqual(['the list of calls is “none” instead of “policy”']);
    expect(check(finished({}), '! TOOL_FAILED').failed).toEqual(['it ends with a reply instead of TOOL_FAILED']);
    expect(check(finished({ fault: { code: 'X', message: 'broken', recoverable: false } }), '<~ Hello').failed).toEqual(['it fails with X: broken']);
    expect(check(finished({}), '~ USER_INPUT').failed).toEqual(['the stage USER_INPUT is missing']);
    expect(check(finished({}), '% Working').failed).toEqual(['the progress message “Working” is missing']);
  });

  it('tells an absent value from null', () => {
    const turn = finished({ intent: null });
    expect(check(turn, '? intent = null\n?! context.none').failed).toEqual([]);
    expect(check(turn, '?! intent').failed).toEqual(['intent is null instead of absent']);
    expect(check(turn, '? context.none = null').failed).toEqual(['context.none is absent instead of null']);
  });

  it('leaves out what only a server or the core knows', () => {
    expect(check(finished({}), '? row.status = "RUNNING"\n?! calls.0.prompt ~ x\n< Hello.')).toEqual({ failed: [], skipped: 2 });
  });
});
