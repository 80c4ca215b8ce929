//! Runs of chains on real servers, with a real service behind them (docs/spec/workflows-http.md#4, docs/spec/workflows-http.md#5).

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use convengine_core::pack::HttpRule;
use convengine_player::fake_http::{CallRecorder, serve_recorded};
use convengine_test_macros::test;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::runtime::Runtime;

use crate::flows::{JSON, assert_refused, send};
use crate::harness::{Answer, REGEX_ONLY, Server, TestEnv, orders_pack, wait_until};

pub const SECRET: &str = "the-ingress-secret";

/// A service that the chains call, and the server's settings for it.
pub struct Backend {
    pub address: SocketAddr,
    pub calls: CallRecorder,
    _runtime: Runtime,
}

impl Backend {
    pub fn start(rules: &Value) -> Backend {
        let runtime = Runtime::new().unwrap();
        let rules: Vec<HttpRule> = serde_json::from_value(rules.clone()).unwrap();
        let calls = CallRecorder::default();
        let address = serve_recorded(&runtime, rules, calls.clone()).unwrap();
        Backend { address, calls, _runtime: runtime }
    }

    pub fn keys(&self) -> BTreeSet<String> {
        self.calls.all().into_iter().map(|it| it.idempotency_key.unwrap_or_default()).collect()
    }

    pub fn serve(&self, env: &TestEnv, more: &[&str]) -> Server {
        let allowed = format!("convengine.network.allow-private={}", self.address);
        let email = format!("convengine.notify.email.url=http://{}/notify/email", self.address);
        env.serve(&[&REGEX_ONLY[..], &["--set", &allowed, "--set", &email], more].concat())
    }
}

pub fn chain(slug: &str, steps: Value, more: &[(&str, Value)]) -> Value {
    let mut document = json!({
        "schema_version": "1.0", "doc": "workflow_chain", "slug": slug, "name": slug, "status": "live", "trigger": {"kind": "manual"},
        "steps": steps,
    });
    more.iter().for_each(|(name, value)| document[*name] = value.clone());
    document
}

/// A chain with one step that runs nothing else.
pub fn nightly(name: &str) -> Value {
    chain("nightly", json!([step("log", "notify", json!({"channel": "log", "text": name}))]), &[("name", json!(name))])
}

pub fn step(id: &str, kind: &str, config: Value) -> Value {
    json!({"id": id, "kind": kind, "label": id, "config": config})
}

pub fn human(id: &str) -> Value {
    step(id, "human", json!({"prompt": "Go on?", "options": ["yes", "no"], "expires_ms": 86_400_000}))
}

pub fn post(server: &Server, path: &str, body: &Value) -> Answer {
    send(server, "POST", path, body)
}

pub fn publish_chain(server: &Server, document: &Value) -> Answer {
    let path = format!("/v1/workflow-chains/{}", document["slug"].as_str().unwrap());
    let saved = send(server, "PUT", &format!("{path}/draft"), document);
    assert_eq!(saved.status, 200, "{saved:?}");
    let published = post(server, &format!("{path}/publish"), &json!({}));
    assert_eq!(published.status, 201, "{published:?}");
    published
}

pub fn add_secret(server: &Server, name: &str, value: &str) {
    let added = post(server, "/v1/secrets", &json!({"name": name, "value": value}));
    assert!([200, 201].contains(&added.status), "{added:?}");
}

pub fn serve(document: &Value) -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    publish_chain(&server, document);
    (env, server)
}

/// A run of a chain.
pub struct Run {
    pub path: String,
    pub id: String,
}

impl Run {
    pub fn start(server: &Server, slug: &str, body: &Value) -> Run {
        let started = post(server, &format!("/v1/workflow-chains/{slug}/run"), body);
        assert_eq!(started.status, 202, "{started:?}");
        Run::find(slug, &started)
    }

