//! The cost of models: spending counts within a turn, in other processes and after a restart.

use std::io::Write;
use std::net::TcpStream;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{SERVE, Server, TestEnv, assert_one_line};
use crate::models::{KEY, PRICES, ProviderReply, delta_event, final_events, pack_with_model, start_provider, write_head};
use crate::stream::ID;

/// A text that costs 162 millionths.
fn text_reply(text: &str) -> ProviderReply {
    let text = text.to_owned();
    Box::new(move |stream: &mut TcpStream| {
        write_head(stream);
        stream.write_all((delta_event(&text) + &final_events()).as_bytes()).unwrap();
    })
}

/// A decision object that costs the same; it comes in one piece.
fn decision(object: &Value) -> ProviderReply {
    let usage = json!({"prompt_tokens": 1001, "completion_tokens": 20});
    let choice = json!({"index": 0, "message": {"content": object.to_string()}, "finish_reason": "stop"});
    let body = json!({"model": "test-model", "choices": [choice], "usage": usage}).to_string();
    Box::new(move |stream: &mut TcpStream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    })
}

fn serve(env: &TestEnv, address: &str, more: &[&str]) -> Server {
    let words = ["--set", PRICES, "--llm", "openai:test-model", "--set", "convengine.llm.max-attempts=1"];
    let command = &mut env.command(&[&SERVE[..], &words, more].concat());
    env.start(command.env("OPENAI_BASE_URL", address).env("OPENAI_API_KEY", KEY))
}

const REGEX: [&str; 2] = ["--set", "convengine.flow.dialogueAct.resolute=REGEX_ONLY"];
const DERIVED: [&str; 2] = ["--set", "convengine.audit.persistence.mode=DERIVED"];
const PER_DAY: [&str; 2] = ["--set", "convengine.llm.spend-cap.per=day"];

/// What counts against the cap.
fn used(env: &TestEnv) -> Vec<String> {
    env.sql().texts("select kind || ' ' || cast(used as text) from cs_counter")
}

/// Why model calls have failed so far, from the call log.
fn failures(env: &TestEnv) -> Vec<String> {
    let run = env.run(&["audit", "materialise"]);
    assert_eq!(run.code, 0, "{run:?}");
    env.sql().texts("select error_message from ce_llm_call_log where error_message is not null order by llm_call_id")
}

const REFUSED: &str = "spend cap of the day reached; model call refused (convengine.llm.spend-cap)";

#[test]
fn spending_counts_in_other_processes_and_after_a_restart() {
    let (address, requests) = start_provider(vec![text_reply("One."), text_reply("Two.")]);
    let env = TestEnv::with_pack(&pack_with_model());
    let cap = ["--set", "convengine.llm.spendCap.amount=0.0003"];
    let with = [&REGEX[..], &DERIVED, &PER_DAY, &cap].concat();
    let server = serve(&env, &address, &with);
    assert_eq!(server.say(ID, "my order")["payload"]["value"], "One.");
    assert_eq!(env.sql().texts("select cast(micros as text) from cv_spend"), ["162"]);
    assert_eq!(used(&env), ["spend.day 162"], "the estimate is corrected");
    assert_eq!(env.sql().texts("select 'x' from ce_llm_call_log"), [""; 0], "the log is derived");
    assert_eq!(server.say(ID, "my order")["payload"]["value"], "Two.", "324 is more than 300, but 162 was not");
    let refused = server.say(ID, "my order");
    assert_eq!((&refused["success"], &refused["errorCode"]), (&json!(false), &json!("LLM_CALL_FAILED")), "{refused}");
    assert_eq!(requests.join().unwrap().len(), 2, "no model is called once the cap is reached");
    assert_eq!(failures(&env), [REFUSED]);
    drop(server);
    let server = serve(&env, "http://127.0.0.1:1/v1", &with);
    assert_eq!(server.say(ID, "my order")["success"], false);
    assert_eq!(failures(&env), [REFUSED; 2], "for the same reason");
    // On a day with little spending, models are called again.
    env.sql().run("update cv_spend set day = '2020-01-01'");
    env.sql().run("update cs_counter set period = 1");
    let (address, requests) = start_provider(vec![text_reply("Three.")]);
    drop(server);
    let server = serve(&env, &address, &with);
    assert_eq!(server.say(ID, "my order")["payload"]["value"], "Three.");
    assert_eq!(requests.join().unwrap().len(), 1);
}

