//! Outbound calls of sessions and their visibility: secrets, private targets, redacted variables, traces, replays.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use convengine_test_macros::test;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::flows::{Session, assert_refused, desk, edges, reply_texts, save_draft, send, serve_desk, with_changes};
use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv, contains_word, orders_pack, wait_until};

/// Spelled differently in each part of a request.
const VALUE: &str = "hunter2/quite+\"secret\"";
const SIGNING: &str = "signed-by-unter2";

/// A call received by a service: URI, headers and body.
type ReceivedCall = (String, HeaderMap, Bytes);

/// A service that returns the credentials of the call, after a pause.
struct SigningService {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<ReceivedCall>>>,
    _runtime: Runtime,
}

impl SigningService {
    fn start(pause: Duration) -> SigningService {
        let runtime = Runtime::new().unwrap();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let echo = async move |State(calls): State<Arc<Mutex<Vec<ReceivedCall>>>>, uri: Uri, headers: HeaderMap, body: Bytes| {
            let you = headers["authorization"].to_str().unwrap().to_owned();
            calls.lock().unwrap().push((uri.to_string(), headers, body));
            tokio::time::sleep(pause).await;
            json!({"you": you, "plain": VALUE, "signing": SIGNING}).to_string()
        };
        let routes = Router::new().fallback(echo).with_state(Arc::clone(&calls));
        runtime.spawn(async { axum::serve(listener, routes).await });
        SigningService { address, calls, _runtime: runtime }
    }

    fn calls(&self) -> Vec<ReceivedCall> {
        self.calls.lock().unwrap().clone()
    }

    fn allow_private_setting(&self) -> String {
        format!("convengine.network.allow-private={}", self.address)
    }

    /// The desk with an intent that calls the service.
    fn desk_with_call(&self) -> Value {
        let say =
            |id: &str, text: &str| json!({"id": id, "type": "message", "name": id, "data": {"blocks": [{"kind": "text", "text": text}]}});
        let mut graph = json!({"id": "g_call", "kind": "intent", "entry": "asked", "edges": edges(&["asked", "call"]), "nodes": [
            {"id": "asked", "type": "intent", "name": "Asked", "data": {"intent_id": "call"}},
            {"id": "call", "type": "service", "name": "Call", "data": {"tool_id": "crm"}},
            say("told", "Got {{ session.answer }}."), say("failed", "Failed: {{ session._error.code }}."),
            {"id": "end", "type": "end", "name": "End", "data": {}},
        ]});
        let edge =
            |id: &str, source: &str, port: &str, target: &str| json!({"id": id, "source": source, "source_port": port, "target": target});
        let more = [
            edge("s1", "call", "success", "told"),
            edge("s2", "call", "failure", "failed"),
            edge("s3", "told", "out", "end"),
            edge("s4", "failed", "out", "end"),
        ];
        graph["edges"].as_array_mut().unwrap().extend(more);
        let mut document = desk("Desk");
        document["graphs"].as_array_mut().unwrap().push(graph);
        let words = ["call them", "ring up", "ask the service"];
        document["intents"]
            .as_array_mut()
            .unwrap()
            .push(json!({"id": "call", "name": "Call", "description": "The user wants a call", "phrases": words, "graph": "g_call"}));
        document["tools"] = json!([{
            "id": "crm", "name": "CRM", "kind": "http", "effect_class": "write", "secrets": ["KEY"], "signing_secret": "SIGN",
            "request": {
                "method": "POST", "url": format!("http://{}/hook/{{{{ secret.KEY }}}}", self.address), "query": {"q": "{{ secret.KEY }}"},
                "headers": {"Authorization": "Bearer {{ secret.KEY }}"},
                "body": {"key": "{{ secret.KEY }}", "count": "{{ session.count }}", "text": "{{ event.text }}"},
            },
            "outputs": [{"path": "$.you", "variable": "answer"}],
        }]);
        document
    }

