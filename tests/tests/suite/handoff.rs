//! Handoffs: the webhook of the desk, its events, and what users see of them (docs/spec/flows.md#4.9, docs/spec/flows-http.md#6).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use convengine_test_macros::test;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::flows::{DEPLOYED, ORIGIN, SIMULATED, Session, assert_refused, deploy, desk, edges, publish, reply_texts, save_draft, send};
use crate::harness::{Answer, OPEN, REGEX_ONLY, SERVE, Server, TIMEOUT, TestEnv, orders_pack, wait_until};

/// A request that the webhook has received.
pub struct WebhookCall {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub text: String,
    /// Answers it; dropped, the connection closes without an answer.
    pub answer: Sender<(u16, String)>,
}

impl WebhookCall {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    pub fn reply(&self, status: u16, body: &Value) {
        self.answer.send((status, body.to_string())).unwrap();
    }
}

/// A webhook whose calls the test answers one by one.
pub struct Webhook {
    pub address: SocketAddr,
    calls: Receiver<WebhookCall>,
}

impl Webhook {
    pub fn start() -> Webhook {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, calls) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let sender = sender.clone();
                thread::spawn(move || receive_call(stream.unwrap(), &sender));
            }
        });
        Webhook { address, calls }
    }

    pub fn next(&self) -> WebhookCall {
        self.calls.recv_timeout(TIMEOUT).unwrap()
    }

    /// Runs an action during which one call arrives and is answered.
    pub fn during<T: Send>(&self, status: u16, body: &Value, action: impl FnOnce() -> T + Send) -> (T, Value) {
        thread::scope(|scope| {
            let running = scope.spawn(action);
            let call = self.next();
            call.reply(status, body);
            (running.join().unwrap(), call.json())
        })
    }
}

fn receive_call(stream: TcpStream, calls: &Sender<WebhookCall>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|it| it.0 == "content-length").map_or(0, |header| header.1.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let (answer, answered) = channel();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    if calls.send(WebhookCall { path, headers, text: String::from_utf8(body).unwrap(), answer }).is_err() {
        return;
    }
    let Ok((status, body)) = answered.recv() else { return };
    let mut stream = stream;
    // Fails if the server no longer waits for the answer.
    let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
}

/// The desk of the other tests with a graph that hands off. `data` is added to the node's.
pub fn with_handoff(webhook: Option<&Webhook>, data: &Value) -> Value {
    let mut document = desk("Desk");
    let push = |document: &mut Value, list: &str, value: Value| document[list].as_array_mut().unwrap().push(value);
    let words = ["a person please", "human", "speak to someone"];
    push(
        &mut document,
        "intents",
        json!({"id": "person", "name": "Person", "description": "The user wants a person", "phrases": words, "graph": "g_person"}),
    );
    push(&mut document, "variables", json!({"name": "refund", "type": "number"}));
    push(&mut document, "variables", json!({"name": "topic", "type": "string", "default": "cards"}));
    let mut node = json!({"queue": "billing", "reason": "{{ session.topic }}", "message": "One moment.", "mode": "return",
        "context": ["topic", "pin"]});
    node.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
    let say = |id: &str, text: &str| json!({"id": id, "type": "message", "name": id, "data": {"blocks": [{"kind": "text", "text": text}]}});
    let mut edges = edges(&["asked", "person", "back", "end"]);
    for (port, target) in [("timeout", "late"), ("unavailable", "closed")] {
        let edge = json!({"id": port, "source": "person", "source_port": port, "target": target});
        let end = json!({"id": target, "source": target, "target": "end"});
        edges.as_array_mut().unwrap().extend([edge, end]);
    }
    let graph = json!({"id": "g_person", "kind": "intent", "entry": "asked", "edges": edges, "nodes": [
        {"id": "asked", "type": "intent", "name": "Asked", "data": {"intent_id": "person"}},
        {"id": "person", "type": "handoff", "name": "Person", "data": node},
        say("back", "Refunded {{ session.refund }}."), say("late", "Nobody is free."), say("closed", "The desk is closed."),
        {"id": "end", "type": "end", "name": "End", "data": {}},
    ]});
    push(&mut document, "graphs", graph);
    if let Some(webhook) = webhook {
        document["settings"]["handoff_webhook_url"] = json!(format!("http://{}/desk", webhook.address));
    }
    document
}

