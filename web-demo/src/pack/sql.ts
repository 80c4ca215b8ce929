/**
 * Reads the rows of an SQL dump or script into the tables of a pack.
 *
 * It supports `insert … values`, and takes the column order from `create table` where an `insert` names no columns. Values that only a
 * database can compute are omitted and reported.
 */
import type { Json, JsonObject } from '../types';
import { position } from '../json-text';
import { plural } from '../plural';
import { isCopy, splitStatements, type SqlToken } from './sql-tokens';

/** The rows of a dump by table, with notes about what was omitted. */
export interface SqlImport {
  tables: Record<string, JsonObject[]>;
  notes: string[];
}

/** Runtime tables (conversations, keys, usage), which are not part of a pack. */
const RUNTIME_TABLES = new Set(
  ('ce_audit ce_config_snapshot ce_conversation ce_conversation_history ce_llm_call_log ce_mcp_user_feedback ce_mcp_user_query_knowledge ' +
    'ce_memory ce_semantic_query_failures ce_turn ce_turn_effect ce_user_query_knowledge ' +
    'cs_assistant cs_deployment cs_secret cs_session cs_timer cs_tool cs_usage_events cs_version cv_activation cv_api_key cv_module cv_script cv_spend').split(' '),
);
/** Functions that return their argument. */
const WRAPPERS = ['json', 'jsonb', 'to_json', 'to_jsonb', 'to_clob', 'to_nclob', 'to_char', 'text'];
const MAX_DEPTH = 100;
const CONSTRAINTS = ['primary', 'foreign', 'unique', 'check', 'constraint', 'key', 'index', 'exclude', 'like'];

/** Reads the rows of an SQL text. */
export function fromSql(text: string): SqlImport {
  const tables: Record<string, JsonObject[]> = {};
  const columns = new Map<string, string[]>();
  const notes = new Set<string>();
  let others = 0;
  for (const tokens of splitStatements(text)) {
    // Oracle scripts execute a statement with a slash on its own line.
    while (tokens[0]?.text === '/') tokens.shift();
    const [first] = tokens;
    if (!first) continue;
    const statement = new StatementReader(tokens, columns, notes);
    try {
      if (statement.readCreateTable()) continue;
      const found = statement.readInsert();
      if (!found) others++;
      else if (found.rows.length > 0) (tables[found.table] ??= []).push(...found.rows);
    } catch (error) {
      if (!(error instanceof SqlError)) throw error;
      notes.add(`line ${position(text, error.at ?? first.start).line}: ${error.message}.`);
    }
  }
  if (others > 0) notes.add(`${others} other ${others === 1 ? 'statement was' : 'statements were'} skipped: only INSERT … VALUES is supported.`);
  return { tables, notes: [...notes] };
}

class SqlError extends Error {
  constructor(
    message: string,
    readonly at?: number,
  ) {
    super(message);
  }
}

/** A value that only a database can compute or fill in. */
class ComputedValue {
  constructor(readonly by: string) {}
}

class StatementReader {
  private at = 0;
  private depth = 0;

  constructor(
    private readonly tokens: SqlToken[],
    private readonly columns: Map<string, string[]>,
    private readonly notes: Set<string>,
  ) {}

  /** Reads the column order of a `create table`. */
  readCreateTable(): boolean {
    if (!this.takeToken('create')) return false;
    while (this.takeToken('global', 'temporary', 'temp', 'unlogged')) continue;
    if (!this.takeToken('table')) {
      this.at = 0;
      return false;
    }
    if (this.takeToken('if')) this.at += 2;
    const table = this.readName();
    if (!this.takeToken('(')) return true;
    const names: string[] = [];
    do {
      const it = this.tokens[this.at];
      if (it?.kind === 'name' || (it?.kind === 'word' && !CONSTRAINTS.includes(it.text))) names.push(it.text.toLowerCase());
      this.skipExpression();
    } while (this.takeToken(','));
    this.columns.set(table, names);
    return true;
  }

  /** Reads the rows of an `insert`. */
  readInsert(): { table: string; rows: JsonObject[] } | undefined {
    if (isCopy(this.tokens)) {
      throw new SqlError('COPY … FROM stdin is not supported: dump with --column-inserts');
    }
    if (!this.takeToken('insert', 'replace')) return undefined;
    if (this.takeToken('or')) this.at++;
    if (!this.takeToken('into')) throw new SqlError('expected INSERT INTO: multi-table inserts are not supported');
    const table = this.readName();
    if (!/^c[ev]_\w+$/.test(table)) return undefined;
    if (RUNTIME_TABLES.has(table) || table.startsWith('cv_document_')) {
      this.notes.add(`Rows of '${table}' were skipped: they are not part of a pack.`);
      return { table, rows: [] };
    }
    const names = this.takeToken('(') ? this.readNames() : this.columns.get(table);
    if (!names) throw new SqlError(`INSERT INTO '${table}' names no columns and has no preceding CREATE TABLE`);
    if (this.takeToken('overriding')) this.at += 2;
    if (!this.takeToken('values')) throw new SqlError(`INSERT INTO '${table}' has no VALUES: only INSERT … VALUES is supported`);
    const rows: JsonObject[] = [];
    do rows.push(this.readRow(table, names));
    while (this.takeToken(','));
    return { table, rows };
  }

