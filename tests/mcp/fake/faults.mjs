// The faults by name, and which of them is in force.

import { existsSync, readFileSync } from 'node:fs';

import { SHAPES } from './shapes.mjs';

export const FAULTS = [
  'exit_on_call', // the process ends when a tool is called
  'half_message', // half of the answer of a call; then the process ends, or the socket is destroyed
  'endless_list', // every page of the list has another one behind it
  'large_result', // a text of 50 MB
  'wrong_id', // a call is answered under an id that nobody asked with
  'schema_swapped', // get_order_status has another description and schema from the second list on
  'hang', // a call is never answered
  'hang_on_start', // the first request is never answered
  'hang_on_list', // a list is never answered
  'garbage', // lines that are no JSON stand between messages
  'error_result', // calls end with isError
  'protocol_error', // calls end with a JSON-RPC error
  'duplicate_tools', // two tools have one name
  'no_such_tool', // get_order_status is not listed, and unknown when called
  'bad_schema', // the schema of get_order_status is a list
  'huge_schema', // the schema of get_order_status has 5 MB
  'many_tools', // 20,000 tools
  'unauthorized', // HTTP: always 401
  'redirect', // HTTP: always 307, to another port
  'slow_body', // the answer of a call comes one byte a second
  'deep_result', // lists in lists, 20,000 levels
  'bad_output', // a structured result that does not fit the schema of the output
  'asks_client', // a call first asks the client for a completion, its roots and an input
  'input_required', // 2026-07-28: a call is answered by a question
  'flood', // 20,000 notifications before each answer of a call
  'noisy_stderr', // 8 MB on standard error before each answer
  ...Object.keys(SHAPES),
];

export class Faults {
  constructor(options) {
    this.options = options;
    this.lists = 0;
  }

  /** The fault in force, or null. */
  current() {
    const file = this.options['fault-file'];
    const name = file === undefined ? '' : readIfPresent(file).trim();
    return name === '' ? (this.options.fault ?? null) : name;
  }

  is(name) {
    return this.current() === name;
  }

  /** Whether the definition of get_order_status is another one now. */
  hasSwapped() {
    if (!this.is('schema_swapped')) return false;
    if (this.options.fault !== 'schema_swapped') return true;
    const file = this.options['swap-when'];
    return file === undefined ? this.lists > 1 : existsSync(file);
  }

  /** What a list depends on: another value means that the list has changed. */
  listVersion() {
    return `${this.hasSwapped()} ${this.is('no_such_tool')}`;
  }
}

/** The text of a file that others write and remove, or nothing: it may go between a look for it and the reading. */
export function readIfPresent(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}
