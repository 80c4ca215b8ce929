//! The replies of agents while they are written: as events, as a UI message stream, and without streaming. (docs/spec/flows.md#14, #15.6)

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::thread;

use convengine_test_macros::test;
use reqwest::blocking::Response;
use serde_json::{Value, json};

use crate::flows::{DEPLOYED, JSON, ORIGIN, SIMULATED, Session, deploy, desk, edges, publish, reply_texts, save_draft};
use crate::harness::{OPEN, REGEX_ONLY, SERVE, Server, TestEnv, client, orders_pack};
use crate::models::{KEY, PRICES, ProviderReply, delta_event, final_events, start_provider, write_head};

/// A bank that answers this many calls.
fn start_bank(calls: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for _ in 0..calls {
            let mut stream = listener.accept().unwrap().0;
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            assert!(lines.next().unwrap().starts_with("GET /accounts/savings "));
            assert!(lines.any(|line| line.is_empty()));
            let body = r#"{"balance":3}"#;
            write!(stream, "HTTP/1.1 200 X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    address
}

/// The desk with an agent that may call the bank.
pub fn with_agent(bank: SocketAddr) -> Value {
    let mut document = desk("Desk");
    let push = |document: &mut Value, list: &str, value: Value| document[list].as_array_mut().unwrap().push(value);
    let words = ["help me", "talk to me", "ask the agent"];
    push(
        &mut document,
        "intents",
        json!({"id": "help", "name": "Help", "description": "The user wants help", "phrases": words, "graph": "g_help"}),
    );
    let mut edges = edges(&["asked", "agent"]);
    edges.as_array_mut().unwrap().push(json!({"id": "done", "source": "agent", "source_port": "done", "target": "end"}));
    let graph = json!({"id": "g_help", "kind": "intent", "entry": "asked", "edges": edges, "nodes": [
        {"id": "asked", "type": "intent", "name": "Asked", "data": {"intent_id": "help"}},
        {"id": "agent", "type": "instruction_agent", "name": "Agent", "data": {"instructions": "Help.", "tools": [{"tool": "get_balance"}]}},
        {"id": "end", "type": "end", "name": "End", "data": {}},
    ]});
    push(&mut document, "graphs", graph);
    let schema = json!({"type": "object", "required": ["account"], "properties": {"account": {"type": "string"}}});
    document["tools"] = json!([{
        "id": "get_balance", "name": "Balance", "description": "The balance of an account", "kind": "http", "effect_class": "read",
        "input_schema": schema, "request": {"method": "GET", "url": format!("http://{bank}/accounts/{{{{ args.account }}}}")},
        "outputs": [{"path": "$.balance", "variable": "balance"}],
    }]);
    document
}

fn serve(env: &TestEnv, model: &str, bank: SocketAddr) -> Server {
    let allowed = format!("convengine.network.allow-private={bank}");
    let more = ["--set", PRICES, "--llm", "openai:test-model", "--set", &allowed];
    let command = &mut env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &more].concat());
    env.start(command.env("OPENAI_BASE_URL", model).env("OPENAI_API_KEY", KEY))
}

/// A model that announces and calls a tool, its arguments split within an escape.
fn tool_call_reply() -> ProviderReply {
    Box::new(|stream| {
        write_head(stream);
        let call = |piece: Value| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}));
        let first = call(json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "get_balance", "arguments": ""}}));
        let rest: String =
            [r#"{"account":"sav\u00"#, r#"69ngs"}"#].map(|piece| call(json!({"index": 0, "function": {"arguments": piece}}))).concat();
        stream.write_all((delta_event("Let me ") + &delta_event("look.") + &first + &rest + &final_events()).as_bytes()).unwrap();
    })
}

pub fn text_reply(pieces: &[&str]) -> ProviderReply {
    let text: String = pieces.iter().map(|it| delta_event(it)).collect();
    Box::new(move |stream| {
        write_head(stream);
        stream.write_all((text + &final_events()).as_bytes()).unwrap();
    })
}

