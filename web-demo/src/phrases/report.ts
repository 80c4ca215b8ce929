/** The engine's reports on the classifiers of a pack. */

/** How well the phrases of a classifier tell its classes apart: each was classified by a classifier that had not seen it. */
export interface PhraseReport {
  /** The id of the flow document; `tables` for example rows. */
  name: string;
  /** The number of phrases. */
  phrases: number;
  /** The share whose best class was right, from 0 to 1. */
  accuracy: number;
  /** The share that was right and accepted. */
  accepted: number;
  /** The share that was wrong and accepted. */
  mistaken: number;
  /** The share whose two best classes were too close. */
  close: number;
  /** The least confidence that is accepted. */
  threshold: number;
  classes: ClassReport[];
  /** Most frequent first. */
  confusions: Confusion[];
  /** Most confident first. */
  misleading: MisleadingPhrase[];
}

/** An intent; for rows with a state, `INTENT / STATE`. */
export interface ClassReport {
  class: string;
  phrases: number;
  /** The share of its phrases that was recognised. */
  recall: number;
  /** The share of right ones among the phrases that were taken for it. */
  precision: number;
  needs_more: boolean;
}

/** The number of phrases of a class that are taken for another one. */
export interface Confusion {
  class: string;
  taken_for: string;
  count: number;
}

/** A phrase that is taken for another class. */
export interface MisleadingPhrase {
  phrase: string;
  class: string;
  taken_for: string;
  confidence: number;
}

/** The name of the report on example rows. */
export const TABLES_REPORT = 'tables';

/** Whether a pack may have phrases, without parsing it. */
export function mayHavePhrases(pack: string): boolean {
  return pack.includes('"phrases"') || /"example"/i.test(pack);
}

/** Formats a share as a whole percentage. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
