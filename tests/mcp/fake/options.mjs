// The options of the command line.

import { FAULTS } from './faults.mjs';

export const REVISIONS = ['2025-06-18', '2025-11-25', '2026-07-28'];

const NAMES = ['protocol', 'log', 'requests', 'fault', 'fault-file', 'swap-when', 'inject', 'token', 'page', 'http'];

export function readOptions(args) {
  const options = { page: '4' };
  for (let index = 0; index < args.length; index += 2) {
    const name = args[index].replace(/^--/, '');
    if (!NAMES.includes(name) || args[index + 1] === undefined) fail(`unknown option or missing value: ${args[index]}`);
    options[name] = args[index + 1];
  }
  if (options.protocol !== undefined && !REVISIONS.includes(options.protocol)) fail(`unknown revision: ${options.protocol}`);
  if (options.fault !== undefined && !FAULTS.includes(options.fault)) fail(`unknown fault: ${options.fault}`);
  if (options['swap-when'] !== undefined && options.fault === undefined) options.fault = 'schema_swapped';
  return options;
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
