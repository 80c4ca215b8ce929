//! Queries on real SQLite files.

use convengine_core::turn::Map;

use super::guard::guard;
use super::*;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions};
use tempfile::TempDir;

mod postgres;

/// A database with a few rows, which another connection has open for writing.
struct Shop {
    folder: TempDir,
    writer: SqliteConnection,
    queries: ToolDatabase,
}

impl Shop {
    async fn open() -> Shop {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("shop.db").display());
        let options: SqliteConnectOptions = url.parse().expect("an address");
        let options = options.create_if_missing(true).journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
        let mut writer = options.connect().await.expect("a database");
        for sql in [
            "create table stock (item text, warehouse text, count integer, price real, photo blob, note text)",
            "insert into stock values ('running shoes', 'B', 421, 59.5, x'00ff10', null)",
            "insert into stock values ('running shoes', 'A', 7, 59.5, null, 'it''s; --')",
            "insert into stock values ('sandals', 'B', 12, 20.0, null, null)",
        ] {
            sqlx::query(sql).execute(&mut writer).await.expect("rows");
        }
        Shop { queries: ToolDatabase::from_url(&url).expect("queries"), folder, writer }
    }

    async fn ask(&self, request: &SqlRequest) -> Result<SqlReply, EffectError> {
        let secrets = Secrets::default();
        match execute(&self.queries, &secrets, request).await {
            EffectResult::Ok(Reply::Sql(reply)) => Ok(reply),
            EffectResult::Ok(other) => panic!("another kind of reply: {other:?}"),
            EffectResult::Error(error) => Err(error),
        }
    }

    async fn rows(&self, sql: &str, params: Value) -> Value {
        json!(self.ask(&request(sql, params)).await.expect(sql).rows)
    }

    async fn error(&self, sql: &str, params: Value) -> (EffectErrorKind, String) {
        let error = self.ask(&request(sql, params)).await.expect_err(sql);
        (error.kind, error.message)
    }
}

fn request(sql: &str, params: Value) -> SqlRequest {
    let params: Map = serde_json::from_value(params).expect("an object");
    SqlRequest {
        tool_code: "inventory.lookup".to_owned(),
        sql: sql.to_owned(),
        params,
        max_rows: 200,
        timeout_ms: 10_000,
        safe: true,
        engine_tables: false,
        repaired_from: None,
    }
}

#[tokio::test]
async fn lists_match_by_item() {
    let shop = Shop::open().await;
    let count = "select count(*) n from stock where";
    for (condition, items, expected) in [
        ("item in (:items)", json!(["sandals", "running shoes"]), 3),
        ("item in (:items) and count in (:counts)", json!(["sandals", "running shoes"]), 2),
        ("item in (:items)", json!("sandals"), 1),
        ("item in (:items)", json!([]), 0),
        ("item not in (:items)", json!([]), 3),
        ("item not in (:items)", json!(["sandals"]), 2),
        ("item in (:items, 'running shoes')", json!("sandals"), 3),
    ] {
        let rows = shop.rows(&format!("{count} {condition}"), json!({"items": items, "counts": [12, 7]})).await;
        assert_eq!(rows, json!([{"n": expected}]), "{condition}: {items}");
    }
}

#[tokio::test]
async fn a_lookup_returns_rows() {
    let shop = Shop::open().await;
    let sql = "select count from stock where item = :item and warehouse = :warehouse limit :limit";
    let params = json!({"item": "running shoes", "warehouse": "B", "limit": 5, "unused": [1]});
    assert_eq!(shop.rows(sql, params).await, json!([{"count": 421}]));
    assert_eq!(shop.rows("select count from stock where item = :item", json!({"item": "' or 1 = 1 --"})).await, json!([]));
    let (kind, message) = shop.error(sql, json!({"item": "x", "warehouse": "B"})).await;
    assert_eq!((kind, message.as_str()), (EffectErrorKind::Invalid, "the query needs a value for ':limit': give 'limit'"));
}

