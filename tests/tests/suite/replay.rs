//! The stored data is enough to run a conversation again, and any change of it is detected.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::thread;

use convengine_core::config::Config;
use convengine_core::pack::Pack;
use convengine_core::turn::{Journal, Turn, state_hash};
use convengine_storage::turn::{compress, decompress};
use convengine_test_macros::test;
use convengine_tests::{demo, root};
use serde_json::{Value, json};

use crate::database::Sql;
use crate::extension::build_guest;
use crate::harness::{REGEX_ONLY, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::stream::{self, Listener, pack_with_progress, serve_slow};

const ID: &str = "5b1f9a52-8f0e-4c3e-8a53-1c9f0c1b2a02";

/// Sends the messages of a pack to a server on its rows.
fn play(env: &TestEnv, path: &str, set: &[&str]) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let pack: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(env.run(&["import", path]).code, 0);
    let flow = format!("convengine.flow={}", pack["settings"]["flow"]);
    let server = env.serve(&[&["--llm", &format!("scripted:{path}"), "--set", &flow], set].concat());
    let answer = |turn: &Value| server.post(turn["request"]["body"].to_string()).json();
    pack["turns"].as_array().unwrap().iter().map(answer).collect()
}

fn conversation(answers: &[Value]) -> String {
    answers[0]["conversationId"].as_str().unwrap().to_owned()
}

#[test]
fn conversations_with_model_calls_and_failed_turns_replay_equal() {
    let models = demo("model_acts.json").unwrap().path;
    let failing = root().join("tests/packs/pipeline/policy_llm_no_usable_reply.json");
    for (path, fails) in [(models, false), (failing, true)] {
        let env = TestEnv::with_tables();
        let answers = play(&env, path.to_str().unwrap(), &[]);
        assert_eq!(answers.iter().any(|it| it["success"] == false), fails);
        assert_ne!(env.sql().texts("select cast(count(*) as text) from ce_llm_call_log"), ["0"]);
        let output = env.run(&["replay", "--conversation", &conversation(&answers)]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        assert_eq!(output.stdout.lines().filter(|it| it.contains(" equal sha256 ")).count(), answers.len(), "{output:?}");
        assert!(output.stdout.ends_with(&format!("\n{} turns equal\n", answers.len())), "{output:?}");
    }
}

/// The record of a conversation, which the command and the server return alike.
fn read_record(env: &TestEnv, server: &Server, id: &str) -> Value {
    let response = server.get(&format!("/api/v1/conversation/journal/{id}"));
    assert_eq!((response.status, response.header("content-type")), (200, "application/json"), "{response:?}");
    let printed = env.run(&["journal", "--conversation", &id.to_uppercase()]);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{printed:?}");
    let recorded: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(recorded, response.json());
    assert_eq!(recorded["conversationId"], id);
    recorded
}

/// Runs every turn again from its record alone; returns how many reached their hashes.
#[track_caller]
fn rerun(recorded: &Value) -> usize {
    let config = |(hash, pack): (&String, &Value)| {
        let pack = Pack::parse(&pack.to_string()).unwrap();
        let config = Config::compile(&pack.tables, &pack.settings).0;
        assert_eq!(config.hash_source(), hash);
        (hash.clone(), Arc::new(config))
    };
    let configs: BTreeMap<String, Arc<Config>> = recorded["configs"].as_object().unwrap().iter().map(config).collect();
    let turns = recorded["turns"].as_array().unwrap();
    for (index, stored) in turns.iter().enumerate() {
        assert_eq!((&stored["number"], &stored["status"]), (&json!(index + 1), &json!("closed")));
        let journal: Journal = serde_json::from_value(stored["journal"].clone()).unwrap();
        assert_eq!(stored["turnId"], json!(journal.input.turn));
        let (_, slice) = Turn::restore(journal, Arc::clone(&configs[stored["config"].as_str().unwrap()])).unwrap();
        assert_eq!(stored["stateHash"], state_hash(&slice.end.unwrap(), &slice.notices));
    }
    turns.len()
}

#[test]
fn a_recorded_conversation_can_be_replayed_elsewhere() {
    let models = demo("model_acts.json").unwrap().path;
    let failing = root().join("tests/packs/pipeline/policy_llm_no_usable_reply.json");
    for path in [models, failing] {
        let env = TestEnv::with_tables();
        let answers = play(&env, path.to_str().unwrap(), &[]);
        // The server that returns the record may run with other settings than the turns did.
        let server = env.serve(&REGEX_ONLY);
        let recorded = read_record(&env, &server, &conversation(&answers));
        assert_eq!(rerun(&recorded), answers.len());
        assert_eq!(recorded["configs"].as_object().unwrap().len(), 1);
    }
}

#[test]
fn each_turn_is_recorded_with_the_configuration_that_it_ran_under() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    server.say(ID, "my order");
    env.sql().run("update ce_response set exact_text = 'Your order waits at the border.' where intent_code = 'ORDERS'");
    assert_eq!(server.request("POST", "/api/v1/cache/refresh", &[], "").status, 200);
    server.say(ID, "my order");
    server.say(ID, "hello");
    let recorded = read_record(&env, &server, ID);
    assert_eq!(rerun(&recorded), 3);
    let turns = recorded["turns"].as_array().unwrap();
    assert!(turns[0]["config"] != turns[1]["config"] && turns[1]["config"] == turns[2]["config"], "{turns:?}");
    let text = |turn: usize| recorded["configs"][turns[turn]["config"].as_str().unwrap()]["tables"]["ce_response"][0]["exact_text"].clone();
    assert_eq!((text(0), text(1)), (json!("Your order is on its way."), json!("Your order waits at the border.")));
    assert_eq!(recorded["configs"].as_object().unwrap().len(), 2);
}

