import { describe, expect, it } from 'vitest';
import { fromSql } from '../../src/pack/sql';

const rows = (values: string, columns = 'a, b') => fromSql(`insert into ce_x (${columns}) values ${values};`).tables['ce_x'];
const value = (it: string) => rows(`(${it}, 0)`)?.[0]?.['a'];

describe('fromSql', () => {
  it('reads the script of a schema', () => {
    const text = `-- seeds; not a statement
/* insert into ce_no (a) values (1); */
begin;
insert into ce_intent (intent_code, description, enabled, priority) values
  ('ORDER', 'It''s; about -- an order', true, 10),
  ('LOAN', null, false, -1.5);
INSERT INTO public."ce_intent" ("intent_code", created_at) VALUES ('X', now()) ON CONFLICT (intent_code) DO NOTHING;
insert into other_table (a) values (1);
commit;`;
    expect(fromSql(text)).toEqual({
      tables: {
        ce_intent: [
          { intent_code: 'ORDER', description: "It's; about -- an order", enabled: true, priority: 10 },
          { intent_code: 'LOAN', description: null, enabled: false, priority: -1.5 },
          { intent_code: 'X' },
        ],
      },
      notes: [
        "Values of 'created_at' in 'ce_intent' were omitted: they are computed by now().",
        '3 other statements were skipped: only INSERT … VALUES is supported.',
      ],
    });
  });

  it('reads a dump of PostgreSQL', () => {
    const text = `\\restrict abc
SET client_encoding = 'UTF8';
CREATE FUNCTION f() RETURNS text AS $body$ insert into ce_no (a) values (';'); $body$ LANGUAGE sql;
COPY public.ce_rule (rule_id, action) FROM stdin;
1	it's ; here
\\.
INSERT INTO public.ce_output_schema (schema_id, json_schema, note) VALUES (1, '{"type": "object"}'::jsonb, E'a\\n\\u00e9\\\\''b'::character varying(20));
SELECT pg_catalog.setval('public.x', 1, true);`;
    const { tables, notes } = fromSql(text);
    expect(tables).toEqual({ ce_output_schema: [{ schema_id: 1, json_schema: { type: 'object' }, note: "a\né\\'b" }] });
    expect(notes).toEqual(['line 4: COPY … FROM stdin is not supported: dump with --column-inserts.', '3 other statements were skipped: only INSERT … VALUES is supported.']);
  });

  it('reads a dump of SQLite, which names no columns', () => {
    const text = `PRAGMA foreign_keys=OFF;
CREATE TABLE IF NOT EXISTS "ce_policy" (policy_id INTEGER PRIMARY KEY, "rule_type" TEXT DEFAULT (lower(',)')), pattern TEXT NOT NULL DEFAULT ',', PRIMARY KEY (policy_id), CHECK (a > 1));
INSERT INTO ce_policy VALUES(1,'REGEX',replace('a\\nb','\\n',char(10)));`;
    const { tables, notes } = fromSql(text);
    expect(tables).toEqual({ ce_policy: [{ policy_id: 1, rule_type: 'REGEX', pattern: 'a\nb' }] });
    expect(notes).toHaveLength(1);
    expect(fromSql('insert or replace into ce_y values (1)').notes).toEqual(["line 1: INSERT INTO 'ce_y' names no columns and has no preceding CREATE TABLE."]);
  });

  it('reads a script of Oracle', () => {
    const text = `REM INSERTING into CE_RULE
SET DEFINE OFF;
Insert into CE_RULE (RULE_ID,MATCH_PATTERN,CREATED_AT,NOTE) values (1,'a' || CHR(10) || q'[it's]',to_timestamp('01-01-26','DD-MM-RR'),TO_CLOB('x') || n'y');
/
Insert into CE_RULE (RULE_ID) values (2);
`;
    expect(fromSql(text)).toEqual({
      tables: { ce_rule: [{ rule_id: 1, match_pattern: "a\nit's", note: 'xy' }, { rule_id: 2 }] },
      notes: ["Values of 'created_at' in 'ce_rule' were omitted: they are computed by to_timestamp().", '1 other statement was skipped: only INSERT … VALUES is supported.'],
    });
  });

  it('reads every form of value', () => {
    expect(['1', '.5', '-2e3', "''", "'a''b'", 'TRUE', 'Null', "('x')", "cast('[1]' as json)", "json '{\"a\": 1}'", "'5'::int", "'t'::boolean", "'{broken'::jsonb", '$$it\'s$$', "'a' || 1"].map(value)).toEqual([
      1, 0.5, -2000, '', "a'b", true, null, 'x', [1], { a: 1 }, 5, true, '{broken', "it's", 'a1',
    ]);
    for (const calculated of ['now()', 'current_timestamp', "x'ff'", "now() - interval '1 day'", 'default', '(select max(a) from b)', "'a' || f(',')"]) {
      expect([calculated, rows(`(${calculated}, 0)`)]).toEqual([calculated, [{ b: 0 }]]);
    }
  });

  it('skips tables that are not part of a pack', () => {
    const { tables, notes } = fromSql("insert into ce_conversation (a) values ('private'); insert into cv_api_key (a) values ('secret')");
    expect(tables).toEqual({});
    expect(notes).toEqual(["Rows of 'ce_conversation' were skipped: they are not part of a pack.", "Rows of 'cv_api_key' were skipped: they are not part of a pack."]);
  });

  it('reports the line of invalid statements and continues', () => {
    const text = "insert into ce_x (a, b) values\n(1);\ninsert into ce_x (a) select 1;\ninsert into ce_x (a) values (=);\ninsert into ce_x (a) values (1;\ninsert all into ce_x (a) values (1);\ninsert into ce_x (a) values (7);\ninsert into ce_x (a) values ('open";
    const { tables, notes } = fromSql(text);
    expect(tables).toEqual({ ce_x: [{ a: 7 }] });
    expect(notes).toEqual([
      "line 2: a row of 'ce_x' has 1 value for 2 columns.",
      "line 3: INSERT INTO 'ce_x' has no VALUES: only INSERT … VALUES is supported.",
      "line 4: expected a value before '='.",
      "line 5: the statement ends before ')'.",
      'line 6: expected INSERT INTO: multi-table inserts are not supported.',
      "line 8: expected a value before '''.",
    ]);
  });

  it('is fast for hostile texts', () => {
    for (const part of ["'", '/*', '$a$', '"', "e'\\", '(', "''", 'insert into ce_x (a) values (', "q'["]) fromSql(part.repeat(20_000));
    fromSql(`insert into ce_x (a) values (${'('.repeat(100_000)}`);
    expect(rows(`(${'- '.repeat(100_000)}1, 0)`)).toBeUndefined();
  }, 20_000);
});
