/**
 * Reads an audit trail, of our server or of the original, as turns that can be played again.
 *
 * The trail tells what was said, what models and tools answered, and how each turn went. It was not written for this, so that some
 * things are missing from it; they are said in sentences.
 */
import type { Json, JsonObject } from '../types';

/** Whom an answer came from, as in a pack. */
export type AskedOf = { llm: string } | { task: string } | { tool: string } | { container: string };

/** An answer that the trail tells of. */
export interface AuditAnswer {
  asked: AskedOf;
  reply: Json;
  error?: { kind: string; message: string };
}

/** A turn that the trail tells of. */
export interface AuditTurn {
  message: string;
  /** JSON text, empty for none. */
  inputParams: string;
  reset: boolean;
  at: number;
  answers: AuditAnswer[];
  expected: { intent: string | null; state: string | null; reply?: string; fault?: string; stages: string[] };
}

/** A conversation out of an audit trail, with sentences about what the trail does not tell. */
export interface FromAudit {
  conversationId: string;
  turns: AuditTurn[];
  left: string[];
}

interface Row {
  stage: string;
  payload: JsonObject;
  at: number;
}

/** Calls of models by the beginning of their stages: `…_LLM_INPUT`, `…_LLM_OUTPUT`, `…_LLM_ERROR`. */
const CALLS: Record<string, string> = {
  POLICY: 'policy',
  DIALOGUE_ACT: 'dialogue_act',
  INTENT_AGENT: 'intent_agent',
  SCHEMA_EXTRACTION: 'schema_extraction',
  MCP_PLAN: 'mcp_plan',
  MEMORY: 'memory_summary',
};
const KINDS = 'timeout unavailable refused invalid not_found denied circuit_open limited unsupported interrupted cancelled'.split(' ');
const ENDS = /^(ENGINE_RETURN|ENGINE_(UN)?KNOWN_FAILURE|POLICY_BLOCK|PIPELINE_TIMING)$/;
/** Parameters that the engine writes before a turn begins. */
const OWN = ['standalone_query', 'resolved_user_input', 'reset'];
const WANTED = 'choose the answer of GET /api/v1/conversation/audit/{id}, or of …/trace';

/** Reads the answer of the audit endpoint, or of the trace endpoint; throws an `Error` that says why it is none. */
export function fromAudit(json: unknown): FromAudit {
  const { conversationId, rows } = rowsOf(json as Json);
  const left: string[] = [];
  const reader = new Reader(left);
  for (const row of rows) reader.take(row);
  if (reader.turns.length === 0) throw new Error(`the audit trail has no row USER_INPUT, so that nobody knows what was said: audit this stage, or ${WANTED}`);
  if (!rows.some((it) => it.payload['_meta'] !== undefined)) {
    left.push('The trail does not tell the input params: ask for it with ?meta=true.');
  }
  return { conversationId, turns: reader.turns, left: [...new Set(left)] };
}

/** Goes through the rows in their order. */
class Reader {
  readonly turns: AuditTurn[] = [];
  private ended = true;
  private reset = false;
  private purpose = 'response_text';
  /** What was asked and not answered yet. */
  private open: AskedOf | undefined;
  private params: JsonObject = {};
  /** Stages that stand before what was said. */
  private ahead: string[] = [];

  constructor(private readonly left: string[]) {}

  take({ stage, payload, at }: Row): void {
    const meta = object(payload['_meta']);
    if (stage === 'CONVERSATION_RESET' && this.ended) this.reset = text(payload['reason']).startsWith('INPUT_PARAM');
    else if (stage === 'USER_INPUT') this.begin(text(payload['text']), meta, at);
    const told = !/^STEP_(ENTER|EXIT|ERROR)$|^PROMPT_RENDERING$/.test(stage);
    const turn = this.turns.at(-1);
    if (this.ended && stage !== 'PIPELINE_TIMING') {
      if (told) this.ahead.push(stage);
    } else if (turn) {
      if (told) turn.expected.stages.push(stage);
      this.follow(turn, stage, payload);
    }
    if (ENDS.test(stage)) this.ended = true;
    if (meta['inputParams'] !== undefined) this.params = object(meta['inputParams']);
  }

