//! Sessions and the versions that are published while they run. (docs/spec/flows.md#13)

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::{Session, assert_refused, deploy, desk, publish, reply_texts, save_draft, send, serve_desk, with_changes};
use crate::harness::Server;

const POLICY: &str = "/settings/version_policy";

/// The node of the desk that asks for the PIN.
const PIN_NODE: &str = "/graphs/2/nodes/1";

/// The desk with a version policy, named differently in each version.
fn version(name: &str, policy: &str) -> Value {
    with_changes(desk(name), &[(POLICY, json!(policy))])
}

/// The same with another slot id.
fn version_with_renamed_slot(name: &str, policy: &str) -> Value {
    let mut edges = version(name, policy).pointer("/graphs/2/edges").cloned().unwrap();
    let text = edges.to_string().replace("\"ask\"", "\"ask_pin\"");
    edges = serde_json::from_str(&text).unwrap();
    with_changes(version(name, policy), &[(&format!("{PIN_NODE}/id"), json!("ask_pin")), ("/graphs/2/edges", edges)])
}

fn migration(server: &Server) -> Value {
    send(server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json()["migration"].clone()
}

fn migration_counts(sessions: u64, map: u64, reask: u64, stay: u64) -> Value {
    json!({"sessions": sessions, "map": map, "reask": reask, "stay": stay})
}

/// A session of a version that waits for the PIN.
fn start_waiting_session(server: &Server, token: &str) -> Session {
    let (session, _) = Session::start_deployed(server, token, &[]);
    assert_eq!(reply_texts(&session.say(server, "log in")), ["Your PIN?"]);
    session
}

#[test]
fn a_pinned_session_stays_and_publishing_reports_it() {
    let (env, server) = serve_desk(&version("One", "pin"), &[]);
    publish(&server, &version("One", "pin"));
    let session = start_waiting_session(&server, &deploy(&server, false));
    save_draft(&server, &version_with_renamed_slot("Two", "pin"));
    assert_eq!(migration(&server), migration_counts(1, 0, 0, 1));
    publish(&server, &version_with_renamed_slot("Two", "pin"));
    assert_eq!(reply_texts(&session.say(&server, "1234")), ["Thank you."]);
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["One 1"]);
    assert_eq!(session.assert_replays(&env, &server), 4);
}

#[test]
fn an_idle_session_migrates_to_the_new_version() {
    let (env, server) = serve_desk(&version("One", "migrate_at_root"), &[]);
    publish(&server, &version("One", "migrate_at_root"));
    let token = deploy(&server, false);
    let (busy, idle) = (start_waiting_session(&server, &token), Session::start_deployed(&server, &token, &[]).0);
    assert_eq!(reply_texts(&idle.say(&server, "more please")), ["One 1"]);
    save_draft(&server, &version("Two", "pin"));
    assert_eq!(migration(&server), migration_counts(2, 1, 0, 1));
    publish(&server, &version("Two", "pin"));
    assert_eq!(reply_texts(&idle.say(&server, "more please")), ["Two 2"], "with its collected variables");
    assert_eq!(reply_texts(&busy.say(&server, "1234")), ["Thank you."], "the session is inside an intent");
    assert_eq!(reply_texts(&busy.say(&server, "more please")), ["Two 1"]);
    let events = idle.inspect(&server, "/trace")["turns"][2]["events"].clone();
    let migrated = events.as_array().unwrap().iter().find(|it| it["kind"] == "session.migrated").expect("the migration is in the trace");
    assert_eq!((&migrated["data"]["mapped"], &migrated["data"]["dropped"]), (&json!(["root/idle"]), &json!([])));
    // The policy of the version that it uses now is to stay.
    publish(&server, &version("Three", "pin"));
    assert_eq!(reply_texts(&idle.say(&server, "more please")), ["Two 3"]);
    assert_eq!((idle.assert_replays(&env, &server), busy.assert_replays(&env, &server)), (4, 4));
}

