import { describe, expect, it } from 'vitest';
import { callFailures } from '../src/call-failures';
import type { AnsweredEffect } from '../src/session/turn-data';
import type { Completion, JsonObject } from '../src/types';

function answered(request: JsonObject & { kind: string }, outcome: Completion['outcome']): AnsweredEffect {
  const effect = { id: 0, key: '', class: 'read' as const, deadline_ms: 1, request };
  return { effect, completion: { id: 0, at: 0, outcome }, delayMs: 0, origin: 'live', seq: 0 };
}

const model = { kind: 'llm', purpose: 'dialogue_act' };
const service = { kind: 'http', caller: { tool: 'crm.file' }, url: 'http://crm.example/cases', method: 'POST' };
const refused = { error: { kind: 'unavailable', message: 'ollama:llama3: unreachable: Failed to fetch; check the URL' } };

describe('the failed calls of a turn', () => {
  it('name the model or service, its purpose and the reason', () => {
    expect(callFailures([answered(model, refused)])).toEqual(['Model dialogue_act failed: ollama:llama3: unreachable: Failed to fetch; check the URL']);
    const unreachable = { error: { kind: 'unavailable', message: "cannot call 'crm.example': Failed to fetch" } };
    expect(callFailures([answered(service, unreachable)])).toEqual(["Service crm.file failed: cannot call 'crm.example': Failed to fetch"]);
    expect(callFailures([answered(model, { error: { kind: 'timeout', message: '' } })])).toEqual(['Model dialogue_act failed: timeout']);
  });

  it('include error statuses of services', () => {
    const status = (code: number) => answered(service, { ok: { kind: 'http', status: code, body: '' } });
    expect(callFailures([status(503), status(204), status(404)])).toEqual(['Service crm.file failed: HTTP 503 from crm.example', 'Service crm.file failed: HTTP 404 from crm.example']);
  });

  it('count attempts that failed alike, and leave out answers', () => {
    const ok = answered(model, { ok: { kind: 'llm', text: 'hi' } });
    expect(callFailures([answered(model, refused), ok, answered(model, refused), answered(model, refused)])).toEqual([
      'Model dialogue_act failed: ollama:llama3: unreachable: Failed to fetch; check the URL (3 times)',
    ]);
    expect(callFailures([ok])).toEqual([]);
  });
});
