import type { Again } from './protocol';

/** What a person says, as it is typed. */
export interface Typed {
  message: string;
  inputParams?: string;
  reset?: boolean;
  /** How much time passes first, in milliseconds. */
  wait?: number;
}

/** How a turn is run again. */
export interface Other {
  /** Another message in the place of its own. */
  typed?: Typed;
  /** Answers from this place on are given anew. */
  until?: number;
  /** Answers that are given otherwise. */
  edits?: Again['edits'];
  /** Why, in a few words. */
  reason: string;
}

/** What is told of a recorded turn. */
export interface Recalled {
  reason?: string;
  /** Faults that left no answer behind. */
  struck?: Again['edits'];
  /** The pack that it ran on, when that is another one than runs now. */
  pack?: string | undefined;
}