#[test]
fn an_eager_session_restarts_its_intent_when_its_node_is_gone() {
    let (env, server) = serve_desk(&version("One", "migrate_eager"), &[]);
    publish(&server, &version("One", "migrate_eager"));
    let token = deploy(&server, false);
    let (first, second) = (start_waiting_session(&server, &token), start_waiting_session(&server, &token));
    let snapshot = first.state(&server)["snapshot"].clone();
    save_draft(&server, &version_with_renamed_slot("Two", "migrate_eager"));
    assert_eq!(migration(&server), migration_counts(2, 0, 2, 0));
    let validated = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
    let issue = validated["issues"].as_array().unwrap().iter().find(|it| it["code"] == "Q010").expect("a warning").clone();
    assert_eq!((&validated["ok"], &issue["severity"]), (&json!(true), &json!("warning")));
    publish(&server, &version_with_renamed_slot("Two", "migrate_eager"));
    assert_eq!(reply_texts(&first.say(&server, "nothing that is a PIN")), ["Your PIN?"]);
    let state = first.state(&server);
    assert_eq!((&state["stack"][1]["node"], state["snapshot"] != snapshot), (&json!("ask_pin"), true));
    assert_eq!(reply_texts(&first.say(&server, "1234")), ["Thank you."]);
    // Declaring where the node has moved loses nothing.
    let declared = json!({"migrations": [{"from_hash": snapshot, "nodes": {"ask": "ask_pin"}}]});
    let mut moved = version_with_renamed_slot("Three", "migrate_eager");
    moved["meta"] = declared;
    save_draft(&server, &moved);
    assert_eq!(migration(&server), migration_counts(2, 2, 0, 0));
    publish(&server, &moved);
    assert_eq!(reply_texts(&second.say(&server, "1234")), ["Thank you."]);
    assert_eq!((first.assert_replays(&env, &server), second.assert_replays(&env, &server)), (4, 3));
}

#[test]
fn publishing_warns_of_sessions_whose_node_is_gone() {
    for (policy, lost) in [("migrate_eager", true), ("pin", false)] {
        let (_place, server) = serve_desk(&version("One", policy), &[]);
        publish(&server, &version("One", policy));
        let session = start_waiting_session(&server, &deploy(&server, false));
        let mut moved = version_with_renamed_slot("Two", policy);
        moved["meta"] = json!({"migrations": [{"from_hash": session.state(&server)["snapshot"], "unmappable": "stay_pinned"}]});
        save_draft(&server, &moved);
        let validated = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
        assert_eq!((&validated["ok"], &validated["migration"]), (&json!(true), &migration_counts(1, 0, 0, 1)), "{policy}");
        let codes: Vec<&Value> = validated["issues"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
        assert_eq!(codes, if lost { vec!["Q010"] } else { vec![] }, "{policy}");
    }
}

#[test]
fn a_repeated_session_start_is_answered_once() {
    let (_place, server) = serve_desk(&desk("One"), &[]);
    let id = "11111111-2222-4333-8444-555555555555";
    let begin = |event: &str| send(&server, "POST", "/v1/runtime/assistants/desk/sessions", &json!({"session_id": id, "event_id": event}));
    let (first, again, other) = (begin("a"), begin("a"), begin("b"));
    assert_eq!((first.status, again.status, first.text == again.text), (201, 201, true));
    assert_eq!((again.header("x-replayed"), other.status), ("true", 409));
}

#[test]
fn a_session_of_another_assistant_does_not_answer_a_session_start() {
    let (_place, server) = serve_desk(&desk("Desk"), &[]);
    save_draft(&server, &with_changes(desk("Shop"), &[("/id", json!("shop"))]));
    let id = "11111111-2222-4333-8444-555555555555";
    let begin = |assistant: &str| {
        let path = format!("/v1/runtime/assistants/{assistant}/sessions");
        send(&server, "POST", &path, &json!({"session_id": id, "event_id": "a"}))
    };
    assert_eq!(begin("desk").status, 201);
    assert_refused(&begin("shop"), 409, "session_exists");
    let path = "/v1/runtime/assistants/shop/sessions?stream=true";
    assert_refused(&send(&server, "POST", path, &json!({"session_id": id, "event_id": "a"})), 409, "session_exists");
    assert_eq!(begin("desk").header("x-replayed"), "true");
}
