//! Deleted, expired or redacted data is in no byte of the database. And audit rows with `_meta`.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use convengine_storage::turn::decompress_json;
use convengine_test_macros::test;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::chains::{Run, chain, human, publish_chain, step};
use crate::flows::{Session, desk as flow_desk, reply_texts, serve_desk, with_changes};
use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, client, orders_pack, wait_until};
use crate::stream::{ID, Listener};

const OTHER: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a08";
const THIRD: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a09";
const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];
const FORGET: &str = "/api/v1/privacy/forget";
const CARD: &str = "4929123456781111";

fn conversation(id: &str) -> String {
    format!("/api/v1/conversation/{id}")
}

fn say(server: &Server, id: &str, text: &str, params: Value) -> Value {
    let answer = server.post(json!({"conversationId": id, "message": text, "inputParams": params}).to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The raw files of a SQLite database, and the content of all tables.
pub fn bytes(env: &TestEnv) -> Vec<Vec<u8>> {
    let file = PathBuf::from(env.database_url().trim_start_matches("sqlite:"));
    let files = ["", "-wal"].map(|ending| fs::read(format!("{}{ending}", file.display())).unwrap_or_default());
    let rows = env.sql().dump().into_iter().map(String::into_bytes);
    if env.is_postgres() { rows.collect() } else { files.into_iter().chain(rows).collect() }
}

pub fn contains_mark(all: &[Vec<u8>], mark: &str) -> bool {
    all.iter().any(|bytes| bytes.windows(mark.len()).any(|part| part == mark.as_bytes()))
}

/// A compressed column of all turns as text: `journal` or `answer`.
pub fn decompressed(env: &TestEnv, column: &str) -> String {
    let mut sql = env.sql();
    let hex = sql.hex_expression(column);
    let found = sql.texts(&format!("select {hex} from ce_turn where {column} is not null"));
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let read = |hex: &String| decompress_json::<Value>(&hex.as_bytes().chunks(2).map(byte).collect::<Vec<u8>>()).unwrap();
    found.iter().map(|row| read(row).to_string()).collect()
}

/// A pack that calls its model, tool and service in every turn.
fn desk(address: SocketAddr) -> Value {
    json!({
        "name": "desk",
        "tables": {
            "ce_intent": [{"intent_code": "DESK", "description": "Everything"}],
            "ce_intent_classifier": [{"classifier_id": 1, "rule_type": "REGEX", "pattern": ".*", "intent_code": "DESK", "priority": 1}],
            "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                "exact_text": "{{userText}} {{inputParams.tool_result.result}}"}],
            "ce_mcp_tool": [{"tool_id": 1, "tool_code": "crm.find", "tool_group": "API", "intent_code": "ANY", "state_code": "ANY"}],
            "ce_http_tool": [{"tool_id": 1, "url_template": format!("http://{address}/find"), "response_mapping": "TEXT"}]
        }
    })
}

/// A service that answers everything with a mark.
fn start_service(mark: &str) -> (SocketAddr, Runtime) {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let body = format!("{{\"card\": {mark}, \"escaped\": \"\\u0034{}\"}}", &mark[1..]);
    let routes = Router::new().fallback(async move || body);
    runtime.spawn(async { axum::serve(listener, routes).await });
    (address, runtime)
}

/// A server that calls a model and the service.
fn serve(env: &TestEnv, address: SocketAddr, reply: &Value, more: &[&str]) -> Server {
    let model = format!("scripted:{}", env.write_pack("model.json", &json!([{"reply": reply}])));
    let network = format!("convengine.network.allow-private={address}");
    let words = ["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY", "--set", &network];
    env.start(env.command(&[&SERVE[..], &words, more].concat()).env("RUST_LOG", "info,convengine_host=trace"))
}

fn act_reply(query: &str) -> Value {
    json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": query})
}

fn tool_reply() -> Value {
    json!({"tool_code": "crm.find", "args": {}})
}

fn feedback(server: &Server, id: &str, mark: &str) {
    let body = json!({"conversationId": id, "feedbackType": "THUMBS_DOWN", "messageId": mark, "assistantResponse": format!("bad {mark}"),
        "metadata": {"reason": mark, "correct_sql": format!("select '{mark}'")}});
    let answer = server.request("POST", "/api/v1/conversation/feedback", &JSON, body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_deleted_conversation_leaves_no_byte() {
    let mark = "MARK-OF-ADA-4711";
    let (address, _runtime) = start_service("1234512345");
    let env = TestEnv::with_pack(&desk(address));
    let server = serve(&env, address, &act_reply(mark), &["--set", "convengine.flow.memory.enabled=true"]);
    for id in [ID, OTHER] {
        for turn in 0..3 {
            // The second is long enough to need its own pages.
            let text = format!("{mark} {}", "and so on ".repeat(if turn == 1 { 900 } else { 1 }));
            say(&server, id, &text, json!({"tool_request": tool_reply(), "name": mark}));
        }
        feedback(&server, id, mark);
    }
    let mut sql = env.sql();
    // What other endpoints write, or have written before.
    for id in [ID, OTHER] {
        sql.run(&format!("insert into ce_user_query_knowledge (conversation_id, query_text) values ('{id}', '{mark} {id}')"));
    }
    let turn = sql.texts(&format!("select cast(turn_id as text) from ce_turn where conversation_id = '{ID}'")).remove(0);
    let at = if sql.is_postgres() { "now()" } else { "1" };
    sql.run(&format!(
        "insert into ce_turn_effect (turn_id, effect_id, request_hash, outcome, at) values ('{turn}', 900, '', '{mark}', {at})"
    ));
    drop(sql);
    let before = bytes(&env);
    assert!(contains_mark(&before, mark) && contains_mark(&before, ID));
    let mut filled: Vec<String> = Vec::new();
    for table in [
        "ce_conversation",
        "ce_conversation_history",
        "ce_audit",
        "ce_llm_call_log",
        "ce_turn",
        "ce_memory",
        "ce_mcp_user_feedback",
        "ce_user_query_knowledge",
        "ce_semantic_query_failures",
    ] {
        filled.extend(env.sql().texts(&format!("select '{table}' from {table} where conversation_id = '{ID}' limit 1")));
    }
    assert_eq!(filled.len(), 9, "each table has data to delete: {filled:?}");
    let stream = client().get(format!("http://{}/api/v1/conversation/stream/{ID}", server.address)).send().unwrap();
    let stream = std::thread::spawn(move || stream.text().unwrap());
    let gone = server.request("DELETE", &conversation(ID), &[], "");
    assert_eq!((gone.status, gone.json()), (200, json!({"forgotten": 1})), "{gone:?}");
    assert!(stream.join().unwrap().contains("CONNECTED"), "the stream has ended");
    let after = bytes(&env);
    assert!(
        !contains_mark(&after, ID) && !contains_mark(&after, &turn),
        "{:#?}",
        env.sql().dump().iter().filter(|it| it.contains(ID)).collect::<Vec<_>>()
    );
    assert!(contains_mark(&after, OTHER) && contains_mark(&after, mark));
    assert_eq!(env.run(&["replay", "--conversation", OTHER]).code, 0);
    assert_eq!(server.audit(ID), [] as [Value; 0]);
    let record = || server.log().lines().filter(|line| line.contains("deleted conversations") && line.contains("count=1")).count();
    assert!(
        wait_until(|| record() == 1) && !server.log().lines().any(|row| row.contains("deleted") && row.contains(ID)),
        "{}",
        server.log()
    );
    let unknown = server.request("DELETE", &conversation(ID), &[], "");
    assert_eq!((unknown.status, &unknown.json()["code"]), (404, &json!("nothing_found")), "{unknown:?}");
    assert_eq!(server.request("DELETE", &conversation("x"), &[], "").status, 400);
    // The mark disappears with the last conversation that contains it.
    let output = env.run(&["forget", "--conversation", OTHER]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "deleted conversations: 1\n"), "{output:?}");
    let after = bytes(&env);
    assert!(!contains_mark(&after, OTHER) && !contains_mark(&after, mark));
    assert_one_line(&env.run(&["forget", "--conversation", OTHER]), 4, &["nothing was deleted", "conversation not found"]);
    // It starts anew.
    assert_eq!(say(&server, ID, "hello", json!({}))["success"], true);
    assert_eq!(env.sql().texts(&format!("select cast(number as text) from ce_turn where conversation_id = '{ID}'")), ["1"]);
}

#[test]
#[on(sqlite)]
fn among_many_conversations_sqlite_keeps_no_byte_of_deleted_ones() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    // Distinct ids: the compression of journals could assemble one that differs only in its last digits.
    let id = |number: usize| {
        let digits = format!("{:016x}", (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        format!(
            "{}-{}-4{}-9{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[13..],
            &digits[2..5],
            digits[4..].chars().rev().collect::<String>()
        )
    };
    let secret = |number: usize| id(number).replace('-', "#");
    for round in 0..3 {
        for number in 0..40 {
            let text = format!("order {} {}", secret(number), "x".repeat(number * (37 + round * 50)));
            say(&server, &id(number), &text, json!({"customerId": if number % 2 == 0 { "even" } else { "odd" }, "note": text}));
        }
    }
    let done = server.request("POST", FORGET, &JSON, json!({"person": {"customerId": "even"}}).to_string());
    assert_eq!((done.status, done.json()), (200, json!({"forgotten": 20})), "{done:?}");
    let after = bytes(&env);
    for number in 0..40 {
        let found = [id(number), secret(number)].map(|it| contains_mark(&after, &it));
        assert_eq!(found, [number % 2 == 1; 2], "{number}");
    }
}

#[test]
fn a_person_is_deleted_by_parameters() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    say(&server, ID, "my order", json!({"customerId": "C-17", "country": "DE"}));
    say(&server, OTHER, "my order", json!({"customerId": "C-17", "country": "FR"}));
    say(&server, THIRD, "my order", json!({"customerId": 17}));
    let ids = || env.sql().texts("select cast(conversation_id as text) from ce_conversation order by 1");
    let forget = |person: Value| server.request("POST", FORGET, &JSON, json!({"person": person}).to_string());
    let nothing = forget(json!({"customerId": "C-1"}));
    assert_eq!((nothing.status, &nothing.json()["code"]), (404, &json!("nothing_found")), "nobody takes it for an erasure: {nothing:?}");
    assert_eq!(forget(json!({"customerId": "C-17", "country": "FR"})).json(), json!({"forgotten": 1}));
    assert_eq!(ids(), [ID, THIRD]);
    assert_eq!(forget(json!({"customerId": 17})).json(), json!({"forgotten": 1}));
    for wrong in [json!({}), json!("C-17"), json!({"customerId": null}), json!({"customerId": {}}), json!({"customerId": ""})] {
        assert_eq!(forget(wrong.clone()).status, 400, "{wrong}");
    }
    let output = env.run(&["forget", "--person", "customerId=C-17"]);
    assert_eq!((output.code, output.stdout.as_str(), ids().len()), (0, "deleted conversations: 1\n", 0), "{output:?}");
    assert_one_line(&env.run(&["forget", "--person", "customerId=C-17"]), 4, &["nothing was deleted"]);
    assert_eq!(env.run(&["forget", "--person", "customerId"]).code, 2);
    assert_eq!(env.run(&["forget"]).code, 2);
}

#[test]
fn sessions_and_runs_of_a_person_are_deleted() {
    let (env, server) = serve_desk(&flow_desk("Desk"), &[]);
    publish_chain(&server, &chain("ask", json!([human("wait")]), &[]));
    let (by_user, _) = Session::start_simulated(&server, &json!({"user": {"id": "u-17"}}));
    let (by_param, _) = Session::start_simulated(&server, &json!({"params": {"count": 4711}}));
    assert_eq!(reply_texts(&by_param.say(&server, "more please")), ["Desk 4712"], "the value is in the journals alone");
    let run = Run::start(&server, "ask", &json!({"input": {"customer": {"id": "C-17"}}}));
    run.wait_for(&server, "awaiting_human");
    let forget = |person: Value| server.request("POST", FORGET, &JSON, json!({"person": person}).to_string());
    for person in [json!({"id": "U-17"}), json!({"status": "active"}), json!({"id": "u-17", "count": 4711}), json!({"customer.id": "C-1"})]
    {
        let nothing = forget(person);
        assert_eq!((nothing.status, &nothing.json()["code"]), (404, &json!("nothing_found")), "{nothing:?}");
    }
    for (person, id) in
        [(json!({"id": "u-17"}), &by_user.id), (json!({"count": 4711}), &by_param.id), (json!({"customer.id": "C-17"}), &run.id)]
    {
        assert!(contains_mark(&bytes(&env), id));
        let done = forget(person);
        assert_eq!((done.status, done.json()), (200, json!({"forgotten": 1})), "{done:?}");
        assert!(!contains_mark(&bytes(&env), id));
    }
    assert_eq!(server.get(&run.path).status, 404);
}

/// The desk reads a PIN, and unsets it in the same turn.
#[test]
fn a_value_that_is_read_and_unset_in_one_turn_is_found() {
    let document = with_changes(
        flow_desk("Desk"),
        &[
            ("/variables", json!([{"name": "pin", "type": "string"}, {"name": "count", "type": "number", "default": 0}])),
            ("/entities", json!([{"id": "pin", "kind": "regex", "patterns": ["\\b(\\d{4})\\b"]}])),
            ("/graphs/2/nodes/1/data/redact", json!(false)),
            ("/graphs/2/nodes/2/type", json!("set")),
            ("/graphs/2/nodes/2/data", json!({"assign": [{"variable": "pin", "op": "unset"}]})),
        ],
    );
    let (env, server) = serve_desk(&document, &[]);
    let (read, _) = Session::start_simulated(&server, &json!({}));
    read.say(&server, "log in");
    read.say(&server, "it is 4711");
    let (mentioned, _) = Session::start_simulated(&server, &json!({}));
    mentioned.say(&server, "4711");
    let forget = |pin: &str| server.request("POST", FORGET, &JSON, json!({"person": {"pin": pin}}).to_string());
    assert_eq!(forget("4712").json()["code"], "nothing_found");
    let done = forget("4711");
    assert_eq!((done.status, done.json()), (200, json!({"forgotten": 1})), "{done:?}");
    let ids = env.sql().texts("select cast(conversation_id as text) from ce_conversation");
    assert_eq!(ids, [mentioned.id], "a text that contains the value is not what was read");
}

#[test]
fn a_session_in_use_and_a_sleeping_chain_outlive_the_retention_of_their_first_turn() {
    let (env, server) = serve_desk(&flow_desk("Desk"), &[]);
    let nap = step("nap", "schedule", json!({"after_ms": 45 * 86_400_000_u64}));
    publish_chain(&server, &chain("nap", json!([nap]), &[("max_run_ms", json!(60 * 86_400_000_u64))]));
    let run = Run::start(&server, "nap", &json!({}));
    run.wait_for(&server, "sleeping");
    let [used, left, ended] = [(), (), ()].map(|()| Session::start_simulated(&server, &json!({})).0);
    ended.say(&server, "good bye");
    let (time, millis) = if env.is_postgres() {
        ("now() - interval '40 days'", "(extract(epoch from now() - interval '40 days') * 1000)::bigint")
    } else {
        ("(unixepoch() - 40 * 86400) * 1000", "(unixepoch() - 40 * 86400) * 1000")
    };
    env.sql().run(&format!("update ce_conversation set created_at = {time}, updated_at = {time}"));
    env.sql().run(&format!("update cs_session set updated_at = {millis}"));
    assert_eq!(reply_texts(&used.say(&server, "more please")), ["Desk 1"]);
    let listed = server.get("/api/v1/conversation?limit=1").json()["conversations"][0].clone();
    let about = ["conversationId", "program", "document", "status"].map(|it| &listed[it]);
    assert_eq!(about, [&json!(used.id), &json!("assistant"), &json!("desk"), &json!("active")], "the one with the newest turn: {listed}");
    let sleeping = server.get("/api/v1/conversation?status=sleeping").json()["conversations"].clone();
    assert_eq!((&sleeping[0]["conversationId"], &sleeping[0]["program"], &sleeping[1]), (&json!(run.id), &json!("chain"), &Value::Null));
    let sweep = || env.run(&["retention", "--set", "convengine.retention.conversations=30"]);
    let swept = sweep();
    assert!(swept.code == 0 && swept.stdout.starts_with("deleted conversations: 2,"), "{swept:?}");
    let rows = env.sql().dump().join("\n");
    assert_eq!([&used.id, &run.id, &left.id, &ended.id].map(|it| rows.contains(it)), [true, true, false, false]);
    assert_eq!(reply_texts(&used.say(&server, "more please")), ["Desk 2"]);
    assert_eq!(used.assert_replays(&env, &server), 3);
    assert_eq!(run.read(&server)["status"], "sleeping");
    env.sql().run(&format!("update cs_session set updated_at = {millis}"));
    let swept = sweep();
    assert!(swept.code == 0 && swept.stdout.starts_with("deleted conversations: 1,"), "{swept:?}");
    let rows = env.sql().dump().join("\n");
    assert_eq!([&used.id, &run.id].map(|it| rows.contains(it)), [false, true]);
}

#[test]
fn deletion_waits_for_a_running_turn() {
    let env = TestEnv::with_pack(&orders_pack());
    let model = format!("scripted:{}", env.write_pack("model.json", &json!([{"delay_ms": 2000, "reply": act_reply("")}])));
    let words = ["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY"];
    let server = env.start(env.command(&SERVE).args(words));
    let mut listener = Listener::open(&server);
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(ID, "my order"));
        listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        let open = "select status from ce_turn";
        assert!(wait_until(|| env.sql().texts(open) == ["open"]));
        // Another process cannot wait for it.
        assert_one_line(&env.run(&["forget", "--conversation", ID]), 1, &["running turn"]);
        assert_eq!(server.request("DELETE", &conversation(ID), &[], "").status, 200);
        assert_eq!(turn.join().unwrap()["success"], true, "the message was answered before the deletion");
    });
    assert!(!contains_mark(&bytes(&env), ID));
}