/// A reply that comes in one piece.
pub fn whole_reply(message: Value) -> ProviderReply {
    let usage = json!({"prompt_tokens": 1001, "completion_tokens": 20});
    let body =
        json!({"model": "test-model", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}).to_string();
    Box::new(move |stream| {
        write!(stream, "HTTP/1.1 200 X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    })
}

/// The events of a turn as they arrive.
struct TurnStream(BufReader<Response>);

impl TurnStream {
    fn begin(server: &Server, path: &str, headers: &[(&str, &str)]) -> TurnStream {
        let mut call = client().post(format!("http://{}{path}", server.address));
        for (name, value) in headers.iter().chain(&[JSON]) {
            call = call.header(*name, *value);
        }
        let response = call.body(json!({"type": "user.message", "text": "help me"}).to_string()).send().unwrap();
        assert_eq!(response.status(), 200);
        TurnStream(BufReader::new(response))
    }

    /// The next event, whose name is blank in a UI message stream; `None` at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let (mut name, mut data) = (String::new(), Value::Null);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", it)) => name = it.to_owned(),
                Some(("data", it)) => data = serde_json::from_str(it).unwrap_or_else(|_| json!(it)),
                Some(_) => panic!("{line:?}"),
                None => return Some((name, data)),
            }
        }
    }

    fn collect_rest(mut self) -> Vec<(String, Value)> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

#[test]
fn the_reply_of_an_agent_is_streamed() {
    let (go, gone) = mpsc::channel::<()>();
    let slowly: ProviderReply = Box::new(move |stream| {
        write_head(stream);
        stream.write_all(delta_event("You have ").as_bytes()).unwrap();
        gone.recv().unwrap();
        stream.write_all((delta_event("3 🙂.") + &final_events()).as_bytes()).unwrap();
    });
    let function = json!({"name": "get_balance", "arguments": r#"{"account":"savings"}"#});
    let calls = json!({"content": "Let me look.", "tool_calls": [{"id": "c1", "type": "function", "function": function}]});
    let at_once = [whole_reply(calls), whole_reply(json!({"content": "You have 3 🙂."}))];
    let (address, requests) = start_provider(
        [tool_call_reply(), slowly, tool_call_reply(), text_reply(&["You have 3", " 🙂."])].into_iter().chain(at_once).collect(),
    );
    let bank = start_bank(3);
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve(&env, &address, bank);
    publish(&server, &with_agent(bank));

    // On a page whose users do not see debug data.
    let token = deploy(&server, false);
    let (own, _) = Session::start_deployed(&server, &token, &[]);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ORIGIN];
    let mut turn = TurnStream::begin(&server, &format!("{DEPLOYED}/{}/turns?stream=true", own.id), &headers);
    let mut events: Vec<(String, Value)> = (0..4).map(|_| turn.next().unwrap()).collect();
    assert_eq!(events[3].1["delta"], "You have ", "the model has not finished yet");
    go.send(()).unwrap();
    events.extend(turn.collect_rest());
    assert_eq!(
        events.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
        ["token", "token", "message", "token", "token", "message", "done"]
    );
    let streamed_text = |effect: u32| {
        events.iter().filter(|event| event.1["effect"] == effect).map(|event| event.1["delta"].as_str().unwrap()).collect::<String>()
    };
    assert_eq!(
        [streamed_text(0), streamed_text(2)],
        [&events[2].1["text"], &events[5].1["text"]].map(|text| text.as_str().unwrap()),
        "{events:?}"
    );
    let done = events[6].1.clone();
    assert_eq!(reply_texts(&done), ["Let me look.", "You have 3 🙂."]);

    let (ui, _) = Session::start_simulated(&server, &json!({}));
    let parts: Vec<Value> = TurnStream::begin(&server, &format!("{SIMULATED}/{}/turns?stream=ui", ui.id), &[])
        .collect_rest()
        .into_iter()
        .map(|it| it.1)
        .collect();
    let kinds: Vec<&str> =
        parts.iter().filter(|it| it["transient"] != true).map(|part| part["type"].as_str().unwrap_or("[DONE]")).collect();
    let step = ["text-start", "text-delta", "text-delta", "text-end", "data-message"];
    let tool = ["tool-input-available", "tool-output-available"];
    assert_eq!(kinds, [&["start", "start-step"][..], &step, &tool, &step, &["data-turn", "finish-step", "finish", "[DONE]"]].concat());
    let called = parts.iter().find(|it| it["type"] == tool[0]).unwrap();
    assert_eq!((&called["toolName"], &called["input"]), (&json!("get_balance"), &json!({"account": "savings"})));
    let streamed = |id: &str| parts.iter().filter(|part| part["id"] == id).filter_map(|part| part["delta"].as_str()).collect::<String>();
    assert_eq!([streamed("t0"), streamed("t2")], ["Let me look.", "You have 3 🙂."]);

    let (plain, _) = Session::start_simulated(&server, &json!({}));
    let answer = plain.say(&server, "help me");
    assert_eq!(answer["messages"], done["messages"], "the same without a stream");
    let requests = requests.join().unwrap();
    assert_eq!(requests.iter().map(|it| it["stream"] == true).collect::<Vec<_>>(), [true, true, true, true, false, false]);
    assert_eq!([&requests[1]["messages"], &requests[3]["messages"]], [&requests[5]["messages"]; 2], "the model gets the same messages");
    let vars = [&own, &ui, &plain].map(|session| session.state(&server)["vars"].clone());
    assert_eq!((&vars[0]["balance"], &vars[0], &vars[1]), (&json!(3), &vars[2], &vars[2]));
    for session in [&own, &ui, &plain] {
        assert_eq!(session.assert_replays(&env, &server), 2);
    }
    assert!(!env.sql().dump().join("\n").contains("delta"), "no chunk is stored");
}

#[test]
fn a_discarded_agent_reply_is_reset() {
    let breaks_off = || -> ProviderReply {
        Box::new(|stream| {
            write_head(stream);
            stream.write_all(delta_event("It had").as_bytes()).unwrap();
        })
    };
    let (address, requests) = start_provider(vec![breaks_off(), text_reply(&["It ", "is."]), breaks_off(), text_reply(&["It is."])]);
    let env = TestEnv::with_pack(&orders_pack());
    let bank = start_bank(0);
    let server = serve(&env, &address, bank);
    save_draft(&server, &with_agent(bank));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let path = format!("{SIMULATED}/{}/turns?stream=", session.id);
    let events = TurnStream::begin(&server, &format!("{path}true"), &[]).collect_rest();
    let tokens: Vec<&Value> = events.iter().filter(|it| it.0 == "token").map(|it| &it.1).collect();
    let piece = |text: &str| json!({"effect": 0, "delta": text});
    assert_eq!(tokens, [&piece("It had"), &json!({"effect": 0, "reset": true}), &piece("It "), &piece("is.")]);
    assert_eq!(reply_texts(&events.last().unwrap().1), ["It is."]);
    let parts = TurnStream::begin(&server, &format!("{path}ui"), &[]).collect_rest();
    let of_text = |part: &&(String, Value)| part.1["id"].as_str().is_some_and(|id| id.starts_with('t'));
    let kinds: Vec<[&str; 2]> =
        parts.iter().filter(of_text).map(|part| ["type", "id"].map(|name| part.1[name].as_str().unwrap())).collect();
    let first = [["text-start", "t0"], ["text-delta", "t0"], ["text-end", "t0"], ["data-reset", "t0"]];
    assert_eq!(kinds, [&first[..], &[["text-start", "t0-2"], ["text-delta", "t0-2"], ["text-end", "t0-2"]]].concat());
    assert_eq!(requests.join().unwrap().len(), 4);
    assert_eq!(session.assert_replays(&env, &server), 3);
}