    /// A server with that desk and both secrets.
    fn serve(&self, more: &[&str]) -> (TestEnv, Server) {
        let env = TestEnv::with_pack(&orders_pack());
        let server = env.start(env.command(&[&SERVE[..], &REGEX_ONLY, more].concat()).env("RUST_LOG", "trace"));
        for (name, value) in [("KEY", VALUE), ("SIGN", SIGNING)] {
            assert_eq!(send(&server, "POST", "/v1/secrets", &json!({"name": name, "value": value})).status, 201);
        }
        save_draft(&server, &self.desk_with_call());
        (env, server)
    }
}

fn signature(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SIGNING.as_bytes()).unwrap();
    mac.update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|it| format!("{it:02x}")).collect();
    format!("sha256={hex}")
}

#[test]
fn a_secret_is_at_the_wire_and_nowhere_else() {
    let wire = SigningService::start(Duration::ZERO);
    let (env, server) = wire.serve(&["--set", &wire.allow_private_setting()]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let answer = session.send_event(&server, &json!({"type": "user.message", "text": "call them", "event_id": "e"}));
    assert_eq!(reply_texts(&answer.json()), ["Got Bearer [secret:KEY]."], "{answer:?}");
    let calls = wire.calls();
    let (uri, headers, body) = calls.first().unwrap();
    let encoded = "hunter2%2Fquite%2B%22secret%22";
    assert_eq!((calls.len(), uri.as_str()), (1, format!("/hook/{encoded}?q={encoded}").as_str()));
    assert_eq!(headers["authorization"].to_str().unwrap(), format!("Bearer {VALUE}"));
    assert_eq!(headers["x-convoship-signature"].to_str().unwrap(), signature(body), "the signature covers the body as sent");
    let sent: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(sent, json!({"key": VALUE, "count": 0, "text": "call them"}), "numbers stay numbers");
    let key = headers["idempotency-key"].to_str().unwrap();
    assert!(key.starts_with(&session.id), "{key}");
    let effects = &answer.json()["debug"]["effects"];
    assert_eq!(effects, &json!([{"kind": "http.request", "outcome": "ok", "attempt": 1}]));
    let mut shown = vec![answer.text, session.send_event(&server, &json!({"type": "user.message", "text": "x", "event_id": "e"})).text];
    for what in ["", "/trace", "/replay"] {
        shown.push(session.inspect(&server, what).to_string());
    }
    assert!(shown[2].contains("[secret:KEY]"), "{}", shown[2]);
    assert_eq!(session.assert_replays(&env, &server), 2);
    for path in ["journal", "audit"] {
        let found = server.get(&format!("/api/v1/conversation/{path}/{}", session.id));
        assert_eq!(found.status, 200, "{found:?}");
        shown.push(found.text);
    }
    shown.extend([server.get("/v1/agents/desk/flow").text, server.get("/v1/secrets").text, server.get("/metrics").text, server.log()]);
    shown.push(env.run(&["replay", "--conversation", &session.id]).stdout);
    let found: Vec<&String> = shown.iter().filter(|it| it.contains("unter2")).collect();
    assert!(found.is_empty(), "{found:#?}");
    let bytes = env.sql().texts("select cast(state as text) from cs_session").concat();
    assert!(!bytes.contains("unter2"), "{bytes}");
}

#[test]
fn a_private_target_is_called_only_when_it_is_listed() {
    let wire = SigningService::start(Duration::ZERO);
    let (_place, server) = wire.serve(&[]);
    let found = save_draft(&server, &wire.desk_with_call());
    assert!(found.contains(&"V003".to_owned()), "{found:?}");
    assert_refused(&send(&server, "POST", "/v1/agents/desk/publish", &json!({})), 422, "publish_blocked");
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let turn = session.say(&server, "call them");
    assert_eq!((reply_texts(&turn), &turn["status"]), (vec!["Failed: blocked_target."], &json!("awaiting_input")), "{turn}");
    assert_eq!(wire.calls().len(), 0);
    drop(server);
    let (_place, server) = wire.serve(&["--set", &wire.allow_private_setting()]);
    let found = save_draft(&server, &wire.desk_with_call());
    assert!(!found.contains(&"V003".to_owned()), "{found:?}");
    assert_eq!(send(&server, "POST", "/v1/agents/desk/publish", &json!({})).status, 201);
    assert_eq!(server.request("DELETE", "/v1/secrets/KEY", &[], "").status, 204);
    let (session, _) = Session::start_simulated(&server, &json!({"version": 1}));
    assert_eq!(reply_texts(&session.say(&server, "call them")), ["Failed: secret_missing."], "a version that needs a deleted secret fails");
    assert_eq!(wire.calls().len(), 0);
}

#[test]
fn a_call_interrupted_by_a_crash_is_not_repeated() {
    let wire = SigningService::start(Duration::from_secs(20));
    let allowed = wire.allow_private_setting();
    let set = ["--set", &allowed, "--set", "convengine.turn.lease=1s"];
    let (env, server) = wire.serve(&set);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let event = json!({"type": "user.message", "text": "call them", "event_id": "e"});
    thread::scope(|scope| {
        let path = format!("http://{}{}/{}/turns", server.address, crate::flows::SIMULATED, session.id);
        let body = event.to_string();
        scope.spawn(move || drop(crate::harness::client().post(path).header("Content-Type", "application/json").body(body).send()));
        assert!(wait_until(|| wire.calls().len() == 1));
        server.kill();
    });
    drop(server);
    let server = env.serve(&[&REGEX_ONLY[..], &set].concat());
    let again = session.send_event(&server, &event);
    assert_eq!(
        (again.status, again.header("x-replayed"), reply_texts(&again.json())),
        (200, "true", vec!["Failed: cancelled."]),
        "{again:?}"
    );
    assert_eq!(wire.calls().len(), 1, "the outcome of the call is unknown");
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["Desk 1"]);
    assert_eq!(session.assert_replays(&env, &server), 3);
}

