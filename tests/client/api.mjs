/** The calls of the client: no cookies, no credentials, no headers of its own, no timeout and no second try. */

const JSON_ALONE = { 'Content-Type': 'application/json' };

/** The calls to a server; `endpoints` may name another address for one of them. */
export function api(host, endpoints = {}) {
  const base = `${host.replace(/\/+$/, '')}/api/v1/conversation`;
  const at = (name) => (endpoints[name] ?? `${base}/${name}`).replace(/\/+$/, '');
  return {
    /** Sends a message: always these four members. */
    message: ({ conversationId, message, reset, inputParams }) => post(at('message'), { conversationId, message, reset, inputParams }),
    feedback: (body) => post(at('feedback'), body),
    audit: (id) => answered(fetch(`${at('audit')}/${encodeURIComponent(id)}`, { headers: JSON_ALONE })),
    stream: (id) => `${base}/stream/${id}`,
  };
}

function post(url, body) {
  return answered(fetch(url, { method: 'POST', headers: JSON_ALONE, body: JSON.stringify(body) }));
}

async function answered(call) {
  const response = await call;
  if (!response.ok) throw new Error(`ConvEngine API error: ${response.status} ${response.statusText}`);
  return response.json();
}
