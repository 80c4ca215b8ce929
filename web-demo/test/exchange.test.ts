import { describe, expect, it } from 'vitest';
import { answerSummary, outcomeParts, requestParts, waitingText, effectTags, effectTitle } from '../src/exchange';
import type { Completion, Effect, JsonObject } from '../src/types';

const effect = (request: JsonObject & { kind: string }): Effect => ({ id: 0, key: 'k', class: 'read', deadline_ms: 1, request });
const reply = (ok: JsonObject & { kind: string }): Completion => ({ id: 0, at: 1, outcome: { ok } });
const parts = (list: ReturnType<typeof requestParts>) => list.parts.map((it) => [it.name, it.value, it.folded]);

const model = effect({ kind: 'llm', purpose: 'extract', mode: 'json', system: 'Read.', user: 'Ada', hint: null, schema: { a: 1 } });
const task = effect({ kind: 'task', task: 'desk:file', called_for: 'rule', rule_id: 7, view: { state: 'NEW' } });
const tool = effect({ kind: 'tool', tool_code: 'parcel.find', tool_group: 'HTTP_API', args: { id: 7 } });
const group = effect({ kind: 'tool', tool_code: null, tool_group: 'FAQ', args: {} });
const container = effect({ kind: 'container', pageId: 1, sectionId: 2, containerId: 3, userId: 'u', inputParams: { q: 'x' } });
const embed = effect({ kind: 'embed', texts: ['a', 'b'] });
const extension = effect({ kind: 'extension', extension: 'fee', module: 'ab', messages: [{}], memory_bytes: 1, timeout_ms: 1 });
const service = effect({ kind: 'http', caller: { tool: 'crm.file' }, method: 'POST', url: 'http://a/b', headers: [], body: '{}', max_bytes: 9 });
const sleep = effect({ kind: 'sleep', ms: 200 });

describe('an effect', () => {
  it('has a title and tags', () => {
    const all = [model, task, tool, group, container, embed, extension, service, sleep];
    expect(all.map(effectTitle)).toEqual(['extract', 'desk:file', 'parcel.find', 'FAQ', '1/2/3', '2 texts', 'fee', 'crm.file', '200 ms']);
    expect([model, task, tool, group].map(effectTags)).toEqual([['llm', 'json'], ['task', 'rule'], ['tool', 'HTTP_API'], ['tool']]);
    expect([effectTags(service), waitingText(service)]).toEqual([['http', 'POST'], 'Waiting for the service: crm.file']);
    expect([model, tool, sleep].map(waitingText)).toEqual(['Waiting for the model: extract', 'Waiting for the tool: parcel.find', 'Working']);
  });

  it('shows every request member once, long ones folded', () => {
    expect(parts(requestParts(model))).toEqual([
      ['User prompt', 'Ada', false],
      ['System prompt', 'Read.', true],
      ['Other request fields', { schema: { a: 1 } }, true],
    ]);
    expect(parts(requestParts(task))).toEqual([
      ['Session as the task sees it', { state: 'NEW' }, true],
      ['Other request fields', { rule_id: 7 }, true],
    ]);
    expect(parts(requestParts(tool))).toEqual([['Arguments', { id: 7 }, false]]);
    expect(parts(requestParts(container))).toEqual([
      ['Input params', { q: 'x' }, false],
      ['Other request fields', { userId: 'u' }, true],
    ]);
    expect(parts(requestParts(service))).toEqual([
      ['URL', 'http://a/b', false],
      ['Body', '{}', false],
      ['Other request fields', { max_bytes: 9 }, true],
    ]);
    expect(parts(requestParts(sleep))).toEqual([]);
  });

  it('shows its outcome', () => {
    const done = reply({ kind: 'task', result: 'R-1', set_params: {}, set_context: { ref: 'R-1' }, intent: null, state: 'DONE' });
    expect(parts(outcomeParts(done))).toEqual([
      ['', 'R-1', false],
      ['Set context', { ref: 'R-1' }, false],
      ['Other answer fields', { state: 'DONE' }, true],
    ]);
    expect(parts(outcomeParts(reply({ kind: 'embed', vectors: [[1, 0]] })))).toEqual([['Vectors', [[1, 0]], true]]);
    expect(parts(outcomeParts(reply({ kind: 'slept' })))).toEqual([]);
    expect(parts(outcomeParts(reply({ kind: 'http', status: 200, body: 'x' })))).toEqual([['Status', 200, false], ['Body', 'x', false]]);
    const failed = outcomeParts({ id: 0, at: 1, outcome: { error: { kind: 'timeout', message: 'no answer in time' } } });
    expect([failed.failed, ...parts(failed)]).toEqual([true, ['', 'timeout: no answer in time', false]]);
  });

  it('of a search or script is summed up in one line', () => {
    const summary = (ok: JsonObject & { kind: string }) => answerSummary(reply(ok));
    expect(summary({ kind: 'knowledge', passages: [{}, {}] })).toBe('2 passages');
    expect(summary({ kind: 'script', changed: { a: 1 }, removed: ['b'], branch: 'yes' })).toBe('branch yes, changed a, b');
    expect(summary({ kind: 'script', changed: {}, removed: [], branch: null })).toBe('changed nothing');
    expect(summary({ kind: 'script', failure: { code: 'fuel', message: 'too long' } })).toBe('fuel: too long');
    expect(summary({ kind: 'http', body: 'x' })).toBeUndefined();
    expect(outcomeParts(reply({ kind: 'script', failure: { code: 'fuel', message: 'too long' } })).failed).toBe(true);
  });

  it('of the desk is named by its purpose', () => {
    const call = effect({ kind: 'http', caller: { handoff: 'relay' }, url: 'https://desk.example' });
    expect([effectTitle(call), waitingText(call)]).toEqual(['relay', 'Waiting for the desk: relay']);
    expect(effectTitle(effect({ kind: 'knowledge', query: 'q' }))).toBe('search');
  });
});