    pub fn find(slug: &str, started: &Answer) -> Run {
        let id = started.json()["run_id"].as_str().unwrap().to_owned();
        Run { path: format!("/v1/workflow-chains/{slug}/runs/{id}"), id }
    }

    pub fn read(&self, server: &Server) -> Value {
        server.get(&self.path).json()
    }

    #[track_caller]
    pub fn wait_for(&self, server: &Server, status: &str) -> Value {
        let mut run = Value::Null;
        let is_reached = wait_until(|| {
            run = self.read(server);
            run["status"] == status
        });
        assert!(is_reached, "the run is not {status}: {run:#}");
        run
    }

    pub fn resume(&self, server: &Server, body: &Value) -> Answer {
        post(server, &format!("{}/resume", self.path), body)
    }
}

/// The attempts of a run: path, status and number.
pub fn attempts(run: &Value) -> Vec<(String, String, u64)> {
    let list = |name: &str| run[name].as_array().cloned().unwrap_or_default();
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    let all = [list("primary_trace"), list("branch_trace")].concat();
    all.iter().map(|step| (text(step, "path"), text(step, "status"), step["attempt"].as_u64().unwrap())).collect()
}

pub fn sign(secret: &str, timestamp: Option<u64>, body: &str) -> Vec<(&'static str, String)> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(timestamp.map(|it| format!("{it}.")).unwrap_or_default().as_bytes());
    mac.update(body.as_bytes());
    let digest: String = mac.finalize().into_bytes().iter().map(|it| format!("{it:02x}")).collect();
    let mut headers = vec![("X-Chain-Signature", format!("sha256={digest}"))];
    headers.extend(timestamp.map(|it| ("X-Chain-Timestamp", it.to_string())));
    headers
}

pub fn ingress(server: &Server, path: &str, headers: &[(&str, String)], body: &str) -> Answer {
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).chain([JSON]).collect();
    server.request("POST", &format!("/v1/public/chains/{path}"), &headers, body.to_owned())
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn a_chain_takes_triggers_once_it_is_live() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let document = chain("desk", json!([human("ask")]), &[]);
    let (path, run) = ("/v1/workflow-chains/desk", "/v1/workflow-chains/desk/run");
    assert_eq!(post(&server, run, &json!({})).status, 404);
    assert_refused(&send(&server, "PUT", "/v1/workflow-chains/other/draft", &document), 422, "id_mismatch");
    assert_eq!(send(&server, "PUT", &format!("{path}/draft"), &document).status, 200);
    assert_refused(&post(&server, run, &json!({})), 409, "not_published");
    assert_refused(&send(&server, "PUT", &format!("{path}/status"), &json!({"status": "live"})), 409, "not_published");
    assert_eq!(server.get("/v1/workflow-chains").json()["chains"][0]["status"], "draft");
    publish_chain(&server, &document);
    let listed = server.get("/v1/workflow-chains").json()["chains"][0].clone();
    assert_eq!(listed, json!({"id": "desk", "name": "desk", "revision": 2, "live_version": 1, "status": "live"}));
    let waiting = Run::start(&server, "desk", &json!({"input": {"text": "hello"}}));
    waiting.wait_for(&server, "awaiting_human");
    let paused = send(&server, "PUT", &format!("{path}/status"), &json!({"status": "paused"}));
    assert_eq!(paused.json(), json!({"slug": "desk", "status": "paused", "live_version": 1}));
    assert_refused(&post(&server, run, &json!({})), 409, "chain_paused");
    assert_refused(&waiting.resume(&server, &json!({"decision": "yes"})), 409, "chain_paused");
    assert_refused(&send(&server, "PUT", &format!("{path}/status"), &json!({"status": "off"})), 422, "invalid_status");
    assert_eq!(send(&server, "PUT", &format!("{path}/status"), &json!({"status": "live"})).status, 200);
    assert_eq!(waiting.resume(&server, &json!({"decision": "yes"})).status, 200);
    let run = waiting.wait_for(&server, "succeeded");
    assert_eq!((&run["trigger"]["body"], &run["primary_trace"][0]["output"]["decision"]), (&json!({"text": "hello"}), &json!("yes")));
    assert_eq!(env.run(&["replay", "--conversation", &waiting.id]).code, 0);
}

