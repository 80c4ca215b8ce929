//! What the guard accepts and refuses, in both dialects.

use super::*;

fn sqlite(sql: &str) -> Result<GuardedQuery, String> {
    guard(sql, Dialect::Sqlite, Permissions::new(true, false))
}

fn postgres(sql: &str) -> Result<GuardedQuery, String> {
    guard(sql, Dialect::Postgres, Permissions::new(true, false))
}

fn assert_accepted(sql: &str, dialects: &[Dialect]) {
    for dialect in dialects {
        let guarded = guard(sql, *dialect, Permissions::new(true, false));
        assert!(guarded.is_ok(), "{dialect:?} refuses {sql}: {guarded:?}");
    }
}

fn assert_refused(sql: &str, dialects: &[Dialect]) {
    for (dialect, safe) in dialects.iter().flat_map(|it| [(*it, true), (*it, false)]) {
        let guarded = guard(sql, dialect, Permissions::new(safe, false));
        assert!(guarded.is_err(), "{dialect:?} (safe {safe}) accepts {sql}: {guarded:?}");
    }
}

const BOTH: [Dialect; 2] = [Dialect::Sqlite, Dialect::Postgres];

#[test]
fn what_the_original_missed_is_refused() {
    for sql in [
        "select 'a--b'; drop table t",
        "select '/*'; drop table t; select '*/'",
        "select pg_read_file('/etc/passwd')",
        "select set_config('a', 'b', false)",
        "select * from t for share",
        "select * from t for update",
        "select * from (select * from t for update) x",
    ] {
        assert_refused(sql, &BOTH);
    }
}

#[test]
fn what_the_original_refused_wrongly_is_accepted() {
    for sql in [
        "select 'please update me'",
        "select comment from t",
        "select 'a;b'",
        "select 'into' from t",
        "(select 1)",
        "select*from t",
        "values (1)",
        "select 1;",
        "select \"delete\" from t -- drop table t",
    ] {
        assert_accepted(sql, &BOTH);
    }
}

#[test]
fn other_statements_are_refused() {
    for sql in [
        "",
        "  ",
        "-- nothing",
        ";",
        "not sql at all",
        "select 1; select 2",
        "explain select 1",
        "table t",
        "select * from (table t) x",
        "insert into t values (1)",
        "update t set a = 1",
        "delete from t",
        "replace into t values (1)",
        "merge into t using s on t.a = s.a when matched then delete",
        "create table t (a int)",
        "create table t as select 1",
        "drop table t",
        "alter table t add column a int",
        "truncate table t",
        "pragma query_only = off",
        "pragma table_info(t)",
        "attach database 'x' as y",
        "vacuum",
        "vacuum into 'x'",
        "reindex",
        "begin",
        "commit",
        "set role admin",
        "show all",
        "copy t to stdout",
        "call p()",
        "do 'x'",
        "grant all on t to u",
        "select * into new from t",
        "select 1 union select * into new from t",
        "prepare p as select 1",
        "execute p",
        "lock table t",
        "analyze t",
        "declare c cursor for select 1",
        "listen x",
    ] {
        assert_refused(sql, &BOTH);
    }
}

#[test]
fn a_query_that_writes_is_refused_at_any_depth() {
    for sql in [
        "with x as (delete from t returning *) select * from x",
        "with x as (insert into t values (1) returning *) select * from x",
        "with x as (update t set a = 1 returning *) select * from x",
        "with x as (with y as (delete from t returning *) select * from y) select * from x",
        "select * from (with y as (delete from t returning *) select * from y) z",
        "select 1 where exists (with y as (delete from t returning a) select * from y)",
        "select 1 union all (with y as (delete from t returning a) select * from y)",
        "select (with y as (update t set a = 2 returning a) select a from y)",
        "select 1 order by (with y as (delete from t returning a) select a from y)",
        "select 1 limit (with y as (delete from t returning a) select a from y)",
        "with x as (select 1) delete from t",
    ] {
        assert_refused(sql, &BOTH);
    }
}