#[test]
fn old_data_is_deleted() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    for id in [ID, OTHER, THIRD] {
        say(&server, id, "my order", json!({}));
        feedback(&server, id, "bad");
    }
    let past = |days: u32| {
        if env.is_postgres() {
            (format!("now() - interval '{days} days'"), format!("now() - interval '{days} days'"))
        } else {
            (format!("(unixepoch() - {days} * 86400) * 1000"), format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '-{days} days')"))
        }
    };
    let mut sql = env.sql();
    let (millis, text) = past(40);
    sql.run(&format!("update ce_conversation set updated_at = {millis} where conversation_id = '{ID}'"));
    // As the original stored it.
    sql.run(&format!("update ce_conversation set updated_at = {text} where conversation_id = '{OTHER}'"));
    sql.run(&format!("update ce_audit set created_at = {text} where conversation_id = '{THIRD}'"));
    sql.run(&format!("update ce_mcp_user_feedback set created_at = {text} where conversation_id = '{THIRD}'"));
    let count = |table: &str| env.sql().texts(&format!("select cast(count(*) as text) from {table}")).remove(0);
    assert_one_line(&env.run(&["retention"]), 2, &["convengine.retention"]);
    let output = env.run(&["retention", "--set", "convengine.retention.conversations=50", "--set", "convengine.retention.audit=30"]);
    assert!(
        output.code == 0 && output.stdout.starts_with("deleted conversations: 0, ") && !output.stdout.contains("audit rows: 0,"),
        "{output:?}"
    );
    let left = env.sql().texts(&format!("select stage from ce_audit where conversation_id = '{THIRD}'"));
    assert_eq!(left, [""; 0]);
    assert_eq!((count("ce_conversation"), count("ce_mcp_user_feedback")), ("3".to_owned(), "3".to_owned()));
    say(&server, THIRD, "my order", json!({}));
    let replayed = env.run(&["replay", "--conversation", THIRD]);
    assert_eq!(replayed.code, 0, "the remaining conversations replay: {replayed:?}");
    drop(server);
    // A server does so by itself.
    let words = ["--set", "convengine.retention.conversations=30", "--set", "convengine.retention.feedback=30"];
    let server = env.serve(&[&REGEX_ONLY[..], &words].concat());
    assert!(wait_until(|| count("ce_conversation") == "1" && count("ce_mcp_user_feedback") == "0"), "{}", server.log());
    assert!(wait_until(|| server.log().contains("deleted old data")), "{}", server.log());
    let left = env.sql().dump().join("\n");
    assert!(!left.contains(ID) && !left.contains(OTHER) && left.contains(THIRD));
    assert_eq!(env.run(&["replay", "--conversation", THIRD]).code, 0);
    assert_one_line(
        &env.run(&[&SERVE[..], &["--set", "convengine.retention.audit=never"]].concat()),
        2,
        &["convengine.retention.audit", "days"],
    );
}

