//! Connections and hosts: silent and excess clients, hosts of others, and the headers of all answers.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use convengine_test_macros::test;
use serde_json::json;

use crate::harness::{Answer, MESSAGE, OPEN, REGEX_ONLY, Server, TIMEOUT, TestEnv, orders_pack, wait_until};
use crate::routes::{DEPLOYMENT_ROUTES, LINK_ROUTES, ROUTES, SIGNED_ROUTES, call};
use crate::stomp::{BlockingClient, PLAIN};
use crate::stream::{ID, Listener};

/// Time limits that tests can wait for.
const SHORT: [&str; 6] = [
    "--set",
    "convengine.http.header-timeout=300ms",
    "--set",
    "convengine.http.body-timeout=300ms",
    "--set",
    "convengine.http.idle-timeout=300ms",
];

fn connect(server: &Server) -> TcpStream {
    let port = server.address.rsplit(':').next().unwrap();
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// What the server sends until it closes the connection.
fn read_to_close(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if ![ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&error.kind()) => panic!("not closed: {error}"),
        _ => String::from_utf8(bytes).unwrap(),
    }
}

/// Sends bytes and returns what the server sends until it closes the connection.
fn exchange(server: &Server, bytes: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(bytes.as_bytes()).unwrap();
    read_to_close(&mut stream)
}

#[test]
fn silent_clients_are_disconnected_and_streams_are_not() {
    let env = TestEnv::with_pack(&orders_pack());
    let stomp = ["--set", "convengine.transport.stomp.enabled=true"];
    let server = env.serve(&[&REGEX_ONLY[..], &SHORT, &stomp].concat());
    let mut events = Listener::open(&server);
    let mut socket = BlockingClient::connect(&server, PLAIN);
    socket.subscribe("sub-0", ID);
    let host = &server.address;
    let start = Instant::now();
    assert_eq!(exchange(&server, ""), "");
    assert_eq!(exchange(&server, &format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nX-A")), "");
    assert!(start.elapsed() >= Duration::from_millis(600), "{:?}", start.elapsed());
    let answered = exchange(&server, &format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(answered.starts_with("HTTP/1.1 200 OK") && answered.ends_with("{\"status\":\"UP\"}"), "{answered}");
    for path in [MESSAGE, "/v1/secrets", "/healthz-unknown"] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n");
        let stalled = exchange(&server, &format!("{head}{{\"message\":"));
        assert!(stalled.starts_with("HTTP/1.1 408 ") || path == "/healthz-unknown", "{path}: {stalled}");
    }
    server.say(ID, "my order");
    assert!(!events.until(|it| it.name == "ENGINE_RETURN").is_empty(), "the stream is still open");
    assert!(!socket.take("sub-0", ID, 3).is_empty(), "the WebSocket is still open");
    assert_eq!(server.log(), "");
}

#[test]
fn connections_beyond_the_maximum_get_503() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.http.max-connections=3"]].concat());
    let mut open: Vec<TcpStream> = (0..3).map(|_| connect(&server)).collect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address);
    let refused = exchange(&server, &request);
    assert!(refused.starts_with("HTTP/1.1 503 Service Unavailable\r\n") && refused.contains("\r\nRetry-After: 5\r\n"), "{refused}");
    assert_eq!(refused.matches("\r\nx-request-id: ").count(), 1, "{refused}");
    for header in
        ["content-security-policy: default-src 'none'; frame-ancestors 'none'", "referrer-policy: ", "x-content-type-options: nosniff"]
    {
        assert!(refused.contains(&format!("\r\n{header}")), "{refused}");
    }
    let body: serde_json::Value = serde_json::from_str(refused.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["status"], &body["message"]), (&json!(503), &json!("too many connections; try again later")));
    assert!(wait_until(|| server.log().contains("convengine.http.max-connections")));
    // Those that are open keep working, and a closed one makes room.
    let mut last = open.pop().unwrap();
    last.write_all(request.as_bytes()).unwrap();
    assert!(read_to_close(&mut last).starts_with("HTTP/1.1 200 OK"));
    assert!(wait_until(|| exchange(&server, &request).starts_with("HTTP/1.1 200 OK")));
    drop(open);
}

