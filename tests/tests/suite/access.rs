//! Access control: keys, scopes, allowed origins and rate limits.

use std::collections::BTreeSet;

use axum::http::Method;
use convengine_access::routes::Route;
use convengine_host::app;
use convengine_test_macros::test;
use serde_json::json;

use crate::harness::{Answer, MESSAGE, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::routes::{DEPLOYMENT_ROUTES, LINK_ROUTES, ROUTES, SIGNED_ROUTES, call, fill_path};
use crate::stream::{ID, Listener};

/// A server with `mode=keys` that rechecks each key on every call.
pub const WITH_KEYS: [&str; 4] = ["--set", "convengine.security.mode=keys", "--set", "convengine.security.keys.recheck=1ms"];

/// Creates a key.
pub fn key(env: &TestEnv, arguments: &[&str]) -> String {
    let output = env.run(&[&["key", "create", "--name", "test"], arguments].concat());
    assert_eq!((output.code, output.stdout.lines().count()), (0, 1), "{output:?}");
    output.stdout.trim().to_owned()
}

/// The message of an error response, in either error format.
pub fn refusal_message(answer: &Answer) -> String {
    let body = answer.json();
    body.pointer("/error/message").unwrap_or(&body["message"]).as_str().unwrap_or_default().to_owned()
}

fn bearer(key: &str) -> String {
    format!("Bearer {key}")
}

/// Asserts that these rows cover exactly the routes of the server.
#[track_caller]
pub fn assert_covers_all_routes(rows: impl Iterator<Item = (String, String)>) {
    let name = |route: &Route| (route.method.as_ref().map_or("GET".to_owned(), Method::to_string), route.path.clone());
    let routes: BTreeSet<_> = app::tenant_routes(true, None).list().iter().map(name).collect();
    let public = [&DEPLOYMENT_ROUTES[..], &LINK_ROUTES, &SIGNED_ROUTES].concat();
    let public = public.into_iter().map(|route| (route.0.to_owned(), route.1.to_owned()));
    assert_eq!(rows.chain(public).collect::<BTreeSet<_>>(), routes);
}

#[test]
fn a_route_accepts_only_its_scopes() {
    assert_covers_all_routes(ROUTES.iter().map(|route| (route.0.to_owned(), route.1.to_owned())));
    let env = TestEnv::with_pack(&orders_pack());
    let keys = ["converse", "read", "desk", "admin"].map(|it| (it, key(&env, &["--scope", it])));
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS].concat());
    for (method, path, needs, body) in ROUTES {
        let unauthenticated = call(&server, method, path, &[], body);
        // That of MCP also names its metadata.
        let challenge = unauthenticated.header("www-authenticate").split(", resource_metadata").next().unwrap_or_default();
        assert_eq!((unauthenticated.status, challenge), (401, "Bearer realm=\"convengine\""), "{method} {path}");
        if path.starts_with("/v1/") {
            assert_eq!(unauthenticated.json()["error"]["code"], "unauthorized");
        } else if !path.contains("/stream/") {
            assert_eq!((&unauthenticated.json()["status"], &unauthenticated.json()["path"]), (&json!(401), &json!(fill_path(path))));
        }
        for (scope, key) in &keys {
            let answer = call(&server, method, path, &[("Authorization", &bearer(key))], body);
            if *scope == "admin" || needs.contains(scope) {
                assert!(![401, 403].contains(&answer.status), "{method} {path} with {scope}: {answer:?}");
            } else {
                assert_eq!(answer.status, 403, "{method} {path} with {scope}: {answer:?}");
                let expected = format!("requires scope {}", needs.join(" or "));
                assert!(refusal_message(&answer).contains(&expected), "{answer:?}");
                assert!(answer.header("www-authenticate").contains("insufficient_scope"), "{answer:?}");
            }
        }
    }
    for (method, path) in DEPLOYMENT_ROUTES {
        for key in [None, Some(&keys[0].1), Some(&keys[3].1)] {
            let headers: Vec<_> = key.map(|it| ("X-API-Key", it.as_str())).into_iter().collect();
            let answer = call(&server, method, path, &headers, "{}");
            assert_eq!((answer.status, &answer.json()["error"]["code"]), (401, &json!("unauthorized")), "{method} {path}: {answer:?}");
            assert!(answer.header("www-authenticate").starts_with("Bearer"), "{answer:?}");
        }
    }
    for (method, path) in LINK_ROUTES {
        for headers in [vec![], vec![("X-API-Key", keys[3].1.as_str())]] {
            let answer = call(&server, method, path, &headers, "{}");
            assert_eq!((answer.status, &answer.json()["error"]["code"]), (401, &json!("invalid_token")), "{method} {path}: {answer:?}");
        }
    }
    for (method, path) in SIGNED_ROUTES {
        let answer = call(&server, method, &path.replace("{chain}", "unknown"), &[("X-API-Key", &keys[3].1)], "{}");
        let refused = (401, &json!("invalid_signature"));
        assert_eq!((answer.status, &answer.json()["error"]["code"]), refused, "{method} {path}: {answer:?}");
    }
    for open in ["/healthz", "/readyz", "/openapi.json", "/schemas", "/schemas/pack", "/.well-known/oauth-protected-resource"] {
        assert_eq!(server.get(open).status, 200, "{open}");
    }
    let page = server.get("/").status;
    assert!([200, 404].contains(&page), "{page}: the page is for everybody, where the build has one");
    assert_eq!(server.get("/api/v1/nothing").status, 404);
    assert_eq!(server.request("PUT", MESSAGE, &[], "").status, 401, "a caller without a key learns nothing more");
    let converse = bearer(&keys[0].1);
    assert_eq!(server.request("PUT", MESSAGE, &[("Authorization", &converse)], "").status, 405);
}