#[test]
fn a_timer_due_after_a_reply_does_not_fire_and_others_do() {
    let wire = SigningService::start(Duration::from_secs(7));
    let (_place, server) = wire.serve(&["--set", &wire.allow_private_setting()]);
    let ask = |id: &str, ms: u64| {
        let data =
            json!({"variable": id, "entity": "@string", "prompt": format!("{id}?"), "no_input_ms": ms, "prefill_from_trigger": false});
        json!({"id": id, "type": "entity", "name": id, "data": data})
    };
    let mut document = wire.desk_with_call();
    let graph = &mut document["graphs"][4];
    graph["nodes"].as_array_mut().unwrap().extend([ask("first", 2500), ask("then", 600_000)]);
    for (edge, node) in [(0, "first"), (3, "then")] {
        graph["edges"][edge]["target"] = json!(node);
    }
    let more = [("s8", "first", "call"), ("s9", "then", "end")].map(|edge| json!({"id": edge.0, "source": edge.1, "target": edge.2}));
    graph["edges"].as_array_mut().unwrap().extend(more);
    save_draft(&server, &document);
    let [session, other] = [0, 1].map(|_| Session::start_simulated(&server, &json!({})).0);
    assert_eq!(reply_texts(&session.say(&server, "call them")), ["first?"]);
    thread::scope(|scope| {
        let answered = scope.spawn(|| session.say(&server, "in time"));
        assert_eq!(reply_texts(&other.say(&server, "call them")), ["first?"]);
        assert!(wait_until(|| other.state(&server)["awaiting"]["no_input_count"] == 1));
        assert_eq!(session.state(&server)["turn"], 1, "sessions do not wait for a session with a slow service");
        assert_eq!(reply_texts(&answered.join().unwrap()), ["Got Bearer [secret:KEY].", "then?"]);
    });
    assert_eq!(reply_texts(&session.say(&server, "thanks")), [""; 0]);
    assert_eq!(session.event_types(&server), ["session.start", "user.message", "user.message", "user.message"]);
}