#[test]
fn functions_with_side_effects_are_refused_everywhere() {
    for sql in [
        "select load_extension('x')",
        "select LOAD_EXTENSION('x')",
        "select \"load_extension\"('x')",
        "select pg_catalog.pg_sleep(10)",
        "select a from t where pg_sleep(1) is null",
        "select a from t order by nextval('s')",
        "select count(*) filter (where lo_import('x') > 0) from t",
        "select sum(a) over (order by setval('s', 1)) from t",
        "select case when dblink_exec('x') = '' then 1 end",
        "select cast(randomblob(1000000000) as text)",
        "select zeroblob(1000000000)",
        "select * from pg_ls_dir('.')",
        "select * from readfile('x') y",
        "select query_to_xml('delete from t', true, true, '')",
        "select * from generate_series(1, 1000000000)",
        "select (select pg_terminate_backend(1))",
        "select 1 from t join u on pg_advisory_lock(1) is null",
        "select 1 group by set_config('a', 'b', true) having lo_unlink(1) = 1",
        "select a from t limit pg_backend_pid()",
        "values (pg_reload_conf())",
        "select other.upper('x')",
        "select a.pg_catalog.upper('x')",
    ] {
        assert_refused(sql, &BOTH);
    }
    let unknown = "select my_own(a) from t";
    assert_eq!(
        sqlite(unknown).unwrap_err(),
        "the function 'my_own' is not allowed: it is not known to have no effect; turn safe_mode off if it is yours"
    );
    assert!(guard(unknown, Dialect::Sqlite, Permissions::new(false, false)).is_ok());
}

#[test]
fn safe_functions_are_accepted_in_any_case() {
    for sql in [
        "select COALESCE(max(a), 0), Upper(b), pg_catalog.lower(c) from t group by b, c",
        "select ifnull(a, 1), iif(a > 1, 'x', 'y'), instr(b, 'c'), hex(a), group_concat(b, ',') from t",
        "select json_extract(a, '$.x'), a ->> '$.y' from t, json_each(t.a) e where e.value > 1",
        "select row_number() over (partition by a order by b desc rows between 1 preceding and current row) from t",
        "select count(*), count(distinct a), sum(a) filter (where a > 1) from t",
        "select current_date, current_timestamp, strftime('%Y', a), date('now', '-1 day') from t",
        "select cast(a as integer), cast(b as numeric(10, 2)), trim(both 'x' from c), substring(c, 1, 2) from t",
        "select date_trunc('day', a), to_char(a, 'YYYY'), split_part(b, ',', 1), string_agg(c, ';') from t group by a, b",
    ] {
        assert_accepted(sql, &BOTH);
    }
}

#[test]
fn common_queries_are_accepted() {
    for sql in [
        "with t as (select 1 as a) select * from t",
        "with a as (with a as (select 1 as x) select x from a) select x from a",
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 10) select n from c",
        "select a.* from t a join lateral (select * from u where u.id = a.id limit 1) b on true",
        "select extract(year from d) from t",
        "select 1 where a is distinct from b and c is not distinct from d",
        "select \"A b\", \"c\"\"d\" from \"My Table\" as \"x\"",
        "select 1 /* one */ -- two\n, 2",
        "select a from t union select b from u except select c from v intersect select d from w order by 1 limit 3 offset 2",
        "select a from t where (a, b) in (select c, d from u) and e not like 'x%' escape '\\' and f between 1 and 2",
        "select case a when 1 then 'x' else 'y' end from t where not exists (select 1 from u)",
        "select * from main_orders o left join items i using (order_id) where o.total >= 10.5 and i.name is not null",
        "select 'it''s', '\\', 'a\\b', 'ends with \\'",
    ] {
        assert_accepted(sql, &BOTH);
    }
    for sql in [
        "select $$it's; drop table t$$, $tag$ $$ $tag$",
        "select E'it\\'s; drop table t', e'a\\nb'",
        "select 1 /* a /* nested; drop table t */ comment */",
        "select a::text, b::numeric(10,2) from t where c ilike 'x' and d = any(array[1, 2]) limit 5",
        "select d at time zone 'UTC', interval '1 day', date '2026-01-01' from t fetch first 3 rows only",
        "select distinct on (a) a, b from public.t order by a, b nulls last",
    ] {
        assert_accepted(sql, &[Dialect::Postgres]);
    }
    for sql in ["select [a b], `c` from [my table] where x glob 'y*'", "select * from docs where docs match 'x'", "select 1 limit 2, 3"] {
        assert_accepted(sql, &[Dialect::Sqlite]);
    }
}