/// All routes, those that need no credentials, the page, and unknown paths.
fn all_paths() -> Vec<(&'static str, &'static str)> {
    let public = [&DEPLOYMENT_ROUTES[..], &LINK_ROUTES, &SIGNED_ROUTES].concat();
    let others =
        ["/", "/desk", "/favicon.svg", "/healthz", "/readyz", "/openapi.json", "/schemas", "/schemas/pack", "/nothing", "/v1/nothing"];
    let routes = ROUTES.iter().map(|it| (it.0, it.1)).chain(public);
    routes.chain(others.map(|it| ("GET", it))).chain([("OPTIONS", MESSAGE), ("PUT", "/healthz"), ("POST", "/nothing")]).collect()
}

#[test]
fn requests_to_other_hosts_are_refused_on_every_path() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let evil = format!("evil.example:{port}");
    let origin = format!("http://{evil}");
    let rebound = [("Host", evil.as_str()), ("Origin", &origin)];
    for (method, path) in all_paths() {
        let upgrade = [("Upgrade", "websocket"), ("Connection", "upgrade")];
        for headers in [&rebound[..], &[&rebound[..], &upgrade].concat()] {
            let answer = call(&server, method, path, headers, "{}");
            assert_eq!(answer.status, 421, "{method} {path}: {answer:?}");
            let body = answer.json();
            let message = body.pointer("/error/message").unwrap_or(&body["message"]).as_str().unwrap_or_default().to_owned();
            assert!(message.contains(&evil) && message.contains("convengine.http.allowed-hosts"), "{answer:?}");
            assert_eq!(answer.header("access-control-allow-origin"), "");
        }
    }
    let code = server.request("GET", "/v1/secrets", &rebound, "").json()["error"]["code"].clone();
    assert_eq!(code, "misdirected_request");
    for host in [format!("localhost:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")] {
        assert_eq!(server.request("GET", "/healthz", &[("Host", &host)], "").status, 200, "{host}");
    }
    let ask = |head: &str| exchange(&server, &format!("{head}\r\nConnection: close\r\n\r\n")).chars().skip(9).take(3).collect::<String>();
    let own = &server.address;
    assert_eq!(ask(&format!("GET http://{own}/healthz HTTP/1.1\r\nHost: {own}")), "200");
    for head in [
        "GET /healthz HTTP/1.0".to_owned(),
        "GET /healthz HTTP/1.1".to_owned(),
        format!("GET /healthz HTTP/1.0\r\nHost: {evil}"),
        format!("GET http://{evil}/healthz HTTP/1.1\r\nHost: {own}"),
        format!("GET http://{own}/healthz HTTP/1.1\r\nHost: {evil}"),
        format!("GET http://user@{own}/healthz HTTP/1.1\r\nHost: {own}"),
        format!("GET /healthz HTTP/1.1\r\nHost: {own}\r\nHost: {evil}"),
        format!("GET /healthz HTTP/1.1\r\nHost: user@{own}"),
        format!("GET /healthz HTTP/1.1\r\nHost: {own}.evil.example"),
        format!("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Host: {own}"),
        "GET /healthz HTTP/1.1\r\nHost:".to_owned(),
    ] {
        let status = ask(&head);
        assert!(["421", "400"].contains(&status.as_str()), "{head}: {status}");
    }
    drop(server);
    let listed = ["--set", "convengine.http.allowed-hosts=Bot.example, other.example:8443"];
    let server = env.serve(&[&REGEX_ONLY[..], &listed].concat());
    let status = |host: &str| server.request("GET", "/healthz", &[("Host", host)], "").status;
    assert_eq!(["bot.example", "bot.example:9", "other.example:8443"].map(status), [200; 3]);
    assert_eq!(["other.example", "sub.bot.example", "evil.example"].map(status), [421; 3]);
}

#[track_caller]
fn assert_has_headers(answer: &Answer, what: &str) {
    for (name, value) in [("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"), ("x-frame-options", "DENY")] {
        assert_eq!(answer.header(name), value, "{what}: {answer:?}");
    }
    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"), "{what}: {policy}");
}

