/** Counts checks, and prints them as the test runner does. */
let passed = 0;
let failed = 0;

export function check(name, isMet, found) {
  if (isMet) {
    passed += 1;
    return;
  }
  failed += 1;
  console.log(`FAILED ${name}: ${JSON.stringify(found)}`);
}

export function finish(what) {
  console.log(`${what}: ${passed} checks`);
  console.log(`test result: ${failed === 0 ? 'ok' : 'FAILED'}. ${passed} passed; ${failed} failed; 0 ignored; 0 measured; 0 filtered out`);
  process.exitCode = failed === 0 ? 0 : 1;
}