#[test]
fn system_tables_are_refused() {
    for sql in [
        "select * from sqlite_master",
        "select * from SQLITE_SCHEMA",
        "select * from sqlite_temp_master",
        "select * from temp.t",
        "select * from other.t",
        "select * from main.sqlite_master",
        "select * from pragma_table_info('x')",
        "select * from pragma_database_list",
        "select * from t, dbstat",
        "select (select count(*) from \"sqlite_sequence\")",
        "select a from t where a in (select sql from [sqlite_master])",
    ] {
        assert_refused(sql, &[Dialect::Sqlite]);
    }
    for sql in
        ["select * from pg_shadow", "select * from pg_catalog.pg_authid", "select * from information_schema.tables", "select * from a.b.c"]
    {
        assert_refused(sql, &[Dialect::Postgres]);
    }
    for sql in ["select hex(value) from cs_secret", "select * from t where a in (select value from \"CS_Secret\")", "table cs_deployment"] {
        assert_refused(sql, &BOTH);
    }
    assert_accepted("select * from main.t", &[Dialect::Sqlite]);
    assert_accepted("select * from sales.orders", &[Dialect::Postgres]);
}

#[test]
fn clauses_and_operators_of_other_databases_are_refused() {
    for sql in [
        "select a from t where a operator(evil.+) b",
        "select top 3 * from t",
        "select * from t tablesample system (10)",
        "select * from t where a = (select 1 for no key update)",
    ] {
        assert_refused(sql, &[Dialect::Postgres]);
    }
    assert!(postgres("select current_user").is_err());
}

#[test]
fn the_rendered_query_is_the_checked_one() {
    let printed = |sql: &str, dialect| guard(sql, dialect, Permissions::new(true, false)).expect(sql).sql;
    for (sql, expected) in [
        ("select 1 /* ; drop */ -- x", "SELECT 1"),
        ("((select 1))", "SELECT 1"),
        ("select [a`b] from [t]", "SELECT `a``b` FROM `t`"),
        ("select 'a''b', 'a''''b', ''''", "SELECT 'a''b', 'a''''b', ''''"),
        // A quote after a backslash is not escaped: the rest must stay inside the string.
        ("select 'x\\'' union select sql from sqlite_master --'", "SELECT 'x\\'' union select sql from sqlite_master --'"),
        ("select \"a\\\"\", drop table t --\" from t", "SELECT \"a\\\"\", drop table t --\" FROM t"),
    ] {
        assert_eq!(printed(sql, Dialect::Sqlite), expected);
    }
    // Two minus signs in a row would be rendered as a comment, which would swallow the rest.
    assert!(sqlite("select - - 1 from t where a = 1").is_err());
    assert_eq!(printed("select 1 - -1, -(-1)", Dialect::Sqlite), "SELECT 1 - -1, -(-1)");
    for (sql, expected) in [
        ("select $x$it's; --$x$", "SELECT 'it''s; --'"),
        ("select E'a\\'b\\nc\\\\'", "SELECT 'a''b\nc\\'"),
        ("select /*+ SeqScan(t) */ 1", "SELECT 1"),
        ("select $a$\\'; delete from t; --$a$", "SELECT '\\''; delete from t; --'"),
    ] {
        assert_eq!(printed(sql, Dialect::Postgres), expected);
    }
}

#[test]
fn parameters_are_named_and_numbered() {
    let guarded = sqlite("select a from t where b = :b and c > :c_2 + :b and d in (:d, upper(:e)) limit :limit").unwrap();
    assert_eq!(guarded.sql, "SELECT a FROM t WHERE b = $1 AND c > $2 + $1 AND d IN ($3, upper($4)) LIMIT $5");
    let names: Vec<&str> = guarded.params.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["b", "c_2", "d", "e", "limit"]);
    assert_eq!(postgres("select :a::text").unwrap().sql, "SELECT $1::TEXT");
    assert_eq!(sqlite("select ':a', \":b\" from t").unwrap().params, []);
    let guarded = sqlite("select a from t where a not in (:a) and b = :a").unwrap();
    assert_eq!(guarded.sql, "SELECT a FROM t WHERE a NOT IN (SELECT value FROM json_each($1)) AND b = $2");
    let param = |list| Param { name: "a".to_owned(), list };
    assert_eq!(guarded.params, [param(true), param(false)]);
    let guarded = postgres("select a from t where a in (:a) or a + 1 not in (:a) or b = :a").unwrap();
    assert_eq!(guarded.sql, "SELECT a FROM t WHERE (a = ANY($1)) OR (a + 1 <> ALL($1)) OR b = $2");
    assert_eq!(guarded.params, [param(true), param(false)]);
    let values = serde_json::from_str(r#"{"none": null, "empty": []}"#).unwrap();
    let sql = "select :none from t where a in (:none) or a in (:empty) or a not in (:empty) or a = :a";
    let guarded = guard_with_values(sql, Dialect::Postgres, Permissions::new(true, false), &values).unwrap();
    assert_eq!(guarded.sql, "SELECT NULL FROM t WHERE a IN (NULL) OR false OR true OR a = $1");
    assert_eq!(guarded.params, [param(false)]);
    assert_eq!(sqlite("select * from t where a = ?").unwrap_err(), "the value '?' has no name: write it as :name");
    for sql in ["select ?1", "select $1", "select @x", "select :1"] {
        assert_refused(sql, &[Dialect::Sqlite]);
    }
    assert_refused("select $1", &[Dialect::Postgres]);
}