#[test]
fn turns_beyond_the_queue_limit_are_told_to_retry() {
    let wire = SigningService::start(Duration::from_millis(500));
    let (_place, server) = wire.serve(&["--set", &wire.allow_private_setting()]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let event = json!({"type": "user.message", "text": "call them"});
    let answers: Vec<_> = thread::scope(|scope| {
        let sent: Vec<_> = (0..16).map(|_| scope.spawn(|| session.send_event(&server, &event))).collect();
        sent.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.status == 200);
    assert!(!refused.is_empty() && !taken.is_empty(), "{} were taken", taken.len());
    for answer in refused {
        assert_refused(answer, 503, "service_unavailable");
        assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0, "{answer:?}");
    }
    assert_eq!((session.state(&server)["turn"].as_u64(), wire.calls().len()), (Some(taken.len() as u64), taken.len()));
}

#[test]
fn redacted_variables_are_shown_by_name() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (known, _) = Session::start_simulated(&server, &json!({"params": {"pin": "8765", "note": "my PIN is 8765"}}));
    assert_eq!(reply_texts(&known.say(&server, "log in")), ["Thank you."], "the variable needs no prompt");
    let (begun, start) = (known.state(&server), known.inspect(&server, "/trace"));
    assert_eq!((&begun["vars"]["pin"], &start["turns"][0]["event"]["params"]["pin"]), (&json!("[pin]"), &json!("[pin]")));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    assert_eq!(reply_texts(&session.say(&server, "it is 4321")), ["Thank you."]);
    session.say(&server, "more please");
    let (state, trace) = (session.state(&server), session.inspect(&server, "/trace"));
    let audit = server.get(&format!("/api/v1/conversation/audit/{}", session.id)).text;
    assert!(audit.contains("intent.match") && !contains_word(&server.log(), "4321"), "{audit}");
    assert_eq!((&state["vars"]["pin"], &state["vars"]["count"]), (&json!("[pin]"), &json!(1)));
    for shown in
        [audit, begun.to_string(), start.to_string(), state.to_string(), trace.to_string(), session.inspect(&server, "/replay").to_string()]
    {
        assert!(!contains_word(&shown, "8765") && !contains_word(&shown, "4321"), "{shown}");
    }
    assert!(trace["turns"][2]["event"]["text"].as_str().unwrap().contains("[pin]"), "{trace}");
    assert!(state["history"].to_string().contains("[pin]"), "{state}");
    assert_eq!(session.assert_replays(&env, &server), 4, "the turns themselves have the value");
}

#[test]
fn a_trace_lists_what_happened_turn_by_turn() {
    let (_place, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({"params": {"count": 3}}));
    session.say(&server, "more please");
    session.send_event(&server, &json!({"type": "session.end", "reason": "done"}));
    let trace = session.inspect(&server, "/trace");
    let turns = trace["turns"].as_array().unwrap();
    let numbers = |key: &str| turns.iter().map(|turn| turn[key].as_u64().unwrap()).collect::<Vec<_>>();
    // The start and the end of a session are no turns of the user.
    assert_eq!((numbers("turn"), numbers("number")), (vec![0, 1, 1], vec![1, 2, 3]));
    assert_eq!((&turns[0]["event"]["type"], &turns[0]["event"]["params"]), (&json!("session.start"), &json!({"count": 3})));
    assert_eq!(turns[1]["event"]["text"], "more please");
    assert_eq!(turns[2]["event"]["reason"], "done");
    let events = turns[1]["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"event") && kinds.contains(&"intent.match"), "{kinds:?}");
    for event in events {
        let has = |key: &str| event.get(key).is_some();
        assert!(["turn", "seq", "span", "parent", "kind", "program", "at", "time", "data", "level"].into_iter().all(has), "{event}");
        assert!(event["time"].as_str().is_some_and(|time| time.ends_with('Z') && time.contains('T')), "{event}");
        assert!(event["span"].as_str().is_some_and(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())), "{event}");
        assert_eq!((&event["turn"], &event["program"], &event["level"]), (&json!(1), &json!("assistant"), &json!("info")), "{event}");
    }
    let of_kind = |kind: &str, at: &str| {
        events.iter().find(|event| event["kind"] == kind && event["at"] == at).unwrap_or_else(|| panic!("{kind} {at}"))
    };
    let entered = of_kind("node.enter", "g_count/add");
    assert_eq!((&entered["parent"], &entered["data"]["name"]), (&Value::Null, &json!("Add")));
    assert_eq!(of_kind("edge", "g_count/add")["parent"], entered["span"], "the edge belongs to the node");
    let spans: BTreeSet<&str> =
        turns.iter().flat_map(|turn| turn["events"].as_array().unwrap()).map(|event| event["span"].as_str().unwrap()).collect();
    assert_eq!(spans.len(), turns.iter().map(|turn| turn["events"].as_array().unwrap().len()).sum::<usize>(), "span ids are unique");
    assert_eq!(session.inspect(&server, "/trace"), trace, "span ids are stable");
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
}

