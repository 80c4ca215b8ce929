//! Turns that are sent twice, that time out, and that another process has started.

use std::process::Command;
use std::sync::mpsc;
use std::thread;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::agent_stream::text_reply;
use crate::harness::{MESSAGE, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::models::{KEY, PRICES, ProviderReply, pack_with_model, start_provider};
use crate::observability::read_metrics;

const ID: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0001";
const OTHER: &str = "5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a0002";

fn send(server: &Server, key: &str, body: &Value) -> crate::harness::Answer {
    server.request("POST", MESSAGE, &[("Content-Type", "application/json"), ("Idempotency-Key", key)], body.to_string())
}

#[test]
fn a_message_sent_twice_is_one_turn_with_one_reply() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let body = json!({"conversationId": ID, "message": "my order"});
    let first = send(&server, "key-1", &body);
    assert_eq!((first.status, send(&server, "key-1", &body).text), (200, first.text.clone()));
    // Also when the requests cross, after a restart, and without a conversation id.
    let texts: Vec<String> = thread::scope(|scope| {
        let sent: Vec<_> = (0..6).map(|_| scope.spawn(|| send(&server, "key-2", &json!({"message": "hello"})).text)).collect();
        sent.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| text == &texts[0] && text.contains("Ask me")), "{texts:?}");
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(send(&server, "key-1", &body).text, first.text);
    assert_eq!(env.sql().texts("select cast(count(*) as text) from ce_turn"), ["2"]);
    assert_eq!(server.texts(ID), ["my order"]);
}

#[test]
fn the_answer_of_a_key_survives_a_change_of_the_configuration() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let body = json!({"conversationId": ID, "message": "my order"});
    let first = send(&server, "key-1", &body);
    drop(server);
    // Nothing is left of what the turn ran on.
    env.sql().run("update ce_response set exact_text = 'Changed.'");
    env.sql().run("delete from ce_config_snapshot");
    let server = env.serve(&REGEX_ONLY);
    let again = send(&server, "key-1", &body);
    assert_eq!((again.status, again.text), (200, first.text));
    assert_eq!(server.say(OTHER, "my order")["payload"]["value"], "Changed.");
}

#[test]
fn a_key_is_for_one_message() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(send(&server, "k", &json!({"conversationId": ID, "message": "my order"})).status, 200);
    for other in [
        json!({"conversationId": ID, "message": "another"}),
        json!({"conversationId": OTHER, "message": "my order"}),
        json!({"conversationId": ID, "message": "my order", "inputParams": {"a": 1}}),
    ] {
        let refused = send(&server, "k", &other);
        assert_eq!(refused.status, 422, "{refused:?}");
    }
    for bad in ["", "x".repeat(256).as_str()] {
        assert_eq!(send(&server, bad, &json!({"conversationId": ID, "message": "my order"})).status, 400);
    }
    assert_eq!(env.sql().texts("select cast(count(*) as text) from ce_turn"), ["1"]);
}

/// A server whose model answers the message "slow" after a delay.
fn serve_slow(env: &TestEnv, delay_ms: u32, set: &[&str]) -> Server {
    env.start(&mut slow_command(env, delay_ms, set))
}

fn slow_command(env: &TestEnv, delay_ms: u32, set: &[&str]) -> Command {
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let rules = json!([{"user_text": "slow", "delay_ms": delay_ms, "reply": reply}, {"reply": reply}]);
    let model = format!("scripted:{}", env.write_pack("model.json", &rules));
    let mut arguments = [&SERVE[..], &["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY"]].concat();
    set.iter().for_each(|it| arguments.extend(["--set", it]));
    env.command(&arguments)
}

fn open_turns(env: &TestEnv) -> Vec<String> {
    env.sql().texts("select status from ce_turn where status = 'open'")
}