#[test]
fn a_key_is_read_from_two_headers_and_on_streams_from_the_query() {
    let env = TestEnv::with_pack(&orders_pack());
    let key = key(&env, &["--scope", "converse,read"]);
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS].concat());
    let status = |path: &str, headers: &[(&str, &str)]| call(&server, "GET", path, headers, "").status;
    let list = "/api/v1/conversation";
    assert_eq!(status(list, &[("X-API-Key", &key)]), 200);
    assert_eq!(status(list, &[("Authorization", &format!("bearer  {key}"))]), 200);
    assert_eq!(status(list, &[("Authorization", &format!("Basic {key}"))]), 401);
    assert_eq!(status(&format!("{list}?access_token={key}"), &[]), 401, "URLs appear in logs");
    let stream = "/api/v1/conversation/stream/{id}";
    assert_eq!(status(&format!("{stream}?access_token={key}"), &[]), 200);
    assert_eq!(status(&format!("{stream}?access_token={key}&access_token={key}"), &[]), 401);
    let mut other = key.clone();
    other.replace_range(key.len() - 1.., if key.ends_with('0') { "1" } else { "0" });
    for wrong in [other.as_str(), "ce_", "ce_000000000000_0", &key[..20], "eyJhbGciOiJub25lIn0.e30.", "ü"] {
        let answer = call(&server, "GET", list, &[("Authorization", &bearer(wrong))], "");
        assert_eq!(answer.status, 401, "{wrong}");
    }
    assert!(!server.log().contains(&key[18..]), "{}", server.log());
}

#[test]
fn a_key_expires_and_can_be_revoked() {
    let env = TestEnv::with_pack(&orders_pack());
    let (lasting, brief) = (key(&env, &["--scope", "read"]), key(&env, &["--scope", "read", "--expires", "2s"]));
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS].concat());
    let status = |key: &str| server.request("GET", "/api/v1/conversation", &[("X-API-Key", key)], "").status;
    assert_eq!(status(&lasting), 200);
    assert!(wait_until(|| status(&brief) == 401), "the key has expired");
    assert_eq!(status(&lasting), 200);
    let listed = env.run(&["key", "list"]);
    let line = |key: &str| listed.stdout.lines().find(|line| line.starts_with(&key[3..15])).unwrap_or_default().to_owned();
    assert!(line(&lasting).contains("active scopes=read") && line(&brief).contains("expired"), "{listed:?}");
    assert!(!line(&lasting).contains("used=-") && !listed.stdout.contains(&lasting[16..]), "{listed:?}");
    let stream = format!("/api/v1/conversation/stream/{ID}?access_token={lasting}");
    let (mut listener, _) = Listener::open_path(&server, &stream, None);
    let revoked = env.run(&["key", "revoke", &lasting[3..15]]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert!(listener.next().is_none(), "an open stream ends with its key");
    assert!(wait_until(|| status(&lasting) == 401), "a revoked key is not accepted");
    assert_one_line(&env.run(&["key", "revoke", &lasting[3..15]]), 1, &["convengine key list"]);
    assert!(!env.sql().dump().join("\n").contains(&lasting[16..]), "the secret is not stored");
}

