/**
 * Reads the rows of a dump or a script of SQL into the tables of a pack.
 *
 * Of all SQL it knows `insert` with values, and from `create table` the order of the columns where an `insert` names none. A value that
 * only a database can calculate is left out, and said.
 */
import type { Json, JsonObject } from '../types';
import { position } from '../json-text';
import { isCopy, statements, type Word } from './sql-words';

/** The rows of a dump by table, with sentences about what was left out. */
export interface FromSql {
  tables: Record<string, JsonObject[]>;
  left: string[];
}

/** Tables of conversations, of keys and of what came of them: no part of a pack. */
const RUNTIME = new Set(
  ('ce_audit ce_config_snapshot ce_conversation ce_conversation_history ce_llm_call_log ce_mcp_user_feedback ce_mcp_user_query_knowledge ' +
    'ce_memory ce_semantic_query_failures ce_turn ce_turn_effect ce_user_query_knowledge ' +
    'cs_assistant cs_deployment cs_secret cs_session cs_timer cs_usage_events cs_version cv_activation cv_api_key cv_module cv_script cv_spend').split(' '),
);
/** Functions that give back the text that they are given. */
const WRAPPERS = ['json', 'jsonb', 'to_json', 'to_jsonb', 'to_clob', 'to_nclob', 'to_char', 'text'];
const DEEPEST = 100;
const CONSTRAINTS = ['primary', 'foreign', 'unique', 'check', 'constraint', 'key', 'index', 'exclude', 'like'];

/** Reads SQL. */
export function fromSql(text: string): FromSql {
  const tables: Record<string, JsonObject[]> = {};
  const columns = new Map<string, string[]>();
  const left = new Set<string>();
  let others = 0;
  for (const words of statements(text)) {
    // A lone slash is how scripts of Oracle send what stands before it.
    while (words[0]?.text === '/') words.shift();
    const [first] = words;
    if (!first) continue;
    const statement = new Statement(words, columns, left);
    try {
      if (statement.creates()) continue;
      const found = statement.inserts();
      if (!found) others++;
      else if (found.rows.length > 0) (tables[found.table] ??= []).push(...found.rows);
    } catch (fault) {
      if (!(fault instanceof Unreadable)) throw fault;
      left.add(`line ${position(text, fault.at ?? first.start).line}: ${fault.message}.`);
    }
  }
  if (others > 0) left.add(`${others} other ${others === 1 ? 'statement was' : 'statements were'} left out: only insert with values is read.`);
  return { tables, left: [...left] };
}

class Unreadable extends Error {
  constructor(
    message: string,
    readonly at?: number,
  ) {
    super(message);
  }
}

/** What a value is that only a database can calculate, or that the database fills in. */
class Calculated {
  constructor(readonly by: string) {}
}

class Statement {
  private at = 0;
  private depth = 0;

  constructor(
    private readonly words: Word[],
    private readonly columns: Map<string, string[]>,
    private readonly left: Set<string>,
  ) {}

  /** Notes the order of a table's columns. */
  creates(): boolean {
    if (!this.take('create')) return false;
    while (this.take('global', 'temporary', 'temp', 'unlogged')) continue;
    if (!this.take('table')) {
      this.at = 0;
      return false;
    }
    if (this.take('if')) this.at += 2;
    const table = this.name();
    if (!this.take('(')) return true;
    const names: string[] = [];
    do {
      const it = this.words[this.at];
      if (it?.kind === 'name' || (it?.kind === 'word' && !CONSTRAINTS.includes(it.text))) names.push(it.text.toLowerCase());
      this.skip();
    } while (this.take(','));
    this.columns.set(table, names);
    return true;
  }

  /** Reads the rows of an insert. */
  inserts(): { table: string; rows: JsonObject[] } | undefined {
    if (isCopy(this.words)) {
      throw new Unreadable('rows after copy … from stdin are not read: dump with --column-inserts');
    }
    if (!this.take('insert', 'replace')) return undefined;
    if (this.take('or')) this.at++;
    if (!this.take('into')) throw new Unreadable('insert … into was expected: rows of several tables at once are not read');
    const table = this.name();
    if (!/^c[ev]_\w+$/.test(table)) return undefined;
    if (RUNTIME.has(table) || table.startsWith('cv_document_')) {
      this.left.add(`The rows of '${table}' were left out: they are no part of a pack.`);
      return { table, rows: [] };
    }
    const names = this.take('(') ? this.names() : this.columns.get(table);
    if (!names) throw new Unreadable(`the insert into '${table}' names no columns, and no create table stands before it`);
    if (this.take('overriding')) this.at += 2;
    if (!this.take('values')) throw new Unreadable(`the insert into '${table}' has no values of its own: only insert with values is read`);
    const rows: JsonObject[] = [];
    do rows.push(this.row(table, names));
    while (this.take(','));
    return { table, rows };
  }

  private row(table: string, names: string[]): JsonObject {
    const start = this.words[this.at]?.start;
    this.need('(');
    const values: (Json | Calculated)[] = [];
    do values.push(this.value());
    while (this.take(','));
    this.need(')');
    if (values.length !== names.length) throw new Unreadable(`a row of '${table}' has ${values.length} values for ${names.length} columns`, start);
    const row = names.map((name, index): [string, Json | Calculated] => [name, values[index] ?? null]);
    return Object.fromEntries(
      row.filter((pair): pair is [string, Json] => {
        const [name, it] = pair;
        if (!(it instanceof Calculated)) return true;
        if (it.by !== 'default') this.left.add(`Values of '${name}' in '${table}' were left out: they are calculated with ${it.by}.`);
        return false;
      }),
    );
  }

