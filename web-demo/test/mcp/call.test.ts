import { describe, expect, it } from 'vitest';
import orderStatus from '../../../tests/packs/tools/mcp_order_status.json?raw';
import agent from '../../../tests/packs/mcp/agent.json?raw';
import { callFailures } from '../../src/call-failures';
import { effectTags, effectTitle, outcomeParts, requestParts, waitingText } from '../../src/exchange';
import { mcpCall } from '../../src/mcp/call';
import { findDefinition } from '../../src/mcp/definition';
import { applyFault, faultsFor, type FaultName } from '../../src/run/fault';
import { effectName } from '../../src/run/effect-name';
import { outcomeFromText } from '../../src/run/manual-outcome';
import { createFaultRule, groupReplyFaults } from '../../src/timeline/actions';
import { ruleTarget } from '../../src/timeline/fault-rule';
import { layOutRows } from '../../src/timeline/rows';
import type { Effect, JsonObject } from '../../src/types';
import { answerLines } from '../../src/session/talk-answer';
import { Script, tool } from '../timeline/turn';

const SPEC = { server: 'acme-oms', tool: 'get_order_status', effect: 'read', idempotent: true, approved: false };
const request = { kind: 'tool', tool_code: 'mcp.acme-oms.get_order_status', tool_group: 'MCP', args: { orderId: 'ORD-7017' }, spec: SPEC };
const effect: Effect = { id: 0, key: 'k', class: 'read', deadline_ms: 1, request };
const MCP_FAULTS: FaultName[] = ['mcp_changed', 'mcp_denied', 'mcp_tool_error', 'mcp_too_large'];

describe('a call of an MCP tool', () => {
  it('is recognized by its spec', () => {
    expect(mcpCall(effect)).toEqual(SPEC);
    const other = (more: JsonObject & { kind: string }) => mcpCall({ request: more });
    expect(other({ ...request, spec: { server: 'a', tool: 'b' } })).toEqual({ server: 'a', tool: 'b', effect: 'write', idempotent: false, approved: false });
    for (const spec of [null, 'x', [], {}, { server: 'a' }, { server: 1, tool: 'b' }]) expect(other({ ...request, spec })).toBeUndefined();
    expect(other({ ...request, kind: 'http' })).toBeUndefined();
  });

  it('is labeled by its server and its tool', () => {
    expect(effectTitle(effect)).toBe('mcp acme-oms · get_order_status');
    expect([effectTags(effect), waitingText(effect)]).toEqual([['tool', 'MCP'], 'Waiting for the tool: mcp acme-oms · get_order_status']);
    // Its details show the spec.
    expect(requestParts(effect).parts.map((it) => it.name)).toEqual(['Arguments']);
    expect(requestParts({ ...effect, request: { ...request, spec: { path: '/' } } }).parts.map((it) => it.name)).toEqual(['Arguments', 'Other request fields']);
  });

  it('has a row with its result, and one for the approval that it waits for', () => {
    const script = new Script();
    script.addStep('McpToolStep', () => script.addAudit('MCP_TOOL_CALL').addEffect(request, { text: '{"status":"SUBMITTED"}' }).addAudit('MCP_TOOL_RESULT').addAudit('MCP_TOOL_APPROVAL', { tool_code: 'mcp.acme-oms.cancel_order' }));
    const rows = layOutRows([script.finish(1)], { density: 'story', kinds: new Set(), search: '', folded: new Set() });
    expect(rows.slice(1).map((it) => [it.kind, it.name, it.detail])).toEqual([
      ['tool', 'mcp acme-oms · get_order_status', '{"status":"SUBMITTED"}'],
      ['decision', 'Tool call waits for approval', 'mcp.acme-oms.cancel_order'],
    ]);
  });

  it('has the schema of its row or of its document', () => {
    const call = mcpCall(effect)!;
    expect(findDefinition(orderStatus, call)).toMatchObject({ origin: 'row', description: 'Returns how far an order is.', inputSchema: { required: ['orderId'] } });
    expect(findDefinition(agent, { ...call, tool: 'cancel_order' })).toMatchObject({ origin: 'document', inputSchema: { properties: { reason: { type: 'string' } } } });
    for (const pack of ['{', '[]', '{"tables": {"cv_mcp_tool": [1, {"tool_code": "x"}]}, "documents": [null, {"tools": 1}]}']) expect(findDefinition(pack, call)).toBeUndefined();
    const broken = { tables: { cv_mcp_tool: [{ tool_code: request.tool_code, definition: '{not JSON' }] } };
    expect(findDefinition(JSON.stringify(broken), call)).toEqual({ origin: 'row', description: '', inputSchema: {} });
  });
});

describe('faults of an MCP tool', () => {
  it('are offered beside those of other tools, and only there', () => {
    expect(faultsFor(effect)).toEqual(expect.arrayContaining([...MCP_FAULTS, 'timeout', 'status_503', 'not_json', 'never', 'crash']));
    const others = faultsFor({ ...effect, request: tool('rates') });
    for (const name of MCP_FAULTS) expect(others).not.toContain(name);
    expect(groupReplyFaults(effect).flatMap((it) => it.faults.map(({ fault }) => fault.name))).toEqual(expect.arrayContaining(MCP_FAULTS));
  });

  it.each([
    ['mcp_changed', 'refused', 'tool_changed'],
    ['mcp_denied', 'denied', 'tool_denied'],
    ['mcp_tool_error', 'refused', 'tool_error'],
    ['mcp_too_large', 'invalid', 'response_too_large'],
  ] as const)('%s fails like on the server', (name, kind, detail) => {
    const result = applyFault({ name }, effect, () => '{}');
    const { error } = JSON.parse('outcome' in result ? result.outcome : '{}') as { error: { kind: string; message: string; detail: string } };
    expect(error).toMatchObject({ kind, detail });
    const completion = { id: 0, at: 1, outcome: { error } };
    expect(outcomeParts(completion).parts[0]?.value).toBe(`${kind} (${detail}): ${error.message}`);
    const exchange = { effect, completion, delayMs: 0, origin: 'fault' as const, seq: 0 };
    expect(callFailures([exchange])).toEqual([`Tool mcp acme-oms · get_order_status failed: ${error.message}`]);
    const notes: string[] = [];
    const lines = answerLines(exchange, { payload: null, context: {} } as never, (it) => notes.push(it));
    expect([lines, notes]).toEqual([[`  tool mcp.acme-oms.get_order_status ${kind}`], [`'tool mcp.acme-oms.get_order_status' failed with the detail '${detail}', which a talk cannot express.`]]);
  });

  it('stay active by its label, and answers are typed as text', () => {
    const rule = createFaultRule(effect, { name: 'mcp_changed' });
    expect([rule.on, ruleTarget(rule)]).toEqual([effectName(effect), 'Tool mcp acme-oms · get_order_status']);
    expect(outcomeFromText(effect, '{"status": "SHIPPED"}')).toBe('{"ok":{"kind":"tool","text":"{\\"status\\": \\"SHIPPED\\"}"}}');
  });
});