#[tokio::test]
async fn every_type_becomes_json() {
    let shop = Shop::open().await;
    let sql =
        "select *, count as item, 2 as item, 9e999 as much, 'x' || char(233) as text from stock where warehouse = 'B' and count > 100";
    assert_eq!(
        shop.rows(sql, json!({})).await,
        json!([{"item": "running shoes", "warehouse": "B", "count": 421, "price": 59.5, "photo": "AP8Q", "note": null,
            "item_2": 421, "item_3": 2, "much": "inf", "text": "xé"}])
    );
    let params = json!({"n": null, "b": true, "i": 5, "r": 0.5, "t": "a", "a": [1, "x"], "o": {"k": 1}});
    let sql = "select :n as n, :b as b, :i as i, :r as r, :t as t, :a as a, :o as o, typeof(:b) as kind";
    assert_eq!(
        shop.rows(sql, params).await,
        json!([{"n": null, "b": 1, "i": 5, "r": 0.5, "t": "a", "a": "[1,\"x\"]", "o": "{\"k\":1}", "kind": "integer"}])
    );
}

#[tokio::test]
async fn a_string_with_quotes_stays_a_string() {
    let shop = Shop::open().await;
    let sql = "select 'x\\'' union select sql from sqlite_master --' as a";
    assert_eq!(shop.rows(sql, json!({})).await, json!([{"a": "x\\' union select sql from sqlite_master --"}]));
    assert_eq!(shop.rows("(select note from stock where note is not null)", json!({})).await, json!([{"note": "it's; --"}]));
}

#[tokio::test]
async fn rows_and_bytes_are_limited() {
    let shop = Shop::open().await;
    let many = "with recursive c(n) as (select 1 union all select n + 1 from c) select n from c";
    let reply = shop.ask(&SqlRequest { max_rows: 3, ..request(many, json!({})) }).await.expect("rows");
    assert_eq!((json!(reply.rows), reply.truncated), (json!([{"n": 1}, {"n": 2}, {"n": 3}]), true));
    let all = shop.ask(&SqlRequest { max_rows: 3, ..request("select item from stock", json!({})) }).await.expect("rows");
    assert_eq!((all.rows.len(), all.truncated), (3, false));
    let wide = "with recursive c(n) as (select 1 union all select n + 1 from c) select :t as x from c";
    let reply = shop.ask(&request(wide, json!({"t": "x".repeat(100_000)}))).await.expect("rows");
    assert_eq!((reply.rows.len(), reply.truncated), (10, true));
    let (kind, message) = shop.error("select :t as x", json!({"t": "x".repeat(2_000_000)})).await;
    assert_eq!((kind, message.contains("first row")), (EffectErrorKind::Invalid, true), "{message}");
}

#[tokio::test]
async fn a_query_without_end_is_stopped() {
    let shop = Shop::open().await;
    let endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c";
    for _ in 0..2 * MAX_CONNECTIONS {
        let error = shop.ask(&SqlRequest { timeout_ms: 50, ..request(endless, json!({})) }).await.expect_err("no end");
        assert_eq!(
            (error.kind, error.message.as_str()),
            (EffectErrorKind::Timeout, "the query took longer than 50 ms; convengine.tools.sql-timeout is the limit")
        );
    }
    // Every connection can be used again, because none is still busy with an interrupted query.
    assert_eq!(shop.rows("select 1 as a", json!({})).await, json!([{"a": 1}]));
}

#[tokio::test]
async fn an_abandoned_query_is_stopped() {
    let shop = Shop::open().await;
    let endless = request("with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c", json!({}));
    let endless = SqlRequest { timeout_ms: 600_000, ..endless };
    for _ in 0..2 * MAX_CONNECTIONS {
        let result = tokio::time::timeout(Duration::from_millis(20), shop.ask(&endless)).await;
        assert!(result.is_err(), "the query has no end");
    }
    assert_eq!(shop.rows("select 1 as a", json!({})).await, json!([{"a": 1}]));
}