#[test]
fn redacted_text_is_in_no_byte_and_replays_are_equal() {
    let (address, _runtime) = start_service(CARD);
    let env = TestEnv::with_pack(&desk(address));
    let rules = json!([{"pattern": r"\b4929[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}\b", "with": "[card]"}, {"param": "iban", "with": "[iban]"}]);
    let rules = format!("convengine.privacy.redact={rules}");
    let server = serve(&env, address, &act_reply(&format!("pay with {CARD}")), &["--set", &rules]);
    let mut listener = Listener::open(&server);
    let file = json!({"name": format!("{CARD}.pdf"), "mimeType": "application/pdf", "content": "aGVsbG8=", "encoding": "base64"});
    let params = json!({"tool_request": tool_reply(), "card": CARD.parse::<u64>().unwrap(), "deep": [{"card": CARD}], "iban": "DE00BANK7", "files": [file]});
    let answer = say(&server, ID, &format!("charge {CARD} please"), params);
    let value = answer["payload"]["value"].as_str().unwrap();
    assert!(value.starts_with("charge [card] please") && value.matches("[card]").count() >= 2, "{answer}");
    let events = listener.until(|it| it.name == "ENGINE_RETURN");
    feedback(&server, ID, CARD);
    let audit = server.audit(ID);
    let mut shown = bytes(&env);
    shown.extend([answer.to_string(), decompressed(&env, "journal"), server.log(), json!(audit).to_string()].map(String::into_bytes));
    shown.extend(events.iter().map(|event| event.data.to_string().into_bytes()));
    for mark in [CARD, "29123456781111", "DE00BANK7"] {
        assert!(!contains_mark(&shown, mark), "{mark}");
    }
    assert!(contains_mark(&shown, "[card].pdf") && contains_mark(&shown, "[iban]"));
    let model = env.sql().texts("select response_text from ce_llm_call_log").remove(0);
    assert!(model.contains("pay with [card]"), "{model}");
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
    // The same message under the same key is idempotent.
    let send = || {
        let body = json!({"conversationId": OTHER, "message": format!("is {CARD} mine?")}).to_string();
        server.request("POST", crate::harness::MESSAGE, &[JSON[0], ("Idempotency-Key", "k1")], body)
    };
    let (first, again) = (send(), send());
    assert_eq!((first.status, first.json()), (again.status, again.json()));
    for bad in ["[{\"pattern\": \"(\"}]", "cards", "[{\"with\": \"x\"}]"] {
        assert_one_line(
            &env.run(&[&SERVE[..], &["--set", &format!("convengine.privacy.redact={bad}")]].concat()),
            2,
            &["convengine.privacy.redact"],
        );
    }
}

