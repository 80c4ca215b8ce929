//! The stream of a conversation: its events, their timing, and that a slow listener never delays a turn.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use convengine_test_macros::test;
use reqwest::blocking::Response;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, client, orders_pack};

/// The conversation of the listeners.
pub const ID: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a07";

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub data: Value,
    /// The raw data.
    pub text: String,
}

impl Event {
    /// The sequence number within the turn.
    pub fn seq(&self) -> usize {
        self.id.rsplit(':').next().unwrap().parse().unwrap()
    }

    pub fn turn(&self) -> &str {
        self.id.rsplit_once(':').unwrap().0
    }

    /// The columns that the audit row shares with the event.
    fn audit_row(&self) -> [Value; 3] {
        [self.data["stage"].clone(), self.data["createdAt"].clone(), self.data["payload"].clone()]
    }
}

/// An expected event that has not arrived by then will not arrive.
const EVENT_TIMEOUT: Duration = Duration::from_secs(180);

/// A listener to the conversation.
pub struct Listener {
    lines: BufReader<Response>,
}

impl Listener {
    /// Connects and takes the first event.
    pub fn open(server: &Server) -> Listener {
        let (listener, first) = Listener::open_path(server, &path(ID), None);
        assert_eq!(first.data, json!({"conversationId": ID, "transport": "SSE"}));
        listener
    }

    /// Connects after an event; also returns whether the stream was resumed.
    pub fn open_after(server: &Server, id: &str) -> (Listener, bool) {
        let (listener, first) = Listener::open_path(server, &path(ID), Some(id));
        let resumed = first.data["resumed"].as_bool().expect("the first event has no 'resumed'");
        assert_eq!(first.data, json!({"conversationId": ID, "transport": "SSE", "resumed": resumed}));
        (listener, resumed)
    }

    /// Opens a path; also returns the first event.
    pub fn open_path(server: &Server, path: &str, after: Option<&str>) -> (Listener, Event) {
        let mut call = client().get(format!("http://{}{path}", server.address));
        if let Some(id) = after {
            call = call.header("Last-Event-ID", id);
        }
        let response = call.send().unwrap();
        assert_eq!(response.status(), 200);
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        let headers = ["content-type", "cache-control", "x-accel-buffering"].map(header);
        assert_eq!(headers, ["text/event-stream", "no-cache", "no"]);
        let mut listener = Listener { lines: BufReader::new(response) };
        let first = listener.next().unwrap();
        assert_eq!((first.id.as_str(), first.name.as_str()), ("", "CONNECTED"));
        (listener, first)
    }

    /// The next event; `None` at the end of the stream.
    pub fn next(&mut self) -> Option<Event> {
        let mut event = Event { id: String::new(), name: String::new(), data: Value::Null, text: String::new() };
        let since = Instant::now();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end_matches('\n').split_once(':') {
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => {
                    event.data = serde_json::from_str(data).unwrap();
                    event.text = data.to_owned();
                }
                Some(("", "")) => {
                    assert_eq!(self.lines.fill_buf().unwrap().first(), Some(&b'\n'), "a comment stands alone");
                    assert!(since.elapsed() < EVENT_TIMEOUT, "only heartbeats arrived");
                }
                None if event.name.is_empty() => {}
                None => return Some(event),
                Some(_) => panic!("{line:?}"),
            }
        }
    }

    pub fn until(&mut self, last: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        while events.last().is_none_or(|it| !last(it)) {
            events.push(self.next().expect("the stream has ended"));
        }
        events
    }

    pub fn take(&mut self, count: usize) -> Vec<Event> {
        (0..count).map(|_| self.next().expect("the stream has ended")).collect()
    }
}

pub fn path(id: &str) -> String {
    format!("/api/v1/conversation/stream/{id}")
}