  private begin(message: string, meta: JsonObject, at: number): void {
    const params = this.reset ? {} : this.params;
    const changed = Object.entries(object(meta['inputParams'])).filter(([name, it]) => !OWN.includes(name) && JSON.stringify(it) !== JSON.stringify(params[name]));
    // The server says what the client sent; the trail of the original shows only what has changed.
    const sent = meta['userInputParams'] === undefined ? Object.fromEntries(changed) : object(meta['userInputParams']);
    const inputParams = Object.keys(sent).length > 0 ? JSON.stringify(sent) : '';
    this.turns.push({ message, inputParams, reset: this.reset, at, answers: [], expected: { intent: null, state: null, stages: this.ahead } });
    this.ahead = [];
    this.ended = false;
    this.reset = false;
    this.open = undefined;
  }

  private follow(turn: AuditTurn, stage: string, payload: JsonObject): void {
    const [, call = '', part = ''] = /^(.*)_LLM_(INPUT|OUTPUT|ERROR)$/.exec(stage) ?? [];
    const purpose = call === 'RESOLVE_RESPONSE' ? this.purpose : CALLS[call];
    if (purpose !== undefined) return this.model(turn, { llm: purpose }, part, payload);
    const tool = { tool: text(payload['tool_code']) || text(payload['tool_group']) };
    switch (stage) {
      case 'INTENT_COLLISION_DETECTED':
        this.purpose = 'intent_collision';
        return;
      case 'RESOLVE_RESPONSE_SELECTED':
        if (this.purpose !== 'intent_collision') this.purpose = payload['outputFormat'] === 'JSON' ? 'response_json' : 'response_text';
        return;
      case 'INTENT_COLLISION_RESOLVED':
      case 'ASSISTANT_OUTPUT':
        this.purpose = 'response_text';
        this.replied(turn, payload['output']);
        return this.place(turn, payload);
      case 'MCP_TOOL_CALL':
      case 'TOOL_ORCHESTRATION_REQUEST':
        this.open = tool;
        return;
      case 'MCP_TOOL_RESULT':
        return this.answer(turn, tool, this.rows(payload));
      case 'TOOL_ORCHESTRATION_RESULT':
        return this.answer(turn, tool, payload['result'] ?? null);
      case 'MCP_TOOL_ERROR':
      case 'TOOL_ORCHESTRATION_ERROR':
        // Without a call before it, the engine itself refused the tool.
        if (this.open && 'tool' in this.open) this.fail(turn, this.open, text(payload['error_message']) || text(payload['error']));
        return;
      case 'MCP_DB_PREFLIGHT_REPAIR':
        return this.answer(turn, { llm: 'sql_repair' }, JSON.stringify({ sql: payload['repaired_sql'] ?? '' }));
      case 'CONTAINER_DATA_EXECUTED':
        return this.answer(turn, container(payload), payload['response'] ?? null);
      case 'CONTAINER_DATA_FAILED':
        return this.fail(turn, container(payload), text(payload['error']) || text(payload['message']));
      case 'PENDING_ACTION_EXECUTED':
      case 'PENDING_ACTION_FAILED':
      case 'SET_TASK':
        return this.tasks(turn, stage, payload);
      case 'ENGINE_RETURN':
        if (turn.expected.reply === undefined) this.replied(turn, object(object(payload['final_result'])['payload'])['text']);
        return this.place(turn, payload);
      case 'ENGINE_KNOWN_FAILURE':
      case 'ENGINE_UNKNOWN_FAILURE':
        if (this.open && 'llm' in this.open) this.fail(turn, this.open, text(payload['message']));
        turn.expected.fault = text(payload['errorCode']) || 'ENGINE_UNKNOWN_FAILURE';
        return;
      case 'POLICY_BLOCK':
        this.say('a policy blocked it; the trail does not tell with which words.');
    }
  }

  private model(turn: AuditTurn, asked: AskedOf, part: string, payload: JsonObject): void {
    if (part === 'INPUT') this.open = asked;
    else if (part === 'ERROR') this.fail(turn, asked, text(payload['message']) || text(payload['error']), text(payload['exception']));
    else this.answer(turn, asked, payload['json'] ?? payload['output'] ?? payload['text'] ?? '');
  }