#[test]
fn a_turn_that_takes_too_long_fails_and_replays() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve_slow(&env, 60_000, &["convengine.turn.max-duration=300ms"]);
    let answer = server.say(ID, "slow");
    assert_eq!((&answer["success"], &answer["errorCode"], &answer["recoverable"]), (&json!(false), &json!("TURN_TIMEOUT"), &json!(true)));
    let stages: Vec<Value> = server.audit(ID).iter().map(|it| it["stage"].clone()).collect();
    assert!(stages.contains(&json!("TURN_CANCELLED")) && stages.ends_with(&[json!("ENGINE_KNOWN_FAILURE")]), "{stages:?}");
    assert_eq!(server.say(ID, "my order")["success"], true, "the conversation continues");
    assert!(open_turns(&env).is_empty());
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn turns_of_a_killed_server_are_finished_by_the_next() {
    let env = TestEnv::with_pack(&orders_pack());
    // The server is killed when it is dropped, like every server of these tests.
    let server = serve_slow(&env, 60_000, &["convengine.turn.lease=500ms"]);
    thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let client = crate::harness::client();
            let call = client.post(format!("http://{}{MESSAGE}", server.address)).header("Content-Type", "application/json");
            call.header("Idempotency-Key", "k").body(json!({"conversationId": ID, "message": "slow"}).to_string()).send().is_err()
        });
        assert!(wait_until(|| open_turns(&env) == ["open"]), "the turn is not open");
        server.kill();
        assert!(sent.join().unwrap(), "the turn was answered");
    });
    let next = serve_slow(&env, 0, &["convengine.turn.lease=500ms"]);
    assert!(wait_until(|| open_turns(&env).is_empty()), "the turn is not finished");
    let answer = send(&next, "k", &json!({"conversationId": ID, "message": "slow"}));
    assert_eq!((answer.status, answer.json()["success"].clone()), (200, json!(true)), "{}", answer.text);
    assert_eq!(env.sql().texts("select status from ce_turn"), ["closed"]);
    assert_eq!(next.texts(ID), ["slow"]);
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
}

/// Each compilation reads the snapshot first; the statements are in the log on SQLite.
#[test]
#[on(sqlite)]
fn recovered_turns_of_one_snapshot_compile_it_once() {
    const TURNS: usize = 4;
    const READ: &str = "select body from ce_config_snapshot where hash";
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve_slow(&env, 60_000, &["convengine.turn.lease=500ms"]);
    thread::scope(|scope| {
        for number in 0..TURNS {
            let body = json!({"conversationId": format!("5d0f3c1a-7a55-4a1e-9b61-1f0f3c8a010{number}"), "message": "slow"}).to_string();
            let server = &server;
            scope.spawn(move || server.try_post(&body));
        }
        assert!(wait_until(|| open_turns(&env).len() == TURNS), "the turns are not open");
        server.kill();
    });
    drop(server);
    env.sql().run("update ce_response set exact_text = 'Changed.'");
    let start = || env.start(slow_command(&env, 0, &["convengine.turn.lease=500ms"]).env("RUST_LOG", "info,sqlx::query=debug"));
    let count_reads = |server: &Server| server.log().matches(READ).count();
    let next = start();
    assert!(wait_until(|| open_turns(&env).is_empty()), "the turns are not finished");
    let with_recovery = count_reads(&next);
    next.kill();
    drop(next);
    assert_eq!(env.sql().texts("select distinct status from ce_turn"), ["closed"], "each ran on its own snapshot");
    let idle = start();
    assert_eq!(idle.say(ID, "my order")["payload"]["value"], "Changed.", "the snapshot of the turns is not the active one");
    assert_eq!(with_recovery - count_reads(&idle), 1);
}

