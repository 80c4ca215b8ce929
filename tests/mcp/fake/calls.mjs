// What the tools return.

import { SHAPES } from './shapes.mjs';

const ORDERS = {
  'ORD-7017': { orderId: 'ORD-7017', status: 'SUBMITTED' },
  'ORD-7018': { orderId: 'ORD-7018', status: 'SHIPPED', carrier: 'Acme Parcel' },
};

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const text = (text) => ({ type: 'text', text });
const failure = (message) => ({ content: [text(message)], isError: true });

/** The result of a call; `notify` sends a notification of progress. */
export async function resultOf(name, args, call) {
  const { server, authorization, progress } = call;
  const injected = (where) => server.injections().filter((it) => it.tool === name && it.where === where).map((it) => it.text);
  const errors = injected('error');
  if (errors.length > 0) return failure(errors.join('\n'));
  const result = await plainResult(name, args, { authorization, progress, steps: injected('progress') });
  const structured = injected('structured');
  if (structured.length > 0 && result.structuredContent !== undefined) {
    result.structuredContent.carrier = structured.join('\n');
    result.content = [text(JSON.stringify(result.structuredContent))];
  }
  const texts = injected('result');
  if (texts.length > 0) {
    delete result.structuredContent;
    result.content = [...result.content, ...texts.map(text)];
  }
  return result;
}

async function plainResult(name, args, { authorization, progress, steps }) {
  const order = ORDERS[args.orderId];
  if (typeof args.orderId === 'string' && order === undefined) return failure(`there is no order '${args.orderId}'`);
  switch (name) {
    case 'get_order_status':
      if (order === undefined) return failure('orderId is required');
      return { content: [text(JSON.stringify(order))], structuredContent: { ...order } };
    case 'cancel_order':
      if (order === undefined) return failure('orderId is required');
      return { content: [text(`The order ${order.orderId} is cancelled.`)] };
    case 'add_note':
      if (order === undefined) return failure('orderId is required');
      return { content: [text(`The note is at ${order.orderId}.`)] };
    case 'reserve_stock':
      return { content: [text(`${args.quantity} of ${args.sku} are reserved.`)] };
    case 'track': {
      const messages = steps.length > 0 ? steps : ['packed', 'handed over', 'on its way'];
      for (const [index, message] of messages.entries()) await progress(index + 1, messages.length, message);
      return { content: [text(`The order ${args.orderId} is on its way.`)] };
    }
    case 'picture':
      return {
        content: [
          { type: 'image', data: PIXEL, mimeType: 'image/png' },
          { type: 'resource_link', uri: 'https://oms.acme.example/parcels/1.png', name: 'parcel', mimeType: 'image/png' },
        ],
      };
    case 'echo_headers':
      return { content: [text(JSON.stringify({ authorization: authorization ?? null }))] };
    default:
      return { content: [text('nothing')] };
  }
}

/** The result under a fault that changes the result alone. */
export function faultyResult(fault) {
  switch (fault) {
    case 'large_result':
      return { content: [text('x'.repeat(50 * 1024 * 1024))] };
    case 'error_result':
      return failure('the order system is closed');
    case 'bad_output':
      return { content: [text('{"status":7}')], structuredContent: { status: 7 } };
    default:
      return SHAPES[fault]?.result ?? null;
  }
}