#[test]
fn errors_are_marked_in_a_trace() {
    let wrong = json!([{"variable": "count", "expr": "1 +"}]);
    let (_place, server) = serve_desk(&with_changes(desk("Desk"), &[("/graphs/1/nodes/1/data/assign", wrong)]), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "more please");
    session.send_event(&server, &json!({"type": "timer.fired", "timer_id": "session"}));
    let trace = session.inspect(&server, "/trace");
    let levels: BTreeMap<&str, &str> = trace["turns"][1]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["kind"].as_str().unwrap(), event["level"].as_str().unwrap()))
        .collect();
    assert_eq!((levels["node.enter"], levels["expr.error"], levels["node.error"]), ("info", "warning", "error"), "{levels:?}");
    assert_eq!((&trace["turns"][2]["turn"], &trace["turns"][2]["number"]), (&json!(1), &json!(3)), "a timer is not a turn of the user");
}

#[test]
fn a_turn_that_replays_differently_is_reported() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "more please");
    assert_eq!(session.assert_replays(&env, &server), 2);
    let hash = env.sql().texts("select state_hash from ce_turn where number = 2").remove(0);
    env.sql().run("update ce_turn set state_hash = 'another' where number = 2");
    let replayed = session.inspect(&server, "/replay");
    assert_eq!((&replayed["equal"], &replayed["turns"]), (&json!(false), &json!(2)));
    let divergence = &replayed["divergence"];
    assert_eq!(
        (&divergence["turn"], &divergence["number"], &divergence["stored"]),
        (&json!(1), &json!(2), &json!("another")),
        "{replayed}"
    );
    assert_eq!((&divergence["path"], divergence["replayed"].as_str()), (&json!("/state_hash"), Some(hash.as_str())), "{replayed}");
    assert_eq!(env.run(&["replay", "--conversation", &session.id]).code, 1);
}

#[test]
fn a_deleted_session_leaves_nothing() {
    let (env, server) = serve_desk(&with_changes(desk("Desk"), &[("/settings/no_input_timeout_s", json!(900))]), &[]);
    let sessions = [0, 1].map(|_| Session::start_simulated(&server, &json!({})).0);
    sessions.iter().for_each(|session| drop(session.say(&server, "log in")));
    let [gone, stays] = &sessions;
    let rows = |id: &str| env.sql().dump().iter().filter(|row| row.contains(id)).count();
    assert!(rows(&gone.id) > 4);
    let deleted = server.request("DELETE", &format!("/api/v1/conversation/{}", gone.id), &[], "");
    assert_eq!((deleted.status, deleted.json()), (200, json!({"forgotten": 1})), "{deleted:?}");
    assert_eq!(rows(&gone.id), 0);
    assert_refused(&gone.send_event(&server, &json!({"type": "user.message", "text": "hi"})), 404, "not_found");
    assert_eq!(env.sql().texts("select purpose from cs_timer order by purpose"), ["no_input", "session"]);
    let output = env.run(&["forget", "--conversation", &stays.id]);
    assert_eq!((output.code, rows(&stays.id)), (0, 0), "{output:?}");
    for table in ["cs_session", "cs_timer", "ce_turn"] {
        assert_eq!(env.sql().texts(&format!("select 'x' from {table}")), [""; 0], "{table}");
    }
}
