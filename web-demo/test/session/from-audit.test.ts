import { describe, expect, it } from 'vitest';
import { fromAudit, isAuditTrail } from '../../src/session/from-audit';
import type { JsonObject } from '../../src/types';

const ID = '4aecbdd6-962b-5aa1-8e77-cf43ef25dc33';

let ids = 0;
const row = (stage: string, payload: JsonObject = {}, createdAt = '2026-01-01T09:00:00.123Z') => ({
  auditId: ++ids,
  conversationId: ID,
  stage,
  payloadJson: JSON.stringify(payload),
  createdAt,
});
const meta = (inputParams: JsonObject, more: JsonObject = {}) => ({ _meta: { inputParams, ...more } });
const DONE = row('ENGINE_RETURN', { intent: 'LOAN', state: 'DONE' });

/** Returns the answers of one turn, one line each. */
function answers(...rows: object[]) {
  const { turns, notes } = fromAudit([row('USER_INPUT', { text: 'hi' }), ...rows].map((it, index) => ({ ...it, auditId: index })));
  const lines = turns[0]?.answers.map((it) => `${Object.entries(it.target).flat().join(' ')} ${it.error ? `! ${it.error.kind} ${it.error.message}` : JSON.stringify(it.reply)}`);
  return { lines, notes: notes.filter((it) => !it.includes('input params')), expected: turns[0]?.expected };
}

