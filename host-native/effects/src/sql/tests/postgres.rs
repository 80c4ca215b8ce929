//! Queries on a real PostgreSQL server, as a superuser.

use convengine_storage::testing::empty_postgres;

use super::*;
use sqlx::{Connection as _, PgConnection};

/// A database with a few rows, which another connection has open for writing.
struct Stock {
    url: String,
    writer: PgConnection,
    queries: ToolDatabase,
}

const ROWS: [&str; 6] = [
    "create type colour as enum ('red', 'blue')",
    "create table stock (item text, warehouse text, count int, price numeric(9, 2), photo bytea, note text, day date, id uuid)",
    "insert into stock values ('running shoes', 'B', 421, 59.5, '\\x00ff10', null, '2026-03-04', '6f1c4f3e-0000-4000-8000-000000000001')",
    "insert into stock values ('running shoes', 'A', 7, 59.5, null, 'it''s; --', '2026-03-05', null)",
    "insert into stock values ('sandals', 'B', 12, 20.0, null, null, null, null)",
    "create sequence s",
];

impl Stock {
    async fn open() -> Stock {
        let url = empty_postgres().await;
        let mut writer = PgConnection::connect(&url).await.expect("a connection");
        for sql in ROWS {
            sqlx::query(sql).execute(&mut writer).await.expect("rows");
        }
        Stock { queries: ToolDatabase::from_url(&url).expect("queries"), url, writer }
    }

    async fn ask(&self, request: &SqlRequest) -> Result<SqlReply, EffectError> {
        match execute(&self.queries, &Secrets::default(), request).await {
            EffectResult::Ok(Reply::Sql(reply)) => Ok(reply),
            EffectResult::Ok(other) => panic!("another kind of reply: {other:?}"),
            EffectResult::Error(error) => Err(error),
        }
    }

    async fn rows(&self, sql: &str, params: Value) -> Value {
        json!(self.ask(&request(sql, params)).await.unwrap_or_else(|it| panic!("{sql}: {it}")).rows)
    }

    async fn error(&self, sql: &str, params: Value) -> (EffectErrorKind, String) {
        let error = self.ask(&request(sql, params)).await.expect_err(sql);
        (error.kind, error.message)
    }

    /// Returns the stored rows, relations, sequence values and large objects.
    async fn dump(&mut self) -> Vec<String> {
        let sql = "select stock::text from stock union all select relname::text from pg_class where relnamespace = 'public'::regnamespace
                   union all select 's ' || last_value || is_called from s union all select oid::text from pg_largeobject_metadata order by 1";
        sqlx::query_scalar(sql).fetch_all(&mut self.writer).await.expect("rows")
    }

    /// Counts the tool connections that are still running a query.
    async fn count_running(&mut self) -> i64 {
        let sql = "select count(*) from pg_stat_activity
                   where datname = current_database() and application_name = 'convengine tools' and state <> 'idle'";
        sqlx::query_scalar(sql).fetch_one(&mut self.writer).await.expect("a count")
    }
}

#[tokio::test]
async fn a_lookup_returns_rows() {
    let shop = Stock::open().await;
    let sql = "select count from stock where item = :item and warehouse = :warehouse order by count limit :limit";
    let params = json!({"item": "running shoes", "warehouse": "B", "limit": 5, "unused": [1]});
    assert_eq!(shop.rows(sql, params).await, json!([{"count": 421}]));
    assert_eq!(shop.rows("select count from stock where item = :item", json!({"item": "' or 1 = 1 --"})).await, json!([]));
    let (kind, message) = shop.error(sql, json!({"item": "x", "warehouse": "B"})).await;
    assert_eq!((kind, message.as_str()), (EffectErrorKind::Invalid, "the query needs a value for ':limit': give 'limit'"));
    // Names of the query do not clash with those of the wrapping query.
    assert_eq!(shop.rows("with q as (select 5 as j), r as (select j from q) select j from r", json!({})).await, json!([{"j": 5}]));
}

