import type { Engine } from './flow.js';

export type { Engine };
export * from './turn-runner.js';

/** An issue of a pack. */
export interface Issue {
  severity: 'error' | 'warning' | 'info';
  /** The place, such as `ce_rule[3].match_pattern` or `/graphs/0/nodes/2`. */
  path: string;
  /** The check, such as `compile` or `G001`. */
  rule: string;
  reason: string;
  /** What to do. */
  hint: string;
}

/**
 * Compiles a pack for its turns. The engine that it needs, of tables or of documents, is loaded with the first such pack. Rejects with an
 * error with code `NOT_A_PACK` if the text is not a pack; `engine.free()` frees its memory.
 */
export function createEngine(pack: string): Promise<Engine>;

/** Finds all issues of a pack; lint is loaded with the first call. Rejects as `createEngine` does. */
export function lint(pack: string): Promise<Issue[]>;
