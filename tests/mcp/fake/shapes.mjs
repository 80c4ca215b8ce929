// What servers send besides what the protocol says, by name. Each is a fault for `--fault` and `--fault-file`. A shape has one of:
// `list(tools)`, which changes the listed tools; `page(page, cursor)`, which changes a page; `result`, which answers every call; `error`,
// with which every call ends.

const text = (text) => ({ type: 'text', text });
const named = (tools, name) => tools.find((it) => it.name === name);

/** Changes one tool of the list. */
const tool = (name, change) => ({ list: (tools) => change(named(tools, name)) });

/** Changes the schema of the argument of get_order_status. */
const argument = (members) => tool('get_order_status', (it) => Object.assign(it.inputSchema.properties.orderId, members));

/** Changes the schema of get_order_status. */
const schema = (members) => tool('get_order_status', (it) => Object.assign(it.inputSchema, members));

export const SHAPES = {
  // Lists.
  no_schema: tool('cancel_order', (it) => delete it.inputSchema),
  null_schema: tool('cancel_order', (it) => (it.inputSchema = null)),
  list_as_schema: tool('cancel_order', (it) => (it.inputSchema = ['orderId'])),
  number_as_description: tool('cancel_order', (it) => (it.description = 7)),
  text_as_annotations: tool('cancel_order', (it) => (it.annotations = 'destructive')),
  no_name: tool('cancel_order', (it) => delete it.name),
  large_definition: tool('cancel_order', (it) => (it.description = 'long '.repeat(60_000))),
  unknown_members: tool('cancel_order', (it) => Object.assign(it, { category: 'orders', tags: ['a'], deprecated: false })),
  repeated_cursor: { page: (page, cursor) => ({ ...page, nextCursor: cursor ?? '4' }) },
  ignored_cursor: { page: (page, cursor, first) => ({ ...first, nextCursor: '4' }) },
  blank_cursor: { page: (page) => ({ nextCursor: '', ...page }) },
  null_cursor: { page: (page) => ({ nextCursor: null, ...page }) },
  // Schemas.
  example: argument({ example: 'ORD-1', examples: ['ORD-2'] }),
  extensions: schema({ 'x-order': 1, 'x-origin': { team: 'orders' }, discriminator: { propertyName: 'kind' }, xml: {}, externalDocs: { url: 'https://a.example' } }),
  nullable: tool('add_note', (it) => Object.assign(it.inputSchema.properties.text, { nullable: true })),
  property_names: schema({ propertyNames: { pattern: '^[a-zA-Z]+$' } }),
  content_encoding: argument({ contentEncoding: 'utf-8', $anchor: 'order', markdownDescription: '*the order*' }),
  boolean_bound: tool('reserve_stock', (it) => Object.assign(it.inputSchema.properties.quantity, { minimum: 0, exclusiveMinimum: true })),
  // Results.
  structured_error: { result: { isError: true, content: [], structuredContent: { code: 'CLOSED', until: '2027-01-01' } } },
  structured_and_text_error: { result: { isError: true, content: [text('The desk is closed.')], structuredContent: { code: 'CLOSED' } } },
  error_in_a_resource: { result: { isError: true, content: [{ type: 'resource', resource: { uri: 'log://1', text: 'stack' } }] } },
  silent_error: { result: { isError: true } },
  error_with_data: { error: { code: -32603, message: 'failed', data: { reason: 'CLOSED' } } },
  content_as_text: { result: { content: 'Done.' } },
  content_as_one_block: { result: { content: text('Done.') } },
  unknown_block: { result: { content: [text('Done.'), { type: 'chart', points: [1, 2] }] } },
  described_link: { result: { content: [{ type: 'resource_link', uri: 'file:///invoice.pdf', name: 'invoice', description: 'The invoice of May', size: 9 }] } },
  structured_alone: { result: { structuredContent: { done: true } } },
  empty_result: { result: { content: [] } },
};