#[tokio::test]
async fn errors_say_what_is_wrong_without_the_statement() {
    let shop = Shop::open().await;
    let (kind, message) = shop.error("select amount from stock", json!({})).await;
    assert_eq!((kind, message.as_str()), (EffectErrorKind::Invalid, "the query cannot be run: no such column: amount"));
    let (kind, message) = shop.error("delete from stock", json!({})).await;
    assert_eq!((kind, message.starts_with("only queries are allowed")), (EffectErrorKind::Denied, true), "{message}");
    let nowhere = ToolDatabase::from_url(&format!("sqlite:{}", shop.folder.path().join("none.db").display())).expect("queries");
    let EffectResult::Error(error) = execute(&nowhere, &Secrets::default(), &request("select 1", json!({}))).await else {
        panic!("no error")
    };
    assert_eq!((error.kind, error.message.contains("unable to open")), (EffectErrorKind::Unavailable, true), "{error}");
}

#[tokio::test]
async fn the_connection_itself_cannot_write() {
    let mut shop = Shop::open().await;
    let ToolDatabase::Sqlite(pool) = &shop.queries else { panic!("another database") };
    let mut connection = pool.acquire().await.expect("a connection");
    for sql in ["insert into stock (item) values ('x')", "create table t (a)", "create temp table t (a)"] {
        assert!(sqlx::query(sql).execute(&mut *connection).await.is_err(), "{sql}");
    }
    sqlx::query("pragma query_only = off").execute(&mut *connection).await.expect("a pragma");
    assert!(sqlx::query("insert into stock (item) values ('x')").execute(&mut *connection).await.is_err());
    let count: i64 = sqlx::query_scalar("select count(*) from stock").fetch_one(&mut shop.writer).await.expect("a count");
    assert_eq!(count, 3);
}

#[tokio::test]
async fn queries_do_not_wait_for_writers() {
    let mut shop = Shop::open().await;
    sqlx::query("begin immediate").execute(&mut shop.writer).await.expect("a transaction");
    sqlx::query("delete from stock").execute(&mut shop.writer).await.expect("no rows");
    assert_eq!(shop.rows("select count(*) as n from stock", json!({})).await, json!([{"n": 3}]));
    sqlx::query("commit").execute(&mut shop.writer).await.expect("a commit");
    assert_eq!(shop.rows("select count(*) as n from stock", json!({})).await, json!([{"n": 0}]));
}

#[tokio::test]
async fn a_database_that_is_locked_is_busy() {
    let mut shop = Shop::open().await;
    sqlx::query("pragma journal_mode = delete").execute(&mut shop.writer).await.expect("another journal");
    sqlx::query("begin exclusive").execute(&mut shop.writer).await.expect("a lock");
    let options: SqliteConnectOptions = format!("sqlite:{}", shop.folder.path().join("shop.db").display()).parse().expect("an address");
    let options = options.read_only(true).busy_timeout(Duration::ZERO);
    let queries = ToolDatabase::Sqlite(SqlitePoolOptions::new().connect_lazy_with(options));
    let EffectResult::Error(error) = execute(&queries, &Secrets::default(), &request("select * from stock", json!({}))).await else {
        panic!("no error")
    };
    assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Unavailable, "the database of tools is busy"));
}

#[tokio::test]
async fn rows_and_errors_contain_no_secrets() {
    let shop = Shop::open().await;
    let mut secrets = Secrets::default();
    secrets.add("crm", "hunter2hunter2");
    let text = |answer: EffectResult| format!("{answer:?}");
    let rows = execute(&shop.queries, &secrets, &request("select 'x hunter2hunter2 y' as a", json!({}))).await;
    assert!(text(rows).contains("x [secret:crm] y"));
    let error = execute(&shop.queries, &secrets, &request("select hunter2hunter2 from stock", json!({}))).await;
    assert!(text(error).contains("no such column: [secret:crm]"));
}

