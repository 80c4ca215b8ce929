//! Attacks on a server that is installed as `packaging/OPERATIONS.md` says: no setting of `convengine.security`, one administrator's key.
//! Nothing of them may succeed, be it as an outsider, with a deployment's token, with a `converse` key or as a neighbouring tenant.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::key;
use crate::flows::{DEPLOYED, JSON, ORIGIN, desk};
use crate::harness::{Answer, MESSAGE, REGEX_ONLY, Server, TIMEOUT, TestEnv, orders_pack};
use crate::routes::{ROUTES, call, fill_path};
use crate::stream::ID;
use crate::tenants::TwoTenants;

/// What only its owner may see: the text of a user, the value of a secret, and the name of a draft.
const PRIVATE: [&str; 3] = ["my order of a unicorn", "hunter2-of-the-vault", "Desk behind the counter"];

/// A server with something to steal.
struct Installed {
    env: TestEnv,
    server: Server,
    admin: String,
}

/// The attacks that succeeded, and how many there were.
#[derive(Default)]
struct Attacks {
    count: usize,
    succeeded: Vec<String>,
}

impl Attacks {
    /// Records an attack, which fails only if the answer is a refusal that tells nothing private.
    fn record(&mut self, name: impl Into<String>, status: u16, text: &str) {
        self.count += 1;
        if status < 400 || status == 500 || PRIVATE.iter().any(|it| text.contains(it)) {
            self.succeeded.push(format!("{}: {status} {text}", name.into()));
        }
    }

    fn record_answer(&mut self, name: impl Into<String>, answer: &Answer) {
        self.record(name, answer.status, &answer.text);
    }

    /// Records an attack on a path that anyone may ask for: it fails if nothing private is told.
    fn record_leak(&mut self, name: impl Into<String>, text: &str) {
        self.record(name, 400, text);
    }

    #[track_caller]
    fn assert_failed(self, at_least: usize) {
        assert!(self.succeeded.is_empty(), "{} of {} succeeded: {:#?}", self.succeeded.len(), self.count, self.succeeded);
        assert!(self.count >= at_least, "{} attacks", self.count);
    }
}

impl Installed {
    fn new() -> Installed {
        let env = TestEnv::new();
        let pack = env.write_pack("pack.json", &orders_pack());
        for command in [&["migrate"][..], &["import", &pack, "--dry-run"], &["import", &pack, "--strict"]] {
            assert_eq!(env.run(command).code, 0, "{command:?}");
        }
        let admin = key(&env, &["--scope", "admin"]);
        let server = env.serve(&REGEX_ONLY);
        let installed = Installed { env, server, admin };
        installed.fill();
        installed
    }

    fn fill(&self) {
        let document = crate::flows::with_changes(desk("Desk"), &[("/name", json!(PRIVATE[2]))]);
        for (method, path, body) in [
            ("POST", MESSAGE, json!({"conversationId": ID, "message": PRIVATE[0]})),
            ("POST", "/v1/secrets", json!({"name": "CRM_KEY", "value": PRIVATE[1]})),
            ("PUT", "/v1/agents/desk/flow", document),
            ("POST", "/v1/agents/desk/publish", json!({})),
        ] {
            let answer = self.as_admin(method, path, &body.to_string());
            assert!(answer.status < 300, "{method} {path}: {answer:?}");
        }
    }

    fn as_admin(&self, method: &str, path: &str, body: &str) -> Answer {
        self.server.request(method, path, &[JSON, ("X-API-Key", &self.admin)], body.to_owned())
    }

    fn deploy(&self) -> String {
        let request = json!({"name": "shop", "channel": "web", "origins": [ORIGIN.1]});
        let made = self.as_admin("POST", "/v1/agents/desk/deployments", &request.to_string());
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["token"].as_str().unwrap().to_owned()
    }

    /// Asserts that everything is as it was.
    #[track_caller]
    fn assert_untouched(&self) {
        let audit = self.as_admin("GET", &format!("/api/v1/conversation/audit/{ID}"), "");
        assert!(audit.text.contains(PRIVATE[0]), "{audit:?}");
        let secrets = self.as_admin("GET", "/v1/secrets", "").json();
        let names: Vec<&Value> = secrets["secrets"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["CRM_KEY"]);
        let drafts = self.as_admin("GET", "/v1/agents", "").json();
        assert_eq!((&drafts["agents"][0]["revision"], &drafts["agents"][0]["live_version"]), (&json!(1), &json!(1)), "{drafts}");
        assert_eq!(drafts["agents"].as_array().map(Vec::len), Some(1));
    }

