//! SockJS clients without WebSockets: XHR polling and XHR streaming.

use std::io::{BufRead, BufReader};

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{Answer, Server, TestEnv, client};
use crate::stomp::{ENABLED, is_last};
use crate::stream::{ID, Listener, pack_with_progress};

/// A SockJS client without WebSockets.
struct XhrClient<'s> {
    server: &'s Server,
    path: String,
}

impl<'s> XhrClient<'s> {
    fn new(server: &'s Server, session: &str) -> XhrClient<'s> {
        XhrClient { server, path: format!("/ws-convengine/000/{session}") }
    }

    fn post(&self, name: &str, body: &str) -> Answer {
        self.server.request("POST", &format!("{}/{name}", self.path), &[("Content-Type", "text/plain;charset=UTF-8")], body.to_owned())
    }

    /// The next frame, by polling.
    fn poll(&self) -> String {
        let answer = self.post("xhr", "");
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/javascript; charset=UTF-8"), "{answer:?}");
        answer.text
    }

    fn send(&self, frame: &str) {
        let answer = self.post("xhr_send", &json!([frame]).to_string());
        assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    }

    /// The STOMP frames of the next SockJS frame.
    fn frames(&self) -> Vec<String> {
        let text = self.poll();
        serde_json::from_str(text.trim_end().strip_prefix('a').unwrap_or_else(|| panic!("{text:?}"))).unwrap()
    }

    fn subscribe(&self) {
        assert_eq!(self.poll(), "o\n");
        self.send("CONNECT\naccept-version:1.2\nheart-beat:0,0\n\n\0");
        assert!(self.frames()[0].starts_with("CONNECTED\nversion:1.2"));
        self.send(&format!("SUBSCRIBE\nid:sub-0\ndestination:/topic/convengine/audit/{ID}\nreceipt:1\n\n\0"));
        assert!(self.frames()[0].starts_with("RECEIPT\n"));
    }
}

/// The bodies of messages.
fn bodies(frames: &[String]) -> Vec<Value> {
    let body = |frame: &String| serde_json::from_str(frame.split_once("\n\n").unwrap().1.trim_end_matches('\0')).unwrap();
    frames.iter().map(body).collect()
}

#[test]
fn a_client_without_web_sockets_polls() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&ENABLED);
    assert_eq!(server.get("/ws-convengine/info").json()["websocket"], true);
    let client = XhrClient::new(&server, "abcdefgh");
    assert_eq!(client.post("xhr_send", "[\"x\"]").status, 404, "there is no session yet");
    client.subscribe();
    let mut listener = Listener::open(&server);
    server.say(ID, "my order");
    let published: Vec<Value> = listener.until(is_last).into_iter().map(|it| it.data).collect();
    let mut received = Vec::new();
    while received.len() < published.len() {
        received.extend(bodies(&client.frames()));
    }
    assert_eq!(received, published);
    for (body, text) in [("", "Payload expected."), ("[\"a", "Broken JSON encoding."), ("{}", "Broken JSON encoding.")] {
        let answer = client.post("xhr_send", body);
        assert_eq!((answer.status, answer.text.as_str()), (500, text));
    }
    client.send("DISCONNECT\nreceipt:2\n\n\0");
    assert!(client.frames()[0].starts_with("RECEIPT\n"));
    assert_eq!(client.poll(), "c[3000,\"Go away!\"]\n");
    assert_eq!(client.poll(), "c[3000,\"Go away!\"]\n", "also when it asks again");
    for path in ["/ws-convengine/0.0/abc/xhr", "/ws-convengine/000/a.b/xhr_streaming", "/ws-convengine/000/xhr"] {
        assert_eq!(server.request("POST", path, &[], "").status, 404, "{path}");
    }
    let foreign = [("Origin", "https://evil.example"), ("Content-Type", "text/plain")];
    for name in ["xhr", "xhr_send", "xhr_streaming"] {
        assert_eq!(server.request("POST", &format!("/ws-convengine/000/other/{name}"), &foreign, "[]").status, 403, "{name}");
    }
}

#[test]
fn the_session_of_another_address_is_not_found() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env
        .serve(&[&ENABLED[..], &["--set", "convengine.security.mode=none", "--set", "convengine.http.trusted-proxies=127.0.0.1"]].concat());
    let post = |address: &str, name: &str, body: &str| {
        let headers = [("Content-Type", "text/plain"), ("X-Forwarded-For", address)];
        server.request("POST", &format!("/ws-convengine/000/abcdefgh/{name}"), &headers, body.to_owned())
    };
    assert_eq!(post("192.0.2.1", "xhr", "").text, "o\n");
    assert_eq!(post("192.0.2.2", "xhr_send", "[\"DISCONNECT\\n\\n\\u0000\"]").status, 404);
    assert_eq!(post("192.0.2.2", "xhr", "").text, "o\n", "a session of its own");
    assert_eq!(post("192.0.2.1", "xhr_send", "[\"CONNECT\\naccept-version:1.2\\n\\n\\u0000\"]").status, 204);
}

#[test]
fn a_client_without_web_sockets_streams() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&ENABLED);
    let xhr = XhrClient::new(&server, "streaming");
    xhr.subscribe();
    let url = format!("http://{}{}/xhr_streaming", server.address, xhr.path);
    let response = client().post(&url).send().unwrap();
    assert_eq!(response.status(), 200);
    let mut lines = BufReader::new(response).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "h".repeat(2048));
    assert_eq!(xhr.poll(), "c[2010,\"Another connection still open\"]\n");
    let mut listener = Listener::open(&server);
    server.say(ID, "my order");
    let published: Vec<Value> = listener.until(is_last).into_iter().map(|it| it.data).collect();
    let mut received = Vec::new();
    while received.len() < published.len() {
        let line = lines.next().unwrap().unwrap();
        received.extend(bodies(&serde_json::from_str::<Vec<String>>(line.strip_prefix('a').unwrap()).unwrap()));
    }
    assert_eq!(received, published);
    // A stopping server says so to its clients.
    server.terminate();
    assert_eq!(lines.next().unwrap().unwrap(), "c[3000,\"Go away!\"]");
    assert!(lines.next().is_none_or(|line| line.is_err() || line.is_ok_and(|text| text.is_empty())), "the stream ends");
}
