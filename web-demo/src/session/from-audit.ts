/**
 * Reads an audit trail, of this server or of the original product, as turns that can be replayed.
 *
 * The trail contains the messages, the answers of models and tools, and the outcome of each turn. What it lacks is reported in notes.
 */
import type { Json, JsonObject } from '../types';

/** The target of a call, as in a pack. */
export type CallTarget = { llm: string } | { task: string } | { tool: string } | { container: string };

/** An answer recorded in the trail. */
export interface AuditAnswer {
  target: CallTarget;
  reply: Json;
  error?: { kind: string; message: string };
}

/** A turn recorded in the trail. */
export interface AuditTurn {
  message: string;
  /** JSON text; empty for none. */
  inputParams: string;
  reset: boolean;
  at: number;
  answers: AuditAnswer[];
  expected: { intent: string | null; state: string | null; reply?: string; fault?: string; stages: string[] };
}

/** A conversation read from an audit trail, with notes about what the trail lacks. */
export interface AuditImport {
  conversationId: string;
  turns: AuditTurn[];
  notes: string[];
}

interface AuditRow {
  stage: string;
  payload: JsonObject;
  at: number;
}

/** Purposes of model calls by stage prefix: `…_LLM_INPUT`, `…_LLM_OUTPUT`, `…_LLM_ERROR`. */
const PURPOSES: Record<string, string> = {
  POLICY: 'policy',
  DIALOGUE_ACT: 'dialogue_act',
  INTENT_AGENT: 'intent_agent',
  SCHEMA_EXTRACTION: 'schema_extraction',
  MCP_PLAN: 'mcp_plan',
  MEMORY: 'memory_summary',
};
const ERROR_KINDS = 'timeout unavailable refused invalid not_found denied circuit_open limited unsupported interrupted cancelled'.split(' ');
const END_STAGES = /^(ENGINE_RETURN|ENGINE_(UN)?KNOWN_FAILURE|POLICY_BLOCK|PIPELINE_TIMING)$/;
/** Parameters that the engine sets before a turn starts. */
const ENGINE_PARAMS = ['standalone_query', 'resolved_user_input', 'reset'];
const EXPECTED_INPUT = 'choose the response of GET /api/v1/conversation/audit/{id} or …/trace';

/** Whether a JSON value is meant as an audit trail: a list of rows, of which some have a stage, or an object with one. */
export function isAuditTrail(json: unknown): boolean {
  const list: unknown = Array.isArray(json) ? json : asObject(json as Json)['stages'];
  return Array.isArray(list) && (list.length === 0 || list.some((it) => typeof asObject(it as Json)['stage'] === 'string'));
}

/** Reads the response of the audit or trace endpoint; throws an `Error` if it is neither. */
export function fromAudit(json: unknown): AuditImport {
  const { conversationId, rows } = parseRows(json as Json);
  const notes: string[] = [];
  const reader = new AuditReader(notes);
  for (const row of rows) reader.readRow(row);
  if (reader.turns.length === 0) throw new Error(`the audit trail has no USER_INPUT row: audit this stage, or ${EXPECTED_INPUT}`);
  if (!rows.some((it) => it.payload['_meta'] !== undefined)) {
    notes.push('The trail does not contain input params; request it with ?meta=true.');
  }
  return { conversationId, turns: reader.turns, notes: [...new Set(notes)] };
}

/** Builds turns from audit rows, in order. */
class AuditReader {
  readonly turns: AuditTurn[] = [];
  private isEnded = true;
  private isReset = false;
  private purpose = 'response_text';
  /** The call that is not answered yet. */
  private openCall: CallTarget | undefined;
  private params: JsonObject = {};
  /** Stages that precede the next USER_INPUT row. */
  private pendingStages: string[] = [];

  constructor(private readonly notes: string[]) {}

  readRow({ stage, payload, at }: AuditRow): void {
    const meta = asObject(payload['_meta']);
    if (stage === 'CONVERSATION_RESET' && this.isEnded) this.isReset = asText(payload['reason']).startsWith('INPUT_PARAM');
    else if (stage === 'USER_INPUT') this.beginTurn(asText(payload['text']), meta, at);
    const counts = !/^STEP_(ENTER|EXIT|ERROR)$|^PROMPT_RENDERING$/.test(stage);
    const turn = this.turns.at(-1);
    if (this.isEnded && stage !== 'PIPELINE_TIMING') {
      if (counts) this.pendingStages.push(stage);
    } else if (turn) {
      if (counts) turn.expected.stages.push(stage);
      this.readStage(turn, stage, payload);
    }
    if (END_STAGES.test(stage)) this.isEnded = true;
    if (meta['inputParams'] !== undefined) this.params = asObject(meta['inputParams']);
  }

