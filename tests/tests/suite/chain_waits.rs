//! Waits of runs: who resumes them, what stops them, and who watches (docs/spec/workflows-http.md#4).

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use convengine_host_base::clock;
use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::chains::{Run, attempts, chain, human, post, publish_chain, serve, step};
use crate::flows::{JSON, assert_refused};
use crate::harness::{REGEX_ONLY, Server, TestEnv, client, orders_pack, wait_until};

#[test]
fn a_token_resumes_its_wait_once_and_opens_nothing_else() {
    let (_env, server) = serve(&chain("desk", json!([human("one"), human("two")]), &[]));
    let run = Run::start(&server, "desk", &json!({}));
    run.wait_for(&server, "awaiting_human");
    let new_token = || {
        let issued = post(&server, &format!("{}/token", run.path), &json!({}));
        assert_eq!(issued.status, 201, "{issued:?}");
        assert!(issued.json()["expires_at"].is_string() && issued.json()["step"].is_string());
        issued.json()["token"].as_str().unwrap().to_owned()
    };
    let (replaced, token) = (new_token(), new_token());
    let resume = |token: &str, body: Value| {
        let authorization = format!("Bearer {token}");
        server.request("POST", &format!("{}/resume", run.path), &[JSON, ("Authorization", &authorization)], body.to_string())
    };
    assert_refused(&resume("crt_unknown", json!({"decision": "yes"})), 401, "invalid_token");
    assert_refused(&resume(&replaced, json!({"decision": "yes"})), 401, "invalid_token");
    let invalid = resume(&token, json!({"decision": "maybe"}));
    assert_refused(&invalid, 422, "invalid_decision");
    assert_eq!(invalid.json()["error"]["options"], json!(["yes", "no"]));
    assert_eq!(resume(&token, json!({"decision": "yes", "by": "Jo"})).status, 200);
    assert!(wait_until(|| run.read(&server)["cursor"] == "two"));
    assert_refused(&resume(&token, json!({"decision": "yes"})), 409, "already_resumed");
    assert_refused(&run.resume(&server, &json!({"step": "one", "decision": "yes"})), 409, "already_resumed");
    let other = Run::start(&server, "desk", &json!({}));
    other.wait_for(&server, "awaiting_human");
    let authorization = format!("Bearer {}", new_token());
    let elsewhere = server.request("POST", &format!("{}/resume", other.path), &[JSON, ("Authorization", &authorization)], "{}");
    assert_refused(&elsewhere, 401, "invalid_token");
    assert_eq!(run.resume(&server, &json!({"decision": "no"})).status, 200);
    let ended = run.wait_for(&server, "succeeded");
    assert_eq!(ended["primary_trace"][0]["output"]["by"], "Jo");
    assert_refused(&post(&server, &format!("{}/token", run.path), &json!({})), 409, "not_waiting");
    assert_refused(&post(&server, &format!("{}/cancel", run.path), &json!({})), 409, "run_finished");
    assert_refused(&post(&server, &format!("{}/retry", run.path), &json!({})), 409, "not_failed");
}

#[test]
fn a_known_caller_is_the_author_of_its_decision() {
    let (env, open) = serve(&chain("desk", json!([human("one"), human("two"), human("three")]), &[]));
    drop(open);
    let created = env.run(&["key", "create", "--name", "crm", "--scope", "admin"]);
    let key = created.stdout.trim().to_owned();
    let admin = "the-token-of-the-administrator";
    let token = format!("convengine.admin-token={admin}");
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.security.mode=keys", "--set", &token]].concat());
    let call = |credential: &str, path: &str, body: &Value| {
        let authorization = format!("Bearer {credential}");
        server.request("POST", path, &[JSON, ("Authorization", &authorization)], body.to_string())
    };
    let started = call(&key, "/v1/workflow-chains/desk/run", &json!({}));
    assert_eq!(started.status, 202, "{started:?}");
    let run = Run::find("desk", &started);
    let read = || server.request("GET", &run.path, &[("X-API-Key", &key)], "").json();
    let resume = |credential: &str, step: &str, body: &Value| {
        assert!(wait_until(|| read()["status"] == "awaiting_human" && read()["cursor"] == step), "{:#}", read());
        let resumed = call(credential, &format!("{}/resume", run.path), body);
        assert_eq!(resumed.status, 200, "{resumed:?}");
    };
    resume(&key, "one", &json!({"decision": "yes", "by": "Eve"}));
    resume(admin, "two", &json!({"decision": "yes"}));
    assert!(wait_until(|| read()["cursor"] == "three"), "{:#}", read());
    let issued = call(&key, &format!("{}/token", run.path), &json!({})).json();
    resume(issued["token"].as_str().unwrap(), "three", &json!({"decision": "yes", "by": "Jo", "stated_by": "Eve"}));
    assert!(wait_until(|| read()["status"] == "succeeded"), "{:#}", read());
    let outputs = read()["primary_trace"].clone();
    let authors: Vec<[&Value; 2]> = (0..3_usize).map(|index| ["by", "stated_by"].map(|name| &outputs[index]["output"][name])).collect();
    let (none, crm, eve) = (&Value::Null, json!("crm"), json!("Eve"));
    assert_eq!(authors, [[&crm, &eve], [&json!("administrator"), none], [&json!("Jo"), none]], "{outputs:#}");
}

