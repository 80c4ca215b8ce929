/**
 * Runs the conformance kit of the protocol. Every check passes, but those that need what the server does not offer; each of these is
 * listed here with its reason, and a listed check that passes is a failure, too.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { check, finish } from './counts.mjs';
import { start } from './server.mjs';

const REVISIONS = ['2025-11-25', '2026-07-28'];

/** Scenarios that are not run or not counted, by the reason. */
const SKIPPED = {
  'calls a tool of the kit, test_…': [
    'tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource', 'tools-call-mixed-content',
    'tools-call-with-logging', 'tools-call-error', 'tools-call-with-progress', 'tools-call-sampling', 'tools-call-elicitation',
    'elicitation-sep1034-defaults', 'elicitation-sep1330-enums', 'json-schema-2020-12', 'http-custom-header-server-validation',
  ],
  'reads a resource of the kit, test://…': ['resources-read-text', 'resources-read-binary', 'resources-templates-read'],
  'gets a prompt of the kit, test_…': ['prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource', 'prompts-get-with-image'],
  'needs a capability that the server does not declare: logging': ['logging-set-level'],
  'needs a capability that the server does not declare: completions': ['completion-complete'],
  'needs a capability that the server does not declare: subscriptions to resources': ['resources-subscribe', 'resources-unsubscribe'],
  'needs tools that ask the client for input': [
    'input-required-result-basic-elicitation', 'input-required-result-basic-sampling', 'input-required-result-basic-list-roots',
    'input-required-result-request-state', 'input-required-result-multiple-input-requests', 'input-required-result-multi-round',
    'input-required-result-non-tool-request', 'input-required-result-result-type', 'input-required-result-tampered-state',
    'input-required-result-capability-check',
  ],
  'needs an extension that the server does not declare: tasks': [
    'tasks-lifecycle', 'tasks-capability-negotiation', 'tasks-wire-fields', 'tasks-request-state-removal', 'tasks-mrtr-input',
    'tasks-request-headers', 'tasks-dispatch-and-envelope', 'tasks-status-notifications', 'tasks-required-task-error',
    'tasks-mrtr-composition',
  ],
};

/** Checks within the other scenarios that need a tool of the kit. */
const SKIPPED_CHECKS = {
  'server-stateless': [
    'sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream', 'sep-2575-server-no-log-without-loglevel',
  ],
};

const skipped = new Set(Object.values(SKIPPED).flat());
const ran = new Set();
const server = await start(false);
for (const revision of REVISIONS) {
  const folder = mkdtempSync(join(tmpdir(), 'convengine-conformance-'));
  const kit = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const node = new URL('node_modules/node/bin/node', import.meta.url).pathname;
  const done = spawnSync(node, [kit, 'server', '--url', server.url, '--requirements', revision, '-o', folder], { encoding: 'utf8' });
  if (done.error) throw done.error;
  for (const name of readdirSync(folder).sort()) {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    ran.add(scenario);
    const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8'));
    const failed = checks.filter((it) => it.status === 'FAILURE');
    const known = SKIPPED_CHECKS[scenario] ?? [];
    if (skipped.has(scenario)) {
      console.log(`skipped ${revision} ${scenario}`);
      continue;
    }
    for (const it of checks.filter((it) => it.status === 'SUCCESS')) check(`${revision} ${scenario} ${it.id}`, !known.includes(it.id), 'passes; remove it from the list');
    for (const it of failed) {
      if (known.includes(it.id)) console.log(`skipped ${revision} ${scenario} ${it.id}`);
      else check(`${revision} ${scenario} ${it.id}`, false, it.errorMessage);
    }
  }
  rmSync(folder, { recursive: true });
}
await server.stop();
check('scenarios have run', ran.size > 20, [...ran]);
for (const name of skipped) check(`${name} is a scenario`, ran.has(name), 'remove it from the list');
finish('Conformance kit');
