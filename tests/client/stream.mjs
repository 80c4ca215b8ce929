/** The stream of a conversation over server-sent events, STOMP over SockJS, or STOMP over a plain WebSocket. */

/** The events that are listened to by name; all others pass unheard. */
const NAMES = [
  'CONNECTED', 'USER_INPUT', 'DIALOGUE_ACT_LLM_INPUT', 'DIALOGUE_ACT_LLM_OUTPUT', 'STEP_ENTER', 'STEP_EXIT', 'STEP_ERROR',
  'ASSISTANT_OUTPUT', 'ENGINE_RETURN', 'MCP_TOOL_CALL', 'MCP_TOOL_RESULT', 'MCP_TOOL_ERROR', 'MCP_FINAL_ANSWER',
  'TOOL_ORCHESTRATION_REQUEST', 'TOOL_ORCHESTRATION_RESULT', 'TOOL_ORCHESTRATION_ERROR', 'RULE_MATCH', 'RULE_APPLIED', 'RULE_NO_MATCH',
  'PENDING_ACTION_EXECUTED', 'PENDING_ACTION_REJECTED', 'PENDING_ACTION_FAILED', 'CORRECTION_STEP_RETRY_REQUESTED', 'POLICY_BLOCK',
  'VERBOSE',
];

const AGAIN_AFTER_MS = 5_000;

/** Opens the stream; answers how to close it. `connected` is called each time that it stands, `heard` with each event. */
export function open(transport, { host, id, url, connected, heard }) {
  if (transport === 'sse') return events({ url, connected, heard });
  if (transport === 'stomp') return stomp({ webSocketFactory: () => new globalThis.SockJS(`${host}/ws-convengine`) }, id, connected, heard);
  if (transport === 'websocket') return stomp({ brokerURL: `${host.replace(/^http/, 'ws')}/ws-convengine/websocket` }, id, connected, heard);
  return () => {};
}

/** The browser connects again by itself, unless the answer was no stream: then it is closed for good. */
function events({ url, connected, heard }) {
  const source = new EventSource(url);
  source.addEventListener('open', connected);
  const take = (stage) => (event) => tell(event.data, heard, stage);
  source.addEventListener('message', take('MESSAGE'));
  NAMES.forEach((name) => source.addEventListener(name, take(name)));
  return () => source.close();
}

/** No event is filtered by name here. */
function stomp(way, id, connected, heard) {
  const client = new globalThis.StompJs.Client({
    ...way,
    reconnectDelay: AGAIN_AFTER_MS,
    heartbeatIncoming: 10_000,
    heartbeatOutgoing: 10_000,
    onConnect: () => {
      client.subscribe(`/topic/convengine/audit/${id}`, (frame) => tell(frame.body, heard));
      connected();
    },
  });
  client.activate();
  return () => void client.deactivate();
}

function tell(text, heard, stage) {
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    return;
  }
  heard({ stage: stage ?? data?.stage, data });
}
