//! `export` and `import` are inverse for every table that authors write.

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, Server, TestEnv, orders_pack};

/// `orders` with a row in each table that it lacks, rows in unusual forms, and scripted replies.
fn full_pack() -> Value {
    let scope = |row: Value| {
        let mut row = row;
        row["intent_code"] = json!("ORDERS");
        row["state_code"] = json!("ANY");
        json!([row])
    };
    let mut pack = orders_pack();
    let more = json!({
        "ce_config": [{"config_id": 7, "config_type": "DialogueActStep", "config_key": "RESOLUTE", "config_value": "REGEX_ONLY", "created_at": 1735787045678_i64}],
        "ce_container_config": scope(json!({"page_id": 1, "section_id": 2, "container_id": 3, "input_param_name": "p"})),
        "ce_mcp_db_tool": [{"tool_id": 1, "dialect": "SQLITE", "sql_template": "select 1", "param_schema": {"a": [1.0]}, "allowed_identifiers": {"x": ["y"]}}],
        "ce_mcp_planner": scope(json!({"system_prompt": "s", "user_prompt": "u"})),
        "ce_mcp_tool": [
            {"tool_id": 1, "tool_code": "t", "tool_group": "DB", "intent_code": "ORDERS", "state_code": "ANY", "enabled": false},
            {"tool_id": 2, "tool_code": "rates", "tool_group": "CALC", "intent_code": "ORDERS", "state_code": "ANY"},
            {"tool_id": 3, "tool_code": "http", "tool_group": "API", "intent_code": "ORDERS", "state_code": "ANY"},
        ],
        "ce_http_tool": [{"tool_id": 3, "url_template": "${STUB}/a", "headers": {"X-A": "b"}, "policy": {"maxAttempts": 1}}],
        "cv_tool_spec": [{"tool_id": 3, "input_schema": {"type": "object"}}],
        "ce_output_schema": scope(json!({"json_schema": {"type": "object", "properties": {"number": {"type": "string"}}}, "priority": 1})),
        "ce_pending_action": scope(json!({"action_key": "k", "bean_name": "b", "method_names": "m"})),
        "ce_policy": [{"policy_id": 4, "rule_type": "CONTAINS", "pattern": "é \"\n", "response_text": "No.", "priority": 1}],
        "ce_prompt_template": scope(json!({"output_format": "TEXT", "system_prompt": "s", "user_prompt": "u", "temperature": 0.25,
            "interaction_contract": {"allows": ["retry"]}, "created_at": "2025-01-02 03:04:05"})),
        "ce_rule": scope(json!({"rule_id": 9, "phase": "PRE_RESPONSE_RESOLUTION", "rule_type": "REGEX", "match_pattern": "x",
            "action": "SET_INPUT_PARAM", "action_value": {"k": 1}, "priority": 1})),
        "ce_state_graph": [{"graph_id": 1, "from_state": "A", "to_state": "B"}],
        "ce_task": [{"task_id": 1, "kind": "HOOK", "task": "b:m", "step": "RulesStep", "stage": "BEFORE"}],
        "ce_tool": [{"tool_id": 1, "tool_group": "CALCULATOR_TRANSFORM", "args_json": {"a": "{{b}}"}}],
        "ce_verbose": scope(json!({"step_match": "EXACT", "step_value": "RulesStep", "determinant": "ANY", "message": "m", "priority": 1})),
    });
    pack["tables"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pack["tasks"] = json!({"cards:issue": {"set_params": {"ref": "R-1"}, "result": {"a": 1.0}}, "cards:fail": {"error": "down"}});
    pack["http"] = json!([{"path_prefix": "/a", "status": 503, "repeat": false}]);
    pack["tools"] = json!({"rates": {"expression": {"x": "a * 2"}}, "plain": {"text": "p"}});
    pack["containers"] = json!({"1/2/3": [{"a": null}]});
    pack
}

/// `orders` with a task that adds a note to the answer of other questions. It is bound to a service that cannot be reached, in whose
/// place this script answers.
pub fn pack_with_task(script: Option<&str>) -> Value {
    let mut pack = orders_pack();
    pack["tables"]["ce_rule"] = json!([{"rule_id": 1, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "OTHER", "state_code": "ANY",
        "rule_type": "EXACT", "match_pattern": "ANY", "action": "SET_TASK", "action_value": "orders:note", "priority": 10}]);
    pack["tables"]["ce_task"] =
        json!([{"task_id": 1, "kind": "TASK", "task": "orders:note", "binding": {"http": {"url": "https://127.0.0.1:9/note"}}}]);
    if let Some(note) = script {
        pack["tasks"] = json!({"orders:note": {"set_params": {"note": note}}});
    }
    pack
}

fn export(env: &TestEnv) -> String {
    let output = env.run(&[&["export"], &REGEX_ONLY[..]].concat());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    output.stdout
}

fn active_hash(server: &Server) -> String {
    server.get("/readyz").json()["config"].as_str().unwrap().to_owned()
}

#[test]
fn an_exported_configuration_imports_unchanged() {
    let env = TestEnv::with_pack(&full_pack());
    let server = env.serve(&REGEX_ONLY);
    let id = "2c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a07";
    server.say(id, "my order");
    let text = export(&env);
    let pack: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(pack["settings"], json!({"flow": {"dialogue-act": {"resolute": "REGEX_ONLY"}}}));
    assert_eq!(pack["tables"].as_object().unwrap().len(), 19, "all tables that authors write");
    for member in ["tasks", "containers", "http"] {
        assert_eq!(pack[member], full_pack()[member], "{member}");
    }
    // A tool of the pack's settings has become a row.
    assert_eq!(pack["tools"], json!({"plain": {"text": "p"}}));
    assert_eq!(pack["tables"]["cv_tool_spec"][0]["spec"], json!("{\"expression\":{\"x\":\"a * 2\"}}"));
    let lines = text.lines().filter(|it| it.starts_with("      {\"")).count();
    assert_eq!(lines, pack["tables"].as_object().unwrap().values().map(|rows| rows.as_array().unwrap().len()).sum::<usize>());
    let file = env.write("export.json", &text);
    let replayed = env.run(&["replay", "--conversation", id, "--config", &file]);
    assert_eq!((replayed.code, replayed.stdout.as_str()), (0, "no difference\n"), "{replayed:?}");

    let elsewhere = TestEnv::new();
    let imported = elsewhere.run(&["import", &file]);
    assert_eq!((imported.code, imported.stdout.as_str()), (0, "imported 26 rows into 19 tables\n"), "{imported:?}");
    assert_eq!(export(&elsewhere), text);
    assert_eq!(active_hash(&elsewhere.serve(&REGEX_ONLY)), active_hash(&server));
}

#[test]
fn scripted_answers_are_replaced_kind_by_kind_and_checked() {
    let env = TestEnv::with_pack(&full_pack());
    let exported = || serde_json::from_str::<Value>(&export(&env)).unwrap();
    let import = |pack: Value| env.run(&["import", &env.write_pack("other.json", &pack)]);
    assert_eq!(import(json!({"name": "n", "tools": {"one": {"text": "1"}}, "containers": {}})).code, 0);
    let pack = exported();
    assert_eq!((&pack["tasks"], &pack["tools"]), (&full_pack()["tasks"], &json!({"one": {"text": "1"}})));
    assert!(pack.get("containers").is_none());
    let before = env.sql().dump();
    let bad = json!({"name": "n", "tasks": {"a:b": {"reslt": 1}}, "tools": {"t": {}}, "tables": {"ce_memory": [], "cv_script": []}});
    let refused = import(bad);
    assert_eq!((refused.code, refused.stderr.lines().count()), (1, 4), "{refused:?}");
    for words in ["tasks.a:b: ", "tools.t: ", "ce_memory: cannot be imported", "cv_script: cannot be imported"] {
        assert!(refused.stderr.contains(words), "{words} in {}", refused.stderr);
    }
    assert_eq!(import(json!({"name": "n", "tasks": [1]})).code, 1);
    assert_eq!(env.sql().dump(), before);
}

#[test]
fn unknown_columns_are_omitted_and_reported() {
    let env = TestEnv::with_pack(&orders_pack());
    let plain = export(&env);
    env.sql().run("alter table ce_intent add column region text default 'north'");
    let output = env.run(&[&["export"], &REGEX_ONLY[..]].concat());
    assert_eq!((output.code, output.stderr.as_str()), (0, "ce_intent.region: unknown column; omitted\n"));
    let tables = |text: &str| serde_json::from_str::<Value>(text).unwrap()["tables"].clone();
    assert_eq!(tables(&output.stdout), tables(&plain));
}

#[test]
fn a_demo_pack_survives_a_database_round_trip() {
    let env = TestEnv::new();
    let pack = root().join("tests/packs/demo/help_desk.json").display().to_string();
    assert_eq!(env.run(&["import", &pack]).code, 0);
    let elsewhere = TestEnv::new();
    assert_eq!(elsewhere.run(&["import", &env.write("export.json", &export(&env))]).code, 0);
    assert_eq!(active_hash(&elsewhere.serve(&REGEX_ONLY)), active_hash(&env.serve(&REGEX_ONLY)));
}