  /** A value, or several that are put together. */
  private value(): Json | Calculated {
    let value = this.cast();
    while (this.take('||')) {
      const more = this.cast();
      if (value instanceof Calculated || more instanceof Calculated) value = value instanceof Calculated ? value : more;
      else value = `${written(value)}${written(more)}`;
    }
    const it = this.words[this.at];
    if (!it || ends(it)) return value;
    this.skip();
    return value instanceof Calculated ? value : new Calculated(it.text);
  }

  private cast(): Json | Calculated {
    let value = this.simple();
    while (this.take('::')) value = as(value, this.type());
    return value;
  }

  private type(): string {
    let type = '';
    for (let it = this.words[this.at]; it && (it.kind === 'word' || it.kind === 'name' || it.text === '.'); it = this.words[this.at]) {
      type = it.text;
      this.at++;
    }
    if (this.take('(')) this.close();
    while (this.take('[')) this.need(']');
    return type;
  }

  private simple(): Json | Calculated {
    if (++this.depth > DEEPEST) throw new Unreadable('a value is nested too deeply');
    const value = this.term();
    this.depth--;
    return value;
  }

  private term(): Json | Calculated {
    const it = this.words[this.at];
    if (!it) throw new Unreadable('the statement ends within a value');
    this.at++;
    if (it.kind === 'text') return it.text;
    if (it.kind === 'number') return Number(it.text);
    if (it.text === '-' || it.text === '+') {
      const value = this.simple();
      return typeof value === 'number' && it.text === '-' ? -value : value;
    }
    if (it.text === '(') {
      const value = this.value();
      this.need(')');
      return value;
    }
    if (it.kind !== 'word' && it.kind !== 'name') throw new Unreadable(`'${it.text}' is no value`, it.start);
    const next = this.words[this.at];
    if (it.text === 'null') return null;
    if (it.text === 'true' || it.text === 'false') return it.text === 'true';
    // A type may stand before its text: json '{}'.
    if (next?.kind === 'text' && !['x', 'b'].includes(it.text)) {
      this.at++;
      return as(next.text, it.text);
    }
    if (next?.kind === 'text') this.at++;
    return this.take('(') ? this.call(it.text) : new Calculated(it.text);
  }

  private call(name: string): Json | Calculated {
    if (name === 'cast') {
      const value = this.cast();
      if (!this.take('as')) throw new Unreadable('cast has no type');
      const type = this.type();
      this.need(')');
      return as(value, type);
    }
    const given: (Json | Calculated)[] = [];
    if (!this.take(')')) {
      do given.push(this.value());
      while (this.take(','));
      this.need(')');
    }
    const [first, second, third] = given;
    const plain = given.every((it) => !(it instanceof Calculated));
    if (plain && given.length === 1 && (name === 'chr' || name === 'char') && typeof first === 'number' && first <= 0x10ffff) {
      return String.fromCodePoint(first);
    }
    if (plain && name === 'replace' && given.length === 3) return written(first).replaceAll(written(second), written(third));
    if (typeof first === 'string' && WRAPPERS.includes(name)) return as(first, name.replace('to_', ''));
    return new Calculated(`${name}()`);
  }

  private name(): string {
    let name = this.words[this.at++]?.text ?? '';
    while (this.take('.')) name = this.words[this.at++]?.text ?? '';
    return name.toLowerCase();
  }

  private names(): string[] {
    const names: string[] = [];
    do names.push(this.name());
    while (this.take(','));
    this.need(')');
    return names;
  }

  /** Goes to the comma or the bracket that ends what stands here. */
  private skip(): void {
    for (let it = this.words[this.at]; it && !ends(it); it = this.words[this.at]) {
      this.at++;
      if (it.kind === 'sign' && it.text === '(') this.close();
    }
  }

  private close(): void {
    for (let depth = 1; depth > 0 && this.at < this.words.length; this.at++) {
      const it = this.words[this.at];
      if (it?.kind === 'sign') depth += it.text === '(' ? 1 : it.text === ')' ? -1 : 0;
    }
  }

  private take(...texts: string[]): boolean {
    const it = this.words[this.at];
    const found = it !== undefined && it.kind !== 'text' && it.kind !== 'name' && texts.includes(it.text);
    if (found) this.at++;
    return found;
  }

  private need(text: string): void {
    const it = this.words[this.at];
    if (!this.take(text)) throw new Unreadable(it ? `'${text}' was expected before '${it.text.slice(0, 20)}'` : `the statement ends before '${text}'`, it?.start);
  }
}

function ends({ kind, text }: Word): boolean {
  return kind === 'sign' && (text === ',' || text === ')');
}

function as(value: Json | Calculated, type: string): Json | Calculated {
  if (typeof value !== 'string') return value;
  if (type === 'json' || type === 'jsonb') {
    try {
      return JSON.parse(value) as Json;
    } catch {
      return value;
    }
  }
  if (/^(bool|boolean)$/.test(type)) return /^(t|true|y|yes|on|1)$/i.test(value.trim());
  const numeric = /^(small|big)?int(eger|[248])?$|^(numeric|decimal|number|real|float[48]?|precision)$/.test(type);
  return numeric && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}

function written(value: Json | Calculated | undefined): string {
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}
