/** Drives the server with the TypeScript SDK of the protocol, over HTTP and over standard input and output. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { check, finish } from './counts.mjs';
import { pack, prepare, start } from './server.mjs';

const TALK = 'config orders.json\n\n> my order\n< Your order is on its way.\n';

/** What is the same over both transports. */
async function drive(client, name) {
  const call = (tool, given) => client.callTool({ name: tool, arguments: given });
  const tools = (await client.listTools()).tools.map((it) => it.name);
  check(`${name} tools`, ['lint', 'import', 'play', 'replay', 'explain_turn', 'compare', 'ask_tables'].every((it) => tools.includes(it)), tools);

  const first = await call('ask_tables', { text: 'where is my order?' });
  check(`${name} ask`, first.content[0].text === 'Your order is on its way.', first);
  const id = first.structuredContent.conversation_id;
  const second = await call('ask_tables', { text: 'hello', conversation_id: id });
  check(`${name} continue`, second.structuredContent.conversation_id === id && second.content[0].text === 'Ask me about orders.', second);

  const explained = await call('explain_turn', { conversation_id: id, turn: 1 });
  check(`${name} explain`, explained.structuredContent.explanations.length > 0, explained);
  const replayed = await call('replay', { conversation_id: id });
  check(`${name} replay`, replayed.structuredContent.equal === true, replayed);

  const changed = structuredClone(pack);
  changed.tables.ce_response[0].exact_text = 'Tomorrow.';
  const compared = await call('compare', { conversation_id: id, config: changed });
  check(`${name} compare`, compared.structuredContent.turns[0].equal === false && compared.structuredContent.turns[1].equal, compared);
  const linted = await call('lint', { pack: changed });
  check(`${name} lint`, linted.structuredContent.has_errors === false, linted);
  const played = await call('play', { talk: TALK, pack });
  check(`${name} play`, played.structuredContent.passed === true, played);
  const dry = await call('import', { pack: changed });
  check(`${name} dry run`, dry.structuredContent.imported === false, dry);
  check(`${name} nothing changed`, (await call('ask_tables', { text: 'my order' })).content[0].text === 'Your order is on its way.');
  const imported = await call('import', { pack: changed, dry_run: false });
  check(`${name} import`, imported.structuredContent.imported === true, imported);
  check(`${name} changed`, (await call('ask_tables', { text: 'my order' })).content[0].text === 'Tomorrow.');
  const refused = await call('ask_tables', {});
  check(`${name} error`, refused.isError === true && refused.content[0].text.includes('text is missing'), refused);
  const unknown = await call('no_such_tool', {}).catch((error) => error);
  check(`${name} unknown tool`, unknown.code === -32602, unknown);

  const resources = (await client.listResources()).resources.map((it) => it.uri);
  check(`${name} resources`, resources.includes('convengine://reference/packs') && resources.includes('convengine://issues'), resources);
  const { resourceTemplates } = await client.listResourceTemplates();
  check(`${name} templates`, resourceTemplates.length === 4, resourceTemplates);
  const journal = await client.readResource({ uri: `convengine://conversations/${id}/journal` });
  check(`${name} journal`, JSON.parse(journal.contents[0].text).turns.length === 2, journal);
  const prompt = await client.getPrompt({ name: 'write_pack', arguments: { purpose: 'sells tea' } });
  check(`${name} prompt`, prompt.messages[0].content.text.includes('sells tea'), prompt);
}

const server = await start(true);
const over = new Client({ name: 'suite', version: '1.0.0' });
const headers = { Authorization: `Bearer ${server.key}` };
await over.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
check('http server', over.getServerVersion().name === 'convengine', over.getServerVersion());
const welcome = await over.callTool({ name: 'ask_front', arguments: { text: 'hello' } });
check('http assistant', welcome.content.map((it) => it.text).join(' ') === 'Welcome. Say that in other words.', welcome);
const goOn = await over.callTool({ name: 'ask_front', arguments: { text: 'hello', session_id: welcome.structuredContent.session_id } });
check('http session', goOn.content.length === 1 && goOn.structuredContent.status === 'awaiting_input', goOn);
await drive(over, 'http');
await over.close();
const closed = new Client({ name: 'suite', version: '1.0.0' });
const error = await closed.connect(new StreamableHTTPClientTransport(new URL(server.url))).catch((it) => it);
check('http without a key', String(error).includes('401') || error?.code === 401, String(error));
await server.stop();

const { command, args, remove } = prepare();
const started = new Client({ name: 'suite', version: '1.0.0' });
let changes = 0;
await started.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
started.fallbackNotificationHandler = async ({ method }) => {
  changes += method === 'notifications/tools/list_changed' ? 1 : 0;
};
await drive(started, 'stdio');
for (let wait = 0; wait < 100 && changes === 0; wait += 1) await new Promise((resolve) => setTimeout(resolve, 50));
check('stdio list changed', changes > 0, changes);
await started.close();
remove();
finish('TypeScript SDK');
