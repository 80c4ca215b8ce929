//! STOMP clients: over SockJS, like those of the original, and over plain WebSockets.

use std::future::Future;
use std::time::{Duration, Instant};

use convengine_host::api::stomp::frame::Frame;
use convengine_test_macros::test;
use convengine_tests::soak::stomp::StompClient;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::harness::{REGEX_ONLY, SERVE, Server, TIMEOUT, TestEnv, assert_one_line, orders_pack};
use crate::stream::{Event, ID, Listener, pack_with_progress};

const OTHER: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a08";
const SOCKJS: &str = "/ws-convengine/123/abcdefgh/websocket";
pub const PLAIN: &str = "/ws-convengine/websocket";
/// Settings that enable STOMP.
pub const ENABLED: [&str; 4] = [REGEX_ONLY[0], REGEX_ONLY[1], "--set", "convengine.transport.stomp.enabled=true"];

/// A client with its own runtime for timeouts.
pub struct BlockingClient {
    runtime: Runtime,
    stomp: StompClient,
}

impl BlockingClient {
    fn connect_with<F: Future<Output = anyhow::Result<StompClient>>>(open: impl FnOnce() -> F) -> anyhow::Result<BlockingClient> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let stomp = runtime.block_on(async { timeout(TIMEOUT, open()).await.expect("no response in time") })?;
        Ok(BlockingClient { runtime, stomp })
    }

    pub fn connect(server: &Server, path: &str) -> BlockingClient {
        BlockingClient::connect_with(|| StompClient::connect(&server.address, path)).unwrap()
    }

    fn open(server: &Server, path: &str, headers: &[(&str, &str)]) -> anyhow::Result<BlockingClient> {
        BlockingClient::connect_with(|| StompClient::open(&server.address, path, headers, None))
    }

    pub fn subscribe(&mut self, id: &str, conversation: &str) {
        self.runtime.block_on(self.stomp.subscribe(id, conversation)).unwrap();
    }

    pub fn send(&mut self, text: &str) {
        self.runtime.block_on(self.stomp.send_text(text)).unwrap();
    }

    /// The next frame; `None` at the end of the connection.
    pub fn next(&mut self) -> Option<Frame> {
        self.runtime.block_on(async { timeout(TIMEOUT, self.stomp.next_frame()).await.expect("no frame in time") }).unwrap()
    }

    /// The raw message.
    fn receive(&mut self) -> Option<String> {
        self.runtime.block_on(async { timeout(TIMEOUT, self.stomp.receive()).await.expect("no message in time") }).unwrap()
    }

    /// The next messages; each belongs to this subscription.
    pub fn take(&mut self, id: &str, conversation: &str, count: usize) -> Vec<(String, Value)> {
        let destination = format!("/topic/convengine/audit/{conversation}");
        let message = |frame: Frame| {
            let header = |name: &str| frame.parse_header(name).unwrap_or_default().to_owned();
            let about = ["destination", "subscription", "content-type"].map(header);
            assert_eq!((frame.command.as_str(), about), ("MESSAGE", [destination.clone(), id.to_owned(), "application/json".to_owned()]));
            (header("message-id"), serde_json::from_slice(&frame.body).unwrap())
        };
        (0..count).map(|_| message(self.next().expect("the connection has ended"))).collect()
    }

    /// The message of the error that ends the connection.
    #[track_caller]
    pub fn read_error(&mut self) -> String {
        let error = self.next().unwrap();
        assert_eq!(error.command, "ERROR", "{error:?}");
        assert_eq!(self.next(), None, "the connection ends");
        error.parse_header("message").unwrap_or_default().to_owned()
    }
}

fn messages(events: &[Event]) -> Vec<(String, Value)> {
    events.iter().map(|event| (event.id.clone(), event.data.clone())).collect()
}

/// Whether this is the last event of its turn.
pub fn is_last(event: &Event) -> bool {
    event.name == "STEP_EXIT" && event.data["payload"]["step"] == "PipelineEndGuardStep"
}

#[test]
fn a_client_of_the_original_receives_the_events_of_a_stream() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&ENABLED);
    let mut listener = Listener::open(&server);
    let mut clients = [BlockingClient::connect(&server, SOCKJS), BlockingClient::connect(&server, PLAIN)];
    clients.iter_mut().for_each(|it| it.subscribe("sub-0", ID));
    for text in ["my order", "my other order"] {
        server.say(ID, text);
        let published = messages(&listener.until(is_last));
        assert!(published.iter().any(|it| it.1["eventType"] == "VERBOSE"));
        for client in &mut clients {
            assert_eq!(client.take("sub-0", ID, published.len()), published);
        }
    }
    for client in &mut clients {
        client.send("DISCONNECT\nreceipt:bye\n\n\0");
        assert_eq!(client.next(), Some(Frame::new("RECEIPT", &[("receipt-id", "bye")])));
        assert_eq!(client.next(), None);
    }
}