  private beginTurn(message: string, meta: JsonObject, at: number): void {
    const params = this.isReset ? {} : this.params;
    const changed = Object.entries(asObject(meta['inputParams'])).filter(([name, it]) => !ENGINE_PARAMS.includes(name) && JSON.stringify(it) !== JSON.stringify(params[name]));
    // This server records what the client sent; in the trail of the original only changes are visible.
    const sent = meta['userInputParams'] === undefined ? Object.fromEntries(changed) : asObject(meta['userInputParams']);
    const inputParams = Object.keys(sent).length > 0 ? JSON.stringify(sent) : '';
    this.turns.push({ message, inputParams, reset: this.isReset, at, answers: [], expected: { intent: null, state: null, stages: this.pendingStages } });
    this.pendingStages = [];
    this.isEnded = false;
    this.isReset = false;
    this.openCall = undefined;
  }

  private readStage(turn: AuditTurn, stage: string, payload: JsonObject): void {
    const [, call = '', part = ''] = /^(.*)_LLM_(INPUT|OUTPUT|ERROR)$/.exec(stage) ?? [];
    const purpose = call === 'RESOLVE_RESPONSE' ? this.purpose : PURPOSES[call];
    if (purpose !== undefined) return this.readModelCall(turn, { llm: purpose }, part, payload);
    const tool = { tool: asText(payload['tool_code']) || asText(payload['tool_group']) };
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
        this.setReply(turn, payload['output']);
        return this.setPosition(turn, payload);
      case 'MCP_TOOL_CALL':
      case 'TOOL_ORCHESTRATION_REQUEST':
        this.openCall = tool;
        return;
      case 'MCP_TOOL_RESULT':
        return this.addAnswer(turn, tool, this.toolReply(payload));
      case 'TOOL_ORCHESTRATION_RESULT':
        return this.addAnswer(turn, tool, payload['result'] ?? null);
      case 'MCP_TOOL_ERROR':
      case 'TOOL_ORCHESTRATION_ERROR':
        // Without a preceding call, the engine itself rejected the tool.
        if (this.openCall && 'tool' in this.openCall) this.addFailure(turn, this.openCall, asText(payload['error_message']) || asText(payload['error']));
        return;
      case 'MCP_DB_PREFLIGHT_REPAIR':
        return this.addAnswer(turn, { llm: 'sql_repair' }, JSON.stringify({ sql: payload['repaired_sql'] ?? '' }));
      case 'CONTAINER_DATA_EXECUTED':
        return this.addAnswer(turn, containerTarget(payload), payload['response'] ?? null);
      case 'CONTAINER_DATA_FAILED':
        return this.addFailure(turn, containerTarget(payload), asText(payload['error']) || asText(payload['message']));
      case 'PENDING_ACTION_EXECUTED':
      case 'PENDING_ACTION_FAILED':
      case 'SET_TASK':
        return this.readTasks(turn, stage, payload);
      case 'ENGINE_RETURN':
        if (turn.expected.reply === undefined) this.setReply(turn, asObject(asObject(payload['final_result'])['payload'])['text']);
        return this.setPosition(turn, payload);
      case 'ENGINE_KNOWN_FAILURE':
      case 'ENGINE_UNKNOWN_FAILURE':
        if (this.openCall && 'llm' in this.openCall) this.addFailure(turn, this.openCall, asText(payload['message']));
        turn.expected.fault = asText(payload['errorCode']) || 'ENGINE_UNKNOWN_FAILURE';
        return;
      case 'POLICY_BLOCK':
        this.addNote('it was blocked by a policy; the trail does not contain the matched words.');
    }
  }

  private readModelCall(turn: AuditTurn, target: CallTarget, part: string, payload: JsonObject): void {
    if (part === 'INPUT') this.openCall = target;
    else if (part === 'ERROR') this.addFailure(turn, target, asText(payload['message']) || asText(payload['error']), asText(payload['exception']));
    else this.addAnswer(turn, target, payload['json'] ?? payload['output'] ?? payload['text'] ?? '');
  }

  private addAnswer(turn: AuditTurn, target: CallTarget, reply: Json): void {
    turn.answers.push({ target, reply });
    this.openCall = undefined;
  }

  private addFailure(turn: AuditTurn, target: CallTarget, message: string, kind = ''): void {
    turn.answers.push({ target, reply: null, error: { kind: ERROR_KINDS.includes(kind) ? kind : 'unavailable', message } });
    this.openCall = undefined;
  }

  private setReply(turn: AuditTurn, reply: Json | undefined): void {
    if (typeof reply === 'string') turn.expected.reply = reply;
  }

  private setPosition(turn: AuditTurn, payload: JsonObject): void {
    turn.expected.intent = asText(payload['intent']) || turn.expected.intent;
    turn.expected.state = asText(payload['state']) || turn.expected.state;
  }

  /** Reads the reply of a tool. For an HTTP tool the trail contains the mapped response. */
  private toolReply(payload: JsonObject): Json {
    const { rows = null } = payload;
    const value = asObject(parseJson(rows));
    if (value['attempt'] !== undefined && value['mapped'] !== undefined) {
      this.addNote(`the trail contains the mapped response of '${asText(payload['tool_code'])}', not the original; the replay may differ where its row maps it.`);
      return value['mapped'];
    }
    return Array.isArray(value['rows']) ? value['rows'] : rows;
  }

  private readTasks(turn: AuditTurn, stage: string, payload: JsonObject): void {
    const [bean = '', methods = ''] = asText(payload['pendingActionRef']).split(':');
    const names = (asText(payload['taskMethods']) || asText(payload['beanMethodNames']) || methods).split(',').map((it) => it.trim()).filter(Boolean);
    const task = asText(payload['taskBean']) || asText(payload['beanName']) || bean;
    if (stage === 'PENDING_ACTION_FAILED') {
      if (names[0] && task) this.addFailure(turn, { task: `${task}:${names[0]}` }, asText(payload['reason']));
      return;
    }
    for (const name of names) {
      this.addAnswer(turn, { task: `${task}:${name}` }, {});
      this.addNote(`the trail does not contain the result of task '${task}:${name}'; it returns nothing in the replay.`);
    }
  }

  private addNote(sentence: string): void {
    this.notes.push(`Turn ${this.turns.length}: ${sentence}`);
  }
}