/// `orders` with a progress message for two steps.
pub fn pack_with_progress() -> Value {
    let row = |id: u32, step: &str, text: &str| {
        json!({"verbose_id": id, "intent_code": "ANY", "state_code": "ANY", "step_match": "EXACT", "step_value": step,
            "determinant": "STEP_ENTER", "message": text, "priority": 1})
    };
    let mut pack = orders_pack();
    pack["tables"]["ce_verbose"] = json!([row(1, "DialogueActStep", "Reading"), row(2, "ResponseResolutionStep", "Writing")]);
    pack
}

/// The audit rows in the form of their events.
pub fn stored_rows(server: &Server) -> Vec<[Value; 3]> {
    let payload = |row: &Value| serde_json::from_str::<Value>(row["payloadJson"].as_str().unwrap()).unwrap();
    server.audit(ID).iter().map(|row| [row["stage"].clone(), row["createdAt"].clone(), payload(row)]).collect()
}

pub fn audit_rows(events: &[Event]) -> Vec<[Value; 3]> {
    events.iter().filter(|it| it.data["eventType"] == "AUDIT").map(Event::audit_row).collect()
}

fn texts(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|it| it.data["verbose"]["text"].as_str()).collect()
}

#[test]
fn a_turn_is_published_as_it_is_stored() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&REGEX_ONLY);
    let (mut one, mut other) = (Listener::open(&server), Listener::open(&server));
    assert_eq!(server.audit(ID).len(), 0, "the conversation does not exist yet");
    server.say(ID, "my order");
    let rows = stored_rows(&server);
    let first = one.take(rows.len() + 2);
    assert_eq!(audit_rows(&first), rows);
    assert_eq!(texts(&first), ["Reading", "Writing"]);
    server.say(ID, "my other order");
    let second = one.take(first.len());
    assert_eq!(audit_rows(&second), stored_rows(&server)[rows.len()..]);
    assert_eq!(other.take(first.len() * 2), [first.clone(), second.clone()].concat());
    let turns = env.sql().texts("select turn_id from ce_turn order by number");
    for (events, turn) in [(&first, &turns[0]), (&second, &turns[1])] {
        let ids: Vec<String> = (0..events.len()).map(|it| format!("{turn}:{it}")).collect();
        assert_eq!(events.iter().map(|it| it.id.clone()).collect::<Vec<_>>(), ids);
    }
    for event in first {
        let members: Vec<&String> = event.data.as_object().unwrap().keys().collect();
        assert_eq!(members, ["eventType", "auditId", "stage", "createdAt", "payload", "verbose"]);
        assert_eq!((&event.data["stage"], &event.data["auditId"]), (&json!(event.name), &Value::Null));
        let text = &event.data["verbose"];
        assert_eq!(text.is_null(), event.name != "VERBOSE");
        assert!(text.is_null() || event.data["payload"] == json!({"verbose": text}), "{event:?}");
    }
}

/// A server whose model delays the first call, and that stores turns as a setting says.
pub fn serve_slow(env: &TestEnv, journal: &str) -> Server {
    env.start(&mut command_for_slow(env, journal))
}

/// The command of [`serve_slow`].
pub fn command_for_slow(env: &TestEnv, journal: &str) -> Command {
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let rules = json!([{"times": 1, "delay_ms": 5000, "reply": reply}, {"reply": reply}]);
    let model = format!("scripted:{}", env.write_pack("model.json", &rules));
    let journal = format!("convengine.turn.journal={journal}");
    let options = ["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY", "--set", &journal];
    env.command(&[&SERVE[..], &options].concat())
}

#[test]
fn progress_is_received_while_a_model_is_called() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = serve_slow(&env, "normal");
    let mut listener = Listener::open(&server);
    thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(ID, "my order"));
        let before = listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        assert_eq!(texts(&before), ["Reading"]);
        assert!(!turn.is_finished(), "the model has not answered yet");
        assert_eq!(stored_rows(&server), audit_rows(&before), "the audit has what was published so far");
        let ids: Vec<i64> = server.audit(ID).iter().map(|row| row["auditId"].as_i64().unwrap()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        let trace = server.get(&format!("/api/v1/conversation/audit/{ID}/trace")).json();
        assert_eq!(trace["steps"].as_array().unwrap().last().unwrap()["status"], "RUNNING");
        assert_eq!(turn.join().unwrap()["success"], true);
        let rest = listener.until(|event| event.name == "STEP_EXIT" && event.data["payload"]["step"] == "PipelineEndGuardStep");
        assert_eq!(audit_rows(&[before, rest].concat()), stored_rows(&server));
    });
}