#[test]
fn a_key_that_cannot_be_created_is_explained() {
    let env = TestEnv::new();
    let create = |arguments: &[&str]| env.run(&[&["key", "create"], arguments].concat());
    assert_one_line(&create(&["--name", "x", "--scope", "write"]), 2, &["'write'", "converse, read, desk or admin"]);
    assert_one_line(&create(&["--name", " ", "--scope", "read"]), 2, &["--name"]);
    assert_one_line(&create(&["--name", "x", "--scope", "read", "--expires", "soon"]), 2, &["--expires soon", "90d"]);
    assert_one_line(&create(&["--name", "x", "--scope", "read", "--tenant", "a"]), 2, &["convengine.tenants.a.database"]);
    assert!(env.is_untouched());
}

#[test]
fn a_public_address_requires_an_explicit_mode() {
    let env = TestEnv::with_pack(&orders_pack());
    let both = ["convengine key create", "convengine.security.mode=keys", "convengine.security.mode=none"];
    assert_one_line(&env.run(&["serve", "--listen", "0.0.0.0:0"]), 2, &both);
    let mut command = env.command(&["serve", "--listen", "0.0.0.0:0", "--set", "convengine.security.mode=keys"]);
    let server = env.start(&mut command);
    assert_eq!((server.get("/healthz").status, server.get("/api/v1/conversation").status), (200, 401));
    for (set, words) in [
        ("mode=oauth", "use none, keys, jwt or keys,jwt"),
        ("rate.per-key=often", "60/m"),
        ("cors.allowed-origins=localhost", "invalid origin 'localhost'"),
        ("keys.recheck=never", "is not a duration"),
    ] {
        assert_one_line(&env.run(&[&SERVE[..], &["--set", &format!("convengine.security.{set}")]].concat()), 2, &[words]);
    }
    drop(server);
    assert_eq!(env.serve(&["--set", "convengine.security.cors.allowed-origins=https://a.example"]).log(), "", "no key is unknown");
}

/// The response to a preflight request.
fn preflight(server: &Server, path: &str, origin: &str) -> Answer {
    let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "content-type")];
    server.request("OPTIONS", path, &headers, "")
}

#[test]
fn pages_of_listed_origins_may_call_and_read_every_answer() {
    let env = TestEnv::with_pack(&orders_pack());
    let key = key(&env, &["--scope", "admin"]);
    let listed = ["--set", r#"convengine.security.cors.allowed-origins=["https://shop.example"]"#];
    let limited = ["--set", "convengine.security.rate.per-key=20/h"];
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS, &listed, &limited].concat());
    for (method, path, _, body) in ROUTES {
        let before = preflight(&server, &path.replace("{id}", ID), "https://shop.example");
        assert!((200..300).contains(&before.status), "{path}: nobody has to say who they are before {before:?}");
        assert_eq!(before.header("access-control-allow-origin"), "https://shop.example", "{path}");
        assert_eq!((before.header("access-control-allow-credentials"), before.header("access-control-max-age")), ("true", "3600"));
        for word in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
            assert!(before.header("access-control-allow-methods").contains(word), "{before:?}");
        }
        for word in ["content-type", "authorization", "x-api-key", "idempotency-key", "last-event-id"] {
            assert!(before.header("access-control-allow-headers").contains(word), "{before:?}");
        }
        for headers in [vec![("Origin", "https://shop.example")], vec![("Origin", "https://shop.example"), ("X-API-Key", &key)]] {
            let answer = call(&server, method, path, &headers, body);
            assert_eq!(answer.status == 401, headers.len() == 1, "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), "https://shop.example", "{path}");
            assert_eq!(answer.header("access-control-allow-credentials"), "true", "{path}");
            assert!(answer.headers.get_all("vary").iter().any(|it| it == "origin"), "{path}: {answer:?}");
            for word in ["x-request-id", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
                assert!(answer.header("access-control-expose-headers").contains(word), "{answer:?}");
            }
        }
    }
    let refused = wait_until(|| {
        let answer = call(&server, "GET", "/api/v1/conversation", &[("Origin", "https://shop.example"), ("X-API-Key", &key)], "");
        answer.status == 429 && answer.header("access-control-allow-origin") == "https://shop.example"
    });
    assert!(refused, "pages can read error responses too");
    for origin in ["http://shop.example", "https://shop.example.evil", "http://localhost:3000", "null"] {
        assert_eq!(preflight(&server, MESSAGE, origin).header("access-control-allow-origin"), "", "{origin}");
    }
}