#[test]
fn a_turn_stops_calling_models_when_its_own_calls_reach_the_cap() {
    let (address, requests) = start_provider(vec![decision(&json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.9}))]);
    let mut pack = pack_with_model();
    pack["settings"] = json!({});
    let env = TestEnv::with_pack(&pack);
    let both = ["--set", "convengine.flow.dialogueAct.resolute=LLM_ONLY", "--set", "convengine.llm.spend-cap.amount=0.0001"];
    let server = serve(&env, &address, &[&both[..], &PER_DAY].concat());
    let answer = server.say(ID, "my order");
    assert_eq!((&answer["success"], &answer["errorCode"]), (&json!(false), &json!("LLM_CALL_FAILED")), "{answer}");
    assert_eq!(requests.join().unwrap().len(), 1, "the second call of the turn is not made");
    assert_eq!(failures(&env), [REFUSED]);
    assert_eq!(env.sql().texts("select cast(micros as text) from cv_spend"), ["162"], "a failed turn has a cost too");
}

#[test]
fn without_a_cap_costs_are_recorded_and_with_one_every_model_needs_a_price() {
    let (address, requests) = start_provider(vec![text_reply("One.")]);
    let env = TestEnv::with_pack(&pack_with_model());
    let server = serve(&env, &address, &REGEX);
    assert_eq!(server.say(ID, "my order")["payload"]["value"], "One.");
    assert_eq!(requests.join().unwrap().len(), 1);
    assert_eq!((env.sql().texts("select cast(micros as text) from cv_spend"), used(&env)), (vec!["162".to_owned()], Vec::new()));
    drop(server);
    let cap = ["--set", "convengine.llm.spend-cap.amount=5", "--set", "convengine.llm.spend-cap.per=month"];
    let run = |more: &[&str]| env.run_command(env.command(&[&SERVE[..], more].concat()).env("OPENAI_BASE_URL", "http://127.0.0.1:1"));
    assert_one_line(&run(&[&cap[..], &["--llm", "openai:other"]].concat()), 2, &["--llm openai:other", "convengine.llm.prices"]);
    assert_one_line(&run(&cap[..2]), 2, &["convengine.llm.spend-cap.per"]);
    assert_one_line(&run(&cap[2..]), 2, &["convengine.llm.spend-cap.amount"]);
}

#[test]
fn a_cap_counts_what_was_spent_in_its_period_before_it_was_set() {
    let env = TestEnv::with_pack(&pack_with_model());
    let uncapped = |text: &str| {
        let (address, requests) = start_provider(vec![text_reply(text)]);
        let server = serve(&env, &address, &REGEX);
        assert_eq!(server.say(ID, "my order")["payload"]["value"], text);
        assert_eq!(requests.join().unwrap().len(), 1);
    };
    let assert_refused = |amount: &str| {
        let cap = format!("convengine.llm.spend-cap.amount={amount}");
        let server = serve(&env, "http://127.0.0.1:1/v1", &[&REGEX[..], &PER_DAY, &["--set", &cap]].concat());
        assert_eq!(server.say(ID, "my order")["success"], false);
        assert_eq!(failures(&env).last().map(String::as_str), Some(REFUSED), "no model was asked");
    };
    uncapped("One.");
    assert_refused("0.0001");
    assert_eq!(used(&env), ["spend.day 162"]);
    // The counter of the former cap has not counted this one.
    uncapped("Two.");
    assert_refused("0.0003");
    assert_eq!(used(&env), ["spend.day 324"]);
}

#[test]
fn a_cap_counts_the_usage_of_documents_from_before_costs_were_recorded() {
    let env = TestEnv::with_pack(&pack_with_model());
    // In microcents; no day ends before this one begins.
    let values = "'default', 'llm', 9999999999999, 16200, 'desk'";
    env.sql().run(&format!("insert into cs_usage_events (workspace_id, kind, at, amount, ref) values ({values})"));
    let cap = ["--set", "convengine.llm.spend-cap.amount=0.0001"];
    let server = serve(&env, "http://127.0.0.1:1/v1", &[&REGEX[..], &PER_DAY, &cap].concat());
    assert_eq!(server.say(ID, "my order")["success"], false);
    assert_eq!(failures(&env), [REFUSED]);
    assert_eq!(used(&env), ["spend.day 162"]);
}