#[test]
fn audit_rows_are_stored_with_the_session_when_configured() {
    let (address, _runtime) = start_service("77");
    let env = TestEnv::with_pack(&desk(address));
    let stored = |id: &str| {
        let rows =
            env.sql().texts(&format!("select cast(payload_json as text) from ce_audit where conversation_id = '{id}' order by audit_id"));
        rows.iter().map(|row| serde_json::from_str::<Value>(row).unwrap()).collect::<Vec<_>>()
    };
    for (mode, id) in [("DEFERRED_BULK", ID), ("IMMEDIATE", OTHER), ("DERIVED", THIRD)] {
        let mode = format!("convengine.audit.persistence.mode={mode}");
        let meta = ["--set", "convengine.audit.persist-meta=true", "--set", &mode];
        let server = serve(&env, address, &act_reply("q"), &meta);
        for text in ["one", "two"] {
            say(&server, id, text, json!({"tool_request": tool_reply()}));
        }
        feedback(&server, id, "m");
        assert!(!server.log().contains("persist-meta"), "it has an effect: {}", server.log());
        let with: Vec<Value> = server.get(&format!("/api/v1/conversation/audit/{id}?meta=true")).json().as_array().unwrap().clone();
        if id == THIRD {
            assert_eq!(stored(id).len(), 2, "only feedback is stored");
            let output = env.run(&["audit", "materialise", "--set", "convengine.audit.persist-meta=true"]);
            assert_eq!(output.code, 0, "{output:?}");
        }
        let payload = |row: &Value| serde_json::from_str::<Value>(row["payloadJson"].as_str().unwrap()).unwrap();
        let rows = stored(id);
        assert!(rows.iter().all(|row| row["_meta"]["session"].is_object() && row["_meta"]["conversationId"] == id), "{rows:?}");
        assert!(rows.iter().filter(|it| it["_meta"]["session"]["userText"] == "two").count() > 5);
        assert_eq!(with.len(), rows.len());
        let with: Vec<Value> = with.iter().map(payload).collect();
        for row in &rows {
            assert!(with.contains(row), "{row}");
        }
        let plain = server.audit(id);
        assert!(plain.len() == rows.len() && plain.iter().all(|row| payload(row).get("_meta").is_none()));
        // Rows derived without the setting are the same.
        drop(server);
        let server = serve(&env, address, &act_reply("q"), &[]);
        assert_eq!(server.audit(id), plain);
        let output = env.run(&["replay", "--conversation", id]);
        assert_eq!(output.code, 0, "{output:?}");
    }
}
