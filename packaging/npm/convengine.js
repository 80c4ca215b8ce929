#!/usr/bin/env node
// Starts the program of the platform's package, with the same arguments, streams and exit code.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';

const platform = `@convengine/server-${process.platform}-${process.arch}`;

let program;
try {
  program = createRequire(import.meta.url).resolve(`${platform}/bin/convengine`);
} catch {
  console.error(
    `error: the package ${platform} is not installed; there is none for some platforms, and npm leaves it out with --omit=optional`,
  );
  process.exit(3);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends SIGINT to both; only the program decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => signal === 'SIGINT' || child.kill(signal));
child.on('error', (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(3);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