#[test]
fn a_recorded_conversation_includes_extension_modules() {
    let env = TestEnv::with_tables();
    let mut pack = orders_pack();
    pack["extensions"] = json!({"fee": {"file": build_guest(&env, "answers"), "hosts": ["crm.example"], "description": "Fees"}});
    assert_eq!(env.run(&["import", &env.write_pack("pack.json", &pack)]).code, 0);
    let server = env.serve(&REGEX_ONLY);
    server.say(ID, "my order");
    // The extension is deleted from the rows, and stays in the record.
    assert_eq!(env.run(&["import", &env.write_pack("bare.json", &json!({"name": "n", "tables": {"cv_extension": []}}))]).code, 0);
    assert_eq!(server.request("POST", "/api/v1/cache/refresh", &[], "").status, 200);
    server.say(ID, "my order");
    let recorded = read_record(&env, &server, ID);
    assert_eq!(rerun(&recorded), 2);
    let pack = |turn: usize| &recorded["configs"][recorded["turns"][turn]["config"].as_str().unwrap()];
    let modules = Pack::parse(&pack(0).to_string()).unwrap().modules;
    assert_eq!(modules.into_values().collect::<Vec<_>>(), [fs::read(env.path("answers.wasm")).unwrap()]);
    assert_eq!((&pack(0)["tables"]["cv_extension"], &pack(1)["extensions"]), (&Value::Null, &Value::Null));
}

#[test]
fn an_unreadable_journal_is_recorded_as_none() {
    let env = stored_conversation();
    let mut sql = env.sql();
    let journal = sql.bytes_literal("00ff");
    sql.run(&format!("update ce_turn set journal = {journal}, status = 'lost', state_hash = '' where number = 1"));
    let server = env.serve(&REGEX_ONLY);
    let recorded = read_record(&env, &server, ID);
    let [first, second] = recorded["turns"].as_array().unwrap().as_slice() else { panic!("{recorded}") };
    assert_eq!((&first["status"], &first["journal"], &first["stateHash"]), (&json!("lost"), &Value::Null, &json!("")));
    assert_eq!(second["journal"]["input"]["event"]["text"], "hello");
}

/// A stored conversation of two turns, the second with parameters of the maximum depth.
fn stored_conversation() -> TestEnv {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    server.say(ID, "my order");
    let deep = format!("{{\"conversationId\":\"{ID}\",\"message\":\"hello\",\"inputParams\":{}1{}}}", "{\"a\":".repeat(64), "}".repeat(64));
    assert_eq!(server.post(deep).status, 200);
    env
}