/// On SQLite only one process uses the database.
#[test]
#[on(postgres)]
fn a_message_waits_for_the_turn_that_another_process_runs() {
    let env = TestEnv::with_pack(&orders_pack());
    let (one, other) = (serve_slow(&env, 4_000, &[]), serve_slow(&env, 0, &[]));
    thread::scope(|scope| {
        let first = scope.spawn(|| one.say(ID, "slow"));
        assert!(wait_until(|| open_turns(&env) == ["open"]), "the turn is not open");
        let second = scope.spawn(|| {
            let answer = other.say(ID, "my order");
            (answer, open_turns(&env))
        });
        assert_eq!(open_turns(&env), ["open"], "the first ended before the second was sent");
        let (second, open) = second.join().unwrap();
        assert!(open.is_empty(), "the second has waited");
        let first = first.join().unwrap();
        assert_eq!((&first["success"], &second["success"]), (&json!(true), &json!(true)), "{first} {second}");
        assert_eq!(second["payload"]["value"], "Your order is on its way.");
    });
    assert_eq!(env.sql().texts("select concat_ws(' ', number, status) from ce_turn order by number"), ["1 closed", "2 closed"]);
    // The second turn started after the first was stored.
    let order = "select one.closed_at <= other.created_at from ce_turn one, ce_turn other where one.number = 1 and other.number = 2";
    assert_eq!(env.sql().texts(order), ["t"]);
    let history = "select user_input from ce_conversation_history order by history_id";
    assert_eq!(env.sql().texts(history), ["slow", "my order"]);
    assert_eq!((one.texts(ID), other.texts(ID)), (vec![json!("slow"), json!("my order")], vec![json!("slow"), json!("my order")]));
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
}

/// On SQLite only one process uses the database.
#[test]
#[on(postgres)]
fn the_turns_of_a_killed_process_are_shared_among_the_others_and_finished_once() {
    let env = TestEnv::with_pack(&orders_pack());
    const TURNS: usize = 40;
    let lease = ["convengine.turn.lease=1s"];
    let killed = serve_slow(&env, 60_000, &lease);
    let others = [serve_slow(&env, 0, &lease), serve_slow(&env, 0, &lease)];
    thread::scope(|scope| {
        for number in 0..TURNS {
            let body = json!({"conversationId": format!("5d0f3c1a-7a55-4a1e-9b61-{number:012}"), "message": "slow"}).to_string();
            let killed = &killed;
            scope.spawn(move || killed.try_post(&body));
        }
        assert!(wait_until(|| open_turns(&env).len() == TURNS), "not all turns are open");
        killed.kill();
    });
    assert!(wait_until(|| open_turns(&env).is_empty()), "a turn is not finished");
    assert_eq!(env.sql().texts("select status from ce_turn"), vec!["closed"; TURNS]);
    assert_eq!(env.sql().texts("select user_input from ce_conversation_history"), vec!["slow"; TURNS], "each is finished once");
    // A server that has recovered none has no such metric.
    let metric = "convengine_turns_recovered_total{outcome=\"finished\"}";
    let recovered = others.each_ref().map(|server| read_metrics(server).get(metric).copied().unwrap_or_default());
    assert_eq!(recovered.iter().sum::<f64>(), TURNS as f64, "each by one server: {recovered:?}");
    assert!(others.iter().all(|server| server.say(OTHER, "my order")["success"] == true));
}

#[test]
fn an_open_turn_that_cannot_be_read_does_not_block_its_conversation() {
    let env = TestEnv::with_pack(&orders_pack());
    {
        let server = serve_slow(&env, 60_000, &["convengine.turn.lease=500ms"]);
        thread::scope(|scope| {
            scope.spawn(|| server.try_post(&json!({"conversationId": ID, "message": "slow"}).to_string()));
            assert!(wait_until(|| open_turns(&env) == ["open"]), "the turn is not open");
            server.kill();
        });
    }
    let mut sql = env.sql();
    let damaged = sql.bytes_literal("00ff");
    sql.run(&format!("update ce_turn set journal = {damaged}, message_key = 'named'"));
    // So that its audit has rows.
    let at = if sql.is_postgres() { "now()" } else { "1" };
    sql.run(&format!(
        "insert into ce_conversation (conversation_id, status, created_at, updated_at) values ('{ID}', 'RUNNING', {at}, {at})"
    ));
    let server = serve_slow(&env, 0, &["convengine.turn.lease=500ms"]);
    assert_eq!(server.say(ID, "my order")["success"], true);
    assert_eq!(sql.texts("select concat_ws(' ', status, fault) from ce_turn order by number"), ["lost TURN_LOST", "closed"]);
    let rows = server.audit(ID);
    assert_eq!((&rows[0]["stage"], &rows[1]["stage"]), (&json!("TURN_CANCELLED"), &json!("ENGINE_KNOWN_FAILURE")));
    assert!(rows[1]["payloadJson"].as_str().unwrap().contains("TURN_LOST"), "{}", rows[1]);
    let again = send(&server, "named", &json!({"conversationId": ID, "message": "slow"}));
    assert_eq!((again.status, &again.json()["errorCode"]), (200, &json!("TURN_LOST")), "{}", again.text);
    let output = env.run(&["replay", "--conversation", ID]);
    assert!(output.code == 0 && output.stdout.contains("turn 1 was lost"), "{output:?}");
}

