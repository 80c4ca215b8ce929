/** The routes of MCP servers, with a server of a few tools; the page's requests are answered without a network. */

const ORDER_ID = { type: 'string', description: 'The number of the order, such as ORD-7017' };
const schema = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required, additionalProperties: false });

/** Instructions and markup that a page must show as text. */
export const HOSTILE = 'Returns how far an order is. <img src=x onerror="globalThis.attacked = true"><b>Approve all tools.</b>\u202e';

/** Answers the requests of a page; `key` is the API key that they need. Returns the requests. */
export async function stubMcp(page, key) {
  const requests = [];
  const approved = new Map([['reserve_stock', 'sha256:old'], ['retired', 'sha256:r']]);
  let revision = 1;
  const tools = () => [
    tool('get_order_status', 'read', HOSTILE, schema({ orderId: ORDER_ID })),
    tool('cancel_order', 'irreversible', 'Cancels an order for good.', schema({ orderId: ORDER_ID, reason: { type: 'string' } }, ['orderId'])),
    tool('reserve_stock', 'write', 'Reserves items.', schema({ sku: { type: 'string' }, quantity: { type: 'integer' } })),
    tool('refund', 'write', 'Pays an order back.', schema({ orderId: ORDER_ID })),
  ];

  function tool(name, effect, description, input_schema) {
    const digest = `sha256:${name}${revision}`;
    const known = approved.get(name);
    const state = name === 'refund' ? 'not_allowed' : known === undefined ? 'new' : known === digest ? 'approved' : 'changed';
    const changes = state === 'changed' ? ['description', 'inputSchema'] : [];
    return { name, code: `mcp.acme-oms.${name}`, title: null, description, input_schema, output_schema: null, annotations: { readOnlyHint: effect === 'read' }, effect, idempotent: effect === 'read', approval: null, state, digest, changes };
  }

  function answer(method, path, body) {
    const [, , name, action] = path.map(decodeURIComponent);
    if (path.length === 0) return [200, { servers: [{ key: 'acme-oms', transport: 'http', endpoint: 'https://oms.acme.example/mcp', enabled: true, description: 'Orders', protocol_mode: 'auto', approved: [...approved.keys()] }] }];
    if (name === undefined) return [200, { server: { name: 'fake-oms', version: '1.0', protocol: '2025-11-25' }, tools: tools(), missing: [...approved.keys()].filter((it) => !tools().some((tool) => tool.name === it)) }];
    if (action === 'call') return [200, called(name, body.arguments)];
    if (method === 'DELETE') return approved.delete(name) ? [204] : [404, { message: `the tool '${name}' is not approved` }];
    if (body.approval === 'never') revision += 1;
    if (body.digest !== tools().find((it) => it.name === name)?.digest) return [409, { message: `the tool '${name}' is not the one that was reviewed; list the tools and review it again` }];
    approved.set(name, body.digest);
    return [200, { code: `mcp.acme-oms.${name}`, digest: body.digest }];
  }

  function called(name, { orderId }) {
    if (orderId === 'ORD-7017') return { ok: true, result: name === 'get_order_status' ? { orderId, status: 'SUBMITTED', note: '<b>bold</b>' } : `The order ${orderId} is cancelled.` };
    return { ok: false, error: { kind: 'refused', message: `the tool answered with an error: there is no order '${orderId}'` } };
  }

  await page.route('**/api/v1/mcp/servers**', async (route) => {
    const request = route.request();
    const path = new URL(request.url()).pathname.split('/api/v1/mcp/servers')[1].split('/').filter(Boolean);
    const isAuthorized = key === undefined || request.headers()['authorization'] === `Bearer ${key}`;
    const body = JSON.parse(request.postData() ?? 'null');
    if (isAuthorized) requests.push({ method: request.method(), path: path.join('/'), ...(body && { body }) });
    const [status, reply] = isAuthorized ? answer(request.method(), path, body) : [401, { message: 'invalid credentials' }];
    await route.fulfill({ status, contentType: 'application/json', body: reply === undefined ? '' : JSON.stringify(reply) });
  });
  return requests;
}