#[test]
fn on_loopback_only_local_pages_may_call() {
    let env = TestEnv::with_pack(&orders_pack());
    let allowed = |server: &Server, origin: &str| !preflight(server, MESSAGE, origin).header("access-control-allow-origin").is_empty();
    let server = env.serve(&REGEX_ONLY);
    assert!(allowed(&server, "http://localhost:5173") && allowed(&server, "http://127.0.0.1:3000"));
    assert!(!allowed(&server, "https://evil.example") && !allowed(&server, "http://localhost.evil.example"));
    let socket = |origin: &str| {
        let headers = [("Origin", origin), ("Upgrade", "websocket"), ("Connection", "upgrade")];
        server.request("GET", &format!("/api/v1/conversation/audit/{ID}"), &headers, "").status
    };
    assert_eq!([socket("https://evil.example"), socket("http://localhost:1")], [403, 200], "browsers open sockets without a preflight");
    drop(server);
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.security.cors.allowed-origins=*"]].concat());
    assert!(allowed(&server, "https://anywhere.example"));
    drop(server);
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS].concat());
    assert!(!allowed(&server, "http://localhost:5173"), "with mode=keys, origins must be listed");
}

#[test]
fn a_rate_limited_call_is_told_when_to_retry() {
    let env = TestEnv::with_pack(&orders_pack());
    let rates = ["--set", "convengine.security.rate.per-key=5/h", "--set", "convengine.security.rate.perConversation=30/h burst 2"];
    let server = env.serve(&[&REGEX_ONLY[..], &rates].concat());
    let say = |id: &str| server.post(json!({"conversationId": id, "message": "my order"}).to_string());
    let other = ID.replace("7c0f", "7c1f");
    let number = |answer: &Answer, name: &str| answer.header(name).parse::<u64>().unwrap_or_else(|_| panic!("{name}: {answer:?}"));
    let first = say(ID);
    assert_eq!(
        (first.status, number(&first, "x-ratelimit-limit"), number(&first, "x-ratelimit-remaining")),
        (200, 2, 1),
        "the closer limit"
    );
    assert_eq!(say(ID).status, 200);
    let refused = say(ID);
    assert_eq!((refused.status, refused.json()["status"].as_u64()), (429, Some(429)));
    assert_eq!((number(&refused, "x-ratelimit-limit"), number(&refused, "x-ratelimit-remaining")), (2, 0));
    assert!((100..=120).contains(&number(&refused, "retry-after")), "{refused:?}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(number(&refused, "x-ratelimit-reset").abs_diff(now + number(&refused, "retry-after")) <= 2, "{refused:?}");
    let fourth = say(&other);
    assert_eq!((fourth.status, number(&fourth, "x-ratelimit-remaining")), (200, 1), "one call remains of both limits");
    assert_eq!(server.get("/api/v1/conversation").status, 200);
    let refused = server.get("/api/v1/conversation");
    assert_eq!((refused.status, number(&refused, "x-ratelimit-limit")), (429, 5), "callers are limited by address: {refused:?}");
    assert!(number(&refused, "retry-after") > 600, "{refused:?}");
    assert_eq!(server.get("/healthz").status, 200, "health checks are not limited");
    assert_eq!(server.count_messages(&env, ID), 2, "a rejected message is not a turn");
}

impl Server {
    /// The number of messages of a conversation.
    fn count_messages(&self, env: &TestEnv, id: &str) -> usize {
        env.sql().texts(&format!("select stage from ce_audit where conversation_id = '{id}' and stage = 'USER_INPUT'")).len()
    }
}

#[test]
fn idempotency_keys_are_separate_for_each_caller() {
    let env = TestEnv::with_pack(&orders_pack());
    let (one, two) = (key(&env, &["--scope", "converse"]), key(&env, &["--scope", "converse"]));
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS].concat());
    let send = |key: &str| {
        let headers = [("X-API-Key", key), ("Idempotency-Key", "1"), ("Content-Type", "application/json")];
        server.request("POST", MESSAGE, &headers, r#"{"message":"my order"}"#).json()["conversationId"].clone()
    };
    let first = send(&one);
    assert!(first.is_string());
    assert_eq!(send(&one), first, "the retry has the same response");
    assert_ne!(send(&two), first, "the same key of another caller is another message");
}