#[test]
fn every_answer_has_the_headers_of_browsers() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    for (method, path) in all_paths() {
        assert_has_headers(&call(&server, method, path, &[], "{}"), path);
        assert_has_headers(&call(&server, method, path, &[("Host", "evil.example")], "{}"), path);
    }
    assert_has_headers(&server.request("GET", "/v1/agents", &[("Via", "1.1 proxy")], ""), "401");
    for malformed in ["GET /<script> HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "<script>\r\n\r\n"] {
        let answer = exchange(&server, malformed).to_lowercase();
        assert!(answer.starts_with("http/1.1 400 bad request\r\n") && answer.ends_with("\r\n\r\n"), "{malformed}: {answer}");
        for header in
            ["x-content-type-options: nosniff", "referrer-policy: same-origin", "x-frame-options: deny", "content-security-policy: "]
        {
            assert_eq!(answer.matches(&format!("\r\n{header}")).count(), 1, "{header} in the answer to {malformed}: {answer}");
        }
    }
    let page = server.get("/");
    if page.status == 200 {
        assert!(page.header("content-security-policy").contains("script-src 'self' 'wasm-unsafe-eval'"), "{page:?}");
        let tag = page.header("etag").to_owned();
        let again = server.request("GET", "/", &[("If-None-Match", &tag)], "");
        assert_eq!((again.status, again.header("content-security-policy")), (304, page.header("content-security-policy")));
    }
}

/// The answers of a connection, each from its status on.
fn split_answers(text: &str) -> Vec<String> {
    text.to_lowercase().split("http/1.1 ").skip(1).map(str::to_owned).collect()
}

#[test]
fn answers_to_later_malformed_requests_have_the_headers_and_an_id_of_their_own() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let host = &server.address;
    let good = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let assert_all = |answers: Vec<String>, statuses: &[&str], what: &str| {
        let found: Vec<&str> = answers.iter().map(|answer| answer.get(..3).unwrap_or_default()).collect();
        assert_eq!(found, statuses, "{what}: {answers:?}");
        let mut ids = Vec::new();
        for answer in &answers {
            for header in ["x-content-type-options: nosniff", "x-frame-options: deny", "content-security-policy: "] {
                assert_eq!(answer.matches(&format!("\r\n{header}")).count(), 1, "{header} in {what}: {answer}");
            }
            let id = answer.split_once("\r\nx-request-id: ").unwrap_or_else(|| panic!("no id in {what}: {answer}")).1;
            ids.push(id.split("\r\n").next().unwrap().to_owned());
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), answers.len(), "{what}: {ids:?}");
    };
    for malformed in ["GET /<script> HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "<script>\r\n\r\n"] {
        assert_all(split_answers(&exchange(&server, malformed)), &["400"], malformed);
        // With a good one in one packet, and with two.
        assert_all(split_answers(&exchange(&server, &format!("{good}{malformed}"))), &["200", "400"], malformed);
        assert_all(split_answers(&exchange(&server, &format!("{good}{good}{malformed}"))), &["200", "200", "400"], malformed);
        // After the answer to a good one.
        let mut stream = connect(&server);
        stream.write_all(good.as_bytes()).unwrap();
        let mut first = Vec::new();
        while !first.ends_with(b"{\"status\":\"UP\"}") {
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap();
            assert!(count > 0, "{first:?}");
            first.extend_from_slice(&bytes[..count]);
        }
        stream.write_all(malformed.as_bytes()).unwrap();
        let all = String::from_utf8(first).unwrap() + &read_to_close(&mut stream);
        assert_all(split_answers(&all), &["200", "400"], malformed);
    }
}

/// On PostgreSQL the files belong to its server.
#[test]
#[on(sqlite)]
fn database_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let file = env.path("test.db");
    let wrapped = |arguments: &[&str]| {
        let inner = env.command(arguments);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
        command
    };
    let server = env.start(&mut wrapped(&["serve", "--listen", "127.0.0.1:0"]));
    server.say(ID, "my order");
    for ending in ["", "-wal", "-shm"] {
        let mut name = file.clone().into_os_string();
        name.push(ending);
        let mode = std::fs::metadata(&name).unwrap_or_else(|error| panic!("{name:?}: {error}")).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name:?}");
    }
    assert!(!server.log().contains("chmod"), "{}", server.log());
    drop(server);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let server = env.serve(&REGEX_ONLY);
    assert!(server.log().contains("test.db") && server.log().contains("chmod"), "{}", server.log());
}