#[test]
fn size_and_depth_are_bounded() {
    assert!(sqlite(&format!("select '{}'", "é".repeat(MAX_CHARS - 9))).is_ok());
    assert!(sqlite(&format!("select '{}'", "é".repeat(MAX_CHARS - 8))).unwrap_err().contains("20000 characters"));
    assert!(sqlite(&format!("select 1{}", "+1".repeat(990))).is_ok());
    assert!(sqlite(&format!("select 1{}", "+1".repeat(5000))).unwrap_err().contains("operators"));
    assert!(sqlite(&format!("select 1 where a in ({}1)", "1,".repeat(5000))).is_ok());
    assert!(sqlite(&format!("select 1{}", " union select 1".repeat(1000))).is_err());
    assert!(sqlite(&format!("select {}1{}", "(".repeat(5000), ")".repeat(5000))).is_err());
    assert!(sqlite(&format!("select {}1{}", "(select ".repeat(60), ")".repeat(60))).is_err());
    assert!(sqlite(&format!("select {}1", "- ".repeat(900))).is_err());
}

#[test]
fn nul_characters_are_refused() {
    assert_refused("select 'a\0'; drop table t", &BOTH);
    assert_refused("select 1 \0 from t", &BOTH);
}

#[test]
fn tables_of_the_engine_are_refused_unless_the_row_allows_them() {
    for table in ["ce_conversation", "CV_document", "main.cs_session", "\"ce_Audit\"", "cs_session x join t on true"] {
        let sql = format!("select * from {table}");
        let nested = format!("with x as (select 1) select (select count(*) from {table}) from x");
        let table = if table.starts_with("main") { &BOTH[..1] } else { &BOTH };
        assert_refused(&sql, table);
        assert_refused(&nested, table);
        for dialect in table {
            assert!(guard(&sql, *dialect, Permissions::new(true, true)).is_ok(), "{sql}");
        }
    }
    assert_refused("select * from public.ce_turn", &BOTH[1..]);
    for table in ["cs_secret", "cs_deployment", "cv_api_key", "cs_resume_token", "pg_class", "sqlite_master"] {
        let sql = format!("select * from {table}");
        let dialects = if table == "sqlite_master" { &BOTH[..1] } else { &BOTH };
        assert_refused(&sql, if table == "pg_class" { &BOTH[1..] } else { dialects });
        let dialect = if table == "sqlite_master" { Dialect::Sqlite } else { Dialect::Postgres };
        assert!(guard(&sql, dialect, Permissions::new(true, true)).is_err(), "{table}");
    }
    assert_accepted("select ce_id from price where cs_code = 1", &BOTH);
}

#[test]
fn a_repaired_query_keeps_to_the_tables_of_its_template() {
    let repaired = |template: &str, sql: &str| {
        let permissions = Permissions { repaired_from: Some(template), ..Permissions::new(true, false) };
        BOTH.map(|dialect| guard(sql, dialect, permissions).is_ok()) == [true, true]
    };
    let template = "select nme from stock s join price p on p.id = s.id where s.id = :id";
    assert!(repaired(template, "select name from Stock where id = :id"));
    assert!(repaired(template, "with s as (select * from stock) select name from s, price"));
    for sql in [
        "select name from orders",
        "select name from stock, (select * from orders) o",
        "with price as (select 1) select * from orders",
        "with orders as (select * from orders) select * from orders",
        "select * from (with orders as (select 1) select * from orders) a, orders",
        "select name from other.stock",
    ] {
        assert!(!repaired(template, sql), "{sql}");
    }
    assert!(!repaired("with orders as (select 1 a) select b from orders", "select a from orders"));
}
