import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Project } from '../../src/session/project.svelte';
import type { Simulator } from '../../src/simulator.svelte';

const TOO_LARGE = 'the text is too large';

class FakeSimulator {
  text = '';
  packInputs = [];
  openPack(text: string): Promise<void> {
    this.text = text;
    return Promise.resolve();
  }
  restart(): void {}
}

/** Answers to a text that is saved. */
let save: () => Response;

beforeEach(() => {
  vi.stubGlobal('fetch', async (_url: string, { method = 'GET' }: { method?: string } = {}) =>
    method === 'PUT' ? save() : new Response('{"tables": {}}', { headers: { ETag: '"before"' } }),
  );
});

afterEach(() => vi.unstubAllGlobals());

it.each([
  [() => new Response(null, { status: 204, headers: { ETag: '"after"' } }), 'saved', ''],
  [() => new Response(TOO_LARGE, { status: 413 }), 'failed', TOO_LARGE],
  [() => new Response('', { status: 500 }), 'failed', 'the server answers with HTTP 500'],
  [() => { throw new TypeError('Failed to fetch'); }, 'failed', 'the server cannot be reached'],
  [() => new Response('it was changed', { status: 412 }), 'conflict', 'it was changed'],
] as [() => Response, string, string][])('an edit that is not saved has a reason (%#)', async (response, saved, reason) => {
  save = response;
  const simulator = new FakeSimulator();
  const project = new Project(simulator as unknown as Simulator);
  await project.open('shop.json');
  simulator.text = '{"tables": {"ce_rule": []}}';
  await project.overwrite();
  expect([project.saved, project.reason]).toEqual([saved, reason]);
});