  private answer(turn: AuditTurn, asked: AskedOf, reply: Json): void {
    turn.answers.push({ asked, reply });
    this.open = undefined;
  }

  private fail(turn: AuditTurn, asked: AskedOf, message: string, kind = ''): void {
    turn.answers.push({ asked, reply: null, error: { kind: KINDS.includes(kind) ? kind : 'unavailable', message } });
    this.open = undefined;
  }

  private replied(turn: AuditTurn, reply: Json | undefined): void {
    if (typeof reply === 'string') turn.expected.reply = reply;
  }

  private place(turn: AuditTurn, payload: JsonObject): void {
    turn.expected.intent = text(payload['intent']) || turn.expected.intent;
    turn.expected.state = text(payload['state']) || turn.expected.state;
  }

  /** What a tool gave; of a service, the trail has what its row made of the answer. */
  private rows(payload: JsonObject): Json {
    const { rows = null } = payload;
    const value = object(parsed(rows));
    if (value['attempt'] !== undefined && value['mapped'] !== undefined) {
      this.say(`the trail has the mapped answer of the service '${text(payload['tool_code'])}', not its own; where the row maps it, the replay differs.`);
      return value['mapped'];
    }
    return Array.isArray(value['rows']) ? value['rows'] : rows;
  }

  private tasks(turn: AuditTurn, stage: string, payload: JsonObject): void {
    const [bean = '', methods = ''] = text(payload['pendingActionRef']).split(':');
    const names = (text(payload['taskMethods']) || text(payload['beanMethodNames']) || methods).split(',').map((it) => it.trim()).filter(Boolean);
    const of = text(payload['taskBean']) || text(payload['beanName']) || bean;
    if (stage === 'PENDING_ACTION_FAILED') {
      if (names[0] && of) this.fail(turn, { task: `${of}:${names[0]}` }, text(payload['reason']));
      return;
    }
    for (const name of names) {
      this.answer(turn, { task: `${of}:${name}` }, {});
      this.say(`the trail does not tell what the task '${of}:${name}' returned and changed; it returns nothing in the replay.`);
    }
  }

  private say(sentence: string): void {
    this.left.push(`Turn ${this.turns.length}: ${sentence}`);
  }
}

function rowsOf(json: Json): { conversationId: string; rows: Row[] } {
  const list = Array.isArray(json) ? json : object(json)['stages'];
  if (!Array.isArray(list)) throw new Error(`this is no audit trail: ${WANTED}`);
  if (list.length === 0) throw new Error('the audit trail has no rows: the conversation is not known there, or its audit is switched off');
  const found = list.map((it, index) => ({ index, row: object(it) }));
  const bad = found.find(({ row }) => typeof row['stage'] !== 'string');
  if (bad) throw new Error(`row ${bad.index + 1} has no 'stage', so that this is no audit trail: ${WANTED}`);
  const ids = new Set([...found.map(({ row }) => text(row['conversationId'] ?? row['conversation_id'])), text(object(json)['conversationId'])].filter(Boolean));
  if (ids.size > 1) throw new Error(`the rows are of ${ids.size} conversations: choose the trail of one`);
  const numbered = found.every(({ row }) => typeof row['auditId'] === 'number');
  // Rows of one millisecond may come in any order.
  if (numbered) found.sort((a, b) => Number(a.row['auditId']) - Number(b.row['auditId']));
  const rows = found.map(({ row }) => ({
    stage: text(row['stage']),
    payload: object(parsed(row['payloadJson'] ?? row['payload_json'] ?? row['payload'] ?? null)),
    at: time(text(row['createdAt'] ?? row['created_at'])),
  }));
  return { conversationId: [...ids][0] ?? '', rows };
}

/** A database of the original has times without a zone. */
function time(written: string): number {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(written) ? written : `${written.replace(' ', 'T')}Z`;
  return Date.parse(zoned) || 0;
}

function container(payload: JsonObject): AskedOf {
  return { container: ['pageId', 'sectionId', 'containerId'].map((it) => String(payload[it] ?? '')).join('/') };
}

function parsed(value: Json): Json {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return null;
  }
}

function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