function parseRows(json: Json): { conversationId: string; rows: AuditRow[] } {
  const list = Array.isArray(json) ? json : asObject(json)['stages'];
  if (!Array.isArray(list)) throw new Error(`not an audit trail: ${EXPECTED_INPUT}`);
  if (list.length === 0) throw new Error('the audit trail is empty: the conversation is unknown there, or its audit is disabled');
  const found = list.map((it, index) => ({ index, row: asObject(it) }));
  const invalid = found.find(({ row }) => typeof row['stage'] !== 'string');
  if (invalid) throw new Error(`row ${invalid.index + 1} has no 'stage': ${EXPECTED_INPUT}`);
  const ids = new Set([...found.map(({ row }) => asText(row['conversationId'] ?? row['conversation_id'])), asText(asObject(json)['conversationId'])].filter(Boolean));
  if (ids.size > 1) throw new Error(`the rows belong to ${ids.size} conversations: choose the trail of one`);
  const numbered = found.every(({ row }) => typeof row['auditId'] === 'number');
  // Rows of the same millisecond may arrive in any order.
  if (numbered) found.sort((a, b) => Number(a.row['auditId']) - Number(b.row['auditId']));
  const rows = found.map(({ row }) => ({
    stage: asText(row['stage']),
    payload: asObject(parseJson(row['payloadJson'] ?? row['payload_json'] ?? row['payload'] ?? null)),
    at: parseTime(asText(row['createdAt'] ?? row['created_at'])),
  }));
  return { conversationId: [...ids][0] ?? '', rows };
}

/** Parses a time. Databases of the original store times without a zone. */
function parseTime(written: string): number {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(written) ? written : `${written.replace(' ', 'T')}Z`;
  return Date.parse(zoned) || 0;
}

function containerTarget(payload: JsonObject): CallTarget {
  return { container: ['pageId', 'sectionId', 'containerId'].map((it) => String(payload[it] ?? '')).join('/') };
}

function parseJson(value: Json): Json {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return null;
  }
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