/// A server with a document as the desk's draft that may call the webhook.
pub fn serve(document: &Value, webhook: Option<&Webhook>) -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let allowed = webhook.map_or(String::new(), |it| format!("convengine.network.allow-private={}", it.address));
    let more: Vec<&str> = if webhook.is_some() { vec!["--set", &allowed] } else { Vec::new() };
    let server = env.start(&mut env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &more].concat()));
    save_draft(&server, document);
    (env, server)
}

fn report(server: &Server, session: &Session, body: &Value) -> Answer {
    send(server, "POST", &format!("{SIMULATED}/{}/handoff/status", session.id), body)
}

fn write(server: &Server, session: &Session, body: &Value) -> Answer {
    send(server, "POST", &format!("{SIMULATED}/{}/handoff/messages", session.id), body)
}

fn warnings(answer: &Value) -> Vec<&str> {
    answer["debug"]["warnings"].as_array().unwrap().iter().map(|warning| warning.as_str().unwrap()).collect()
}

/// A session that waits for a person.
fn start_waiting(server: &Server, webhook: &Webhook, answer: &Value) -> (Session, Value, Value) {
    let (session, _) = Session::start_simulated(server, &json!({}));
    let (answer, request) = webhook.during(200, answer, || session.say(server, "a person please"));
    (session, answer, request)
}

#[test]
fn a_person_takes_answers_and_returns_a_conversation() {
    let webhook = Webhook::start();
    let (env, server) = serve(&with_handoff(Some(&webhook), &json!({})), Some(&webhook));
    let secret = send(&server, "POST", "/v1/secrets", &json!({"name": "HANDOFF_SIGNING", "value": "between-us"}));
    assert_eq!(secret.status, 201, "{secret:?}");
    let (session, _) = Session::start_simulated(&server, &json!({"user": {"id": "u1"}, "visitor": {"name": "Eve"}, "locale": "de-DE"}));
    let (answer, call) = thread::scope(|scope| {
        let running = scope.spawn(|| session.say(&server, "a person please"));
        let call = webhook.next();
        call.reply(202, &json!({"state": "queued", "ticket": "T-7", "position": 3, "eta_ms": 90_000}));
        (running.join().unwrap(), call)
    });
    let mut mac = Hmac::<Sha256>::new_from_slice(b"between-us").unwrap();
    mac.update(call.text.as_bytes());
    let expected: String = mac.finalize().into_bytes().iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!((call.path.as_str(), call.header("x-convoship-signature")), ("/desk", Some(format!("sha256={expected}").as_str())));
    let request = call.json();
    assert_eq!((&request["type"], &request["session_id"]), (&json!("handoff.request"), &json!(session.id)));
    assert_eq!((&request["queue"], &request["reason"], &request["locale"]), (&json!("billing"), &json!("cards"), &json!("de-DE")));
    assert_eq!((&request["context"], &request["user"]["id"]), (&json!({"topic": "cards"}), &json!("u1")));
    assert_eq!(request["visitor"], json!({"name": "Eve", "verified": false}));
    assert_eq!((reply_texts(&answer), &answer["status"]), (vec!["One moment."], &json!("handed_off")));
    assert_eq!(answer["handoff"], json!({"state": "queued", "ticket": "T-7", "position": 3, "eta_ms": 90_000, "author": null}));
    assert_eq!(answer["awaiting"]["kind"], "handoff");

    let (answer, relayed) = webhook.during(204, &json!(""), || session.say(&server, "It is <b>urgent</b>."));
    assert_eq!((&answer["status"], reply_texts(&answer).len()), (&json!("handed_off"), 0));
    assert_eq!((&relayed["type"], &relayed["text"]), (&json!("handoff.relay"), &json!("It is <b>urgent</b>.")));
    assert_eq!(relayed["correlation_id"], request["correlation_id"]);

    let accepted = report(&server, &session, &json!({"state": "accepted", "author": "Mia"})).json();
    assert_eq!((&accepted["handoff"]["state"], &accepted["handoff"]["author"]), (&json!("accepted"), &json!("Mia")));
    let written = write(&server, &session, &json!({"text": "<img src=x onerror=alert(1)> Hello!", "author": "Mia"})).json();
    let message = &written["messages"][0];
    assert_eq!((&message["role"], &message["author"]), (&json!("human"), &json!("Mia")));
    assert_eq!((&message["text"], &written["turn"]), (&json!("<img src=x onerror=alert(1)> Hello!"), &json!(2)));
    let done = json!({"state": "completed", "disposition": "returned", "vars": {"refund": 12, "unknown": 1}, "message": "Bye from Mia.",
        "author": "Mia"});
    let returned = report(&server, &session, &done).json();
    assert_eq!((reply_texts(&returned), &returned["status"]), (vec!["Bye from Mia.", "Refunded 12."], &json!("awaiting_input")));
    assert_eq!((warnings(&returned), returned.get("handoff")), (vec!["handoff.variable_ignored"], None));
    assert_eq!(session.state(&server)["vars"]["refund"], 12);
    drop(webhook);
    assert_eq!(session.assert_replays(&env, &server), 6, "no desk is needed");
}

