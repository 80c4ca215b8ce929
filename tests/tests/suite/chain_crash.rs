//! Runs of chains whose server is killed or restarted, or is one of several (docs/spec/workflows-http.md#5).

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use convengine_core::pack::Pack;
use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::chains::{Backend, Run, SECRET, add_secret, attempts, chain, ingress, post, publish_chain, sign, step};
use crate::flows::{assert_refused, publish, send};
use crate::harness::{REGEX_ONLY, Server, TestEnv, orders_pack, wait_until};

/// The claim: an assistant collects, an agent assesses, a person approves, a webhook books, the customer is notified and reminded.
fn claim(backend: &Backend) -> Vec<Value> {
    let text = include_str!("../../packs/chain/claim.json").replace("${STUB}", &format!("http://{}", backend.address));
    let mut documents = Pack::parse(&text).unwrap().documents;
    documents[0]["steps"][4]["config"]["after_ms"] = json!(200);
    documents
}

/// Plays the claim; the server is killed when the service has got so many calls. Returns how it ended, and the keys of all calls without
/// the run.
fn play_claim(kill_at: Option<usize>) -> (Value, Vec<(String, String, u64)>, BTreeSet<String>) {
    let rules = serde_json::from_str::<Value>(include_str!("../../packs/chain/claim.json")).unwrap()["http"].clone();
    let backend = Backend::start(&rules);
    let env = TestEnv::with_pack(&orders_pack());
    let model = format!("scripted:{}", env.write_pack("model.json", &json!([{"purpose": "agent", "reply": "The damage is covered."}])));
    let mut server = backend.serve(&env, &["--llm", &model, "--set", "convengine.chains.lease=1s", "--set", "convengine.turn.lease=1s"]);
    for (name, value) in [("CLAIMS_INGRESS", SECRET), ("BOOKING_SIGNING", "the-booking-signature"), ("BOOKING_KEY", "the-booking-key")] {
        add_secret(&server, name, value);
    }
    let documents = claim(&backend);
    publish(&server, &documents[1]);
    assert_eq!(send(&server, "PUT", "/v1/ai-agents/assessor/draft", &documents[2]).status, 200);
    assert_eq!(post(&server, "/v1/ai-agents/assessor/publish", &json!({})).status, 201);
    publish_chain(&server, &documents[0]);
    let body = json!({"text": "A tree fell on my car", "email": "mia@example.org"}).to_string();
    let run = Run::find("claims", &ingress(&server, "claims/ingress", &sign(SECRET, None, &body), &body));
    for text in ["P-1", "1200", "DE02120300000000202051"] {
        run.wait_for(&server, "awaiting_event");
        assert_eq!(run.resume(&server, &json!({"text": text})).status, 200);
    }
    let mut is_approved = false;
    let mut kill_at = kill_at;
    let mut ended = Value::Null;
    let is_over = wait_until(|| {
        if kill_at.is_some_and(|calls| backend.calls.all().len() >= calls) {
            kill_at = None;
            server.kill();
            server = backend.serve(&env, &["--llm", &model, "--set", "convengine.chains.lease=1s", "--set", "convengine.turn.lease=1s"]);
        }
        ended = run.read(&server);
        if ended["status"] == "awaiting_human" && !is_approved {
            is_approved = run.resume(&server, &json!({"decision": "pay", "fields": {"amount": 1100}, "by": "Jo"})).status == 200;
        }
        // A run may end between two looks: then the server is killed at the next one.
        kill_at.is_none() && ["succeeded", "failed"].iter().any(|status| ended["status"] == *status)
    });
    assert!(is_over, "{ended:#}");
    assert_eq!(env.run(&["replay", "--conversation", &run.id]).code, 0);
    let keys = backend.keys().into_iter().map(|it| it.replace(&run.id, "RUN")).collect();
    (json!([ended["status"], ended["context"]["booking"], ended["branch_taken"]]), attempts(&ended), keys)
}

#[test]
fn a_claim_ends_the_same_whenever_its_server_is_killed() {
    let whole = play_claim(None);
    assert_eq!(whole.0, json!(["succeeded", "B-1", "approve"]));
    assert_eq!(whole.2.len(), 5, "two people are asked, the booking is made, the customer is told and reminded: {:?}", whole.2);
    for kill_at in 1..=5 {
        assert_eq!(play_claim(Some(kill_at)), whole, "killed at call {kill_at}");
    }
}

