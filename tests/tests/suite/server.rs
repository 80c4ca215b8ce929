//! The running server: its error responses, and that nothing is lost or half written.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{Answer, MESSAGE, REGEX_ONLY, Server, TestEnv, orders_pack, wait_until};

const ID: &str = "0b0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a01";

fn body(conversation: &str, text: &str) -> String {
    json!({"conversationId": conversation, "message": text}).to_string()
}

/// Asserts the form of every error response; returns its message.
#[track_caller]
fn assert_refused(answer: &Answer, status: u16, path: &str) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/json", "{answer:?}");
    assert!(!answer.header("x-request-id").is_empty(), "{answer:?}");
    let body = answer.json();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["timestamp", "status", "error", "path", "message"]);
    assert!(is_iso(body["timestamp"].as_str().unwrap()), "{body}");
    assert_eq!((&body["status"], &body["path"]), (&json!(status), &json!(path)));
    assert!(!body["error"].as_str().unwrap().is_empty());
    body["message"].as_str().unwrap().to_owned()
}

/// `2026-01-02T03:04:05.678Z`
fn is_iso(text: &str) -> bool {
    let form: String = text.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
    form == "0000-00-00T00:00:00.000Z"
}

#[test]
fn the_members_of_a_message_are_read_leniently() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    for (body, text) in [
        ("{}", Value::Null),
        (r#"{"message":null,"reset":null,"inputParams":null,"conversationId":null}"#, Value::Null),
        (r#"{"message":"","conversationId":""}"#, json!("")),
        (r#"{"message":5}"#, json!("5")),
        (r#"{"message":12.0}"#, json!("12.0")),
        (r#"{"message":true}"#, json!("true")),
        (r#"{"message":"first","message":"last"}"#, json!("last")),
        (r#"{"message":"hi","unknown":{"a":[1]},"user":null}"#, json!("hi")),
        (r#"{"message":"null \u0000 and \ud83d\ude00"}"#, json!("null \0 and 😀")),
        (r#"{"message":"half \ud800"}"#, json!("half \u{fffd}")),
    ] {
        let answer = server.post(body);
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"), "{body}: {answer:?}");
        assert!(!answer.header("x-request-id").is_empty());
        let id = answer.json()["conversationId"].as_str().unwrap().to_owned();
        assert_eq!(id.len(), 36, "{body}");
        // PostgreSQL cannot store the character U+0000.
        let stored = if env.is_postgres() { json!(text.as_str().map(|it| it.replace('\0', "\u{fffd}"))) } else { text };
        assert_eq!(server.texts(&id), [stored], "{body}");
    }
    let answer = server.post(body(&ID.to_uppercase(), "hello"));
    assert_eq!(answer.json()["conversationId"], ID);
    let answer = server.request("POST", MESSAGE, &[("Content-Type", "application/json"), ("X-Request-Id", "mine")], "{}");
    assert_eq!(answer.header("x-request-id"), "mine");
}

#[test]
fn a_reset_and_parameters_are_understood() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let resets = || server.audit(ID).iter().filter(|row| row["stage"] == "CONVERSATION_RESET").count();
    let value = |answer: &Answer| answer.json()["payload"]["value"].clone();
    let with = |members: Value| {
        let mut body = json!({"conversationId": ID, "message": "hello"});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        server.post(body.to_string())
    };
    assert_eq!(value(&with(json!({"inputParams": {"note": " and parcels", "deep": [{"a": null}]}}))), "Ask me about orders and parcels.");
    assert_eq!(value(&with(json!({}))), "Ask me about orders and parcels.", "parameters persist");
    for (reset, count) in [(json!(false), 0), (json!("false"), 0), (json!(0), 0), (json!(true), 1), (json!("true"), 2), (json!(1), 3)] {
        let answer = with(json!({"reset": reset}));
        assert_eq!((answer.status, resets()), (200, count), "reset {reset}");
    }
    assert_eq!(value(&with(json!({}))), "Ask me about orders.", "a reset forgets them");
}

#[test]
fn bad_requests_are_rejected_and_store_nothing() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let mut sql = env.sql();
    let before = sql.dump();
    for body in [
        "",
        " ",
        "null",
        "[]",
        "\"hello\"",
        "5",
        "{bad",
        "{} trailing",
        "{'message':'single'}",
        r#"{"message":{"a":1}}"#,
        r#"{"message":["a"]}"#,
        r#"{"inputParams":[1]}"#,
        r#"{"inputParams":"text"}"#,
        r#"{"inputParams":{"n":1e999}}"#,
        r#"{"reset":"yes"}"#,
        r#"{"reset":{}}"#,
        r#"{"conversationId":"1-1-1-1-1"}"#,
        r#"{"conversationId":"not-a-uuid"}"#,
        r#"{"conversationId":7}"#,
    ] {
        let message = assert_refused(&server.post(body), 400, MESSAGE);
        assert!(message.contains("send"), "does not say what to do: {message}");
    }
    assert_refused(&server.post(b"{\"message\":\"\xff\"}".to_vec()), 400, MESSAGE);
    for levels in [65, 120, 5000] {
        let deep = format!("{{\"inputParams\":{}1{}}}", "{\"a\":".repeat(levels), "}".repeat(levels));
        assert_refused(&server.post(deep), 400, MESSAGE);
    }
    let json = ("Content-Type", "application/json");
    for (headers, status) in [
        (vec![("Content-Type", "text/plain")], 415),
        (vec![("Content-Type", "application/x-www-form-urlencoded")], 415),
        (vec![], 415),
        (vec![json, ("Accept", "text/html")], 406),
        (vec![json, ("Accept", "application/json;q=0")], 406),
    ] {
        assert_refused(&server.request("POST", MESSAGE, &headers, r#"{"message":"hi"}"#), status, MESSAGE);
    }
    assert_eq!(sql.dump(), before);
    for accept in ["*/*", "application/json", "text/html, application/*;q=0.5"] {
        assert_eq!(server.request("POST", MESSAGE, &[json, ("Accept", accept)], "{}").status, 200, "{accept}");
    }
}

#[test]
fn unknown_methods_and_paths_are_rejected_in_the_same_form() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let audit = format!("/api/v1/conversation/audit/{ID}");
    for (method, path, allow) in [
        ("GET", MESSAGE, "POST"),
        ("PUT", MESSAGE, "POST"),
        ("POST", audit.as_str(), "GET,HEAD"),
        ("DELETE", "/healthz", "GET,HEAD"),
        ("POST", "/readyz", "GET,HEAD"),
    ] {
        let answer = server.request(method, path, &[], "");
        assert_refused(&answer, 405, path);
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
    }
    for path in ["/nothing", "/api/v1/conversations", "/api/v1/db/agent", "/api/v1/conversation/audit/", "/assets/none.js"] {
        assert_refused(&server.get(path), 404, path);
    }
    assert_eq!(server.get("/healthz").json(), json!({"status": "UP"}));
    assert_eq!(server.get("/readyz").json()["status"], "UP");
}

#[test]
fn the_page_is_served_or_its_absence_is_explained() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let page = server.get("/");
    if page.status == 200 {
        assert_eq!(page.header("content-type"), "text/html");
        let posted = server.request("POST", "/", &[], "");
        assert_refused(&posted, 405, "/");
        assert_eq!(posted.header("allow"), "GET,HEAD");
    } else {
        let message = assert_refused(&page, 404, "/");
        assert!(message.contains("cargo xtask run"), "{message}");
    }
}

#[test]
fn a_text_may_be_as_long_as_the_limit_and_no_longer() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let (longest, too_long) = ("é".repeat(32_000), "é".repeat(32_001));
    let message = assert_refused(&server.post(body(ID, &too_long)), 413, MESSAGE);
    assert!(message.contains("32000 characters"), "{message}");
    assert_eq!(server.get(&format!("/api/v1/conversation/audit/{ID}")).text, "[]");
    assert_eq!(env.sql().texts("select conversation_id from ce_conversation union all select turn_id from ce_turn"), [""; 0]);
    assert_eq!(server.say(ID, &longest)["success"], true);
    assert_eq!(server.texts(ID), [longest]);
}

#[test]
fn audit_rows_have_their_form_and_order() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    (0..3).for_each(|_| drop(server.say(ID, "my order")));
    let rows = server.audit(ID);
    for row in &rows {
        let members: Vec<&String> = row.as_object().unwrap().keys().collect();
        assert_eq!(members, ["auditId", "conversationId", "stage", "payloadJson", "createdAt"]);
        assert_eq!(row["conversationId"], ID);
        assert!(serde_json::from_str::<Value>(row["payloadJson"].as_str().unwrap()).unwrap().is_object(), "{row}");
        assert!(is_iso(row["createdAt"].as_str().unwrap()), "{row}");
    }
    let order: Vec<(&str, u64)> = rows.iter().map(|row| (row["createdAt"].as_str().unwrap(), row["auditId"].as_u64().unwrap())).collect();
    assert!(order.is_sorted() && order.iter().map(|it| it.1).is_sorted(), "{order:?}");
    let path = |id: &str| format!("/api/v1/conversation/audit/{id}");
    assert_eq!(server.audit(&ID.to_uppercase()), rows);
    assert_eq!(server.get(&path("ffffffff-0000-0000-0000-000000000000")).text, "[]");
    for id in ["1-1-1-1-1", "x", "%FF", &format!("{ID}0")] {
        assert_refused(&server.get(&path(id)), 400, &path(id));
    }
}

#[test]
fn a_broken_policy_row_stops_every_turn_and_is_named() {
    let env = TestEnv::new();
    let pack = root().join("tests/packs/pipeline/policy_bad_row_fails_closed.json");
    assert_eq!(env.run(&["import", pack.to_str().unwrap()]).code, 0);
    let server = env.serve(&REGEX_ONLY);
    assert!(server.log().contains("error ce_policy[1].pattern: "), "{}", server.log());
    assert_eq!(server.get("/healthz").status, 200);
    let ready = server.get("/readyz");
    assert!(assert_refused(&ready, 503, "/readyz").contains("ce_policy[1]"), "{ready:?}");
    let answer = server.say(ID, "where is my order");
    assert_eq!((&answer["success"], &answer["errorCode"]), (&json!(false), &json!("POLICY_UNAVAILABLE")));
    assert!(!answer.to_string().contains("never closed"), "the pattern does not reach the client: {answer}");
    assert_eq!(server.texts(ID), ["where is my order"]);
}

#[test]
fn a_lost_snapshot_shows_in_readyz() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    env.sql().run("delete from ce_config_snapshot");
    // An answer is valid for a second.
    assert!(wait_until(|| server.get("/readyz").status == 503));
    assert!(assert_refused(&server.get("/readyz"), 503, "/readyz").contains("snapshot"));
}

/// `orders` with a row of each kind that does not compile, and the paths of their issues.
fn with_broken_rows() -> (Value, [&'static str; 4]) {
    let mut pack = orders_pack();
    let mut add = |table: &str, row: Value| {
        let rows = pack["tables"].as_object_mut().unwrap().entry(table).or_insert(json!([]));
        rows.as_array_mut().unwrap().push(row);
    };
    let rule = |id: u32, kind: &str, pattern: &str| {
        json!({"rule_id": id, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "ANY", "state_code": "ANY", "rule_type": kind,
            "match_pattern": pattern, "action": "SET_INTENT", "action_value": "WRONG", "priority": 1})
    };
    add(
        "ce_intent_classifier",
        json!({"classifier_id": 3, "rule_type": "REGEX", "pattern": "(order", "intent_code": "ORDERS", "priority": 1}),
    );
    add("ce_rule", rule(1, "REGEX", "[a-"));
    add("ce_rule", rule(2, "JSON_PATH", "$[?(@.x =="));
    let template = json!({"response_id": 4, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
        "exact_text": "Broken {{#if x}}", "priority": 1});
    add("ce_response", template);
    (pack, ["ce_intent_classifier[3].pattern", "ce_rule[1].match_pattern", "ce_rule[2].match_pattern", "ce_response[4].exact_text"])
}

#[test]
fn rows_that_do_not_compile_are_reported_and_skipped() {
    let (pack, paths) = with_broken_rows();
    let env = TestEnv::with_pack(&pack);
    let server = env.serve(&REGEX_ONLY);
    let log = server.log();
    for path in paths {
        assert_eq!(log.lines().filter(|line| line.starts_with(&format!("error {path}: "))).count(), 1, "{path} in {log}");
    }
    assert_eq!(server.get("/readyz").status, 200);
    let answer = server.say(ID, "my order");
    assert_eq!((&answer["intent"], &answer["payload"]["value"]), (&json!("ORDERS"), &json!("Your order is on its way.")));
    drop(server);
    let strict = env.run(&["serve", "--listen", "127.0.0.1:0", "--set", "convengine.config.strict=true"]);
    assert_eq!((strict.code, strict.stdout.as_str()), (2, ""), "{strict:?}");
    assert!(paths.iter().all(|it| strict.stderr.contains(it)) && strict.stderr.contains("convengine.config.strict"), "{}", strict.stderr);
}

#[test]
fn simultaneous_messages_are_all_answered_and_stored_in_order() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let ids: Vec<String> = (0..24).map(|it| format!("0b0f4a3e-6f0a-4f0e-9a53-{it:012}")).collect();
    // Two clients per conversation.
    thread::scope(|scope| {
        for half in ids.chunks(6) {
            for name in ["one", "two"] {
                let server = &server;
                scope.spawn(move || half.iter().for_each(|id| assert_eq!(server.say(id, &format!("order {name}"))["success"], true)));
            }
        }
    });
    for id in &ids {
        let mut texts: Vec<String> = server.texts(id).iter().map(|text| text.as_str().unwrap().to_owned()).collect();
        let mut sql = env.sql();
        let history =
            sql.texts(&format!("select user_input from ce_conversation_history where conversation_id = '{id}' order by history_id"));
        assert_eq!(history, texts, "{id}");
        let numbers = sql.texts(&format!("select cast(number as text) from ce_turn where conversation_id = '{id}' order by created_at"));
        assert_eq!(numbers, ["1", "2"], "{id}");
        texts.sort();
        assert_eq!(texts, ["order one", "order two"], "{id}");
    }
}

#[test]
#[on(sqlite)]
fn a_locked_sqlite_database_rejects_the_whole_turn_and_recovers() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let mut lock = env.sql();
    let before = lock.dump();
    lock.run("begin immediate");
    thread::scope(|scope| {
        let other = scope.spawn(|| env.run(&["serve", "--listen", "127.0.0.1:0"]));
        let answer = server.post(body(ID, "my order"));
        assert!(assert_refused(&answer, 503, MESSAGE).contains("did not store the turn"), "{answer:?}");
        assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
        let output = other.join().unwrap();
        assert_eq!((output.code, output.stderr.lines().count()), (3, 1), "{output:?}");
        assert!(output.stderr.contains("locked"), "{}", output.stderr);
    });
    assert_eq!(server.get(&format!("/api/v1/conversation/audit/{ID}")).text, "[]");
    assert_eq!(lock.dump(), before);
    lock.run("rollback");
    assert_eq!(server.say(ID, "my order")["success"], true);
    assert_eq!(lock.texts("select cast(number as text) from ce_turn"), ["1"]);
}

/// A server whose model answers the message "slow" after a delay.
fn serve_slow() -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let rules = json!([{"user_text": "slow", "delay_ms": 4000, "reply": reply}, {"reply": reply}]);
    let model = format!("scripted:{}", env.write_pack("model.json", &rules));
    let server = env.serve(&["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY"]);
    (env, server)
}

/// Sends "slow" on its own connection and calls `then` once its turn runs and one of nine other messages,
/// one more than the queue holds, was rejected. Returns how many other messages were answered.
fn while_a_turn_runs(server: &Server, then: impl FnOnce(TcpStream)) -> usize {
    let text = body(ID, "slow");
    let mut slow = TcpStream::connect(&server.address).unwrap();
    let host = &server.address;
    let head = format!("POST {MESSAGE} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close");
    write!(slow, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    let is_running = || server.get("/metrics").text.lines().any(|line| line == "convengine_turns_running 1");
    assert!(wait_until(is_running), "the turn does not run: {}", server.log());
    let (sender, responses) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..9 {
            let sender = sender.clone();
            scope.spawn(move || sender.send(server.post(body(ID, "quick"))).unwrap());
        }
        let first = responses.recv().unwrap();
        assert_refused(&first, 503, MESSAGE);
        assert!(!first.header("retry-after").is_empty());
        then(slow);
    });
    drop(sender);
    let rest = responses.iter().collect::<Vec<Answer>>();
    assert!(rest.iter().all(|it| it.status == 200), "{rest:?}");
    rest.len()
}

#[test]
fn a_turn_is_stored_when_its_client_disconnects() {
    let (env, server) = serve_slow();
    let others = while_a_turn_runs(&server, drop);
    let texts = server.texts(ID);
    assert_eq!(texts.iter().filter(|it| **it == "slow").count(), 1, "{texts:?}");
    assert_eq!(texts.len(), others + 1);
    let replayed = env.run(&["replay", "--conversation", ID]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_stopping_server_finishes_its_running_turns() {
    let (env, mut server) = serve_slow();
    let others = while_a_turn_runs(&server, |mut slow| {
        server.terminate();
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"success\":true"), "{answer}");
    });
    assert_eq!(server.exit_code(), Some(0));
    assert!(TcpStream::connect(&server.address).is_err());
    let turns = env.sql().texts(&format!("select last_user_text from ce_turn, ce_conversation where ce_turn.conversation_id = '{ID}'"));
    assert_eq!(turns.len(), others + 1);
}
