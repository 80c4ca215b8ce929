//! A database that the original ConvEngine has created and written to: it is used without any alteration.
//!
//! `tests/databases/original.json` holds its tables in both dialects and the rows of a conversation of four turns.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Map, Value, json};

use crate::database::Sql;
use crate::harness::{SERVE, Server, TestEnv, assert_one_line};

/// The conversation that it stores.
const STORED_CONVERSATION: &str = "16170aeb-d5cb-5b89-9d93-0f7a961a226c";

/// Tables to which turns add rows.
const TURN_TABLES: [&str; 4] = ["ce_audit", "ce_conversation", "ce_conversation_history", "ce_llm_call_log"];

/// The recorded tables of the original.
struct Original {
    tables: Map<String, Value>,
}

/// A table at one point in time: its definition and its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    shape: Vec<String>,
    rows: Vec<String>,
}

impl Original {
    fn read() -> Original {
        let text = fs::read_to_string(root().join("tests/databases/original.json")).unwrap();
        Original { tables: serde_json::from_str(&text).unwrap() }
    }

    /// Creates the database in an environment: tables, then rows, then references between tables.
    fn build(&self, env: &TestEnv) {
        let mut sql = env.sql();
        let mut later = Vec::new();
        for (name, table) in &self.tables {
            if sql.is_postgres() {
                let (now, then): (Vec<&str>, Vec<&str>) = texts(&table["postgres"]).into_iter().partition(|it| !it.contains("foreign key"));
                sql.run(&format!("create table {name} ({})", now.join(", ")));
                later.extend(then.into_iter().map(|it| format!("alter table {name} add {it}")));
                later.extend(texts(&table["indexes"]).into_iter().map(str::to_owned));
            } else {
                sql.run(table["sqlite"].as_str().unwrap());
            }
            let columns = texts(&table["columns"]);
            for row in table["rows"].as_array().into_iter().flatten() {
                let values: Vec<String> =
                    columns.iter().zip(row.as_array().unwrap()).map(|(column, it)| value_literal(&sql, column, it)).collect();
                sql.run(&format!("insert into {name} ({}) values ({})", columns.join(", "), values.join(", ")));
            }
        }
        later.iter().for_each(|it| sql.run(it));
        if sql.is_postgres() {
            for (table, column) in self.sequences() {
                sql.run(&format!("select setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) from {table} having max({column}) is not null"));
            }
        }
    }

    /// Auto-increment columns.
    fn sequences(&self) -> Vec<(&str, &str)> {
        let mut all = Vec::new();
        for (name, table) in &self.tables {
            let words = texts(&table["postgres"]).into_iter().filter_map(|it| it.split_once(' '));
            all.extend(words.filter(|column| column.1.to_lowercase().starts_with("bigserial")).map(|it| (name.as_str(), it.0)));
        }
        all
    }

    fn snapshot(&self, env: &TestEnv) -> BTreeMap<String, Table> {
        let mut sql = env.sql();
        self.tables
            .keys()
            .map(|name| (name.clone(), Table { shape: read_shape(&mut sql, name), rows: read_rows(&mut sql, name) }))
            .collect()
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap()).collect()
}

/// The SQL literal of a stored value. PostgreSQL gives a text the type of its column.
fn value_literal(sql: &Sql, column: &str, value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Number(millis) if sql.is_postgres() && column.ends_with("_at") => format!("to_timestamp({millis} / 1000.0)"),
        Value::Number(number) if !sql.is_postgres() => number.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => format!("'{other}'"),
    }
}

/// Columns, indexes, constraints, triggers.
fn read_shape(sql: &mut Sql, table: &str) -> Vec<String> {
    if !sql.is_postgres() {
        return sql.texts(&format!("select coalesce(sql, name) from sqlite_master where tbl_name = '{table}' order by name"));
    }
    sql.texts(&format!(
        "select concat_ws(' ', ordinal_position, column_name, udt_name, character_maximum_length, is_nullable, column_default)
           from information_schema.columns where table_name = '{table}'
         union all select indexdef from pg_indexes where tablename = '{table}'
         union all select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where conrelid = '{table}'::regclass
         union all select tgname::text from pg_trigger where tgrelid = '{table}'::regclass and not tgisinternal
         order by 1"
    ))
}

fn read_rows(sql: &mut Sql, table: &str) -> Vec<String> {
    if sql.is_postgres() {
        return sql.texts(&format!("select it::text from {table} it order by 1"));
    }
    let columns = sql.texts(&format!("select group_concat('quote(' || name || ')', ' || '','' || ') from pragma_table_info('{table}')"));
    sql.texts(&format!("select {} from {table} order by 1", columns[0]))
}

/// A server whose model answers as the recorded one, for any beginning of the prompt.
fn serve(env: &TestEnv) -> Server {
    let recorded = fs::read_to_string(root().join("tests/packs/recorded/s02_loan_application.json")).unwrap();
    let mut pack: Value = serde_json::from_str(&recorded).unwrap();
    let first = json!({"purpose": "dialogue_act", "kind": "json", "reply": {"dialogueAct": "NEW_REQUEST", "confidence": 0.97}});
    pack["llm"].as_array_mut().unwrap().insert(0, first);
    let model = format!("scripted:{}", env.write_pack("model.json", &pack));
    env.serve(&["--llm", &model])
}