#[test]
fn refusals_slowness_and_silence_of_the_webhook() {
    let webhook = Webhook::start();
    let (env, server) = serve(&with_handoff(Some(&webhook), &json!({})), Some(&webhook));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    for status in [400, 404, 500, 503] {
        let (answer, _) = webhook.during(status, &json!({}), || session.say(&server, "a person please"));
        assert_eq!((reply_texts(&answer), &answer["status"]), (vec!["One moment.", "The desk is closed."], &json!("awaiting_input")));
    }
    // The connection closes without an answer.
    let answer = thread::scope(|scope| {
        let running = scope.spawn(|| session.say(&server, "a person please"));
        drop(webhook.next());
        running.join().unwrap()
    });
    assert_eq!(reply_texts(&answer), ["One moment.", "The desk is closed."]);
    // The timeout of the call.
    let (answer, call) = thread::scope(|scope| {
        let running = scope.spawn(|| session.say(&server, "a person please"));
        let call = webhook.next();
        (running.join().unwrap(), call)
    });
    assert_eq!(reply_texts(&answer), ["One moment.", "The desk is closed."]);
    drop(call);
    // Any 2xx is acceptance, whatever its body; without a person, anybody may take it.
    let (answer, request) = webhook.during(200, &json!("fine"), || session.say(&server, "a person please"));
    assert_eq!((&answer["handoff"]["state"], &answer["handoff"]["author"]), (&json!("accepted"), &Value::Null));
    assert_eq!(request["type"], "handoff.request");
    let (answer, _) = webhook.during(500, &json!({}), || session.say(&server, "are you there?"));
    assert_eq!((&answer["status"], warnings(&answer)), (&json!("handed_off"), vec!["handoff.relay_failed"]));
    let failed = report(&server, &session, &json!({"state": "failed"})).json();
    assert_eq!((reply_texts(&failed), &failed["status"]), (vec!["The desk is closed."], &json!("awaiting_input")));
    session.assert_replays(&env, &server);
}

#[test]
fn a_desk_that_is_late_or_repeats_itself_changes_nothing() {
    let webhook = Webhook::start();
    let (env, server) = serve(&with_handoff(Some(&webhook), &json!({"mode": "transfer"})), Some(&webhook));
    let (waiting, _) = Session::start_simulated(&server, &json!({}));
    assert_refused(&report(&server, &waiting, &json!({"state": "accepted"})), 409, "not_handed_off");
    assert_refused(&write(&server, &waiting, &json!({"text": "Hello."})), 409, "not_handed_off");
    assert_eq!(waiting.state(&server)["seq"], 1, "no turn was stored");
    let (session, ..) = start_waiting(&server, &webhook, &json!({"state": "queued"}));
    for body in [json!({}), json!({"state": "gone"}), json!({"state": 5}), json!({"state": "completed", "vars": 5})] {
        assert_refused(&report(&server, &session, &body), 422, "invalid_event");
    }
    for body in [json!({}), json!({"text": 5}), json!({"text": ""}), json!({"text": "hi", "author": 5})] {
        assert_refused(&write(&server, &session, &body), 422, "invalid_event");
    }
    assert_refused(&write(&server, &session, &json!({"text": "x".repeat(8001)})), 413, "text_too_long");
    let first = write(&server, &session, &json!({"text": "Hello.", "event_id": "m1"}));
    let again = write(&server, &session, &json!({"text": "Hello.", "event_id": "m1"}));
    assert_eq!((first.status, again.header("x-replayed"), &first.text), (200, "true", &again.text));
    assert_eq!(report(&server, &session, &json!({"state": "accepted", "author": "Mia"})).status, 200);
    let other = report(&server, &session, &json!({"state": "accepted", "author": "Tom"}));
    assert_refused(&other, 409, "handoff_taken");
    assert_eq!(other.json()["error"]["author"], "Mia");
    assert_refused(&report(&server, &session, &json!({"state": "completed", "author": "Tom"})), 409, "handoff_taken");
    let done = json!({"state": "completed", "disposition": "resolved", "author": "Mia", "event_id": "done"});
    assert_eq!(report(&server, &session, &done).json()["status"], "completed");
    assert_eq!(report(&server, &session, &done).header("x-replayed"), "true");
    let late = report(&server, &session, &json!({"state": "completed", "author": "Mia"}));
    assert_refused(&late, 409, "session_completed");
    assert_eq!(late.json()["error"]["session_id"], json!(session.id));
    session.assert_replays(&env, &server);
}

