//! Imported rows as the databases store them.

use convengine_core::config::Tables;
use convengine_core::pack::{Fakes, Pack};
use convengine_core::turn::{Map, Millis};
use convengine_storage::testing::each_database;
use convengine_storage::{config, document, module, script};
use serde_json::{Value, json};

use super::import_rows;

const AT: Millis = 1_767_323_045_678;

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap_or_default()
}

#[tokio::test]
async fn authored_rows_are_equal_on_every_database() {
    let pack: Pack = serde_json::from_value(json!({
        "name": "rows",
        "tables": {
            "ce_intent": [{"intent_code": "b", "description": "é"}, {"intent_code": "A", "description": "d", "enabled": false}],
            "ce_prompt_template": [{"template_id": 7, "intent_code": "A", "state_code": "ANY", "output_format": "TEXT",
                "system_prompt": "s", "user_prompt": "u", "temperature": 0.5}],
            "ce_output_schema": [{"schema_id": 3, "intent_code": "A", "state_code": "ANY", "priority": 1,
                "json_schema": {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}}}],
            "ce_mcp_tool": [{"tool_id": 1, "tool_code": "t", "tool_group": "DB", "intent_code": "A", "state_code": "ANY"}],
            "ce_mcp_db_tool": [{"tool_id": 1, "sql_template": "select 1", "param_schema": {}}],
            "cv_document": [{"document_id": 2, "collection": "faq", "title": "Refunds", "body": "Money comes back within a week.",
                "metadata": {"page": 3}}]
        }
    }))
    .expect("a pack");
    let mut found: Vec<(Tables, Tables)> = Vec::new();
    for mut database in each_database().await {
        import_rows(&mut database.connection, &pack).await.expect("rows");
        // Replacing tools alone preserves their queries.
        let tools: Pack =
            serde_json::from_value(json!({"name": "t", "tables": {"ce_mcp_tool": pack.tables.0.get("ce_mcp_tool")}})).expect("a pack");
        import_rows(&mut database.connection, &tools).await.expect("rows");
        let mut tables = config::load_tables(&mut database.connection).await.expect("tables");
        tables.0.values_mut().flatten().for_each(|it| _ = it.remove("created_at"));
        let others = config::load_other_tables(&mut database.connection).await.expect("tables");
        let hits = document::search(&database.pool, &["money".to_owned(), "oclock".to_owned()], Some("faq"), 5).await.expect("documents");
        assert_eq!(hits.iter().map(|it| (it.id, it.score > 0.0)).collect::<Vec<_>>(), [(2, true)]);
        assert!(document::search(&database.pool, &["money".to_owned()], Some("other"), 5).await.expect("documents").is_empty());
        found.push((tables, others));
    }
    assert_eq!(found[0], found[1]);
    let codes: Vec<&Value> = found[0].0.0.get("ce_intent").into_iter().flatten().map(|it| &it["intent_code"]).collect();
    assert_eq!(codes, ["A", "b"], "in the order of their bytes");
}

#[tokio::test]
async fn a_read_transaction_sees_the_configuration_of_one_moment() {
    for mut database in each_database().await {
        let pack = |text: &str| -> Pack {
            let intent = json!([{"intent_code": "A", "description": text}]);
            let response = json!([{"response_id": 1, "intent_code": "A", "state_code": "ANY", "output_format": "TEXT",
                "response_type": "EXACT", "exact_text": text}]);
            serde_json::from_value(json!({"name": "p", "tables": {"ce_intent": intent, "ce_response": response}})).expect("a pack")
        };
        let texts =
            |tables: &Tables| [&tables.0["ce_intent"][0]["description"], &tables.0["ce_response"][0]["exact_text"]].map(Value::clone);
        import_rows(&mut database.connection, &pack("old")).await.expect("rows");
        let mut reader = convengine_storage::open(&database.config, false).await.expect("a connection");
        reader.begin_read().await.expect("a transaction");
        script::load(&mut reader).await.expect("the first read");
        import_rows(&mut database.connection, &pack("new")).await.expect("a reader does not hold a writer up");
        assert_eq!(texts(&config::load_tables(&mut reader).await.expect("tables")), ["old", "old"]);
        reader.rollback().await.expect("the end");
        assert_eq!(texts(&config::load_tables(&mut reader).await.expect("tables")), ["new", "new"]);
    }
}

#[tokio::test]
async fn constraint_violations_are_reported_and_sequences_advance() {
    for mut database in each_database().await {
        let row = |id: Option<i64>| match id {
            Some(id) => {
                json!({"response_id": id, "intent_code": "A", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT"})
            }
            None => json!({"intent_code": "A", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT"}),
        };
        let pack = |rows: Value| serde_json::from_value::<Pack>(json!({"name": "r", "tables": {"ce_response": rows}})).expect("a pack");
        import_rows(&mut database.connection, &pack(json!([row(Some(41)), row(None)]))).await.expect("rows");
        let tables = config::load_tables(&mut database.connection).await.expect("tables");
        assert_eq!(tables.0.get("ce_response").map(Vec::len), Some(2));
        let twice = import_rows(&mut database.connection, &pack(json!([row(Some(1)), row(Some(1))]))).await.expect_err("a key twice");
        assert!(twice.to_string().contains("ce_response[2]: duplicate key"), "{twice}");
    }
}

#[tokio::test]
async fn snapshots_scripts_and_modules_are_stored() {
    for mut database in each_database().await {
        for body in [json!({"a": 1}), json!({"a": 2})] {
            config::store_snapshot(&mut database.connection, "h", &body, AT).await.expect("a snapshot");
        }
        assert_eq!(config::find_snapshot(&database.pool, "h").await.expect("an answer"), Some(json!({"a": 1})));
        assert!(config::has_snapshot(&database.pool, "h").await.expect("an answer"));
        assert!(!config::has_snapshot(&database.pool, "other").await.expect("an answer"));
        for reply in [json!({"result": 1}), json!({"result": 2})] {
            script::replace(&mut database.connection, "task", &map(json!({"a:b": reply}))).await.expect("a script");
        }
        let Fakes { tasks, .. } = script::load(&mut database.connection).await.expect("scripts");
        assert_eq!(Value::Object(tasks), json!({"a:b": {"result": 2}}));

        assert!(module::has_tables(&mut database.connection).await.expect("an answer"));
        let extension = json!({"name": "e", "tables": {"cv_extension": [{"name": "x", "module": "m"}]}});
        import_rows(&mut database.connection, &serde_json::from_value(extension).expect("a pack")).await.expect("rows");
        assert_eq!(module::list_missing(&mut database.connection).await.expect("names"), ["x"]);
        for name in ["m", "unused"] {
            module::insert_if_absent(&mut database.connection, name, b"\0asm").await.expect("a module");
        }
        assert!(module::list_missing(&mut database.connection).await.expect("names").is_empty());
        module::delete_unused(&mut database.connection).await.expect("an answer");
        let modules = module::load(&mut database.connection).await.expect("modules");
        assert_eq!(modules.into_iter().collect::<Vec<_>>(), [("m".to_owned(), b"\0asm".to_vec())]);
    }
}
