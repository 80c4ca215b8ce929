/** Where the phrases of a pack are, and the issues that a report finds in them. */
import { idColumn } from '../config/id-column';
import { isExample } from '../config/pattern';
import { documentId } from '../flow/flow-pack';
import { asList, asMembers, asText, type Members } from '../flow/members';
import type { Issue } from '../types';
import { percent, TABLES_REPORT, type MisleadingPhrase, type PhraseReport } from './report';

/** A phrase or an intent in the text of a pack, in the form of an issue. */
export type Place = Pick<Issue, 'path' | 'document'>;

const TABLE = 'ce_intent_classifier';

/** The phrases of a pack with their places, and the names of its intents. */
export class PhraseIndex {
  private readonly phrases = new Map<string, Place[]>();
  private readonly intents = new Map<string, Place>();
  private readonly names = new Map<string, string>();

  constructor(pack: string) {
    const { documents, tables } = parse(pack);
    asList(documents).forEach((it, index) => this.addDocument(it, index));
    this.addRows(asList(asMembers(tables)[TABLE]));
  }

  /** The title of a report: the name of its document. */
  title(report: string): string {
    return report === TABLES_REPORT ? 'Example rows' : (this.names.get(key(report)) ?? report);
  }

  /** The name of an intent. */
  name(report: string, intent: string): string {
    return this.names.get(key(report, intent)) ?? intent;
  }

  /** The place of the phrases of an intent. */
  intent(report: string, intent: string): Place | undefined {
    return this.intents.get(key(report, intent));
  }

  /** The places of a phrase of an intent; none if it has been changed. */
  find(report: string, { class: intent, phrase }: Pick<MisleadingPhrase, 'class' | 'phrase'>): Place[] {
    return this.phrases.get(key(report, intent, phrase)) ?? [];
  }

  private addDocument(document: Members, index: number): void {
    if (document['doc'] !== 'conversation_flow') return;
    const report = documentId(document);
    this.names.set(key(report), asText(document['name']) || report);
    asList(document['intents']).forEach((intent, at) => {
      const id = asText(intent['id']);
      const path = `/intents/${at}/phrases`;
      this.names.set(key(report, id), asText(intent['name']) || id);
      this.intents.set(key(report, id), { path, document: index });
      const phrases = Array.isArray(intent['phrases']) ? intent['phrases'] : [];
      phrases.forEach((phrase, number) => this.addPhrase(key(report, id, asText(phrase)), { path: `${path}/${number}`, document: index }));
    });
  }

  private addRows(rows: Members[]): void {
    rows.forEach((row, index) => {
      if (!isExample({ rule_type: asText(row['rule_type']) })) return;
      const id = row[idColumn(TABLE, Object.keys(row)) ?? ''] ?? index;
      const place = { path: `${TABLE}[${String(id)}].pattern` };
      const intent = rowClass(row);
      if (!this.intents.has(key(TABLES_REPORT, intent))) this.intents.set(key(TABLES_REPORT, intent), place);
      this.addPhrase(key(TABLES_REPORT, intent, asText(row['pattern'])), place);
    });
  }

  private addPhrase(at: string, place: Place): void {
    this.phrases.set(at, [...(this.phrases.get(at) ?? []), place]);
  }
}

/** An intent with fewer phrases needs more of them. Each of the few would seem to mislead, as the others say little of it. */
const FEW_PHRASES = 5;

/** Lists the phrases that would be accepted for another intent, as issues at their places. */
export function phraseIssues(index: PhraseIndex, reports: PhraseReport[]): Issue[] {
  return reports.flatMap(({ name, threshold, classes, misleading }) => {
    const few = new Set(classes.flatMap((it) => (it.phrases < FEW_PHRASES ? [it.class] : [])));
    return misleading
      .filter((it) => it.confidence >= threshold && !few.has(it.class))
      .flatMap((it) => index.find(name, it).map((place) => ({ ...place, ...conflict(index.name(name, it.taken_for), it.confidence) })));
  });
}

function conflict(intent: string, confidence: number): Omit<Issue, keyof Place> {
  return {
    severity: 'warning',
    reason: `taken for ${intent} (${percent(confidence)})`,
    hint: 'reword it, or add phrases like it to its own intent',
    rule: 'misleading-phrase',
  };
}

/** The class of a row in reports: its intent, with its state if it has one. */
function rowClass(row: Members): string {
  const [intent, state] = [asText(row['intent_code']), asText(row['state_code']).trim()];
  return state === '' || state.toUpperCase() === 'UNKNOWN' ? intent : `${intent} / ${state}`;
}

/** Codes and phrases are compared as the engine does: without regard to case and surrounding blanks. */
function key(...parts: string[]): string {
  return JSON.stringify(parts.map((it) => it.trim().toUpperCase()));
}

function parse(pack: string): Members {
  try {
    return asMembers(JSON.parse(pack));
  } catch {
    return {};
  }
}