/// On PostgreSQL processes wait for each other's turns and rerun none; nor do they rerun a turn that is partly stored.
#[test]
#[on(sqlite)]
fn a_turn_that_is_rerun_on_sqlite_is_closed_and_published_as_a_new_one() {
    let (env, other) = (TestEnv::with_pack(&pack_with_progress()), TestEnv::with_pack(&pack_with_progress()));
    let server = other.serve(&REGEX_ONLY);
    server.say(ID, "my other order");
    let of_other = stored_rows(&server).len();
    drop(server);
    let server = serve_slow(&env, "off");
    let mut listener = Listener::open(&server);
    thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(ID, "my order"));
        let lost = listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        // A server would not start on this file; another program can still write to it.
        let mut sql = env.sql();
        sql.run(&format!("attach database '{}' as other", other.database_url().trim_start_matches("sqlite:")));
        for table in ["ce_turn", "ce_conversation", "ce_conversation_history", "ce_audit"] {
            sql.run(&format!("insert into {table} select * from other.{table}"));
        }
        let closing = listener.next().unwrap();
        assert_eq!((closing.turn(), closing.seq(), closing.name.as_str()), (lost[0].turn(), lost.len(), "ENGINE_RETURN"));
        assert_eq!(closing.data["payload"], json!({"success": false}));
        assert_eq!(turn.join().unwrap()["success"], true);
        let rows = stored_rows(&server);
        let again = listener.take(rows.len() - of_other + 2);
        assert_eq!(audit_rows(&again), rows[of_other..]);
        assert_eq!((again[0].seq(), again.last().unwrap().seq()), (0, again.len() - 1));
        assert_ne!(again[0].turn(), lost[0].turn());
    });
}

#[test]
fn a_slow_listener_is_disconnected_and_delays_nobody() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let mut quick = Listener::open(&server);
    let mut slow = open_unread_stream(&server);
    let text = format!("my order {}", "🙂".repeat(30_000));
    let (mut received, mut events) = (0, 0);
    // More than the buffers of both systems.
    while received < 10 * 1024 * 1024 {
        assert_eq!(server.say(ID, &text)["success"], true);
        let turn = quick.until(|event| event.name == "STEP_EXIT" && event.data["payload"]["step"] == "PipelineEndGuardStep");
        received += turn.iter().map(|event| event.data.to_string().len()).sum::<usize>();
        events += turn.len();
    }
    let mut taken = Vec::new();
    // The server closes the connection, with an end or an error; the client never times out.
    let ended = slow.read_to_end(&mut taken).map_err(|it| it.kind());
    assert!(!matches!(ended, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "{ended:?}");
    let taken = String::from_utf8_lossy(&taken);
    let names = taken.lines().filter(|it| it.starts_with("event:")).count();
    assert!(names > 10 && names < events, "{names} of {events}");
    assert_eq!(stored_rows(&server).len(), events);
}