#[tokio::test]
async fn lists_match_by_item() {
    let shop = Stock::open().await;
    let count = "select count(*) n from stock where";
    for (condition, items, expected) in [
        ("item in (:items)", json!(["sandals", "running shoes"]), 3),
        ("item in (:items) and count in (:counts)", json!(["sandals", "running shoes"]), 2),
        ("item in (:items)", json!("sandals"), 1),
        ("item in (:items)", json!([]), 0),
        ("not item in (:items)", json!([]), 3),
        ("item not in (:items)", json!([]), 3),
        ("count not in (:items) or count = 7", json!([]), 3),
        ("item not in (:items)", json!(["sandals"]), 2),
        ("item in (:items, 'running shoes')", json!("sandals"), 3),
        ("count + 0 in (:items)", json!([7, 12, 13]), 2),
        ("count in (:items)", json!([7.0, 12.5]), 1),
        ("count in (:items)", json!([7, null]), 1),
        ("note in (:items)", json!([null]), 0),
        ("count in (:items)", json!(null), 0),
        ("count not in (:items)", json!(null), 0),
        ("not (count in (:items) = true)", json!([7]), 2),
        ("(count > 10) in (:items)", json!([true]), 2),
        ("count in (7, 12, 13) and not (note in (:items))", json!(["x"]), 1),
    ] {
        let rows = shop.rows(&format!("{count} {condition}"), json!({"items": items, "counts": [12, 7]})).await;
        assert_eq!(rows, json!([{"n": expected}]), "{condition}: {items}");
    }
}

#[tokio::test]
async fn every_type_becomes_json() {
    let shop = Stock::open().await;
    let sql = "select *, count as item, 2 as item, 'infinity'::float8 as much, 'x' || chr(233) as text from stock where count > 100";
    assert_eq!(
        shop.rows(sql, json!({})).await,
        json!([{"item": "running shoes", "warehouse": "B", "count": 421, "price": 59.5, "photo": "AP8Q", "note": null,
            "day": "2026-03-04", "id": "6f1c4f3e-0000-4000-8000-000000000001", "item_2": 421, "item_3": 2, "much": "Infinity",
            "text": "xé"}])
    );
    let sql = "select true as b, 1::int8 as i, 0.1::numeric as n, 1e16::numeric as m, 2.0::float8 as f, '{\"a\": [1, \"x\"]}'::jsonb as o,
        array[1, 2] as l, timestamptz '2026-03-04 05:06:07.89+02' as t, time '05:06' as c, interval '1 day 2 hours' as d,
        '\\x' as like_bytes, 'red'::colour as e, (1, 'x') as r, null as z, '\\x'::bytea as none";
    assert_eq!(
        shop.rows(sql, json!({})).await,
        json!([{"b": true, "i": 1, "n": 0.1, "m": 10_000_000_000_000_000_i64, "f": 2.0, "o": {"a": [1, "x"]}, "l": [1, 2],
            "t": "2026-03-04T03:06:07.89+00:00", "c": "05:06:00", "d": "P1DT2H", "like_bytes": "\\x", "e": "red",
            "r": {"f1": 1, "f2": "x"}, "z": null, "none": ""}])
    );
    let params = json!({"n": null, "b": true, "i": 5, "r": 0.5, "t": "a", "a": [1, "x"], "o": {"k": 1}});
    let sql = "select :n as n, :b as b, :i as i, :r as r, :t as t, :a as a, :o::jsonb as o from stock where count = :n or count = 7";
    assert_eq!(shop.rows(sql, params).await, json!([{"n": null, "b": true, "i": 5, "r": 0.5, "t": "a", "a": "[1,\"x\"]", "o": {"k": 1}}]));
}

#[tokio::test]
async fn null_is_of_any_type() {
    let shop = Stock::open().await;
    let sql = "select count(*) as n from stock
               where (:day::date is null or day = :day::date) and (:count is null or count = :count) and coalesce(:x, item) = item";
    for (count, n) in [(json!(null), 3), (json!(7), 1)] {
        assert_eq!(shop.rows(sql, json!({"day": null, "count": count, "x": null})).await, json!([{"n": n}]));
    }
}

