// What is the same over every transport: the log, the faults, the injected texts, who waits for changes of the list.

import { appendFileSync } from 'node:fs';

import { Faults, readIfPresent } from './faults.mjs';
import { REVISIONS } from './options.mjs';

export class FakeServer {
  constructor(options) {
    this.options = options;
    this.faults = new Faults(options);
    this.revisions = options.protocol === undefined ? REVISIONS : [options.protocol];
    /** Functions that send a notification to a client which waits for changes. */
    this.listeners = new Set();
    let version = this.faults.listVersion();
    setInterval(() => {
      const next = this.faults.listVersion();
      if (next === version) return;
      version = next;
      for (const listener of this.listeners) listener();
    }, 50).unref();
  }

  log(entry) {
    if (this.options.log !== undefined) appendFileSync(this.options.log, `${JSON.stringify(entry)}\n`);
  }

  logRequest(entry) {
    if (this.options.requests !== undefined) appendFileSync(this.options.requests, `${JSON.stringify(entry)}\n`);
  }

  injections() {
    const file = this.options.inject;
    const text = file === undefined ? '' : readIfPresent(file);
    return text === '' ? [] : JSON.parse(text);
  }
}
