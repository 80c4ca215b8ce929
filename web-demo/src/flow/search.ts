/** What searches of a knowledge base have found, for display. */
import type { AnsweredEffect } from '../session/turn-data';
import type { Json, JsonObject, Notice, TurnRecord } from '../types';
import { readFlowSession } from './session';

/** A chunk that a search has found, with its scores; a list that does not have it gives none. */
export interface Hit {
  chunk: string;
  title: string;
  rrf: number;
  conf: number;
  keyword: number | undefined;
  vector: number | undefined;
  /** Whether the answer cites it; `undefined` where nothing was answered. */
  isCited: boolean | undefined;
  /** The text, if it was read. */
  text: string | undefined;
  url: string | undefined;
}

/** A search with what it found, best first. */
export interface Search {
  query: string;
  /** The lists that took part. */
  lists: string[];
  hits: Hit[];
  /** The node that searched; `undefined` for the fallback. */
  node: { graph: string; id: string } | undefined;
  /** Number of its notice. */
  seq: number;
}

/** The part of a turn that searches are read from. */
export interface SearchedTurn {
  notices: Notice[];
  exchanges: AnsweredEffect[];
  record: Pick<TurnRecord, 'outcome'> | undefined;
}

/** The result of searching a knowledge base outside of a turn. */
export interface Retrieval {
  reply: { keyword: Json[]; vector?: Json[]; passages: JsonObject[] };
  fused: JsonObject[];
}

/** Reads the searches of a turn from its notices, with the texts of their effects. */
export function turnSearches(turn: SearchedTurn): Search[] {
  const replies = turn.exchanges.flatMap(({ completion: { outcome } }) => ('ok' in outcome && outcome.ok.kind === 'knowledge' ? [outcome.ok] : []));
  const notices = turn.notices.flatMap((it) => (it.kind === 'audit' && it.stage === 'knowledge.search' ? [it] : []));
  return notices.map(({ seq, payload }, index) => {
    const { query, lists, hits, graph, node } = payload as JsonObject;
    const passages = asObjects(replies[index]?.['passages']);
    const cited = citedChunks(turn.record, passages);
    return {
      query: asText(query),
      lists: Array.isArray(lists) ? lists.map(asText) : [],
      hits: asObjects(hits).map((it) => toHit(it, asText(it['chunk_id']), passages, cited)),
      node: typeof graph === 'string' && typeof node === 'string' ? { graph, id: node } : undefined,
      seq,
    };
  });
}

/** Reads a search outside of a turn. */
export function readRetrieval(query: string, { reply, fused }: Retrieval): Search {
  const lists = [reply.keyword.length > 0 ? 'keyword' : '', reply.vector?.length ? 'vector' : ''].filter(Boolean);
  const hits = fused.map((it) => toHit({ ...it, keyword: it['keyword_score'] ?? null, vector: it['vector_score'] ?? null }, asText(it['chunk']), reply.passages, undefined));
  return { query, lists, hits, node: undefined, seq: 0 };
}

function toHit(from: JsonObject, chunk: string, passages: JsonObject[], cited: Set<string> | undefined): Hit {
  const passage = passages.find((it) => it['chunk'] === chunk);
  return {
    chunk,
    title: asText(from['title']) || asText(passage?.['title']) || chunk,
    rrf: asNumber(from['rrf']) ?? 0,
    conf: asNumber(from['conf']) ?? 0,
    keyword: asNumber(from['keyword']),
    vector: asNumber(from['vector']),
    isCited: cited?.has(chunk),
    text: passage && asText(passage['text']),
    url: passage && (asText(passage['url']) || undefined),
  };
}

/** The chunks that the answer from these passages cites: those in the variable that holds the answer. */
function citedChunks(record: SearchedTurn['record'], passages: JsonObject[]): Set<string> | undefined {
  const read = passages.map((it) => it['chunk']).join();
  const answer = Object.values(readFlowSession(record)?.vars ?? {}).find((it) => {
    return typeof it === 'object' && it !== null && !Array.isArray(it) && asObjects(it['chunks']).map((chunk) => chunk['chunk_id']).join() === read;
  }) as JsonObject | undefined;
  return answer && new Set(asObjects(answer['citations']).map((it) => asText(it['chunk_id'])));
}

function asObjects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}

function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function asNumber(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
