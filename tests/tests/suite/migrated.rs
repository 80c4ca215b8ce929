//! Sessions and the versions that are published while they run. (docs/spec/flows.md#13)

use serde_json::{Value, json};

use crate::flows::{Session, changed, deploy, desk, is, publish, put, send, texts, with_desk};
use crate::running::Server;

const POLICY: &str = "/settings/version_policy";

/// The node of the desk that asks for the PIN.
const ASKS: &str = "/graphs/2/nodes/1";

/// The desk with a version policy, named differently in each version.
fn version(name: &str, policy: &str) -> Value {
    changed(desk(name), &[(POLICY, json!(policy))])
}

/// The same with another slot id.
fn renamed(name: &str, policy: &str) -> Value {
    let mut edges = version(name, policy).pointer("/graphs/2/edges").cloned().unwrap();
    let text = edges.to_string().replace("\"ask\"", "\"ask_pin\"");
    edges = serde_json::from_str(&text).unwrap();
    changed(version(name, policy), &[(&format!("{ASKS}/id"), json!("ask_pin")), ("/graphs/2/edges", edges)])
}

fn migration(server: &Server) -> Value {
    send(server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json()["migration"].clone()
}

fn counts(sessions: u64, map: u64, reask: u64, stay: u64) -> Value {
    json!({"sessions": sessions, "map": map, "reask": reask, "stay": stay})
}

/// A session of a version that waits for the PIN.
fn waiting(server: &Server, token: &str) -> Session {
    let (session, _) = Session::deployed(server, token, &[]);
    assert_eq!(texts(&session.says(server, "log in")), ["Your PIN?"]);
    session
}

#[test]
fn a_pinned_session_stays_and_publishing_says_so() {
    let (env, server) = with_desk(&version("One", "pin"), &[]);
    publish(&server, &version("One", "pin"));
    let session = waiting(&server, &deploy(&server, false));
    put(&server, &renamed("Two", "pin"));
    assert_eq!(migration(&server), counts(1, 0, 0, 1));
    publish(&server, &renamed("Two", "pin"));
    assert_eq!(texts(&session.says(&server, "1234")), ["Thank you."]);
    assert_eq!(texts(&session.says(&server, "more please")), ["One 1"]);
    assert_eq!(session.replays(&env, &server), 4);
}

#[test]
fn a_session_goes_along_once_nothing_is_open() {
    let (env, server) = with_desk(&version("One", "migrate_at_root"), &[]);
    publish(&server, &version("One", "migrate_at_root"));
    let token = deploy(&server, false);
    let (busy, idle) = (waiting(&server, &token), Session::deployed(&server, &token, &[]).0);
    assert_eq!(texts(&idle.says(&server, "more please")), ["One 1"]);
    put(&server, &version("Two", "pin"));
    assert_eq!(migration(&server), counts(2, 1, 0, 1));
    publish(&server, &version("Two", "pin"));
    assert_eq!(texts(&idle.says(&server, "more please")), ["Two 2"], "with its collected variables");
    assert_eq!(texts(&busy.says(&server, "1234")), ["Thank you."], "the session is inside an intent");
    assert_eq!(texts(&busy.says(&server, "more please")), ["Two 1"]);
    let events = idle.look(&server, "/trace")["turns"][2]["events"].clone();
    let migrated = events.as_array().unwrap().iter().find(|it| it["kind"] == "session.migrated").expect("the migration is in the trace");
    assert_eq!((&migrated["data"]["mapped"], &migrated["data"]["dropped"]), (&json!(["root/idle"]), &json!([])));
    // The policy of the version that it uses now is to stay.
    publish(&server, &version("Three", "pin"));
    assert_eq!(texts(&idle.says(&server, "more please")), ["Two 3"]);
    assert_eq!((idle.replays(&env, &server), busy.replays(&env, &server)), (4, 4));
}

#[test]
fn an_eager_session_begins_its_intent_again_where_its_node_is_gone() {
    let (env, server) = with_desk(&version("One", "migrate_eager"), &[]);
    publish(&server, &version("One", "migrate_eager"));
    let token = deploy(&server, false);
    let (first, second) = (waiting(&server, &token), waiting(&server, &token));
    let snapshot = first.state(&server)["snapshot"].clone();
    put(&server, &renamed("Two", "migrate_eager"));
    assert_eq!(migration(&server), counts(2, 0, 2, 0));
    let validated = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
    let issue = validated["issues"].as_array().unwrap().iter().find(|it| it["code"] == "Q010").expect("a warning").clone();
    assert_eq!((&validated["ok"], &issue["severity"]), (&json!(true), &json!("warning")));
    publish(&server, &renamed("Two", "migrate_eager"));
    assert_eq!(texts(&first.says(&server, "nothing that is a PIN")), ["Your PIN?"]);
    let state = first.state(&server);
    assert_eq!((&state["stack"][1]["node"], state["snapshot"] != snapshot), (&json!("ask_pin"), true));
    assert_eq!(texts(&first.says(&server, "1234")), ["Thank you."]);
    // Declaring where the node has moved loses nothing.
    let declared = json!({"migrations": [{"from_hash": snapshot, "nodes": {"ask": "ask_pin"}}]});
    let mut moved = renamed("Three", "migrate_eager");
    moved["meta"] = declared;
    put(&server, &moved);
    assert_eq!(migration(&server), counts(2, 2, 0, 0));
    publish(&server, &moved);
    assert_eq!(texts(&second.says(&server, "1234")), ["Thank you."]);
    assert_eq!((first.replays(&env, &server), second.replays(&env, &server)), (4, 3));
}

#[test]
fn publishing_warns_of_sessions_that_stay_because_their_place_is_gone() {
    for (policy, lost) in [("migrate_eager", true), ("pin", false)] {
        let (_place, server) = with_desk(&version("One", policy), &[]);
        publish(&server, &version("One", policy));
        let session = waiting(&server, &deploy(&server, false));
        let mut moved = renamed("Two", policy);
        moved["meta"] = json!({"migrations": [{"from_hash": session.state(&server)["snapshot"], "unmappable": "stay_pinned"}]});
        put(&server, &moved);
        let validated = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
        assert_eq!((&validated["ok"], &validated["migration"]), (&json!(true), &counts(1, 0, 0, 1)), "{policy}");
        let codes: Vec<&Value> = validated["issues"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
        assert_eq!(codes, if lost { vec!["Q010"] } else { vec![] }, "{policy}");
    }
}

#[test]
fn a_beginning_that_is_asked_for_again_is_answered_once() {
    let (_place, server) = with_desk(&desk("One"), &[]);
    let id = "11111111-2222-4333-8444-555555555555";
    let begin = |event: &str| send(&server, "POST", "/v1/runtime/assistants/desk/sessions", &json!({"session_id": id, "event_id": event}));
    let (first, again, other) = (begin("a"), begin("a"), begin("b"));
    assert_eq!((first.status, again.status, first.text == again.text), (201, 201, true));
    assert_eq!((again.header("x-replayed"), other.status), ("true", 409));
}

#[test]
fn a_session_of_another_assistant_is_no_answer_to_a_beginning() {
    let (_place, server) = with_desk(&desk("Desk"), &[]);
    put(&server, &changed(desk("Shop"), &[("/id", json!("shop"))]));
    let id = "11111111-2222-4333-8444-555555555555";
    let begin = |assistant: &str| {
        let path = format!("/v1/runtime/assistants/{assistant}/sessions");
        send(&server, "POST", &path, &json!({"session_id": id, "event_id": "a"}))
    };
    assert_eq!(begin("desk").status, 201);
    is(&begin("shop"), 409, "session_exists");
    let path = "/v1/runtime/assistants/shop/sessions?stream=true";
    is(&send(&server, "POST", path, &json!({"session_id": id, "event_id": "a"})), 409, "session_exists");
    assert_eq!(begin("desk").header("x-replayed"), "true");
}