#[test]
fn one_connection_subscribes_to_several_conversations() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&ENABLED);
    let mut client = BlockingClient::connect(&server, SOCKJS);
    client.subscribe("a", ID);
    client.subscribe("b", OTHER);
    client.subscribe("c", ID);
    let count = |conversation: &str| {
        server.say(conversation, "my order");
        server.audit(conversation).len()
    };
    let first = count(ID);
    let (mut of_a, mut of_c) = (Vec::new(), Vec::new());
    for _ in 0..2 * first {
        let frame = client.next().unwrap();
        let received = if frame.parse_header("subscription") == Some("a") { &mut of_a } else { &mut of_c };
        received.push(frame.body);
    }
    assert_eq!((of_a.len(), of_c == of_a), (first, true));
    client.send("UNSUBSCRIBE\nid:a\n\n\0");
    client.send("UNSUBSCRIBE\nid:c\nreceipt:1\n\n\0");
    assert_eq!(client.next().unwrap().command, "RECEIPT");
    count(ID);
    let second = count(OTHER);
    assert_eq!(client.take("b", OTHER, second).len(), second, "no event of the other conversation comes before it");
    // Sending has no effect, and frames may arrive in pieces.
    for piece in ["SEND\ndestination:/app/x\nrec", "eipt:2\n\nhello\0\n", "\n"] {
        client.send(piece);
    }
    assert_eq!(client.next(), Some(Frame::new("RECEIPT", &[("receipt-id", "2")])));
}

#[test]
fn an_invalid_frame_is_answered_and_ends_the_connection() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&ENABLED);
    for path in [SOCKJS, PLAIN] {
        for (text, word) in [("JUMP\n\n\0", "JUMP"), ("SEND\nx\n\n\0", "colon"), ("SUBSCRIBE\nid:1\n\n\0", "destination")] {
            let mut client = BlockingClient::connect(&server, path);
            client.send(text);
            assert!(client.read_error().contains(word), "{text:?}");
        }
        let mut client = BlockingClient::open(&server, path, &[]).unwrap();
        client.send("SUBSCRIBE\nid:1\ndestination:x\n\n\0");
        assert!(client.read_error().contains("CONNECT first"));
        let mut client = BlockingClient::connect(&server, path);
        client.send(&format!("SEND\n\n{}", "x".repeat(70_000)));
        assert!(client.read_error().contains("too long"));
    }
    assert_eq!(server.say(ID, "my order")["success"], true);
    assert_eq!(server.log(), "");
}

#[test]
fn sockjs_gets_its_greeting_and_its_info() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&ENABLED);
    for path in ["/ws-convengine", "/ws-convengine/"] {
        let greeting = server.get(path);
        assert_eq!((greeting.status, greeting.text.as_str()), (200, "Welcome to SockJS!\n"));
        assert_eq!(greeting.header("content-type"), "text/plain; charset=UTF-8");
    }
    let page = "http://localhost:3000";
    let info = server.request("GET", "/ws-convengine/info?t=1", &[("Origin", page)], "");
    let body = info.json();
    assert_eq!(
        (info.status, &body["websocket"], &body["cookie_needed"], &body["origins"]),
        (200, &json!(true), &json!(false), &json!(["*:*"]))
    );
    assert_ne!(body["entropy"], server.get("/ws-convengine/info").json()["entropy"]);
    assert_eq!((info.header("access-control-allow-origin"), info.header("access-control-allow-credentials")), (page, "true"));
    assert!(info.header("cache-control").contains("no-store"), "{info:?}");
    // Other transports are not offered; the client then uses the WebSocket or XHR.
    for way in ["eventsource", "htmlfile", "jsonp"] {
        let path = format!("/ws-convengine/123/abcdefgh/{way}");
        let answer = server.request("POST", &path, &[], "");
        assert_eq!((answer.status, &answer.json()["path"]), (404, &json!(path)));
    }
    for path in ["/ws-convengine/iframe.html", "/ws-convengine/1/2.3/websocket"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    let answer = server.get(PLAIN);
    assert_eq!((answer.status, &answer.json()["status"]), (400, &json!(400)), "no WebSocket is requested");
}

#[test]
fn only_listed_origins_may_connect() {
    let env = TestEnv::with_pack(&orders_pack());
    let set = ["--set", "convengine.transport.stomp.allowed-origin-pattern=https://*.example, http://localhost:3000"];
    let called = ["--set", "convengine.security.cors.allowed-origins=*"];
    let server = env.serve(&[&ENABLED[..], &set, &called].concat());
    for (origin, fine) in [("https://a.example", true), ("http://localhost:3000", true), ("http://localhost:3001", false), ("null", false)]
    {
        assert_eq!(
            server.request("GET", "/ws-convengine/info", &[("Origin", origin)], "").status,
            if fine { 200 } else { 403 },
            "{origin}"
        );
        for path in [SOCKJS, PLAIN] {
            assert_eq!(BlockingClient::open(&server, path, &[("origin", origin)]).is_ok(), fine, "{origin} {path}");
        }
    }
    assert!(BlockingClient::open(&server, PLAIN, &[]).is_ok(), "no page");
}

