// An MCP server for tests: a few tools of a shop, and faults by name. It has no dependencies but Node 20.
//
//     node fake_server.mjs [options]              over standard input and output
//     node fake_server.mjs --http 0 [options]     over streamable HTTP; prints `listening on http://127.0.0.1:PORT/mcp` first
//
// --protocol REVISION   speaks this revision alone: 2025-06-18, 2025-11-25 or 2026-07-28
// --log FILE            one line of JSON for each call that arrives, for each cancellation, and for what must not happen
// --requests FILE       one line of JSON for each message that arrives
// --fault NAME          see fake/faults.mjs; in force from the start
// --fault-file FILE     the name of the fault is the text of this file while it exists
// --swap-when FILE      the fault schema_swapped, from when this file exists
// --inject FILE         a list of {"tool", "where", "text"}, read again for each message
// --token TOKEN         HTTP: answers 401 without this bearer token
// --page N              tools of a page of the list, 4 by default

import { serveHttp } from './fake/http.mjs';
import { readOptions } from './fake/options.mjs';
import { FakeServer } from './fake/server.mjs';
import { serveStdio } from './fake/stdio.mjs';

const options = readOptions(process.argv.slice(2));
const server = new FakeServer(options);
if (options.http === undefined) serveStdio(server);
else await serveHttp(server, options.http);