#[test]
fn a_key_starts_one_run() {
    let (_env, server) = serve(&chain("desk", json!([human("ask")]), &[]));
    let start = |key: &str, input: Value| {
        let headers = [JSON, ("Idempotency-Key", key)];
        server.request("POST", "/v1/workflow-chains/desk/run", &headers, json!({"input": input}).to_string())
    };
    let first = start("k", json!({"n": 1}));
    assert_eq!((first.status, &first.json()["duplicate"]), (202, &json!(false)), "{first:?}");
    let again = start("k", json!({"n": 1}));
    assert_eq!((again.status, &again.json()["duplicate"], &again.json()["run_id"]), (200, &json!(true), &first.json()["run_id"]));
    assert_refused(&start("k", json!({"n": 2})), 422, "idempotency_key_reused");
    assert_refused(&start("", json!({})), 422, "invalid_idempotency_key");
    let answers: Vec<Answer> = thread::scope(|scope| {
        let sent: Vec<_> = (0..8).map(|_| scope.spawn(|| start("crossing", json!({})))).collect();
        sent.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let runs: BTreeSet<String> = answers.iter().map(|answer| answer.json()["run_id"].to_string()).collect();
    assert_eq!((runs.len(), answers.iter().filter(|it| it.status == 202).count()), (1, 1), "{answers:?}");
    assert_eq!(server.get("/v1/workflow-chains/desk/runs").json()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn runs_are_listed_with_filters() {
    let decide = step("which", "decide", json!({"on": "{{ trigger.body.text }}", "cases": [{"match": ["left"], "branch": "left"}]}));
    let branches = json!([{"id": "left", "name": "Left", "steps": [human("ask")]}]);
    let (_env, server) = serve(&chain("desk", json!([decide]), &[("branches", branches)]));
    let left = Run::start(&server, "desk", &json!({"input": {"text": "to the LEFT"}}));
    left.wait_for(&server, "awaiting_human");
    for _ in 0..3 {
        Run::start(&server, "desk", &json!({})).wait_for(&server, "succeeded");
    }
    let list = |query: &str| server.get(&format!("/v1/workflow-chains/desk/runs{query}"));
    let ids = |answer: &Answer| answer.json()["runs"].as_array().unwrap().iter().map(|run| run["id"].to_string()).collect::<Vec<_>>();
    assert_eq!((ids(&list("")).len(), ids(&list("?status=succeeded,failed")).len()), (4, 3));
    assert_eq!(ids(&list("?branch=left")), [json!(left.id).to_string()]);
    assert!(list("").json()["runs"][0].get("primary_trace").is_none());
    let first = list("?limit=3");
    let rest = list(&format!("?limit=3&cursor={}", first.json()["next"].as_str().unwrap()));
    assert_eq!([ids(&first), ids(&rest)].concat(), ids(&list("")), "newest first");
    assert_eq!(rest.json().get("next"), None);
    assert_eq!((ids(&list("?after=2100-01-01T00:00:00Z")).len(), ids(&list("?before=2100-01-01T00:00:00Z")).len()), (0, 4));
    for query in ["?status=done", "?limit=0", "?limit=x", "?after=soon", "?cursor=x"] {
        assert_refused(&list(query), 422, "invalid_query");
    }
    assert_eq!(server.get("/v1/workflow-chains/none/runs").status, 404);
    assert_eq!(server.get(&format!("/v1/workflow-chains/none/runs/{}", left.id)).status, 404);
}

#[test]
fn webhooks_are_signed_and_count_once() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    add_secret(&server, "INGRESS", SECRET);
    let inbound = step("call", "webhook", json!({"direction": "inbound", "secret": "INGRESS"}));
    let trigger = json!({"kind": "webhook", "label": "Call", "secret": "INGRESS"});
    publish_chain(
        &server,
        &chain("desk", json!([step("log", "notify", json!({"channel": "log", "text": "x"})), inbound]), &[("trigger", trigger)]),
    );
    let body = json!({"order": 5}).to_string();
    let now = unix_now();
    let signed = sign(SECRET, Some(now), &body);
    let wrong = [
        (vec![], body.as_str(), 401, "invalid_signature"),
        (sign("another-secret", None, &body), &body, 401, "invalid_signature"),
        (sign(SECRET, None, "{}"), &body, 401, "invalid_signature"),
        (vec![("X-Chain-Signature", "sha256=zz".to_owned())], &body, 401, "invalid_signature"),
        (sign(SECRET, Some(now - 400), &body), &body, 401, "signature_expired"),
        (sign(SECRET, Some(now + 400), &body), &body, 401, "signature_expired"),
        (sign(SECRET, None, "[1]"), "[1]", 422, "invalid_body"),
        (sign(SECRET, None, "{"), "{", 422, "invalid_body"),
    ];
    for (headers, body, status, code) in &wrong {
        assert_refused(&ingress(&server, "desk/ingress", headers, body), *status, code);
    }
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024));
    assert_eq!(ingress(&server, "desk/ingress", &sign(SECRET, None, &large), &large).status, 413);
    assert_eq!(ingress(&server, "none/ingress", &signed, &body).status, 404);
    let started = ingress(&server, "desk/ingress", &signed, &body);
    assert_eq!((started.status, &started.json()["duplicate"]), (202, &json!(false)), "{started:?}");
    let run = Run::find("desk", &started);
    let replayed = ingress(&server, "desk/ingress", &signed, &body);
    assert_eq!((replayed.status, replayed.json()), (200, json!({"run_id": run.id, "duplicate": true})));
    run.wait_for(&server, "awaiting_event");
    // A step: by the only run that waits, then by its name.
    let with_key = |headers: Vec<(&'static str, String)>| [headers, vec![("Idempotency-Key", "k".to_owned())]].concat();
    let other = Run::find("desk", &ingress(&server, "desk/ingress", &with_key(sign(SECRET, None, "{}")), "{}"));
    other.wait_for(&server, "awaiting_event");
    assert_refused(&ingress(&server, "desk/ingress/call", &sign("x", None, &body), &body), 401, "invalid_signature");
    assert_refused(&ingress(&server, "desk/ingress/call", &sign(SECRET, None, &body), &body), 409, "ambiguous_run");
    let named = format!("desk/ingress/call?run={}", other.id);
    let answered = ingress(&server, &named, &sign(SECRET, None, &body), &body);
    assert_eq!((answered.status, answered.json()), (202, json!({"run_id": other.id, "duplicate": false})));
    let run_after = other.wait_for(&server, "succeeded");
    assert_eq!(run_after["primary_trace"][1]["output"], json!({"order": 5}));
    assert_eq!(ingress(&server, &named, &sign(SECRET, None, &body), &body).json()["duplicate"], true);
    assert_refused(&ingress(&server, &named, &sign(SECRET, None, "{}"), "{}"), 409, "not_waiting");
    let alone = ingress(&server, "desk/ingress/call", &sign(SECRET, Some(now), &body), &body);
    assert_eq!((alone.status, &alone.json()["run_id"]), (202, &json!(run.id)), "{alone:?}");
    assert_eq!(ingress(&server, "desk/ingress/call", &sign(SECRET, Some(now), &body), &body).status, 200);
    run.wait_for(&server, "succeeded");
    assert_refused(&ingress(&server, "desk/ingress/call", &sign(SECRET, None, "{}"), "{}"), 409, "not_waiting");
}

#[test]
fn a_run_stays_on_the_chain_that_it_began_with() {
    let (_env, server) = serve(&chain("desk", json!([human("ask"), step("old", "notify", json!({"channel": "log", "text": "old"}))]), &[]));
    let run = Run::start(&server, "desk", &json!({}));
    let before = run.wait_for(&server, "awaiting_human");
    publish_chain(&server, &chain("desk", json!([step("new", "notify", json!({"channel": "log", "text": "new"}))]), &[]));
    assert_eq!(run.resume(&server, &json!({"decision": "yes"})).status, 200);
    let after = run.wait_for(&server, "succeeded");
    assert_eq!((&after["snapshot"], attempts(&after)[1].0.as_str()), (&before["snapshot"], "old"));
    let next = Run::start(&server, "desk", &json!({})).wait_for(&server, "succeeded");
    assert_eq!(attempts(&next), [("new".to_owned(), "succeeded".to_owned(), 1)]);
}

#[test]
fn a_failed_run_is_retried_from_the_failed_step() {
    let backend = Backend::start(&json!([
        {"path_prefix": "/first", "status": 200, "json": {"id": 7}},
        {"path_prefix": "/flaky", "sequence": [{"status": 503}, {"status": 503}, {"status": 404}, {"status": 200, "json": {"ok": true}}]},
    ]));
    let env = TestEnv::with_pack(&orders_pack());
    let server = backend.serve(&env, &[]);
    let call = |id: &str, outputs: Value| {
        let url = format!("http://{}/{id}", backend.address);
        let mut step = step(id, "webhook", json!({"direction": "outbound", "url": url, "outputs": outputs}));
        step["retry"] = json!({"max_attempts": 3, "initial_ms": 300});
        step
    };
    publish_chain(
        &server,
        &chain("desk", json!([call("first", json!([{"path": "$.id", "variable": "id"}])), call("flaky", json!([]))]), &[]),
    );
    let run = Run::start(&server, "desk", &json!({}));
    // Killed while it waits between two attempts: the wait survives.
    assert!(wait_until(|| backend.calls.all().len() >= 2 && run.read(&server)["status"] == "sleeping"));
    server.kill();
    drop(server);
    let server = backend.serve(&env, &[]);
    let failed = run.wait_for(&server, "failed");
    assert_eq!((&failed["error"]["code"], &failed["error"]["path"]), (&json!("status_4xx"), &json!("flaky")), "{failed:#}");
    let retried = post(&server, &format!("{}/retry", run.path), &json!({}));
    assert_eq!(retried.status, 202, "{retried:?}");
    let done = run.wait_for(&server, "succeeded");
    let shown: Vec<_> = attempts(&done).into_iter().map(|it| (it.0, it.2)).collect();
    assert_eq!(
        shown,
        [("first".to_owned(), 1), ("flaky".to_owned(), 1), ("flaky".to_owned(), 2), ("flaky".to_owned(), 3), ("flaky".to_owned(), 4)]
    );
    let traced = server.get(&format!("{}/trace", run.path)).json();
    let ended =
        traced["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "chain.step" && event["data"]["status"] != "running");
    let errors: Vec<_> = ended.map(|it| (&it["data"]["attempt"], &it["data"]["error"]["code"])).collect();
    let code = |attempt: u32, code: &str| (json!(attempt), json!(code));
    let expected = [(json!(1), Value::Null), code(1, "status_5xx"), code(2, "status_5xx"), code(3, "status_4xx"), (json!(4), Value::Null)];
    assert_eq!(errors, expected.iter().map(|it| (&it.0, &it.1)).collect::<Vec<_>>(), "{traced:#}");
    assert_eq!((&done["attempt"], &done["context"]["id"], backend.calls.all().len()), (&json!(2), &json!(7), 5));
    assert_eq!(backend.keys(), BTreeSet::from([format!("{}/first", run.id), format!("{}/flaky", run.id)]));
    assert_eq!(env.run(&["replay", "--conversation", &run.id]).code, 0);
}