#[tokio::test]
async fn a_value_of_another_type_needs_a_cast_and_the_error_says_so() {
    let shop = Stock::open().await;
    for (condition, value) in [
        ("day = :v", json!("2026-03-04")),
        ("id = :v", json!("6f1c4f3e-0000-4000-8000-000000000001")),
        ("count = :v", json!("421")),
        ("count in (:v)", json!(["421"])),
        ("left(item, :v) = 'running' and count = 421", json!(7)),
    ] {
        let (kind, message) = shop.error(&format!("select item from stock where {condition}"), json!({"v": value})).await;
        assert_eq!((kind, message.ends_with("write a cast such as cast(:day as date)")), (EffectErrorKind::Invalid, true), "{message}");
    }
    for condition in ["day = cast(:day as date)", "id = :id::uuid", "count = :count::int", "left(item, :seven::int) = 'running'"] {
        let sql = format!("select item from stock where {condition} and count = 421");
        let params = json!({"day": "2026-03-04", "id": "6f1c4f3e-0000-4000-8000-000000000001", "count": "421", "seven": 7});
        assert_eq!(shop.rows(&sql, params).await, json!([{"item": "running shoes"}]), "{sql}");
    }
}

#[tokio::test]
async fn rows_and_bytes_are_limited() {
    let mut shop = Stock::open().await;
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
    let sql = "select item, case when item = 'sandals' then :t end as x from stock order by item";
    let reply = shop.ask(&request(sql, json!({"t": "x".repeat(2_000_000)}))).await.expect("rows");
    assert_eq!((reply.rows.len(), reply.truncated), (2, true));
    // The server notices the closed connection at its next check.
    while shop.count_running().await > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_query_without_end_is_stopped() {
    let shop = Stock::open().await;
    let endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c";
    for _ in 0..2 * MAX_CONNECTIONS {
        let error = shop.ask(&SqlRequest { timeout_ms: 200, ..request(endless, json!({})) }).await.expect_err("no end");
        assert_eq!(
            (error.kind, error.message.as_str()),
            (EffectErrorKind::Timeout, "the query took longer than 200 ms; convengine.tools.sql-timeout is the limit")
        );
    }
    assert_eq!(shop.rows("select 1 as a", json!({})).await, json!([{"a": 1}]));
}

#[tokio::test]
async fn an_abandoned_query_is_stopped() {
    let mut shop = Stock::open().await;
    let endless = request("with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c", json!({}));
    let endless = SqlRequest { timeout_ms: 600_000, ..endless };
    for _ in 0..2 * MAX_CONNECTIONS {
        let result = tokio::time::timeout(Duration::from_millis(50), shop.ask(&endless)).await;
        assert!(result.is_err(), "the query has no end");
    }
    assert_eq!(shop.rows("select 1 as a", json!({})).await, json!([{"a": 1}]));
    // The server checks every second whether the client is still connected; the query's own limit is ten minutes.
    while shop.count_running().await > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn errors_say_what_is_wrong_without_the_statement() {
    let mut shop = Stock::open().await;
    let (kind, message) = shop.error("select amount from stock", json!({})).await;
    assert_eq!((kind, message.as_str()), (EffectErrorKind::Invalid, "the query cannot be run: column \"amount\" does not exist"));
    let (kind, message) = shop.error("delete from stock", json!({})).await;
    assert_eq!((kind, message.starts_with("only queries are allowed")), (EffectErrorKind::Denied, true), "{message}");
    let (kind, message) = shop.error("select :v as v", json!({"v": "a\u{0}b"})).await;
    assert_eq!((kind, message.contains("0x00")), (EffectErrorKind::Invalid, true), "{message}");
    // A changed table is read as it is now.
    assert_eq!(shop.rows("select * from stock where count = 7", json!({})).await[0]["count"], 7);
    sqlx::query("alter table stock alter count type text").execute(&mut shop.writer).await.expect("another type");
    assert_eq!(shop.rows("select * from stock where count = '7'", json!({})).await[0]["count"], "7");
    let nowhere = ToolDatabase::from_url(&format!("{}_none", shop.url)).expect("queries");
    let EffectResult::Error(error) = execute(&nowhere, &Secrets::default(), &request("select 1", json!({}))).await else {
        panic!("no error")
    };
    assert_eq!((error.kind, error.message.contains("does not exist")), (EffectErrorKind::Unavailable, true), "{error}");
    let refused = ToolDatabase::from_url("postgres://me:hunter2@127.0.0.1:1/x").expect("queries");
    let EffectResult::Error(error) = execute(&refused, &Secrets::default(), &request("select 1", json!({}))).await else {
        panic!("no error")
    };
    assert_eq!((error.kind, error.message.contains("hunter2")), (EffectErrorKind::Unavailable, false), "{error}");
    let unreadable = ToolDatabase::from_url("postgres://me:hunter2@host:port/x").expect_err("no port");
    assert!(!unreadable.lines.join("\n").contains("hunter2"), "{unreadable:?}");
}

#[tokio::test]
async fn a_lost_connection_is_reopened() {
    let mut shop = Stock::open().await;
    assert_eq!(shop.rows("select 1 as a", json!({})).await, json!([{"a": 1}]));
    let sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity
               where datname = current_database() and application_name = 'convengine tools'";
    let ended: i64 = sqlx::query_scalar(sql).fetch_one(&mut shop.writer).await.expect("a count");
    assert_eq!(ended, 1);
    assert_eq!(shop.rows("select 1 as a", json!({})).await, json!([{"a": 1}]));
}

#[tokio::test]
async fn the_transaction_itself_cannot_write() {
    let mut shop = Stock::open().await;
    let before = shop.dump().await;
    let ToolDatabase::Postgres(pool) = &shop.queries else { panic!("another database") };
    for sql in [
        "insert into stock (item) values ('x')",
        "create table t (a int)",
        "create temp table t as select 1",
        "select * into t from stock",
        "with x as (delete from stock returning *) select * from x",
        "select nextval('s')",
        "select setval('s', 5)",
        "select * from stock for update",
        "copy stock from program 'echo x'",
        "set transaction read write",
        "select set_config('transaction_read_only', 'off', false)",
        "truncate stock",
        "prepare transaction 'x'",
    ] {
        let mut connection = pool.acquire().await.expect("a connection");
        sqlx::raw_sql("begin transaction read only; select 1").execute(&mut *connection).await.expect("a transaction");
        assert!(sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.is_err(), "{sql}");
        sqlx::raw_sql("rollback").execute(&mut *connection).await.expect("an end");
        // Outside of the transaction the connection is read-only as well.
        if !sql.contains("transaction") && !sql.contains("program") {
            assert!(sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.is_err(), "{sql}");
        }
    }
    // Before PostgreSQL 16 large objects can be created nevertheless; they disappear with the transaction, which is always rolled back.
    for sql in ["select lo_create(0)", "select lo_from_bytea(0, 'x')", "select lo_import('/etc/hostname')"] {
        let mut connection = pool.acquire().await.expect("a connection");
        sqlx::raw_sql("begin transaction read only").execute(&mut *connection).await.expect("a transaction");
        let _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await;
        sqlx::raw_sql("rollback").execute(&mut *connection).await.expect("an end");
    }
    assert_eq!(shop.dump().await, before);
}

#[tokio::test]
async fn side_effects_are_refused_by_the_guard() {
    let mut shop = Stock::open().await;
    let before = shop.dump().await;
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut shop.writer).await.expect("a number");
    for sql in [
        &format!("select pg_terminate_backend({pid})"),
        &format!("select pg_cancel_backend({pid})"),
        "select lo_import('/etc/hostname')",
        "select lo_export(1, '/tmp/x')",
        "select lowrite(1, 'x'), loread(1, 5)",
        "select * from dblink('dbname=postgres', 'select 1') as t(a int)",
        "select nextval('s')",
        "select currval('s'), lastval()",
        "select set_config('transaction_read_only', 'off', false)",
        "select current_setting('data_directory')",
        "select pg_sleep(60)",
        "select pg_sleep_for('1 minute')",
        "select pg_advisory_lock(1), pg_try_advisory_lock(2), pg_advisory_xact_lock(3)",
        "select pg_notify('x', 'y')",
        "select pg_read_file('/etc/passwd'), pg_ls_dir('/'), pg_stat_file('/')",
        "select pg_switch_wal(), pg_reload_conf(), pg_create_restore_point('x')",
        "select pg_logical_emit_message(false, 'x', 'y')",
        "select query_to_xml('delete from stock', true, true, '')",
        "select * from ts_stat('select 1')",
        "select database_to_xml(true, true, ''), cursor_to_xml('c', 1, true, true, '')",
        "select array_fill(1, array[100000000])",
        "select repeat('x', 1000000000)",
        "select * from generate_series(1, 100000000)",
        "select setseed(0.5)",
        "select txid_current()",
        "select version(), inet_server_addr(), current_user",
        "copy stock to program 'cat > /tmp/x'",
        "copy (select 1) to '/tmp/x'",
        "do $$ begin delete from stock; end $$",
        "select rolpassword from pg_authid",
        "select * from information_schema.tables",
    ] {
        for safe in [true, false] {
            let error = shop.ask(&SqlRequest { safe, ..request(sql, json!({})) }).await.expect_err(sql);
            assert_eq!(error.kind, EffectErrorKind::Denied, "{sql}: {error}");
        }
    }
    assert_eq!(shop.dump().await, before);
}

#[tokio::test]
async fn a_user_defined_function_that_writes_fails_and_one_that_waits_times_out() {
    let mut shop = Stock::open().await;
    for sql in [
        "create function mine() returns int language sql as 'delete from stock returning count'",
        "create function again() returns int language plpgsql as $$ begin perform set_config('transaction_read_only', 'off', false);
         delete from stock; return 1; end $$",
        "create function slow() returns int language plpgsql as $$ begin perform pg_sleep(600); return 1; end $$",
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut shop.writer).await.expect(sql);
    }
    let before = shop.dump().await;
    for (sql, words) in [("select mine()", "read-only transaction"), ("select again()", "read-write mode")] {
        let error = shop.ask(&SqlRequest { safe: false, ..request(sql, json!({})) }).await.expect_err(sql);
        assert_eq!((error.kind, error.message.contains(words)), (EffectErrorKind::Invalid, true), "{error}");
    }
    let error = shop.ask(&SqlRequest { safe: false, timeout_ms: 200, ..request("select slow()", json!({})) }).await.expect_err("timeout");
    assert_eq!(error.kind, EffectErrorKind::Timeout);
    assert_eq!(shop.dump().await, before);
}

#[tokio::test]
async fn views_show_no_tables_of_the_engine() {
    let mut shop = Stock::open().await;
    for sql in [
        "create table ce_conversation (text text)",
        "insert into ce_conversation values ('private')",
        "create view talks as select text from ce_conversation",
        "create view deep as select * from talks t join stock s on true",
        "create materialized view kept as select text from ce_conversation",
        "create view \"Ü\" as select text from ce_conversation",
        "create view shoes as select item from stock where item like '%shoes'",
    ] {
        sqlx::query(sql).execute(&mut shop.writer).await.expect(sql);
    }
    for view in ["talks", "DEEP", "kept", "(select * from deep)", "\"Ü\""] {
        let (kind, message) = shop.error(&format!("select * from {view}"), json!({})).await;
        assert_eq!((kind, message.contains("ce_conversation")), (EffectErrorKind::Denied, true), "{view}: {message}");
    }
    assert_eq!(shop.rows("select count(*) n from shoes", json!({})).await, json!([{"n": 2}]));
    let allowed = SqlRequest { engine_tables: true, ..request("select * from talks", json!({})) };
    assert_eq!(json!(shop.ask(&allowed).await.expect("rows").rows), json!([{"text": "private"}]));
}