#[tokio::test]
async fn rendered_queries_return_the_same_rows() {
    let mut shop = Shop::open().await;
    for sql in [
        "select item, sum(count) as n from stock group by item having sum(count) > 10 order by n desc, item limit 5 offset 0",
        "select distinct [item] from stock s where exists (select 1 from stock t where t.item = s.item and t.warehouse <> s.warehouse)",
        "select item, row_number() over (partition by warehouse order by count desc) as place from stock order by item, place",
        "with b as (select * from stock where warehouse = 'B') select count(*) filter (where price > 30) as n from b",
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 5) select group_concat(n, ';') as all_n from c",
        "select s.item, t.count from stock s left join stock t on t.item = s.item and t.warehouse = 'A' order by 1, 2",
        "select item from stock where note is distinct from 'x' and item like 'run%' escape '!' and count between 1 and 500 order by 1",
        "select case when count > 100 then 'many' else 'few' end as much, -count, not count, ~count, count % 5, count * 1.5 from stock order by 2",
        "select cast(price as integer) as p, coalesce(note, 'it''s') as n, x'00ff' as b, 1e3 as e, 0.5 as h, null as z from stock order by 1, 2",
        "select json_extract('{\"a\":[1,2]}', '$.a[1]') as a, '{\"b\":3}' ->> '$.b' as b, value from json_each('[7,8]')",
        "select item from stock where (item, warehouse) in (select item, warehouse from stock) and item not in ('a', 'b') order by rowid",
        "select item collate nocase as i from stock union select 'X' except select 'sandals' intersect select 'X' order by 1 desc",
        "values (1, 'a'), (2, 'b''c')",
        "select substr(item, 1, 3), upper(item), length(item), replace(item, ' ', '_'), trim(item), instr(item, 's') from stock order by 1, 2",
        "select strftime('%Y', '2026-03-04') as y, date('2026-03-04', '+1 day') as d, round(2.567, 1) as r, max(1, 2) as m",
        "select \"item\" as \"a b\", `count` as \"c\"\"d\" from main.stock where item glob 'r*' or item = 'x' || 'y' order by count",
        "select 'ends with \\' as a, 'in the \\'' middle' as b, '''' as c, '' as d, 'tab\tand\nline' as e",
        "select (select max(count) from stock) as m, 1 + (2 - 3) * 4 as n, 1 - (2 - 3) as o, 8 / (4 / 2) as p, not (1 and 0) or 0 as q",
        "select price, min(count), avg(count), total(count) from stock group by price, price > 30 order by price nulls last",
        "select * from (select item, count from stock order by count desc limit 1) x cross join (select 1 as one) y",
    ] {
        let guarded = guard(sql, Dialect::Sqlite, Permissions::new(true, false)).expect(sql);
        let written = sqlx::query(sql).fetch_all(&mut shop.writer).await.expect(sql);
        let printed = sqlx::query(AssertSqlSafe(guarded.sql.clone())).fetch_all(&mut shop.writer).await.expect(&guarded.sql);
        assert!(!written.is_empty(), "{sql}");
        assert_eq!(values(&written), values(&printed), "{sql}\n{}", guarded.sql);
    }
}

/// The values of rows; the names of columns without an alias follow how the statement is written.
fn values(rows: &[sqlx::sqlite::SqliteRow]) -> Vec<Vec<Value>> {
    let secrets = Secrets::default();
    let mut all = RowCollector::new(200, &secrets);
    rows.iter().for_each(|row| assert!(all.push(sqlite::read_cells(row).expect("a row")).expect("a row")));
    all.into_reply().rows.into_iter().map(|row| row.into_iter().map(|cell| cell.1).collect()).collect()
}

#[tokio::test]
async fn views_show_no_tables_of_the_engine() {
    let mut shop = Shop::open().await;
    for sql in [
        "create table ce_conversation (text text)",
        "insert into ce_conversation values ('private')",
        "create view talks as select text from ce_conversation",
        "create view deep as select * from talks t join stock s on true",
        "create view \"Ü\" as select text from ce_conversation",
        "create virtual table words using fts5(text, content='ce_conversation')",
        "create view shoes as with ce as (select * from stock) select item from ce where item like '%shoes'",
    ] {
        sqlx::query(sql).execute(&mut shop.writer).await.expect(sql);
    }
    for view in ["talks", "DEEP", "(select * from deep)", "\"Ü\"", "words"] {
        let (kind, message) = shop.error(&format!("select * from {view}"), json!({})).await;
        assert_eq!((kind, message.contains("ce_conversation")), (EffectErrorKind::Denied, true), "{view}: {message}");
    }
    assert_eq!(shop.rows("select count(*) n from shoes", json!({})).await, json!([{"n": 2}]));
    let allowed = SqlRequest { engine_tables: true, ..request("select * from talks", json!({})) };
    assert_eq!(json!(shop.ask(&allowed).await.expect("rows").rows), json!([{"text": "private"}]));
}