#[test]
fn an_original_database_is_used_unaltered() {
    let original = Original::read();
    let env = TestEnv::new();
    original.build(&env);
    let before = original.snapshot(&env);
    assert!(before["ce_audit"].rows.len() > 250 && before["ce_rule"].rows.len() == 2, "{:?}", before.keys());

    assert_one_line(&env.run(&SERVE), 3, &["convengine migrate --database"]);
    assert_eq!(original.snapshot(&env), before, "a server that does not start");
    let migrated = env.run(&["migrate"]);
    assert_eq!(migrated.code, 0, "{migrated:?}");
    assert_eq!(original.snapshot(&env), before, "migrate");
    let server = serve(&env);
    assert_eq!(original.snapshot(&env), before, "a server start");

    let audited = server.audit(STORED_CONVERSATION);
    assert_eq!(audited.len(), before["ce_audit"].rows.len());
    continue_stored_conversation(&env, &server, &audited);
    let new = hold_new_conversation(&env, &server);
    run_other_commands(&env, &[STORED_CONVERSATION, &new]);
    drop(server);
    assert_only_turn_rows_added(&before, &original.snapshot(&env));
}

fn continue_stored_conversation(env: &TestEnv, server: &Server, audited: &[Value]) {
    // The context that the original stored contains all required data, so no slot is missing.
    let answer = server.say(STORED_CONVERSATION, "I want a loan");
    let stored = json!({"type": "JSON", "value": r#"{"amount":"60000","months":"48","purpose":"CAR"}"#});
    assert_eq!((&answer["state"], &answer["payload"]), (&json!("REVIEW"), &stored), "{answer}");
    let prompts = env.sql().texts("select prompt_text from ce_llm_call_log where llm_call_id > 10 order by llm_call_id");
    assert!(prompts.iter().any(|it| it.contains("for 48 months, for a car")), "the history is not in {prompts:#?}");

    let rows = server.audit(STORED_CONVERSATION);
    assert_eq!(&rows[..audited.len()], audited, "old rows come first");
    assert!(rows.len() > audited.len());
    let number = |row: &Value| row["auditId"].as_i64().unwrap();
    assert!(
        rows.windows(2).all(|pair| number(&pair[0]) < number(&pair[1]) && pair[0]["createdAt"].as_str() <= pair[1]["createdAt"].as_str())
    );
}

/// Returns the conversation id.
fn hold_new_conversation(env: &TestEnv, server: &Server) -> String {
    let id = "7d0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a55";
    let body =
        r#"{"conversationId": "ID", "message": "I want a loan\u0000 now", "inputParams": {"big": 1e16, "two": 2.0, "nul": "a\u0000b"}}"#;
    let answer = server.post(body.replace("ID", id)).json();
    assert_eq!((&answer["state"], &answer["payload"]["type"]), (&json!("COLLECT"), &json!("TEXT")), "{answer}");
    let answer = server.say(id, "60000 euros");
    let context: Value = serde_json::from_str(answer["context"].as_str().unwrap()).unwrap();
    assert_eq!((&answer["success"], &context["amount"]), (&json!(true), &json!(60000)), "{answer}");
    let params = env.sql().texts(&format!("select input_params_json from ce_conversation where conversation_id = '{id}'"));
    let params: Value = serde_json::from_str(&params[0]).unwrap();
    assert_eq!((params["big"].as_f64(), params["two"].as_f64()), (Some(1e16), Some(2.0)));
    assert!(params["nul"].as_str().is_some_and(|text| text.starts_with('a') && text.ends_with('b')), "{params}");
    assert_eq!(server.texts(id).len(), 2);
    id.to_owned()
}

fn run_other_commands(env: &TestEnv, conversations: &[&str]) {
    let exported = env.run(&["export"]);
    assert_eq!((exported.code, exported.stderr.as_str()), (0, ""), "{exported:?}");
    let pack: Value = serde_json::from_str(&exported.stdout).unwrap();
    assert_eq!(pack["tables"]["ce_rule"].as_array().map(Vec::len), Some(2), "{}", exported.stdout);
    let linted = env.run(&["lint"]);
    assert_eq!(linted.code, 0, "{linted:?}");
    for id in conversations {
        let replayed = env.run(&["replay", "--conversation", id]);
        assert_eq!(replayed.code, 0, "{replayed:?}");
    }
}

fn assert_only_turn_rows_added(before: &BTreeMap<String, Table>, after: &BTreeMap<String, Table>) {
    for (name, old) in before {
        let new = &after[name];
        assert_eq!(new.shape, old.shape, "{name}");
        if !TURN_TABLES.contains(&name.as_str()) {
            assert_eq!(new.rows, old.rows, "{name}");
            continue;
        }
        let (old, new): (BTreeSet<&String>, BTreeSet<&String>) = (old.rows.iter().collect(), new.rows.iter().collect());
        let gone: Vec<_> = old.difference(&new).collect();
        // The row of the continued conversation.
        let changed = usize::from(name == "ce_conversation");
        assert_eq!((gone.len(), new.len() > old.len()), (changed, true), "{name}: {gone:#?}");
    }
}