#[test]
fn replay_reports_what_another_configuration_changes() {
    let env = stored_conversation();
    let replay = |pack: &Value| env.run(&["replay", "--conversation", &ID.to_uppercase(), "--config", &env.write_pack("other.json", pack)]);
    let same = replay(&orders_pack());
    assert_eq!((same.code, same.stdout.as_str()), (0, "no difference\n"), "{same:?}");
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][0]["exact_text"] = json!("Your order waits at the border.");
    let other = replay(&pack);
    assert_eq!(other.code, 1, "{other:?}");
    for words in ["turn 1 ", "RESPONSE_EXACT", "Your order is on its way.", "Your order waits at the border."] {
        assert!(other.stderr.contains(words), "{words} in {}", other.stderr);
    }
}

#[test]
fn replay_reports_what_another_configuration_asks_a_model() {
    let path = demo("model_acts.json").unwrap().path;
    let text = fs::read_to_string(&path).unwrap();
    for mode in ["DEFERRED_BULK", "DERIVED"] {
        let env = TestEnv::new();
        let mode = format!("convengine.audit.persistence.mode={mode}");
        let answers = play(&env, path.to_str().unwrap(), &["--set", &mode]);
        let replay = |text: &str| {
            let file = env.write("other.json", text);
            env.run(&["replay", "--conversation", &conversation(&answers), "--config", &file])
        };
        let same = replay(&text);
        assert_eq!((same.code, same.stdout.as_str()), (0, "no difference\n"), "{mode}: {same:?}");
        let mut pack: Value = serde_json::from_str(&text).unwrap();
        let question = pack["tables"]["ce_policy"][0]["pattern"].as_str().unwrap().to_owned();
        pack["tables"]["ce_policy"][0]["pattern"] = json!("QUESTION");
        let other = replay(&pack.to_string());
        assert_eq!(other.code, 1, "{mode}: {other:?}");
        for words in ["turn 1: ", "PolicyEnforcementStep", &question, "QUESTION"] {
            assert!(other.stderr.contains(words), "{mode}: {words} in {}", other.stderr);
        }
    }
}