#[test]
fn the_settings_define_path_and_limits() {
    let env = TestEnv::with_pack(&orders_pack());
    let off = env.serve(&REGEX_ONLY);
    assert_eq!((off.get("/ws-convengine/info").status, off.get("/ws-convengine").status), (404, 404), "as in the original");
    drop(off);
    let set = |key: &str| format!("convengine.transport.stomp.{key}");
    let (endpoint, sock_js, base) = (set("endpoint=/live"), set("sockJs=false"), set("auditDestinationBase=/queue/events"));
    let server = env.serve(&[&ENABLED[..], &["--set", &endpoint, "--set", &sock_js, "--set", &base]].concat());
    assert_eq!(server.log(), "", "no key is unknown");
    assert_eq!(server.get("/live/info").status, 404);
    let mut client = BlockingClient::open(&server, "/live", &[("sec-websocket-protocol", "v12.stomp, v11.stomp")]).unwrap();
    assert_eq!(client.stomp.response.headers()["sec-websocket-protocol"], "v12.stomp");
    client.send("CONNECT\naccept-version:1.1\n\n\0");
    assert_eq!(client.next().unwrap().parse_header("version"), Some("1.1"));
    client.send(&format!("SUBSCRIBE\nid:1\ndestination:/queue/events/{ID}\nreceipt:1\n\n\0"));
    assert_eq!(client.next().unwrap().command, "RECEIPT");
    server.say(ID, "my order");
    assert_eq!(client.next().unwrap().command, "MESSAGE");
    for (bad, word) in
        [("endpoint=live", "stomp.endpoint"), ("audit-destination-base=live", "audit-destination-base"), ("sock-js=7", "sock-js")]
    {
        assert_one_line(&env.run(&[&SERVE[..], &["--set", &set(bad)]].concat()), 2, &[word]);
    }
}

#[test]
fn both_sides_send_heartbeats() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&ENABLED);
    let mut client = BlockingClient::open(&server, PLAIN, &[]).unwrap();
    client.send("CONNECT\naccept-version:1.2\nheart-beat:0,1000\n\n\0");
    assert!(client.receive().unwrap().contains("\nheart-beat:10000,10000\n"));
    let since = Instant::now();
    assert_eq!(client.receive().as_deref(), Some("\n"));
    assert!(since.elapsed() > Duration::from_secs(9), "no more often than negotiated");
}

#[test]
fn a_stopping_server_disconnects_clients() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut server = env.serve(&ENABLED);
    let (mut silent, mut client) = (BlockingClient::open(&server, SOCKJS, &[]).unwrap(), BlockingClient::connect(&server, PLAIN));
    client.subscribe("1", ID);
    let since = Instant::now();
    server.terminate();
    assert_eq!(silent.receive().as_deref(), Some("c[3000,\"Go away!\"]"));
    assert_eq!((silent.receive(), client.next()), (None, None));
    assert_eq!((server.exit_code(), server.log().as_str()), (Some(0), ""));
    assert!(since.elapsed() < Duration::from_secs(8), "the server stops without waiting");
}

#[test]
fn a_slow_client_is_disconnected_and_delays_nobody() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&ENABLED);
    let mut quick = BlockingClient::connect(&server, SOCKJS);
    quick.subscribe("1", ID);
    let mut slow = BlockingClient::connect_with(|| StompClient::open(&server.address, PLAIN, &[], Some(4096))).unwrap();
    slow.send("CONNECT\naccept-version:1.2\n\n\0");
    assert_eq!(slow.next().unwrap().command, "CONNECTED");
    slow.subscribe("1", ID);
    let text = format!("my order {}", "🙂".repeat(30_000));
    let (mut received, mut events) = (0, 0);
    // More than the buffers of both systems.
    while received < 10 * 1024 * 1024 {
        assert_eq!(server.say(ID, &text)["success"], true);
        loop {
            let body = quick.next().expect("the connection has ended").body;
            (received, events) = (received + body.len(), events + 1);
            let body: Value = serde_json::from_slice(&body).unwrap();
            if body["stage"] == "STEP_EXIT" && body["payload"]["step"] == "PipelineEndGuardStep" {
                break;
            }
        }
    }
    let mut taken = 0;
    // The server closes the connection, with an end or an error; the client never times out.
    let ended = slow.runtime.block_on(async {
        let all = async {
            while slow.stomp.next_frame().await?.is_some() {
                taken += 1;
            }
            anyhow::Ok(())
        };
        timeout(TIMEOUT, all).await
    });
    assert!(ended.is_ok(), "the connection was not closed");
    assert!((1..events).contains(&taken), "{taken} of {events}");
}

#[test]
#[on(postgres)]
fn a_client_at_another_process_receives_the_same() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let (one, other) = (env.serve(&ENABLED), env.serve(&ENABLED));
    let mut listener = Listener::open(&one);
    let mut client = BlockingClient::connect(&other, SOCKJS);
    client.subscribe("1", ID);
    for text in ["my order", "my other order"] {
        one.say(ID, text);
        let published = messages(&listener.until(is_last));
        assert_eq!(client.take("1", ID, published.len()), published);
    }
}
