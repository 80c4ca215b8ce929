import { describe, expect, it } from 'vitest';
import { addScriptIssues, scriptNodes } from '../../src/flow/script-issues';
import { turnScripts } from '../../src/flow/script-run';
import { readRetrieval, turnSearches } from '../../src/flow/search';
import type { AnsweredEffect } from '../../src/session/turn-data';
import type { Issue, JsonObject, Notice } from '../../src/types';

const notice = (stage: string, payload: JsonObject, seq = 4): Notice => ({ seq, at: 0, kind: 'audit', stage, payload: { graph: 'g', node: 'n', ...payload } });
const answered = (kind: string, ok: JsonObject) => ({ effect: { request: { kind } }, completion: { outcome: { ok: { kind, ...ok } } } }) as unknown as AnsweredEffect;

const passage = { chunk: 'a#1', source: 'a', title: 'Cards', url: 'https://x.example/', text: 'Lost cards are replaced.' };

function session(vars: JsonObject) {
  return { outcome: { writes: [{ table: 'flow', state: { vars } }] } } as never;
}

describe('a search', () => {
  const hits = [
    { chunk_id: 'a#1', title: 'Cards', rrf: 1, conf: 0.8, keyword: 2.5, vector: null },
    { chunk_id: 'b#2', title: null, rrf: 0.5, conf: 0.2, keyword: null, vector: 0.4 },
  ];
  const turn = (vars: JsonObject) => ({
    notices: [notice('knowledge.search', { query: 'lost', lists: ['keyword'], hits })],
    exchanges: [answered('knowledge', { passages: [passage] })],
    record: session(vars),
  });

  it('has its passages with scores and texts', () => {
    const [search] = turnSearches(turn({}));
    expect(search).toMatchObject({ query: 'lost', lists: ['keyword'], node: { graph: 'g', id: 'n' }, seq: 4 });
    expect(search?.hits).toEqual([
      { chunk: 'a#1', title: 'Cards', rrf: 1, conf: 0.8, keyword: 2.5, vector: undefined, isCited: undefined, text: passage.text, url: passage.url },
      { chunk: 'b#2', title: 'b#2', rrf: 0.5, conf: 0.2, keyword: undefined, vector: 0.4, isCited: undefined, text: undefined, url: undefined },
    ]);
  });

  it('marks what the answer cites', () => {
    const [search] = turnSearches(turn({ other: 1, facts: { chunks: [{ chunk_id: 'a#1' }], citations: [{ chunk_id: 'a#1' }] } }));
    expect(search?.hits.map((it) => it.isCited)).toEqual([true, false]);
  });

  it('outside of a turn is read from the lists', () => {
    const fused = [{ chunk: 'a#1', rrf: 1, conf: 0.8, keyword_rank: 1, keyword_score: 2.5, vector_rank: null, vector_score: null }];
    const { lists, hits } = readRetrieval('lost', { reply: { keyword: [{}], passages: [passage] }, fused });
    expect([lists, hits[0]?.keyword, hits[0]?.vector, hits[0]?.text]).toEqual([['keyword'], 2.5, undefined, passage.text]);
  });
});

describe('a script', () => {
  it('has its logs, result and changes; private variables by name', () => {
    const [run] = turnScripts(
      { notices: [notice('script.run', { logs: ['a'], result: 3, branch: 'yes' })], exchanges: [answered('script', { changed: { total: 3, pin: '1234' }, removed: ['old'] })] },
      ['pin'],
    );
    expect(run).toMatchObject({ logs: ['a'], result: 3, branch: 'yes', changed: { total: 3, pin: '[pin]' }, removed: ['old'], failure: undefined });
  });

  it('that failed has its line and has changed nothing', () => {
    const failure = { code: 'exception', message: 'line 2: KeyError', line: 2 };
    const [run] = turnScripts({ notices: [notice('script.run', { logs: [], result: null, branch: null, failure })], exchanges: [answered('script', { changed: { a: 1 } })] }, []);
    expect(run).toMatchObject({ failure, changed: {} });
  });
});

describe('the check of scripts', () => {
  const node = (id: string, code: string) => ({ id, type: 'python', data: { code } });
  const pack = JSON.stringify({ documents: [{ doc: 'conversation_flow', graphs: [{ id: 'root', nodes: [{ id: 'start', type: 'start' }, node('a', 'x = ('), node('b', 'y')] }] }] });
  const issue = (rule: string, path: string): Issue => ({ severity: 'error', path, reason: 'engine', hint: '', rule });
  const path = '/graphs/0/nodes/1/data/code';

  it('covers each python node', () => {
    expect(scriptNodes(pack).map((it) => [it.node, it.code, it.path])).toEqual([
      ['a', 'x = (', path],
      ['b', 'y', '/graphs/0/nodes/2/data/code'],
    ]);
    expect(scriptNodes('{"documents":[]}')).toEqual([]);
  });

  it('replaces the words of the engine for the same script', async () => {
    const client = { checkScripts: async () => [[{ line: 1, message: 'never closed' }], []] };
    const issues = await addScriptIssues(client, pack, [issue('P001', path), issue('P004', path)]);
    expect(issues?.map((it) => [it.rule, it.reason])).toEqual([
      ['P004', 'engine'],
      ['P001', 'line 1: never closed'],
    ]);
    expect(issues?.[1]).toMatchObject({ graph: 'root', node: 'a', path });
  });

  it('adds nothing without an interpreter', async () => {
    const client = { checkScripts: () => Promise.reject(new Error('offline')) };
    expect(await addScriptIssues(client, pack, [])).toBeUndefined();
  });
});