    /// Sends bytes as they are; returns everything that the server answers until it closes.
    fn send_raw(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A reset is a refusal too.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The answer to a request whose path is sent as it is.
    fn request_raw(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.server.address) };
        let answer = self.send_raw(&format!("{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: 0\r\n\r\n"));
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(400);
        (status, answer)
    }
}

const FORGET: (&str, &str, &str) = ("POST", "/api/v1/privacy/forget", r#"{"person":{"customerId":"C-17"}}"#);

/// The calls that an attacker wants most: read texts, read secrets, store one, forget, refresh.
fn treasures() -> [(&'static str, String, &'static str); 6] {
    [
        ("GET", format!("/api/v1/conversation/audit/{ID}"), ""),
        ("GET", "/v1/secrets".to_owned(), ""),
        ("POST", "/v1/secrets".to_owned(), r#"{"name":"EVIL","value":"an-evil-value"}"#),
        (FORGET.0, FORGET.1.to_owned(), FORGET.2),
        ("POST", "/api/v1/cache/refresh".to_owned(), ""),
        ("GET", "/v1/agents/desk/flow".to_owned(), ""),
    ]
}

#[test]
fn an_outsider_gets_nothing() {
    let place = Installed::new();
    let (server, mut attacks) = (&place.server, Attacks::default());
    for (method, path, _, body) in ROUTES {
        attacks.record_answer(format!("{method} {path} without a key"), &call(server, method, path, &[], body));
    }
    let evil = format!("http://evil.example:{}", server.address.rsplit(':').next().unwrap());
    let own = format!("http://{}", server.address);
    let cut = &place.admin[..place.admin.len() - 1];
    let changed = format!("{cut}{}", if place.admin.ends_with('a') { 'b' } else { 'a' });
    let twice = format!("{0}{0}", place.admin);
    // {"alg":"none"} and {"sub":"x","scope":"admin"} without a signature.
    let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4Iiwic2NvcGUiOiJhZG1pbiJ9.";
    let bearer = |it: &str| format!("Bearer {it}");
    let credentials: Vec<Vec<(&str, String)>> = vec![
        vec![("X-Forwarded-For", "127.0.0.1".to_owned())],
        vec![("Forwarded", "for=127.0.0.1".to_owned()), ("X-Real-IP", "127.0.0.1".to_owned())],
        vec![("Origin", own)],
        vec![("Origin", "null".to_owned())],
        vec![("Origin", evil)],
        vec![("Authorization", "Basic YWRtaW46YWRtaW4=".to_owned())],
        vec![("Authorization", bearer(""))],
        vec![("Authorization", bearer("null"))],
        vec![("Authorization", bearer(unsigned))],
        vec![("Authorization", bearer(cut))],
        vec![("Authorization", bearer(&twice))],
        vec![("X-API-Key", changed)],
        vec![("X-API-Key", "ce_' or '1'='1".to_owned())],
        vec![("X-API-Key", "ce__".to_owned())],
        vec![("Cookie", format!("access_token={0}; X-API-Key={0}", place.admin))],
        vec![("X-HTTP-Method-Override", "DELETE".to_owned()), ("X-Original-URL", "/v1/secrets/CRM_KEY".to_owned())],
        vec![("X-Tenant", "default".to_owned())],
    ];
    for headers in &credentials {
        let headers: Vec<(&str, &str)> = headers.iter().map(|it| (it.0, it.1.as_str())).collect();
        for (method, path, body) in treasures() {
            let answer = server.request(method, &path, &[&headers[..], &[JSON]].concat(), body.to_owned());
            attacks.record_answer(format!("{method} {path} with {headers:?}"), &answer);
        }
    }
    // A key in the query counts on streams alone.
    for (method, path, body) in treasures() {
        let answer = server.request(method, &format!("{path}?access_token={}", place.admin), &[JSON], body.to_owned());
        attacks.record_answer(format!("{method} {path} with a key in the query"), &answer);
    }
    for path in [
        "//v1/secrets",
        "/v1//secrets",
        "/v1/secrets/",
        "/v1/./secrets",
        "/v1/%73ecrets",
        "/v1/secrets%00",
        "/v1/secrets;a=b",
        "/V1/SECRETS",
        "/v1/public/../secrets",
        "/v1/public/runtime/sessions/..%2f..%2f..%2fsecrets",
        "/healthz/../v1/secrets",
        "/schemas/..%2f..%2fv1%2fsecrets",
        "/schemas/../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/assets/../../../../../etc/passwd",
        "http://localhost/v1/secrets",
    ] {
        let (_, answer) = place.request_raw("GET", path, "");
        attacks.record_leak(format!("GET {path}"), &answer);
        assert!(!answer.contains("root:"), "{answer}");
    }
    place.assert_untouched();
    attacks.assert_failed(60);
}

#[test]
fn a_foreign_name_reaches_no_route() {
    let place = Installed::new();
    let mut attacks = Attacks::default();
    let port = place.server.address.rsplit(':').next().unwrap().to_owned();
    // A name that its owner points at this machine, so that a browser takes the page and the server for one origin.
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        String::new(),
    ] {
        for (method, path) in
            [("GET", "/"), ("GET", "/healthz"), ("GET", "/nothing"), ("GET", "/v1/secrets"), ("POST", FORGET.1), ("GET", "/openapi.json")]
        {
            let headers = format!("Host: {host}\r\nOrigin: http://{host}\r\nX-API-Key: {}\r\n", place.admin);
            let (status, answer) = place.request_raw(method, path, &headers);
            attacks.record(format!("{method} {path} as {host}"), status, &answer);
        }
    }
    place.assert_untouched();
    attacks.assert_failed(30);
}

#[test]
fn the_token_of_a_deployment_opens_its_own_sessions_alone() {
    let place = Installed::new();
    let (token, other) = (place.deploy(), place.deploy());
    let (server, mut attacks) = (&place.server, Attacks::default());
    let bearer = |it: &str| format!("Bearer {it}");
    let start = |token: &str, headers: &[(&str, &str)], body: &Value| {
        server.request("POST", DEPLOYED, &[&[("Authorization", bearer(token).as_str()), JSON], headers].concat(), body.to_string())
    };
    for (method, path, _, body) in ROUTES {
        for header in [("Authorization", bearer(&token)), ("X-API-Key", token.clone())] {
            let answer = call(server, method, path, &[(header.0, &header.1), ORIGIN], body);
            attacks.record_answer(format!("{method} {path} with a deployment's token in {}", header.0), &answer);
        }
    }
    for headers in
        [&[][..], &[("Origin", "https://evil.example")], &[("Origin", "https://shop.example.evil.example")], &[("Origin", "null")]]
    {
        attacks.record_answer(format!("a session from {headers:?}"), &start(&token, headers, &json!({})));
    }
    for params in [json!({"count": 99}), json!({"pin": "1234"}), json!({"_agent_memory_x": []}), json!({"__proto__": {"a": 1}})] {
        attacks.record_answer(format!("a session with {params}"), &start(&token, &[ORIGIN], &json!({"params": params})));
    }
    let mine = start(&token, &[ORIGIN], &json!({}));
    assert_eq!(mine.status, 201, "{mine:?}");
    let session = mine.json()["session_id"].as_str().unwrap().to_owned();
    let turns = format!("{DEPLOYED}/{session}/turns");
    let send = |token: &str, path: &str, event: &Value| {
        server.request("POST", path, &[("Authorization", bearer(token).as_str()), ORIGIN, JSON], event.to_string())
    };
    let text = json!({"type": "user.message", "text": "more please"});
    attacks.record_answer("a turn in a session of another deployment", &send(&other, &turns, &text));
    attacks.record_answer("a turn without a token", &server.request("POST", &turns, &[ORIGIN, JSON], text.to_string()));
    attacks.record_answer("a turn in a conversation of the tables", &send(&token, &format!("{DEPLOYED}/{ID}/turns"), &text));
    for event in [
        json!({"type": "session.start"}),
        json!({"type": "timer.fired", "timer": "x"}),
        json!({"type": "handoff.message", "text": "I am the desk."}),
        json!({"type": "api.result", "status": 200}),
        json!({"type": "user.message", "text": "x".repeat(200_000)}),
        json!({"type": "user.message"}),
        json!({"type": ["user.message"]}),
    ] {
        attacks.record_answer(format!("the event {}", event["type"]), &send(&token, &turns, &event));
    }
    let other_session = start(&other, &[ORIGIN], &json!({"session_id": session}));
    assert_ne!(other_session.json()["session_id"], session, "the server chooses the ids of public sessions");
    for what in ["", "/trace", "/replay", "/messages"] {
        let path = format!("/v1/runtime/assistants/desk/sessions/{session}{what}");
        let answer = server.request("GET", &path, &[("Authorization", bearer(&token).as_str()), ORIGIN], "");
        attacks.record_answer(format!("GET {path}"), &answer);
    }
    assert_eq!(send(&token, &turns, &text).json()["messages"][0]["text"], format!("{} 1", "Desk"), "the count is the document's own");
    place.assert_untouched();
    attacks.assert_failed(60);
}

#[test]
fn a_key_for_conversations_opens_nothing_else() {
    let place = Installed::new();
    let (server, mut attacks) = (&place.server, Attacks::default());
    let converse = key(&place.env, &["--scope", "converse"]);
    for (method, path, scopes, body) in ROUTES {
        if !scopes.contains(&"converse") {
            attacks.record_answer(format!("{method} {path} with converse"), &call(server, method, path, &[("X-API-Key", &converse)], body));
        }
    }
    let bearer = format!("Bearer {converse}");
    for header in [("Authorization", bearer.as_str()), ("X-API-Key", &converse)] {
        let answer = server.request("POST", DEPLOYED, &[header, ORIGIN, JSON], "{}");
        attacks.record_answer("a session of a deployment with a key", &answer);
        for (method, path, body) in treasures() {
            let answer = server.request(method, &path, &[header, ("X-Scope", "admin"), JSON], body.to_owned());
            attacks.record_answer(format!("{method} {path} with {}", header.0), &answer);
        }
    }
    place.assert_untouched();
    attacks.assert_failed(60);
}

#[test]
fn a_neighbouring_tenant_gets_nothing() {
    let two = TwoTenants::with_pack(&orders_pack());
    let (a, b) = (two.key("a", "admin"), two.key("b", "admin"));
    let server = two.serve(&[]);
    let as_b = |method: &str, path: &str, body: Value| {
        let answer = server.request(method, path, &[JSON, ("X-API-Key", &b)], body.to_string());
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        answer
    };
    as_b("POST", MESSAGE, json!({"conversationId": ID, "message": PRIVATE[0]}));
    as_b("POST", "/v1/secrets", json!({"name": "CRM_KEY", "value": PRIVATE[1]}));
    as_b("PUT", "/v1/agents/desk/flow", crate::flows::with_changes(desk("Desk"), &[("/name", json!(PRIVATE[2]))]));
    as_b("POST", "/v1/agents/desk/publish", json!({}));
    let deployment = json!({"name": "shop", "channel": "web", "origins": [ORIGIN.1]});
    let token = as_b("POST", "/v1/agents/desk/deployments", deployment).json()["token"].as_str().unwrap().to_owned();
    let mut attacks = Attacks::default();
    let renamed = a.replacen("ce_a_", "ce_b_", 1);
    for (method, path, _, body) in ROUTES {
        attacks
            .record_answer(format!("{method} {path} with a renamed key"), &call(&server, method, path, &[("X-API-Key", &renamed)], body));
        // With a key of its own it gets its own data, whatever the request says of a tenant.
        let path = fill_path(path);
        if method == "GET" && !path.contains("/stream/") && path != "/v1/desk/events" {
            for (query, headers) in [("", &[("X-Tenant", "b")][..]), ("?tenant=b", &[])] {
                let headers = [headers, &[("X-API-Key", a.as_str())]].concat();
                let answer = server.request("GET", &format!("{path}{query}"), &headers, "");
                attacks.record_leak(format!("GET {path}{query} with {:?}", headers[0].0), &answer.text);
            }
        }
    }
    let headers = [("X-Tenant", "a"), ("X-API-Key", token.as_str()), ORIGIN, JSON];
    attacks.record_answer("a deployment of b in a", &server.request("POST", DEPLOYED, &headers, "{}"));
    assert!(as_b("GET", &format!("/api/v1/conversation/audit/{ID}"), json!({})).text.contains(PRIVATE[0]));
    attacks.assert_failed(60);
}
