//! Document search in a real database.

use std::sync::Arc;

use convengine_core::config::Tables;
use convengine_core::turn::Map;
use convengine_storage::testing::revert_to_unversioned;
use convengine_storage::{self as storage, DatabaseConfig};
use tempfile::TempDir;

use super::*;

struct Library {
    pool: Pool,
    writer: storage::Connection,
    _folder: TempDir,
}

impl Library {
    async fn open() -> Library {
        let folder = tempfile::tempdir().expect("a folder");
        let place = DatabaseConfig { url: format!("sqlite:{}", folder.path().join("c.db").display()), full_sync: false };
        let mut writer = storage::connect_or_create(&place).await.expect("a database");
        for (id, collection, title, body, metadata) in [
            (1, "faq", "Refunds", "A refund takes a week.", Some(r#"{"page": 3}"#)),
            (2, "faq", "Delivery", "Parcels are delivered in two days. A refund is possible.", Some("by hand")),
            (3, "law", "Refund law", "Refunds must be paid. Refund, refund, refund.", None),
            (4, "faq", "Café", "We serve coffee.", None),
        ] {
            insert(&mut writer, "insert", id, collection, title, body, metadata).await;
        }
        Library { pool: storage::open_reader_pool(&place).await.expect("readers"), writer, _folder: folder }
    }

    async fn ask(&self, spec: Value, args: Value) -> Result<Value, EffectError> {
        let args: Map = serde_json::from_value(args).expect("an object");
        let spec = if spec.is_null() { None } else { Some(Arc::new(spec)) };
        let request = ToolRequest { tool_code: Some("faq".to_owned()), tool_group: "RAG".to_owned(), args, spec };
        search(&self.pool, &request).await.map(|answer| serde_json::from_str(&answer).expect("JSON"))
    }

    async fn ids(&self, spec: Value, args: Value) -> Vec<i64> {
        let answer = self.ask(spec, args).await.expect("an answer");
        let documents = answer["documents"].as_array().expect("documents");
        documents.iter().filter_map(|it| it["id"].as_i64()).collect()
    }
}

async fn insert(to: &mut storage::Connection, how: &str, id: i64, collection: &str, title: &str, body: &str, metadata: Option<&str>) {
    let sql = format!("{how} into cv_document (document_id, collection, title, body, metadata) values ($1, $2, $3, $4, $5)");
    let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id).bind(collection).bind(title).bind(body).bind(metadata);
    query.execute(to.sqlite()).await.expect("a row");
}

#[tokio::test]
async fn the_best_document_comes_first() {
    let library = Library::open().await;
    let answer = library.ask(json!({"collection": "faq", "limit": 1}), json!({"query": "How long does a refund take?"})).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer["query"], "How long does a refund take?");
    let document = &answer["documents"][0];
    assert_eq!(
        (&document["id"], &document["title"], &document["text"], &document["metadata"]),
        (&json!(1), &json!("Refunds"), &json!("A refund takes a week."), &json!({"page": 3}))
    );
    assert!(document["score"].as_f64().is_some_and(|it| it > 0.0), "{document}");
    assert_eq!(answer["documents"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn collections_limits_and_arguments_are_configurable() {
    let library = Library::open().await;
    assert_eq!(library.ids(Value::Null, json!({"q": "refund"})).await.len(), 3);
    assert_eq!(library.ids(json!({"collection": "law"}), json!({"question": "refund"})).await, [3]);
    assert_eq!(library.ids(json!({"collection": "none"}), json!({"text": "refund"})).await, [0; 0]);
    assert_eq!(library.ids(json!({"query": "about"}), json!({"query": "refund", "about": "CAFE coffee"})).await, [4]);
    for (spec, args, expected) in [
        (json!({"limit": 0}), json!({"q": "x"}), "the limit 0 is not allowed: write a number from 1 to 50 into the spec of the tool"),
        (
            json!({"limt": 5}),
            json!({"q": "x"}),
            "the spec of the tool cannot be used: unknown field `limt`, expected one of `collection`, `limit`, `query`",
        ),
        (json!({}), json!({"q": " "}), "missing question: give the argument 'query'"),
        (json!({"query": "about"}), json!({"q": "x"}), "missing question: give the argument 'about'"),
    ] {
        let error = library.ask(spec, args).await.expect_err(expected);
        assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Invalid, expected));
    }
}

#[tokio::test]
async fn queries_have_no_syntax() {
    let library = Library::open().await;
    for text in ["\"", "title:", "NEAR(a b", "a AND", "* OR *", "-", "body : ^x", "'; drop table cv_document; --", "(((", "\u{0}"] {
        library.ask(Value::Null, json!({"q": text})).await.expect(text);
    }
    assert_eq!(library.ask(Value::Null, json!({"q": "?!"})).await.expect("nothing"), json!({"query": "?!", "documents": []}));
    assert_eq!(library.ids(Value::Null, json!({"q": "title:coffee"})).await, [4]);
}

#[tokio::test]
async fn the_index_follows_the_table() {
    let mut library = Library::open().await;
    insert(&mut library.writer, "insert or replace", 4, "faq", "Tea", "We serve tea.", None).await;
    assert_eq!(library.ids(Value::Null, json!({"q": "coffee"})).await, [0; 0]);
    assert_eq!(library.ids(Value::Null, json!({"q": "tea"})).await, [4]);
    sqlx::query("update cv_document set document_id = 9, body = 'We serve cocoa.' where document_id = 4")
        .execute(library.writer.sqlite())
        .await
        .expect("an update");
    assert_eq!(library.ids(Value::Null, json!({"q": "cocoa"})).await, [9]);
    assert_eq!(library.ids(Value::Null, json!({"q": "serve"})).await, [9]);
    sqlx::query("delete from cv_document").execute(library.writer.sqlite()).await.expect("a delete");
    assert_eq!(library.ids(Value::Null, json!({"q": "refund tea cocoa"})).await, [0; 0]);
}

#[tokio::test]
async fn an_index_that_comes_later_is_filled() {
    let mut library = Library::open().await;
    for sql in [
        "drop trigger cv_document_index_insert",
        "drop trigger cv_document_index_update",
        "drop trigger cv_document_index_delete",
        "drop table cv_document_index",
    ] {
        sqlx::query(sql).execute(library.writer.sqlite()).await.expect(sql);
    }
    revert_to_unversioned(&mut library.writer).await;
    let error = library.ask(Value::Null, json!({"q": "refund"})).await.expect_err("no index");
    assert!(error.message.contains("no such table: cv_document_index: run convengine migrate"), "{error}");
    let created = storage::schema::migrate(&mut library.writer).await.expect("a migration");
    assert!(created.contains(&"cv_document_index".to_owned()), "{created:?}");
    assert_eq!(library.ids(Value::Null, json!({"q": "coffee"})).await, [4]);
    insert(&mut library.writer, "insert", 5, "faq", "Tea", "We serve tea.", None).await;
    assert_eq!(library.ids(Value::Null, json!({"q": "tea"})).await, [5]);
}

#[tokio::test]
async fn equal_documents_come_in_the_order_of_their_keys() {
    let mut library = Library::open().await;
    for id in [30, 20, 10] {
        insert(&mut library.writer, "insert", id, "x", "Same", "zebra", None).await;
    }
    assert_eq!(library.ids(Value::Null, json!({"q": "zebra"})).await, [10, 20, 30]);
}

#[tokio::test]
async fn documents_are_no_part_of_the_snapshot() {
    let mut library = Library::open().await;
    assert_eq!(storage::config::load_tables(&mut library.writer).await.expect("tables"), Tables::default());
    let others = storage::config::load_other_tables(&mut library.writer).await.expect("tables");
    assert_eq!(others.0.get("cv_document").map(Vec::len), Some(4));
}
