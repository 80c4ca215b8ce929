//! Container data from an HTTP service of the host.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, TestEnv, assert_one_line};
use crate::stream::{ID, Listener};

/// A service that answers one request with each of the replies; its thread returns the requests.
fn start_service(answers: Vec<(u16, &'static str)>) -> (String, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/containers", listener.local_addr().unwrap());
    let requests = thread::spawn(move || answers.into_iter().map(|answer| exchange(listener.accept().unwrap().0, answer)).collect());
    (url, requests)
}

fn exchange(mut stream: TcpStream, (status, body): (u16, &str)) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line;
    }
    let mut sent = vec![0; length];
    reader.read_exact(&mut sent).unwrap();
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    assert!(head.starts_with("POST /containers "), "{head}");
    serde_json::from_slice(&sent).unwrap()
}

fn cards() -> Value {
    json!({
        "name": "cards",
        "containers": {"7/8/9": {"from": "the pack"}},
        "tables": {
            "ce_intent": [{"intent_code": "CARD", "description": "Cards"}],
            "ce_intent_classifier": [
                {"classifier_id": 1, "rule_type": "CONTAINS", "pattern": "card", "intent_code": "CARD", "priority": 10}
            ],
            "ce_container_config": [
                {"id": 1, "intent_code": "CARD", "state_code": "UNKNOWN", "page_id": 7, "section_id": 8, "container_id": 9,
                 "input_param_name": "question"}
            ],
            "ce_response": [
                {"response_id": 1, "intent_code": "CARD", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                 "exact_text": "data {{context.container_data.question}}"}
            ]
        }
    })
}

fn ask(server: &crate::harness::Server) -> Value {
    server.post(r#"{"message": "my card", "inputParams": {"city": "Rome"}}"#).json()["payload"]["value"].clone()
}

#[test]
fn a_configured_service_replaces_the_data_of_the_pack() {
    let (url, requests) = start_service(vec![(200, r#"{"limit": 500}"#), (500, "{}"), (200, "no JSON")]);
    let env = TestEnv::with_pack(&cards());
    let set = format!("convengine.container.url={url}");
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", &set]].concat());
    assert_eq!(ask(&server), r#"data {"limit":500}"#);
    assert_eq!((ask(&server), ask(&server)), (json!("data "), json!("data ")), "a failing service does not fail the turn");
    let requests = requests.join().unwrap();
    let head = json!({"pageId": 7, "sectionId": 8, "containerId": 9, "userId": "convengine", "loggedInUserId": "convengine"});
    for (key, value) in head.as_object().unwrap() {
        assert_eq!(&requests[0][key], value, "{key}");
    }
    let params = &requests[0]["inputParams"];
    assert_eq!((&params["question"], &params["city"]), (&json!("my card"), &json!("Rome")));
}

#[test]
fn without_a_service_the_pack_answers() {
    let env = TestEnv::with_pack(&cards());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(ask(&server), r#"data {"from":"the pack"}"#);
}

#[test]
fn tasks_receive_the_container_that_they_serve() {
    let (url, requests) = start_service(vec![(200, r#"{"result": {"city": "Bonn"}}"#), (200, r#"{"result": {"limit": 7}}"#)]);
    let mut pack = cards();
    let task = |id: u32, kind: &str, task: &str| json!({"task_id": id, "kind": kind, "task": task, "intent_code": "CARD", "state_code": "UNKNOWN", "binding": {"http": {"url": url}}});
    pack["tables"]["ce_task"] = json!([task(1, "CONTAINER_REQUEST", "cards:before"), task(2, "CONTAINER_TRANSFORMER", "cards:after")]);
    let env = TestEnv::with_pack(&pack);
    let address = url.trim_start_matches("http://").trim_end_matches("/containers");
    let network = format!("convengine.network.allow-private={address}");
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", &network]].concat());
    assert_eq!(ask(&server), r#"data {"limit":7}"#);
    let container = json!({"page_id": 7, "section_id": 8, "container_id": 9, "input_param_name": "question"});
    let requests = requests.join().unwrap();
    let received: Vec<_> = requests.iter().map(|it| (&it["task"], &it["called_for"], &it["container"])).collect();
    let transform = json!("transform");
    assert_eq!(received, [(&json!("cards:before"), &transform, &container), (&json!("cards:after"), &transform, &container)]);
}

#[test]
fn the_audited_answer_is_what_the_user_gets() {
    let mut pack = cards();
    let task = |id: u32, stage: &str, task: &str| json!({"task_id": id, "kind": "RESPONSE_TRANSFORMER", "stage": stage, "task": task, "intent_code": "CARD", "state_code": "UNKNOWN"});
    pack["tables"]["ce_task"] = json!([task(1, "LLM", "dress:up"), task(2, "FINAL", "dress:last")]);
    pack["tasks"] = json!({"dress:up": {"result": "Dressed."}, "dress:last": {"result": {"card": "gold"}}});
    let env = TestEnv::with_pack(&pack);
    let server = env.serve(&REGEX_ONLY);
    let answer = server.say(ID, "my card");
    assert_eq!(answer["payload"], json!({"type": "JSON", "value": r#"{"card":"gold"}"#}));
    let audit = server.audit(ID);
    let outputs: Vec<Value> = audit
        .iter()
        .filter(|it| it["stage"] == "ASSISTANT_OUTPUT")
        .map(|row| serde_json::from_str(row["payloadJson"].as_str().unwrap()).unwrap())
        .collect();
    let [output] = outputs.as_slice() else { panic!("{outputs:?}") };
    assert_eq!((&output["output"], &output["responseId"]), (&answer["payload"]["value"], &json!(1)));
}

#[test]
fn a_final_transformer_that_fails_returns_once() {
    let mut pack = cards();
    pack["tables"]["ce_task"] = json!([{"task_id": 1, "kind": "RESPONSE_TRANSFORMER", "stage": "FINAL", "task": "dress:last", "intent_code": "CARD",
        "state_code": "UNKNOWN"}]);
    pack["tasks"] = json!({"dress:last": {"error": "torn"}});
    let env = TestEnv::with_pack(&pack);
    let server = env.serve(&REGEX_ONLY);
    let mut listener = Listener::open(&server);
    assert_eq!(server.say(ID, "my card")["success"], false);
    let stored = server.audit(ID).iter().filter(|it| it["stage"] == "ENGINE_RETURN").count();
    server.say(ID, "my card");
    let first = listener.next().unwrap();
    let events = listener.until(|event| event.turn() != first.turn());
    let names: Vec<&str> = events.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((stored, names.iter().filter(|it| **it == "ENGINE_RETURN").count()), (1, 1), "{names:?}");
    assert!(names.contains(&"ENGINE_KNOWN_FAILURE"), "{names:?}");
}

#[test]
fn an_invalid_address_is_an_invalid_setting() {
    let env = TestEnv::with_pack(&cards());
    let output = env.run(&["serve", "--set", "convengine.container.url=ftp://somewhere"]);
    assert_one_line(&output, 2, &["convengine.container.url", "ftp://somewhere", "http://"]);
}
