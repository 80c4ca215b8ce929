//! A server without `convengine.security.mode`: open to its own machine until there is a key, a token or a deployment, then closed.

use convengine_test_macros::test;
use serde_json::json;

use crate::access::{key, refusal_message};
use crate::flows::{DEPLOYED, ORIGIN, Session, assert_refused, deploy, desk, publish, send};
use crate::harness::{Answer, MESSAGE, OPEN, REGEX_ONLY, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::routes::{ROUTES, call};
use crate::tenants::TwoTenants;

/// What a refusal must tell the operator.
const ADVICE: [&str; 2] = ["convengine key create --name", "convengine.security.mode=none"];

/// Headers that show a proxy.
const PROXIED: [(&str, &str); 9] = [
    ("X-Forwarded-For", "192.0.2.1"),
    ("x-forwarded-host", "bot.example"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Prefix", "/"),
    ("Forwarded", "for=192.0.2.1"),
    ("Via", "1.1 proxy"),
    ("X-Real-IP", "127.0.0.1"),
    ("X-Forwarded", "1"),
    ("CF-Connecting-IP", "127.0.0.1"),
];

#[track_caller]
fn assert_closed(answer: &Answer) {
    // That of MCP also names its metadata.
    let challenge = answer.header("www-authenticate").split(", resource_metadata").next().unwrap_or_default();
    assert_eq!((answer.status, challenge), (401, "Bearer realm=\"convengine\""), "{answer:?}");
    assert!(ADVICE.iter().all(|advice| refusal_message(answer).contains(advice)), "{answer:?}");
}

/// Asserts that callers without credentials get nothing but what is for everyone.
#[track_caller]
pub fn assert_all_closed(server: &Server) {
    for (method, path, _, body) in ROUTES {
        let answer = call(server, method, path, &[], body);
        assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
    }
    for open in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(server.get(open).status, 200, "{open}");
    }
    let local = [("Origin", "http://localhost:5173"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(server.request("OPTIONS", MESSAGE, &local, "").header("access-control-allow-origin"), "", "pages of this machine");
}

fn status(server: &Server, path: &str) -> u16 {
    server.get(path).status
}

#[test]
fn a_server_closes_with_the_first_key_and_stays_closed() {
    let env = TestEnv::with_pack(&orders_pack());
    let recheck = ["--set", "convengine.security.keys.recheck=1ms"];
    let server = env.serve(&[&REGEX_ONLY[..], &recheck].concat());
    for (method, path, _, body) in ROUTES {
        let answer = call(&server, method, path, &[], body);
        assert!(![401, 403].contains(&answer.status), "{method} {path}: {answer:?}");
    }
    let local = [("Origin", "http://localhost:5173"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(server.request("OPTIONS", MESSAGE, &local, "").header("access-control-allow-origin"), local[0].1);
    let key = key(&env, &["--scope", "read"]);
    assert!(wait_until(|| status(&server, "/api/v1/conversation") == 401), "another process has created a key");
    assert_all_closed(&server);
    for path in ["/api/v1/conversation", "/v1/secrets", "/api/v1/cache/analyze"] {
        assert_closed(&server.get(path));
    }
    let with_key = || server.request("GET", "/api/v1/conversation", &[("X-API-Key", &key)], "").status;
    assert_eq!(with_key(), 200);
    assert_eq!(env.run(&["key", "revoke", &key[3..15]]).code, 0);
    assert!(wait_until(|| with_key() == 401));
    assert_eq!(status(&server, "/api/v1/conversation"), 401);
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    assert_all_closed(&server);
    drop(server);
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    assert_eq!([status(&server, "/api/v1/conversation"), status(&server, "/v1/agents")], [200, 200], "open on purpose");
}

#[test]
fn a_server_closes_with_its_first_deployment_at_once() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    publish(&server, &desk("Desk"));
    let second = env.is_postgres().then(|| env.serve(&REGEX_ONLY));
    let token = deploy(&server, false);
    assert_closed(&server.get("/api/v1/conversation"));
    assert_all_closed(&server);
    assert_refused(&send(&server, "POST", "/v1/secrets", &json!({"name": "A_KEY", "value": "hunter2hunter2"})), 401, "unauthorized");
    let (session, _) = Session::start_deployed(&server, &token, &[]);
    session.say(&server, "more please");
    let page = [("Origin", ORIGIN.1), ("Access-Control-Request-Method", "POST")];
    assert_eq!(server.request("OPTIONS", DEPLOYED, &page, "").header("access-control-allow-origin"), ORIGIN.1);
    if let Some(second) = second {
        assert!(wait_until(|| status(&second, "/api/v1/conversation") == 401), "another server has the deployment");
        assert_all_closed(&second);
    }
}

#[test]
fn an_open_server_answers_its_own_machine_only() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    for header in PROXIED.into_iter().chain([("Origin", "https://evil.example"), ("Origin", "null")]) {
        for (method, path, _, body) in ROUTES {
            let answer = call(&server, method, path, &[header], body);
            if path == "/mcp" && header.0 == "Origin" {
                assert_eq!(answer.status, 403, "as the protocol demands: {answer:?}");
            } else {
                assert_closed(&answer);
            }
        }
        assert_eq!(server.request("GET", "/healthz", &[header], "").status, 200, "{header:?}");
    }
    assert_eq!(server.request("GET", "/v1/agents", &[("Origin", "http://localhost:5173")], "").status, 200);
    drop(server);
    // Opened on purpose, only the routes of administrators are for this machine alone.
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    for header in PROXIED {
        let status = |path: &str| server.request("GET", path, &[header], "").status;
        assert_eq!([status("/api/v1/conversation"), status("/v1/agents"), status("/v1/secrets")], [200, 401, 401], "{header:?}");
    }
}

#[test]
fn a_key_of_one_tenant_closes_all() {
    let two = TwoTenants::with_pack(&orders_pack());
    let server = two.serve(&[]);
    let list = |tenant: &str| server.request("GET", "/api/v1/conversation", &[("X-Tenant", tenant)], "").status;
    assert_eq!([list("a"), list("b")], [200, 200]);
    let key = two.key("b", "read");
    assert!(wait_until(|| list("a") == 401));
    assert_eq!(list("b"), 401);
    assert_eq!(server.request("GET", "/api/v1/conversation", &[("X-API-Key", &key)], "").status, 200);
}

#[test]
fn an_administrators_token_closes_from_the_start() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.admin-token=the-administrator"]].concat());
    assert_all_closed(&server);
    let bearer = [("Authorization", "Bearer the-administrator")];
    assert_eq!(server.request("GET", "/v1/agents", &bearer, "").status, 200);
    assert_eq!(server.request("GET", "/api/v1/conversation", &bearer, "").status, 401);
}

#[test]
fn a_public_address_needs_a_key_and_is_closed_then() {
    let env = TestEnv::new();
    let public = ["serve", "--listen", "0.0.0.0:0"];
    let advice = ["convengine key create", "convengine.security.mode=keys", "convengine.security.mode=none"];
    assert_one_line(&env.run(&public), 2, &advice);
    assert!(env.is_untouched());
    let key = key(&env, &["--scope", "admin"]);
    let server = env.start(&mut env.command(&[&public[..], &REGEX_ONLY].concat()));
    assert_all_closed(&server);
    assert_eq!(server.request("GET", "/v1/agents", &[("X-API-Key", &key)], "").status, 200);
    drop(server);
    let two = TwoTenants::with_pack(&orders_pack());
    let arguments = two.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_one_line(&two.a.run(&[&public[..], &arguments].concat()), 2, &advice);
    two.key("b", "read");
    let server = two.a.start(&mut two.a.command(&[&public[..], &arguments].concat()));
    assert_all_closed(&server);
}