/// Changes of a stored conversation, and what a replay reports. `ROW` and `LAST` are placeholders for an audit row.
fn tamperings(sql: &Sql) -> Vec<(String, [&'static str; 3])> {
    let journal = format!("update ce_turn set journal = {} where number = 1", sql.bytes_literal("00ff"));
    let invalid_payload = ("update ce_audit set payload_json = 'torn' where ROW", ["turn 1 ", "USER_INPUT", "torn"]);
    let mut changes = vec![
        ("update ce_audit set payload_json = '{\"text\":\"my borders\"}' where ROW", ["turn 1 ", "USER_INPUT", "my borders"]),
        ("update ce_audit set stage = 'MADE_UP' where ROW", ["turn 1 ", "MADE_UP", "USER_INPUT"]),
        ("delete from ce_audit where ROW", ["turn 1 ", "audit row", "USER_INPUT"]),
        ("delete from ce_audit where LAST", ["turn 2 ", "STEP_EXIT", "missing"]),
        (
            "insert into ce_audit (conversation_id, stage, payload_json, created_at)
             select conversation_id, 'MADE_UP', '{}', created_at from ce_audit where LAST",
            ["audit row", "MADE_UP", "any turn"],
        ),
        ("update ce_turn set state_hash = 'other' where number = 1", ["turn 1 ", "sha256", "other"]),
        (&journal, ["turn 1", "journal", "cannot read"]),
        (
            "update ce_config_snapshot set hash = 'other' where hash in (select config_hash from ce_turn)",
            ["turn 1", "configuration", "not in the database"],
        ),
    ];
    // PostgreSQL itself rejects a payload that is not JSON.
    changes.extend((!sql.is_postgres()).then_some(invalid_payload));
    changes.into_iter().map(|(change, words)| (change.to_owned(), words)).collect()
}

#[test]
fn tampering_with_stored_data_shows_in_the_replay() {
    let env = stored_conversation();
    assert_eq!(env.run(&["replay", "--conversation", ID]).code, 0);
    let row = "audit_id = (select min(audit_id) from ce_audit where stage = 'USER_INPUT')";
    let changes = tamperings(&env.sql());
    for (change, words) in changes {
        let copy = env.copy();
        copy.sql().run(&change.replace("ROW", row).replace("LAST", "audit_id = (select max(audit_id) from ce_audit)"));
        let output = copy.run(&["replay", "--conversation", ID]);
        assert_eq!(output.code, 1, "{change}: {output:?}");
        assert!(words.iter().all(|it| output.stderr.contains(it)), "{change}: {words:?} in {}", output.stderr);
    }
}

#[test]
fn a_changed_journal_is_another_turn() {
    let env = stored_conversation();
    let mut sql = env.sql();
    let hex = sql.hex_expression("journal");
    let hex = sql.texts(&format!("select {hex} from ce_turn where number = 1")).remove(0);
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(|index| u8::from_str_radix(&hex[index..index + 2], 16).unwrap()).collect();
    let mut journal = decompress(&bytes).unwrap();
    journal.input.event.text = Some("my borders".to_owned());
    let hex: String = compress(&journal).unwrap().iter().map(|it| format!("{it:02x}")).collect();
    let bytes = sql.bytes_literal(&hex);
    sql.run(&format!("update ce_turn set journal = {bytes} where number = 1"));
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(["turn 1 differs: sha256 ", "my order", "my borders"].iter().all(|it| output.stderr.contains(it)), "{}", output.stderr);
}

#[test]
fn a_missing_conversation_is_not_replayed() {
    let env = stored_conversation();
    let other = "ffffffff-0000-0000-0000-000000000000";
    assert_one_line(&env.run(&["replay", "--conversation", other]), 1, &[other, "--database"]);
    assert_one_line(&env.run(&["replay", "--conversation", "x"]), 1, &["'x'", "UUID"]);
    assert_one_line(&env.run(&["journal", "--conversation", other]), 1, &[other, "--database"]);
    assert_one_line(&env.run(&["journal", "--conversation", "x"]), 1, &["'x'", "UUID"]);
    let server = env.serve(&REGEX_ONLY);
    let status = |id: &str| server.get(&format!("/api/v1/conversation/journal/{id}")).status;
    assert_eq!((status(other), status("x")), (404, 400));
    assert_one_line(&env.run(&["replay", "--conversation", ID, "--config", "nowhere.json"]), 1, &["nowhere.json"]);
    assert_one_line(&env.run(&["replay", "--conversation", ID, "--database", "sqlite:/nowhere/at/all.db"]), 3, &["/nowhere/at/all.db"]);
}

/// What wrote a turn is stored with it, in its row and in its journal: while it is open, when it ends, and when it fails.
#[test]
fn each_turn_names_the_build_that_wrote_it() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let printed = env.run(&["--version"]).stdout;
    let version = printed.trim().strip_prefix("convengine ").unwrap_or_else(|| panic!("{printed}"));
    assert!(version.split('.').count() >= 3, "{version}");
    let rows = || env.sql().texts("select status || ' ' || coalesce(fault, '-') || ' ' || engine from ce_turn order by number");
    let server = serve_slow(&env, "normal");
    let mut listener = Listener::open(&server);
    thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(stream::ID, "my order"));
        listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        let open = [format!("open - {version}")];
        assert!(wait_until(|| rows() == open), "{:?}", rows());
        turn.join().unwrap();
    });
    drop(server);
    env.sql().run("delete from ce_response");
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(server.say(stream::ID, "my order")["success"], false);
    assert_eq!(rows(), [format!("closed - {version}"), format!("closed RESPONSE_MAPPING_NOT_FOUND {version}")]);
    let mut sql = env.sql();
    let hex = sql.hex_expression("journal");
    for journal in sql.texts(&format!("select {hex} from ce_turn")) {
        let bytes: Vec<u8> = (0..journal.len() / 2).map(|at| u8::from_str_radix(&journal[2 * at..2 * at + 2], 16).unwrap()).collect();
        assert_eq!(decompress(&bytes).unwrap().header.engine, version);
    }
}