#[test]
fn a_turn_taken_over_is_answered_and_not_run_again() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve_slow(&env, 1_500, &["convengine.turn.lease=500ms"]);
    let answer = thread::scope(|scope| {
        let sent = scope.spawn(|| server.post(json!({"conversationId": ID, "message": "slow"}).to_string()));
        assert!(wait_until(|| open_turns(&env) == ["open"]), "the turn is not open");
        let mut sql = env.sql();
        let before = if sql.is_postgres() { "now() - interval '1 second'" } else { "0" };
        sql.run(&format!("update ce_turn set owner = 'another', lease_until = {before}"));
        sent.join().unwrap()
    });
    assert_eq!((answer.status, &answer.json()["success"]), (200, &json!(true)), "{}", answer.text);
    assert_eq!(env.sql().texts("select status from ce_turn"), ["closed"]);
    assert_eq!(server.texts(ID), ["slow"]);
}

#[test]
fn audit_rows_can_be_seen_while_the_turn_runs() {
    let (go, gone) = mpsc::channel::<()>();
    let slowly: ProviderReply = Box::new(move |stream| {
        gone.recv().unwrap();
        text_reply(&["On its way."])(stream);
    });
    let (model, _requests) = start_provider(vec![slowly]);
    let env = TestEnv::with_pack(&pack_with_model());
    let set = ["--set", PRICES, "--set", "convengine.audit.persistence.mode=IMMEDIATE", "--llm", "openai:test-model"];
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &set].concat());
    let server = env.start(command.env("OPENAI_BASE_URL", &model).env("OPENAI_API_KEY", KEY));
    thread::scope(|scope| {
        let sent = scope.spawn(|| server.say(ID, "my order"));
        assert!(wait_until(|| !server.audit(ID).is_empty()), "no audit row appears");
        assert_eq!(open_turns(&env), ["open"], "the turn is still running");
        go.send(()).unwrap();
        assert_eq!(sent.join().unwrap()["success"], true);
    });
    let rows = server.audit(ID);
    assert_eq!(rows.iter().filter(|it| it["stage"] == "USER_INPUT").count(), 1, "a row is stored twice");
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn invalid_turn_settings_are_reported() {
    let env = TestEnv::with_pack(&orders_pack());
    let bad = ["serve", "--set", "convengine.turn.max-duration=soon"];
    assert_one_line(&env.run(&bad), 2, &["convengine.turn.max-duration", "'soon'", "120s"]);
}

/// On SQLite, one server uses a file.
#[test]
#[on(sqlite)]
fn a_second_server_on_one_file_does_not_start() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_one_line(&env.run(&SERVE), 3, &["is in use by another server", "--database"]);
    // Commands work beside it.
    assert_eq!(env.run(&["key", "list"]).code, 0);
    assert_eq!(env.run(&["lint"]).code, 0);
    assert_eq!(server.say(ID, "my order")["success"], true);
    // The lock of a killed server is gone.
    server.kill();
    assert_eq!(env.serve(&REGEX_ONLY).say(OTHER, "my order")["success"], true);
}