  private readRow(table: string, names: string[]): JsonObject {
    const start = this.tokens[this.at]?.start;
    this.expectToken('(');
    const values: (Json | ComputedValue)[] = [];
    do values.push(this.readValue());
    while (this.takeToken(','));
    this.expectToken(')');
    if (values.length !== names.length) throw new SqlError(`a row of '${table}' has ${plural(values.length, 'value')} for ${plural(names.length, 'column')}`, start);
    const row = names.map((name, index): [string, Json | ComputedValue] => [name, values[index] ?? null]);
    return Object.fromEntries(
      row.filter((pair): pair is [string, Json] => {
        const [name, it] = pair;
        if (!(it instanceof ComputedValue)) return true;
        if (it.by !== 'default') this.notes.add(`Values of '${name}' in '${table}' were omitted: they are computed by ${it.by}.`);
        return false;
      }),
    );
  }

  /** Reads a value or a concatenation of values. */
  private readValue(): Json | ComputedValue {
    let value = this.readCast();
    while (this.takeToken('||')) {
      const more = this.readCast();
      if (value instanceof ComputedValue || more instanceof ComputedValue) value = value instanceof ComputedValue ? value : more;
      else value = `${toSqlText(value)}${toSqlText(more)}`;
    }
    const it = this.tokens[this.at];
    if (!it || endsValue(it)) return value;
    this.skipExpression();
    return value instanceof ComputedValue ? value : new ComputedValue(it.text);
  }

  private readCast(): Json | ComputedValue {
    let value = this.readSimple();
    while (this.takeToken('::')) value = castTo(value, this.readType());
    return value;
  }

  private readType(): string {
    let type = '';
    for (let it = this.tokens[this.at]; it && (it.kind === 'word' || it.kind === 'name' || it.text === '.'); it = this.tokens[this.at]) {
      type = it.text;
      this.at++;
    }
    if (this.takeToken('(')) this.skipParentheses();
    while (this.takeToken('[')) this.expectToken(']');
    return type;
  }

  private readSimple(): Json | ComputedValue {
    if (++this.depth > MAX_DEPTH) throw new SqlError('a value is nested too deeply');
    const value = this.readTerm();
    this.depth--;
    return value;
  }

  private readTerm(): Json | ComputedValue {
    const it = this.tokens[this.at];
    if (!it) throw new SqlError('the statement ends within a value');
    this.at++;
    if (it.kind === 'text') return it.text;
    if (it.kind === 'number') return Number(it.text);
    if (it.text === '-' || it.text === '+') {
      const value = this.readSimple();
      return typeof value === 'number' && it.text === '-' ? -value : value;
    }
    if (it.text === '(') {
      const value = this.readValue();
      this.expectToken(')');
      return value;
    }
    if (it.kind !== 'word' && it.kind !== 'name') throw new SqlError(`expected a value before '${it.text}'`, it.start);
    const next = this.tokens[this.at];
    if (it.text === 'null') return null;
    if (it.text === 'true' || it.text === 'false') return it.text === 'true';
    // A typed literal: json '{}'.
    if (next?.kind === 'text' && !['x', 'b'].includes(it.text)) {
      this.at++;
      return castTo(next.text, it.text);
    }
    if (next?.kind === 'text') this.at++;
    return this.takeToken('(') ? this.readCall(it.text) : new ComputedValue(it.text);
  }

  private readCall(name: string): Json | ComputedValue {
    if (name === 'cast') {
      const value = this.readCast();
      if (!this.takeToken('as')) throw new SqlError('CAST without a type');
      const type = this.readType();
      this.expectToken(')');
      return castTo(value, type);
    }
    const given: (Json | ComputedValue)[] = [];
    if (!this.takeToken(')')) {
      do given.push(this.readValue());
      while (this.takeToken(','));
      this.expectToken(')');
    }
    const [first, second, third] = given;
    const plain = given.every((it) => !(it instanceof ComputedValue));
    if (plain && given.length === 1 && (name === 'chr' || name === 'char') && typeof first === 'number' && first <= 0x10ffff) {
      return String.fromCodePoint(first);
    }
    if (plain && name === 'replace' && given.length === 3) return toSqlText(first).replaceAll(toSqlText(second), toSqlText(third));
    if (typeof first === 'string' && WRAPPERS.includes(name)) return castTo(first, name.replace('to_', ''));
    return new ComputedValue(`${name}()`);
  }

  private readName(): string {
    let name = this.tokens[this.at++]?.text ?? '';
    while (this.takeToken('.')) name = this.tokens[this.at++]?.text ?? '';
    return name.toLowerCase();
  }

  private readNames(): string[] {
    const names: string[] = [];
    do names.push(this.readName());
    while (this.takeToken(','));
    this.expectToken(')');
    return names;
  }

  /** Skips to the comma or parenthesis that ends the expression. */
  private skipExpression(): void {
    for (let it = this.tokens[this.at]; it && !endsValue(it); it = this.tokens[this.at]) {
      this.at++;
      if (it.kind === 'sign' && it.text === '(') this.skipParentheses();
    }
  }

  private skipParentheses(): void {
    for (let depth = 1; depth > 0 && this.at < this.tokens.length; this.at++) {
      const it = this.tokens[this.at];
      if (it?.kind === 'sign') depth += it.text === '(' ? 1 : it.text === ')' ? -1 : 0;
    }
  }

  private takeToken(...texts: string[]): boolean {
    const it = this.tokens[this.at];
    const found = it !== undefined && it.kind !== 'text' && it.kind !== 'name' && texts.includes(it.text);
    if (found) this.at++;
    return found;
  }

  private expectToken(text: string): void {
    const it = this.tokens[this.at];
    if (!this.takeToken(text)) throw new SqlError(it ? `expected '${text}' before '${it.text.slice(0, 20)}'` : `the statement ends before '${text}'`, it?.start);
  }
}

function endsValue({ kind, text }: SqlToken): boolean {
  return kind === 'sign' && (text === ',' || text === ')');
}

function castTo(value: Json | ComputedValue, type: string): Json | ComputedValue {
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

function toSqlText(value: Json | ComputedValue | undefined): string {
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}