describe('an audit trail', () => {
  const trail = [
    row('STEP_ENTER', { step: 'LoadOrCreateConversationStep' }),
    row('USER_INPUT', { text: 'I need a loan' }),
    row('DIALOGUE_ACT_LLM_INPUT'),
    row('DIALOGUE_ACT_LLM_OUTPUT', { json: '{"dialogueAct": "NEW_REQUEST"}' }),
    row('PROMPT_RENDERING'),
    row('RESOLVE_RESPONSE_SELECTED', { outputFormat: 'TEXT' }),
    row('RESOLVE_RESPONSE_LLM_OUTPUT', { output: 'How much?' }),
    row('ASSISTANT_OUTPUT', { output: 'How much?', intent: 'LOAN', state: 'ASK' }),
    row('ENGINE_RETURN', { intent: 'LOAN', state: 'ASK' }),
    row('PIPELINE_TIMING'),
    row('CONVERSATION_RESET', { reason: 'INPUT_PARAM:reset' }, '2026-01-01T09:01:00Z'),
    row('USER_INPUT', { text: null }, '2026-01-01T09:01:00Z'),
    row('ENGINE_KNOWN_FAILURE', { errorCode: 'LLM_CALL_FAILED', message: 'down' }),
  ];

  it('is read as turns with answers and outcomes', () => {
    expect(fromAudit(trail)).toEqual({
      conversationId: ID,
      turns: [
        {
          message: 'I need a loan',
          inputParams: '',
          reset: false,
          at: Date.UTC(2026, 0, 1, 9, 0, 0, 123),
          answers: [
            { target: { llm: 'dialogue_act' }, reply: '{"dialogueAct": "NEW_REQUEST"}' },
            { target: { llm: 'response_text' }, reply: 'How much?' },
          ],
          expected: {
            intent: 'LOAN',
            state: 'ASK',
            reply: 'How much?',
            stages: ['USER_INPUT', 'DIALOGUE_ACT_LLM_INPUT', 'DIALOGUE_ACT_LLM_OUTPUT', 'RESOLVE_RESPONSE_SELECTED', 'RESOLVE_RESPONSE_LLM_OUTPUT', 'ASSISTANT_OUTPUT', 'ENGINE_RETURN', 'PIPELINE_TIMING'],
          },
        },
        {
          message: '',
          inputParams: '',
          reset: true,
          at: Date.UTC(2026, 0, 1, 9, 1),
          answers: [],
          expected: { intent: null, state: null, fault: 'LLM_CALL_FAILED', stages: ['CONVERSATION_RESET', 'USER_INPUT', 'ENGINE_KNOWN_FAILURE'] },
        },
      ],
      notes: ['The trail does not contain input params; request it with ?meta=true.'],
    });
  });

  it('equals a trace, in any row order', () => {
    const stages = trail.map(({ auditId, stage, payloadJson, createdAt }) => ({ auditId, stage, createdAt, payload: JSON.parse(payloadJson) as JsonObject }));
    expect(fromAudit({ conversationId: ID, steps: [], stages })).toEqual(fromAudit(trail));
    expect(fromAudit(trail.toReversed())).toEqual(fromAudit(trail));
    const dump = trail.map(({ conversationId, stage, payloadJson, createdAt }) => ({ conversation_id: conversationId, stage, payload_json: payloadJson, created_at: createdAt.replace('T', ' ').replace('Z', '') }));
    expect(fromAudit(dump)).toEqual(fromAudit(trail));
  });

  it('contains input params where recorded', () => {
    const texts = (text: string, it: JsonObject, sent?: JsonObject) => row('USER_INPUT', { text, ...meta({ standalone_query: null, ...it }, sent && { userInputParams: sent }) });
    const params = fromAudit([
      texts('a', { n: 1, kept: 'x' }),
      row('ENGINE_RETURN', meta({ n: 1, kept: 'x', dialogue_act: 'QUESTION' })),
      texts('b', { n: 2, kept: 'x', dialogue_act: 'QUESTION' }),
      row('ENGINE_RETURN', meta({ n: 2, kept: 'x' })),
      texts('c', { n: 2, kept: 'x' }, { n: 2 }),
      DONE,
    ]).turns.map((it) => it.inputParams);
    expect(params).toEqual(['{"n":1,"kept":"x"}', '{"n":2}', '{"n":2}']);
  });

  it('contains the targets of calls', () => {
    expect(
      answers(
        row('CONTAINER_DATA_EXECUTED', { pageId: 1, sectionId: 20, containerId: 300, response: { rows: [] } }),
        row('MCP_PLAN_LLM_OUTPUT', { json: '{}' }),
        row('MCP_TOOL_CALL', { tool_code: 'a.b' }),
        row('MCP_TOOL_RESULT', { tool_code: 'a.b', rows: '{"n":1.0}' }),
        row('MCP_TOOL_CALL', { tool_code: 'a.c' }),
        row('MCP_TOOL_ERROR', { tool_code: 'a.c', error_message: 'down' }),
        row('MCP_TOOL_ERROR', { tool_code: 'not.allowed', error_message: 'refused by the engine' }),
        row('TOOL_ORCHESTRATION_RESULT', { tool_code: null, tool_group: 'CALC', result: { i: 1 } }),
        row('MCP_DB_PREFLIGHT_REPAIR', { repaired_sql: 'select 1' }),
        row('MCP_PLAN_LLM_ERROR', { error: 'slow', exception: 'timeout' }),
        row('INTENT_COLLISION_DETECTED'),
        row('RESOLVE_RESPONSE_SELECTED', { outputFormat: 'TEXT' }),
        row('RESOLVE_RESPONSE_LLM_OUTPUT', { output: 'Which?' }),
        row('RESOLVE_RESPONSE_SELECTED', { outputFormat: 'JSON' }),
        row('ASSISTANT_OUTPUT', { output: '' }),
        row('RESOLVE_RESPONSE_SELECTED', { outputFormat: 'JSON' }),
        row('RESOLVE_RESPONSE_LLM_OUTPUT', { output: '{}' }),
      ).lines,
    ).toEqual([
      'container 1/20/300 {"rows":[]}',
      'llm mcp_plan "{}"',
      'tool a.b "{\\"n\\":1.0}"',
      'tool a.c ! unavailable down',
      'tool CALC {"i":1}',
      'llm sql_repair "{\\"sql\\":\\"select 1\\"}"',
      'llm mcp_plan ! timeout slow',
      'llm intent_collision "Which?"',
      'llm response_json "{}"',
    ]);
  });

  it('contains a model failure', () => {
    const failure = row('ENGINE_KNOWN_FAILURE', { errorCode: 'LLM_CALL_FAILED', message: 'down' });
    expect(answers(row('INTENT_AGENT_LLM_INPUT'), failure).lines).toEqual(['llm intent_agent ! unavailable down']);
    expect(answers(row('INTENT_AGENT_LLM_INPUT'), row('INTENT_AGENT_LLM_OUTPUT', { json: '{}' }), failure).lines).toEqual(['llm intent_agent "{}"']);
  });

  it('reports what is missing', () => {
    const service = row('MCP_TOOL_RESULT', { tool_code: 'a', rows: '{"status":200,"attempt":1,"mapped":{"id":1}}' });
    const task = row('PENDING_ACTION_EXECUTED', { pendingActionRef: 'card:replace, notify' });
    expect(answers(service, task, row('SET_TASK', { beanName: 'score', beanMethodNames: 'loan' }), row('POLICY_BLOCK'))).toMatchObject({
      lines: ['tool a {"id":1}', 'task card:replace {}', 'task card:notify {}', 'task score:loan {}'],
      notes: [
        "Turn 1: the trail contains the mapped response of 'a', not the original; the replay may differ where its row maps it.",
        expect.stringContaining("result of task 'card:replace'"),
        expect.stringContaining("result of task 'card:notify'"),
        expect.stringContaining("result of task 'score:loan'"),
        'Turn 1: it was blocked by a policy; the trail does not contain the matched words.',
      ],
    });
  });

  it('is rejected if invalid', () => {
    const fault = (json: unknown) => {
      try {
        return fromAudit(json).turns.length;
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const none of [null, 5, 'x', {}, { stages: {} }]) {
      expect(fault(none)).toContain('not an audit trail');
      expect(isAuditTrail(none)).toBe(false);
    }
    expect(isAuditTrail([{ data: [] }])).toBe(false);
    for (const meant of [[], { stages: [] }, [row('USER_INPUT'), {}]]) expect(isAuditTrail(meant)).toBe(true);
    expect(fault([])).toContain('audit trail is empty');
    expect(fault([{ stage: 'USER_INPUT' }, {}])).toContain("row 2 has no 'stage'");
    expect(fault([row('STEP_ENTER')])).toContain('no USER_INPUT row');
    expect(fault([row('USER_INPUT'), { ...DONE, conversationId: 'other' }])).toContain('belong to 2 conversations');
  });
});

interface Recording {
  turns: { request: { body: { message?: string } }; expect: { llm?: unknown[]; audit?: { stage: string }[] } }[];
}

describe('the recordings of the original', () => {
  const files = import.meta.glob<string>('../../../tests/packs/recorded/s*.json', { query: '?raw', import: 'default', eager: true });

  it.each(Object.entries(files))('%s', (_, text) => {
    const recorded = (JSON.parse(text) as Recording).turns.filter((it) => it.expect.audit?.some((at) => at.stage === 'USER_INPUT'));
    if (recorded.length === 0) return;
    const { turns } = fromAudit(recorded.flatMap((it) => it.expect.audit));
    expect(turns.map((it) => it.message)).toEqual(recorded.map((it) => it.request.body.message ?? ''));
    recorded.forEach((it, index) => {
      const models = turns[index]?.answers.filter((answer) => 'llm' in answer.target);
      if (it.expect.llm) expect([index, models?.length]).toEqual([index, it.expect.llm.length]);
    });
  });
});