/// A listener that reads nothing, with a small buffer.
fn open_unread_stream(server: &Server) -> TcpStream {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let address: SocketAddr = server.address.parse().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut stream = stream;
    write!(stream, "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path(ID), server.address).unwrap();
    // The first event shows that it is subscribed.
    let mut head = Vec::new();
    while !String::from_utf8_lossy(&head).contains("event:CONNECTED") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    stream
}

#[test]
fn a_block_and_a_failure_are_closed_on_the_stream_alone() {
    let mut pack = pack_with_progress();
    pack["tables"]["ce_policy"] =
        json!([{"policy_id": 1, "rule_type": "CONTAINS", "pattern": "secret", "response_text": "No.", "priority": 1}]);
    pack["tables"]["ce_response"].as_array_mut().unwrap().remove(0);
    let env = TestEnv::with_pack(&pack);
    let server = env.serve(&REGEX_ONLY);
    let mut listener = Listener::open(&server);
    for (text, success, code) in [("a secret", true, Value::Null), ("my order", false, json!("RESPONSE_MAPPING_NOT_FOUND"))] {
        let before = stored_rows(&server).len();
        assert_eq!(server.say(ID, text)["success"], success);
        let events = listener.until(|it| it.name == "ENGINE_RETURN");
        let (closing, turn) = events.split_last().unwrap();
        assert_eq!(audit_rows(turn), stored_rows(&server)[before..], "{text}");
        assert_eq!((closing.turn(), closing.seq()), (turn[0].turn(), turn.len()));
        let payload = &closing.data["payload"];
        assert_eq!((&payload["success"], &payload["errorCode"]), (&json!(success), &code), "{closing:?}");
        assert!(stored_rows(&server).iter().all(|it| it[0] != "ENGINE_RETURN"));
    }
}

#[test]
fn unaudited_stages_are_not_published_and_progress_is() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let all = |level: &str| {
        let server = env.serve(&[&REGEX_ONLY[..], &["--set", &format!("convengine.audit.level={level}")]].concat());
        let mut listener = Listener::open(&server);
        let before = stored_rows(&server).len();
        server.say(ID, "my order");
        server.terminate();
        let events: Vec<Event> = std::iter::from_fn(|| listener.next()).collect();
        let server = env.serve(&REGEX_ONLY);
        assert_eq!(audit_rows(&events), stored_rows(&server)[before..], "{level}");
        assert_eq!(texts(&events), ["Reading", "Writing"], "{level}");
        assert!(events.iter().enumerate().all(|(index, event)| event.seq() == index), "{level}");
        audit_rows(&events)
    };
    assert_eq!(all("NONE").len(), 0);
    let standard = all("STANDARD");
    assert!(standard.iter().any(|it| it[0] == "USER_INPUT") && standard.iter().all(|it| it[0] != "STEP_ENTER"));
}

#[test]
fn a_server_that_stops_ends_its_streams_at_once() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut server = env.serve(&REGEX_ONLY);
    let mut listeners = [Listener::open(&server), Listener::open(&server)];
    server.terminate();
    assert!(listeners.iter_mut().all(|listener| listener.next().is_none()));
    assert_eq!((server.exit_code(), server.log().as_str()), (Some(0), ""), "the server stops without waiting");
}

#[test]
fn streams_are_offered_as_configured() {
    let env = TestEnv::with_pack(&orders_pack());
    let set = |value: &'static str| ["--set", value];
    let (no_sse, stomp) = (set("convengine.transport.sse.enabled=false"), set("convengine.transport.stomp.enabled=true"));
    for arguments in [vec![no_sse, stomp], vec![no_sse, set("convengine.stream=false")], vec![set("convengine.stream=false")]] {
        let server = env.serve(arguments.as_flattened());
        assert_eq!(server.get(&path(ID)).status, 404, "{arguments:?}");
        assert_eq!(server.say(ID, "my order")["success"], true, "{arguments:?}");
    }
    assert_one_line(&env.run(&[&SERVE[..], &no_sse].concat()), 2, &["transport.sse.enabled", "convengine.stream=false"]);
    let server = env.serve(&set("convengine.transport.sse.emitterTimeoutMs=50"));
    assert_eq!(server.log(), "", "no key is unknown");
    assert!(Listener::open(&server).next().is_none(), "the stream has expired");
    for id in ["1-1-1-1-1", "x", "%FF", &format!("{ID}0")] {
        let answer = server.get(&path(id));
        assert_eq!((answer.status, &answer.json()["path"]), (400, &json!(path(id))));
    }
    let refused = server.request("POST", &path(ID), &[], "");
    assert_eq!((refused.status, refused.header("allow")), (405, "GET,HEAD"));
}
