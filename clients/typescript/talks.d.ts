/**
 * Makes a test of each talk (`*.talk`) below a folder. `test` is the function of Vitest, of Jest or of `node:test`. The program
 * `convengine` plays the talk; the variable `CONVENGINE` of the environment has its path if it is not on the PATH. A test that fails shows
 * the differences from the expectations of the talk.
 */
export function testTalks(folder: string | URL, test: (name: string, run: () => Promise<void>, timeoutMs: number) => unknown): void;

/** Plays one talk as {@link testTalks} does; rejects with the differences from its expectations. */
export function playTalk(file: string): Promise<void>;