#[test]
fn cancelling_stops_an_attempt() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/never", silent.local_addr().unwrap());
    let env = TestEnv::with_pack(&orders_pack());
    let allowed = format!("convengine.network.allow-private={}", silent.local_addr().unwrap());
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", &allowed]].concat());
    publish_chain(
        &server,
        &chain("desk", json!([step("call", "webhook", json!({"direction": "outbound", "url": url, "timeout_ms": 60_000}))]), &[]),
    );
    let run = Run::start(&server, "desk", &json!({}));
    // The service has the call and does not answer.
    let _call = silent.accept().unwrap();
    assert_eq!(run.read(&server)["status"], "queued");
    let cancelled = post(&server, &format!("{}/cancel", run.path), &json!({"reason": "no longer needed"}));
    assert_eq!((cancelled.status, cancelled.json()), (200, json!({"run_id": run.id, "status": "cancelled"})));
    assert_eq!(attempts(&run.read(&server)), [("call".to_owned(), "cancelled".to_owned(), 1)]);
    assert_eq!(env.run(&["replay", "--conversation", &run.id]).code, 0);
}

#[test]
#[on(postgres)]
fn cancelling_stops_an_attempt_of_another_server() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/never", silent.local_addr().unwrap());
    let env = TestEnv::with_pack(&orders_pack());
    let allowed = format!("convengine.network.allow-private={}", silent.local_addr().unwrap());
    let settings = [&REGEX_ONLY[..], &["--set", &allowed, "--set", "convengine.stream=false"]].concat();
    let (one, two) = (env.serve(&settings), env.serve(&settings));
    let call = step("call", "webhook", json!({"direction": "outbound", "url": url, "timeout_ms": 60_000}));
    publish_chain(&one, &chain("desk", json!([call]), &[]));
    let run = Run::start(&one, "desk", &json!({}));
    let _call = silent.accept().unwrap();
    let sent = Instant::now();
    let cancelled = post(&two, &format!("{}/cancel", run.path), &json!({}));
    assert_eq!((cancelled.status, cancelled.json()), (200, json!({"run_id": run.id, "status": "cancelled"})));
    assert!(sent.elapsed() < Duration::from_secs(30), "it did not wait for the call: {:?}", sent.elapsed());
    assert_eq!(attempts(&run.read(&two)), [("call".to_owned(), "cancelled".to_owned(), 1)]);
    assert_refused(&post(&two, &format!("{}/cancel", run.path), &json!({})), 409, "run_finished");
}