#[test]
fn a_handoff_without_a_person_times_out() {
    let (env, server) = serve(&with_handoff(None, &json!({"wait_ms": 300})), None);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let answer = session.say(&server, "a person please");
    assert_eq!((&answer["status"], &answer["handoff"]["state"]), (&json!("handed_off"), &json!("queued")));
    assert!(wait_until(|| session.state(&server)["status"] == "active"));
    let since = server.get(&format!("{SIMULATED}/{}/messages?after=2", session.id)).json();
    assert_eq!((reply_texts(&since), &since["status"]), (vec!["Nobody is free."], &json!("awaiting_input")));
    assert_eq!(session.event_types(&server), ["session.start", "user.message", "timer.fired"]);
    assert_refused(&report(&server, &session, &json!({"state": "accepted", "author": "Mia"})), 409, "not_handed_off");
    // A person who has accepted is in time.
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "a person please");
    let accepted = report(&server, &session, &json!({"state": "accepted"}));
    if accepted.status == 200 {
        assert_eq!(session.state(&server)["timers"], json!([]));
    }
    session.assert_replays(&env, &server);
}

#[test]
fn a_page_sees_what_people_write() {
    let (env, server) = serve(&with_handoff(None, &json!({})), None);
    publish(&server, &with_handoff(None, &json!({})));
    let token = deploy(&server, false);
    let (session, _) = Session::start_deployed(&server, &token, &[]);
    session.say(&server, "a person please");
    for event in [json!({"type": "handoff.message", "text": "hi"}), json!({"type": "handoff.status", "state": "completed"})] {
        assert_refused(&session.send_event(&server, &event), 403, "event_not_allowed");
    }
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ORIGIN];
    let path = format!("{DEPLOYED}/{}/messages", session.id);
    let poll = |query: &str| server.request("GET", &format!("{path}?{query}"), &headers, "");
    let all = poll("").json();
    assert_eq!(
        (reply_texts(&all), &all["seq"], &all["status"]),
        (vec!["Welcome to Desk.", "One moment."], &json!(2), &json!("handed_off"))
    );
    assert!(all.get("debug").is_none() && all["handoff"]["state"] == "queued", "{all}");
    assert_eq!(reply_texts(&poll("after=2").json()).len(), 0);
    let (waited, written) = thread::scope(|scope| {
        let waiting = scope.spawn(|| poll("after=2&wait_s=25").json());
        let written = write(&server, &session, &json!({"text": "Hello <script>.", "author": "Mia"}));
        (waiting.join().unwrap(), written)
    });
    assert_eq!((written.status, reply_texts(&waited), &waited["seq"]), (200, vec!["Hello <script>."], &json!(3)));
    assert_eq!((&waited["messages"][0]["author"], &waited["messages"][0]["role"]), (&json!("Mia"), &json!("human")));
    assert_eq!(poll("after=x").status, 400);
    assert_refused(&server.request("GET", &path, &[("Authorization", &bearer)], ""), 403, "origin_not_allowed");
    let (other, _) = (deploy(&server, false), ());
    let foreign = server.request("GET", &path, &[("Authorization", &format!("Bearer {other}")), ORIGIN], "");
    assert_refused(&foreign, 404, "not_found");
    session.assert_replays(&env, &server);
}
