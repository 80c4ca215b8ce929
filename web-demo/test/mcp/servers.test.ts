import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { McpApi } from '../../src/mcp/api';
import { McpServers } from '../../src/mcp/servers.svelte';
import { effectText, filterTools, listSummary, shownJson, visibleText, type McpTool, type McpToolList } from '../../src/mcp/tool';

const tool = (name: string, more: Partial<McpTool> = {}): McpTool => ({ name, code: `mcp.acme-oms.${name}`, effect: 'read', idempotent: true, approval: null, state: 'new', digest: `sha256:${name}`, changes: [], ...more });
const LIST: McpToolList = { server: { name: 'fake', version: '1', protocol: '2025-11-25' }, tools: [tool('status'), tool('cancel', { state: 'changed', description: 'For good' })], missing: [] };
const SERVERS = { servers: [{ key: 'off', enabled: false }, { key: 'acme-oms', enabled: true }] };

const requests: string[] = [];
let respond: (path: string, method: string) => Response;

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

beforeEach(() => {
  requests.length = 0;
  respond = (path) => json(path.endsWith('/servers') ? SERVERS : LIST);
  vi.stubGlobal('fetch', (url: string, { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: Record<string, string>; body?: string } = {}) => {
    requests.push([method, url, headers['Authorization'] ?? '', body].filter(Boolean).join(' '));
    return Promise.resolve().then(() => respond(url, method));
  });
});

afterEach(() => vi.unstubAllGlobals());

describe('the servers', () => {
  it('are listed with the tools of the first one, with the key', async () => {
    const state = new McpServers();
    await state.connect(' secret ');
    expect([state.servers?.length, state.selected, state.list?.tools.length, state.problem, state.busy]).toEqual([2, 'acme-oms', 2, '', false]);
    expect(requests).toEqual(['GET api/v1/mcp/servers Bearer secret', 'GET api/v1/mcp/servers/acme-oms/tools Bearer secret']);
    state.disconnect();
    expect([state.servers, state.list]).toEqual([undefined, undefined]);
    await state.connect('');
    expect(requests[2]).toBe('GET api/v1/mcp/servers');
  });

  it('are known although the tools of one cannot be listed', async () => {
    respond = (path) => (path.endsWith('/servers') ? json(SERVERS) : json({ message: "the MCP server 'acme-oms' cannot be reached" }, 502));
    const state = new McpServers();
    await state.connect('');
    expect([state.servers?.length, state.list, state.problem]).toEqual([2, undefined, "the MCP server 'acme-oms' cannot be reached"]);
  });

  it.each([
    [() => new Response('<html>', { status: 200 }), 'this page is not served by a ConvEngine server'],
    [() => new Response('', { status: 404 }), 'this page is not served by a ConvEngine server'],
    [() => json({ message: 'invalid credentials' }, 401), 'not authorized; enter an API key that may do this (invalid credentials)'],
    [() => new Response('', { status: 500 }), 'the server answered with HTTP 500'],
    [() => { throw new TypeError('Failed to fetch'); }, 'the server of this page cannot be reached'],
  ] as [() => Response, string][])('cannot be listed (%#)', async (response, problem) => {
    respond = response;
    const state = new McpServers();
    await state.connect('');
    expect([state.servers, state.problem]).toEqual([undefined, problem]);
  });
});

describe('an approval', () => {
  it('names the reviewed definition and lists the tools again', async () => {
    const state = new McpServers();
    await state.connect('');
    requests.length = 0;
    expect(await state.approve(tool('a/b'), { approval: 'always', intent_code: 'ORDERS' })).toBe(true);
    expect(requests).toEqual([
      'PUT api/v1/mcp/servers/acme-oms/tools/a%2Fb/approval {"approval":"always","intent_code":"ORDERS","digest":"sha256:a/b"}',
      'GET api/v1/mcp/servers/acme-oms/tools',
    ]);
    expect(state.notice).toBe('a/b is approved');
  });

  it('of a tool that has changed meanwhile is refused, and the tool is listed again', async () => {
    const state = new McpServers();
    await state.connect('');
    const changed = { ...LIST, tools: [tool('status', { digest: 'sha256:2' })] };
    respond = (_, method) => (method === 'PUT' ? json({ message: 'the tool is not the one that was reviewed' }, 409) : json(changed));
    expect(await state.approve(tool('status'), { approval: null })).toBe(false);
    expect([state.problem, state.list?.tools[0]?.digest]).toEqual(['the tool is not the one that was reviewed', 'sha256:2']);
  });

  it('is withdrawn', async () => {
    const state = new McpServers();
    await state.connect('');
    respond = (_, method) => (method === 'DELETE' ? new Response(null, { status: 204 }) : json(LIST));
    expect(await state.withdraw('status')).toBe(true);
    expect([requests.at(-2), state.notice]).toEqual(['DELETE api/v1/mcp/servers/acme-oms/tools/status/approval', 'The approval of status is withdrawn']);
  });
});

it('a call sends its arguments as they are written', async () => {
  respond = () => json({ ok: true, result: { status: 'SUBMITTED' } });
  expect(await new McpApi('k').call('acme-oms', 'status', '{"n": 12345678901234567890}')).toEqual({ ok: true, result: { status: 'SUBMITTED' } });
  expect(requests).toEqual(['POST api/v1/mcp/servers/acme-oms/tools/status/call Bearer k {"arguments":{"n": 12345678901234567890}}']);
});

describe('what a server says', () => {
  it('is shown with its invisible characters', () => {
    expect(visibleText('a\u202eb\u200b\u{e0041}\u0000\nc\td')).toBe('a⟨U+202E⟩b⟨U+200B⟩⟨U+E0041⟩⟨U+0000⟩\nc\td');
    expect(visibleText('Ünïcode 🙂 <b>')).toBe('Ünïcode 🙂 <b>');
    expect(shownJson({ a: '\u202e' })).toBe('{\n  "a": "⟨U+202E⟩"\n}');
  });

  it('is cut where it is long', () => {
    expect(shownJson('x'.repeat(50_010))).toMatch(/^x{50000}\n… 10 more characters$/);
  });

  it('is summed up and filtered', () => {
    expect(listSummary(LIST)).toBe('2 tools of fake 1, protocol 2025-11-25, 1 changed');
    expect(listSummary({ ...LIST, server: null, tools: [tool('a', { state: 'approved' })] })).toBe('1 tool, 1 approved');
    expect([filterTools(LIST.tools, ' GOOD '), filterTools(LIST.tools, '')].map((it) => it.length)).toEqual([1, 2]);
    expect([tool('a'), tool('b', { effect: 'irreversible', idempotent: false }), tool('c', { effect: 'write' })].map(effectText)).toEqual(['only reads', 'writes irreversibly', 'writes, repeatable']);
  });
});