#[test]
fn the_events_of_a_run_begin_with_all_that_was() {
    let (_env, server) = serve(&chain("desk", json!([human("ask")]), &[]));
    let run = Run::start(&server, "desk", &json!({}));
    run.wait_for(&server, "awaiting_human");
    let events = |last: &str| server.request("GET", &format!("{}/events", run.path), &[("Last-Event-ID", last)], "");
    let text = thread::scope(|scope| {
        let reader = scope.spawn(|| events("0").text);
        assert_eq!(run.resume(&server, &json!({"decision": "yes"})).status, 200);
        reader.join().unwrap()
    });
    let names: Vec<&str> = text.lines().filter_map(|it| it.strip_prefix("event:")).collect();
    assert_eq!((names.first(), names.last()), (Some(&"run"), Some(&"done")));
    assert!(["step", "trace"].iter().all(|it| names.contains(it)), "{names:?}");
    let runs: Vec<&str> = text.split("\n\n").filter(|it| it.contains("event:run")).collect();
    assert!(runs.iter().any(|it| it.contains("awaiting_human")) && runs.iter().any(|it| it.contains("succeeded")), "{runs:?}");
    let rest = events(&(names.len() - 1).to_string());
    assert_eq!(rest.text.matches("event:").count(), 1, "{}", rest.text);
    let traced = server.get(&format!("{}/trace", run.path)).json();
    let kinds: Vec<&str> = traced["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["workflow_chain.run", "chain.step", "chain.step", "workflow_chain.resume", "chain.step", "chain.end"]);
}

#[test]
fn the_events_of_a_deleted_run_end_at_once() {
    let (_env, server) = serve(&chain("desk", json!([human("ask")]), &[]));
    let run = Run::start(&server, "desk", &json!({}));
    run.wait_for(&server, "awaiting_human");
    let mut events = BufReader::new(client().get(format!("http://{}{}/events", server.address, run.path)).send().unwrap());
    assert!(events.read_line(&mut String::new()).unwrap() > 0, "the stream has begun");
    let deleted = server.request("DELETE", &format!("/api/v1/conversation/{}", run.id), &[], "");
    assert_eq!((deleted.status, deleted.json()), (200, json!({"forgotten": 1})));
    let since = Instant::now();
    events.read_to_string(&mut String::new()).unwrap();
    assert!(since.elapsed() < Duration::from_secs(10), "it waits for the next heartbeat: {:?}", since.elapsed());
}

const HOUR_MS: i64 = 3_600_000;

/// The triggers of the runs of a chain, newest first.
fn triggers(server: &Server, slug: &str) -> Vec<Value> {
    let listed = server.get(&format!("/v1/workflow-chains/{slug}/runs")).json();
    listed["runs"].as_array().unwrap().iter().map(|it| it["trigger"].clone()).collect()
}

/// Chains with a run that waits for a person, while three times of their hourly schedule pass. (docs/spec/chains.md#6)
#[test]
fn a_time_that_passes_during_a_run_waits_for_its_end_only_if_it_is_queued() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let chains = [("queued", "queue", None), ("skipped", "skip", None), ("allowed", "allow", None), ("full", "allow", Some(1))];
    let runs = chains.map(|(slug, overlap, concurrency)| {
        let trigger = json!({"kind": "schedule", "cron": "0 * * * *", "overlap": overlap});
        let more = [("trigger", trigger), ("concurrency", json!(concurrency))];
        publish_chain(&server, &chain(slug, json!([human("ask")]), if concurrency.is_some() { &more } else { &more[..1] }));
        let run = Run::start(&server, slug, &json!({}));
        run.wait_for(&server, "awaiting_human");
        run
    });
    let due_times = |slug: &str| env.sql().texts(&format!("select cast(next_run_at as text) from cs_chain where slug = '{slug}'"));
    let set_due = |slug: &str, at: i64| env.sql().run(&format!("update cs_chain set next_run_at = {at} where slug = '{slug}'"));
    let is_moved_on = |slug: &str| due_times(slug)[0].parse::<i64>().unwrap() > clock::now();
    // Both are moved on by passes over all that is due, the second one after the first pass has ended.
    let wait_for_a_pass = || {
        for _ in 0..2 {
            set_due("allowed", clock::now() - 2 * HOUR_MS);
            assert!(wait_until(|| is_moved_on("allowed")));
        }
    };
    let last_hour = || clock::format_iso(clock::now() / HOUR_MS * HOUR_MS);
    let passed = clock::now() / HOUR_MS * HOUR_MS - 2 * HOUR_MS;
    let earliest = last_hour();
    for slug in ["queued", "skipped", "full"] {
        set_due(slug, passed);
    }
    wait_for_a_pass();
    let manual = json!({"kind": "manual"});
    for slug in ["queued", "skipped", "full"] {
        assert_eq!(triggers(&server, slug), std::slice::from_ref(&manual), "{slug}");
    }
    assert_eq!(["skipped", "full"].map(is_moved_on), [true, true]);
    assert_eq!(due_times("queued"), [passed.to_string()], "it stays due");
    let waits = || env.sql().texts("select cast(waits as text) from cs_chain where slug = 'queued'")[0].parse::<u32>().unwrap();
    assert!(waits() > 0, "and rests before it is tried again");
    assert!(triggers(&server, "allowed").len() > 1);

    for run in &runs {
        assert_eq!(run.resume(&server, &json!({"decision": "yes"})).status, 200);
        run.wait_for(&server, "succeeded");
    }
    assert!(wait_until(|| triggers(&server, "queued").len() > 1));
    wait_for_a_pass();
    let started = triggers(&server, "queued");
    assert_eq!((started.len(), &started[0]["kind"]), (2, &json!("schedule")), "of several times one counts: {started:?}");
    let at = started[0]["at"].as_str().unwrap();
    assert!([earliest.as_str(), &last_hour()].contains(&at), "the last one: {at}");
    assert!(is_moved_on("queued"));
    assert_eq!(waits(), 0, "the next time begins anew");
    assert_eq!(["skipped", "full"].map(|name| triggers(&server, name).len()), [1, 1], "what was skipped is not made up for");
}