#[test]
fn a_schedule_fires_once_with_three_processes() {
    let env = TestEnv::with_pack(&orders_pack());
    let count = if env.is_postgres() { 3 } else { 1 };
    let servers: Vec<Server> = (0..count).map(|_| env.serve(&REGEX_ONLY)).collect();
    let trigger = json!({"kind": "schedule", "cron": "* * * * * *", "overlap": "allow"});
    let document = chain("tick", json!([step("log", "notify", json!({"channel": "log", "text": "tick"}))]), &[("trigger", trigger)]);
    publish_chain(&servers[0], &document);
    assert!(servers[0].get("/v1/workflow-chains").json()["chains"][0]["next_run_at"].is_string());
    let runs = || {
        let all = servers[0].get("/v1/workflow-chains/tick/runs?status=succeeded").json()["runs"].as_array().unwrap().clone();
        all.iter().map(|run| run["trigger"]["at"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(wait_until(|| runs().len() >= 4), "{:?}", runs());
    let fired = runs();
    assert_eq!(fired.iter().collect::<BTreeSet<_>>().len(), fired.len(), "a time has fired twice: {fired:?}");
    assert_eq!(send(&servers[0], "PUT", "/v1/workflow-chains/tick/status", &json!({"status": "paused"})).status, 200);
}

#[test]
fn a_wait_expires_after_a_restart() {
    let expiring = step("ask", "human", json!({"prompt": "Go on?", "expires_ms": 400, "on_expire": "continue"}));
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    publish_chain(&server, &chain("desk", json!([expiring, step("nap", "schedule", json!({"after_ms": 300}))]), &[]));
    let run = Run::start(&server, "desk", &json!({}));
    run.wait_for(&server, "awaiting_human");
    server.kill();
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    let ended = run.wait_for(&server, "succeeded");
    let shown: Vec<(String, String)> = attempts(&ended).into_iter().map(|it| (it.0, it.1)).collect();
    assert_eq!(shown, [("ask".to_owned(), "skipped".to_owned()), ("nap".to_owned(), "succeeded".to_owned())]);
    assert_refused(&run.resume(&server, &json!({"step": "ask", "decision": "yes"})), 409, "wait_expired");
    assert_refused(&run.resume(&server, &json!({"step": "nap"})), 409, "run_finished");
    assert!(Duration::from_millis(700) <= Duration::from_millis(ended["duration_ms"].as_u64().unwrap()));
}

/// A run whose only attempt awaits the answer of a service that does not answer.
struct UnansweredCall {
    service: TcpListener,
    call: TcpStream,
    run: Run,
    server: Server,
    settings: Vec<String>,
}

impl UnansweredCall {
    fn start(env: &TestEnv, lease: &str) -> UnansweredCall {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = service.local_addr().unwrap();
        let settings = ["convengine.chains.lease", "convengine.turn.lease"].map(|it| format!("{it}={lease}"));
        let allowed = format!("convengine.network.allow-private={address}");
        let settings: Vec<String> = settings.into_iter().chain([allowed]).flat_map(|it| ["--set".to_owned(), it]).collect();
        let server = serve_with(env, &settings);
        let config = json!({"direction": "outbound", "url": format!("http://{address}/never"), "timeout_ms": 60_000});
        publish_chain(&server, &chain("desk", json!([step("call", "webhook", config)]), &[]));
        let run = Run::start(&server, "desk", &json!({}));
        let (call, _) = service.accept().unwrap();
        UnansweredCall { service, call, run, server, settings }
    }

    /// Kills the server that made the call.
    fn kill_server(&self) {
        self.server.kill();
        // What is accepted next would be another call.
        drop(self.call.shutdown(Shutdown::Both));
    }

    /// Asserts that the run ended as cancelled, without another call.
    #[track_caller]
    fn assert_cancelled(&self, env: &TestEnv, server: &Server) {
        let ended = self.run.wait_for(server, "cancelled");
        assert_eq!(attempts(&ended), [("call".to_owned(), "cancelled".to_owned(), 1)]);
        self.service.set_nonblocking(true).unwrap();
        assert_eq!(self.service.accept().map(|_| ()).unwrap_err().kind(), ErrorKind::WouldBlock, "the service got another call");
        assert_eq!(env.run(&["replay", "--conversation", &self.run.id]).code, 0);
    }
}

fn serve_with(env: &TestEnv, settings: &[String]) -> Server {
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    env.serve(&[&REGEX_ONLY[..], &settings].concat())
}

/// On SQLite only one process uses the database.
#[test]
#[on(postgres)]
fn a_cancel_after_the_death_of_the_executing_process_stops_what_another_one_recovers() {
    let env = TestEnv::with_pack(&orders_pack());
    let call = UnansweredCall::start(&env, "2s");
    let other = serve_with(&env, &call.settings);
    call.kill_server();
    let cancelled = post(&other, &format!("{}/cancel", call.run.path), &json!({}));
    assert_eq!((cancelled.status, cancelled.json()), (200, json!({"run_id": call.run.id, "status": "cancelled"})));
    call.assert_cancelled(&env, &other);
}

/// The request is stored as by a process that died before it could end the run.
#[test]
fn a_stored_request_to_cancel_stops_the_attempt_that_recovery_continues() {
    let env = TestEnv::with_pack(&orders_pack());
    let call = UnansweredCall::start(&env, "1s");
    call.kill_server();
    env.sql().run(&format!("update cs_run set status = 'cancelling' where run_id = '{}'", call.run.id));
    let next = serve_with(&env, &call.settings);
    call.assert_cancelled(&env, &next);
}

#[test]
fn a_stored_request_to_cancel_ends_a_run_before_its_next_step() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let steps =
        json!([step("nap", "schedule", json!({"after_ms": 1_500})), step("log", "notify", json!({"channel": "log", "text": "up"}))]);
    publish_chain(&server, &chain("desk", steps, &[]));
    let run = Run::start(&server, "desk", &json!({}));
    run.wait_for(&server, "sleeping");
    env.sql().run(&format!("update cs_run set status = 'cancelling' where run_id = '{}'", run.id));
    let shown = attempts(&run.wait_for(&server, "cancelled"));
    assert_eq!(shown, [("nap".to_owned(), "cancelled".to_owned(), 1)], "the step after it has not begun");
}
