//! Sessions of assistants over HTTP: start, responses, errors, persistence. (docs/spec/flows-http.md#1, #4)

use std::{fs, thread};

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::flows::{
    SIMULATED, Session, assert_refused, desk, publish, reply_texts, save_draft, send, serve_desk, with_changes, with_input_timeout,
};
use crate::harness::{Answer, REGEX_ONLY, Server, TestEnv, orders_pack, wait_until};

const OTHER: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a77";

/// The names of an object's members.
fn member_names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().into_iter().flatten().map(|it| it.0.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_session_of_the_draft_starts_and_continues() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (session, first) = Session::start_simulated(&server, &json!({"locale": "de-DE", "user": {"id": "u1"}, "params": {"count": 4}}));
    assert_eq!(member_names(&first), ["awaiting", "debug", "messages", "session_id", "status", "turn"]);
    assert_eq!((&first["turn"], &first["status"], &first["awaiting"]), (&json!(0), &json!("awaiting_input"), &Value::Null));
    assert_eq!(reply_texts(&first), ["Welcome to Desk."]);
    let message = &first["messages"][0];
    assert_eq!(member_names(message), ["blocks", "final", "id", "locale", "node", "role", "text"], "{message}");
    assert_eq!((&message["role"], &message["locale"], message["id"].is_string()), (&json!("bot"), &json!("de-DE"), true));
    let expected = ["effects", "matched_intent", "nodes", "stop_reason", "usage", "variables_changed", "warnings"];
    let debug = &first["debug"];
    assert!(expected.iter().all(|name| debug.get(name).is_some()), "{debug}");
    let second = session.say(&server, "more please");
    assert_eq!((reply_texts(&second), &second["turn"], &second["session_id"]), (vec!["Desk 5"], &json!(1), &json!(session.id)));
    let intent = &second["debug"]["matched_intent"];
    assert_eq!((&intent["intent_id"], &intent["source"], intent["confidence"].is_number()), (&json!("count"), &json!("phrase"), true));
    let nodes = second["debug"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().map(|node| node["id"].as_str().unwrap()).collect::<Vec<_>>(), ["asked", "add", "say", "end"]);
    assert_eq!(member_names(&nodes[0]), ["graph", "id", "ms", "name", "port", "type"]);
    assert_eq!(second["debug"]["variables_changed"], json!(["count"]));
    let prompted = session.say(&server, "log in");
    assert_eq!((&prompted["awaiting"]["kind"], &prompted["awaiting"]["node"]), (&json!("entity"), &json!("ask")), "{prompted}");
    let state = session.state(&server);
    assert_eq!((&state["status"], &state["turn"], &state["vars"]["count"]), (&json!("active"), &json!(2), &json!(5)));
    assert_eq!((&state["locale"], &state["user"]["id"], &state["schema_version"]), (&json!("de-DE"), &json!("u1"), &json!("1.0")));
    assert_eq!(session.assert_replays(&env, &server), 3);
}

#[test]
fn missing_resources_are_not_found() {
    let (_place, server) = serve_desk(&desk("Desk"), &[]);
    save_draft(&server, &with_changes(desk("Shop"), &[("/id", json!("shop"))]));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let of_shop = format!("/v1/runtime/assistants/shop/sessions/{}", session.id);
    let say = json!({"type": "user.message", "text": "more please"});
    for path in [of_shop.as_str(), &format!("{SIMULATED}/{OTHER}"), &format!("{SIMULATED}/x"), &format!("{SIMULATED}/%00")] {
        assert_refused(&send(&server, "POST", &format!("{path}/turns"), &say), 404, "not_found");
        assert_refused(&send(&server, "POST", &format!("{path}/approvals/c1"), &json!({"approved": true})), 404, "not_found");
        for part in ["", "/trace", "/replay"] {
            assert_refused(&server.get(&format!("{path}{part}")), 404, "not_found");
        }
    }
    assert_refused(&send(&server, "POST", "/v1/runtime/assistants/none/sessions", &json!({})), 404, "not_found");
    for version in [json!(1), json!(0), json!(-1), json!("x"), json!(1.5)] {
        assert_refused(&send(&server, "POST", SIMULATED, &json!({"version": version})), 404, "not_found");
    }
    assert_refused(
        &send(&server, "POST", &format!("{SIMULATED}/{}/approvals/c1", session.id), &json!({"approved": true})),
        404,
        "unknown_call",
    );
    assert_eq!(session.state(&server)["seq"], 1, "no turn was stored");
}

#[test]
fn invalid_sessions_and_events_are_rejected() {
    let (_place, server) = serve_desk(&desk("Desk"), &[]);
    for body in [
        json!({"params": 5}),
        json!({"locale": 5}),
        json!({"time_zone": 5}),
        json!({"time_zone": "Mars/Base"}),
        json!({"channel": ["web"]}),
        json!({"channel": ""}),
        json!({"user": "u1"}),
        json!({"user": [{"id": "u1"}]}),
        json!({"user": 5}),
        json!({"session_id": "x"}),
        json!({"session_id": 5}),
    ] {
        assert_refused(&send(&server, "POST", SIMULATED, &body), 422, "invalid_session");
    }
    let nothing =
        json!({"params": null, "locale": null, "channel": null, "user": null, "session_id": null, "event_id": null, "version": null});
    assert_eq!(Session::start_simulated(&server, &nothing).0.state(&server)["channel"], "web", "null is the default");
    let (session, _) = Session::start_simulated(&server, &json!({"session_id": OTHER.to_uppercase(), "unknown": {}}));
    assert_eq!(session.id, OTHER);
    assert_refused(&send(&server, "POST", SIMULATED, &json!({"session_id": OTHER})), 409, "session_exists");
    for event in [
        json!({}),
        json!({"type": "no.such"}),
        json!({"type": 5}),
        json!({"type": "user.message"}),
        json!({"type": "user.message", "text": 5}),
        json!({"type": "user.button"}),
        json!({"type": "timer.fired"}),
        json!({"type": "user.message", "text": "x", "event_id": ""}),
        json!({"type": "user.message", "text": "x", "event_id": 5}),
    ] {
        assert_refused(&session.send_event(&server, &event), 422, "invalid_event");
    }
    let turns = format!("{SIMULATED}/{OTHER}/turns");
    assert_refused(&server.request("POST", &turns, &[crate::flows::JSON], "{"), 400, "not_json");
    assert_refused(&server.request("POST", &turns, &[crate::flows::JSON], "[]"), 400, "not_json");
    assert_refused(&server.request("POST", &turns, &[], "{}"), 415, "unsupported_media_type");
    assert_refused(&server.request("PUT", &turns, &[crate::flows::JSON], "{}"), 405, "method_not_allowed");
    assert_eq!((session.state(&server)["seq"].as_u64(), session.event_types(&server)), (Some(1), vec!["session.start".to_owned()]));
}

#[test]
fn a_session_stays_on_its_version() {
    let (env, server) = serve_desk(&desk("One"), &[]);
    assert_eq!(publish(&server, &desk("One")), 1);
    let (of_draft, _) = Session::start_simulated(&server, &json!({}));
    let (of_one, first) = Session::start_simulated(&server, &json!({"version": 1}));
    assert_eq!(reply_texts(&first), ["Welcome to One."]);
    assert_eq!(publish(&server, &desk("Two")), 2);
    save_draft(&server, &desk("Three"));
    for session in [&of_draft, &of_one] {
        assert_eq!(reply_texts(&session.say(&server, "more please")), ["One 1"]);
    }
    for (version, welcome) in [(json!(1), "Welcome to One."), (json!(2), "Welcome to Two."), (Value::Null, "Welcome to Three.")] {
        assert_eq!(reply_texts(&Session::start_simulated(&server, &json!({"version": version})).1), [welcome]);
    }
    let versions = server.get("/v1/agents/desk/versions").json();
    assert_eq!(of_one.state(&server)["snapshot"], versions["versions"][1]["snapshot"]);
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(reply_texts(&of_one.say(&server, "more please")), ["One 2"], "also after a restart");
    assert_eq!(of_one.assert_replays(&env, &server), 3);
}

#[test]
fn an_ended_session_is_refused_with_its_id() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let closed = |session: &Session, server: &Server, event: Value| {
        let answer = session.send_event(server, &event);
        assert_refused(&answer, 409, "session_completed");
        assert_eq!(answer.json()["error"]["session_id"], json!(session.id));
    };
    let say = || json!({"type": "user.message", "text": "more please"});
    let (left, _) = Session::start_simulated(&server, &json!({}));
    let bye = left.say(&server, "good bye");
    assert_eq!((reply_texts(&bye), &bye["status"]), (vec!["Bye."], &json!("completed")));
    closed(&left, &server, say());
    closed(&left, &server, json!({"type": "timer.fired", "timer_id": "session"}));
    assert_refused(
        &send(&server, "POST", &format!("{SIMULATED}/{}/approvals/c1", left.id), &json!({"approved": true})),
        409,
        "session_completed",
    );
    let (ended, _) = Session::start_simulated(&server, &json!({}));
    let answer = ended.send_event(&server, &json!({"type": "session.end", "reason": "done"}));
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("completed")));
    closed(&ended, &server, json!({"type": "session.end"}));
    assert_eq!((&left.state(&server)["status"], &left.state(&server)["turn"]), (&json!("completed"), &json!(1)));
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    closed(&left, &server, say());
}

#[test]
fn a_repeated_event_gets_the_same_response() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let (other, _) = Session::start_simulated(&server, &json!({}));
    let more = json!({"type": "user.message", "text": "more please", "event_id": "e1"});
    let bye = json!({"type": "user.message", "text": "good bye", "event_id": "e2"});
    let fresh = |answer: Answer| {
        assert_eq!((answer.status, answer.header("x-replayed")), (200, ""), "{answer:?}");
        answer.text
    };
    let again = |server: &Server, event: &Value, text: &str| {
        let answer = session.send_event(server, event);
        assert_eq!((answer.status, answer.header("x-replayed"), answer.text.as_str()), (200, "true", text), "{answer:?}");
    };
    let first = fresh(session.send_event(&server, &more));
    again(&server, &more, &first);
    let reused = session.send_event(&server, &json!({"type": "user.message", "text": "something else", "event_id": "e1"}));
    assert_refused(&reused, 422, "event_id_reused");
    assert!(fresh(other.send_event(&server, &more)).contains(&other.id), "an event id belongs to its session");
    let second = fresh(session.send_event(&server, &json!({"type": "user.message", "text": "more please"})));
    assert!(second.contains("Desk 2"), "{second}");
    again(&server, &more, &first);
    let last = fresh(session.send_event(&server, &bye));
    again(&server, &bye, &last);
    again(&server, &more, &first);
    assert_refused(
        &session.send_event(&server, &json!({"type": "user.message", "text": "good bye", "event_id": "e3"})),
        409,
        "session_completed",
    );
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    again(&server, &bye, &last);
    again(&server, &more, &first);
    assert_eq!(session.assert_replays(&env, &server), 4);
    drop(server);
    // What was answered is stored, so that no upgrade changes it: it needs no document.
    env.sql().run("delete from ce_config_snapshot");
    let server = env.serve(&REGEX_ONLY);
    again(&server, &bye, &last);
}

/// A desk whose agent needs approval to take a note, and its model.
fn approval_desk(env: &TestEnv) -> (Value, String) {
    let pack: Value = serde_json::from_slice(&fs::read(root().join("tests/packs/flow/agent.json")).unwrap()).unwrap();
    let tools = json!([{"tool": "note", "approval": "always"}]);
    let document = with_changes(pack["documents"][0].clone(), &[("/graphs/1/nodes/1/data/tools", tools)]);
    let call = json!({"tool_calls": [{"id": "n1", "name": "note", "arguments": {}}]});
    (document, env.write("model.json", &json!([{"purpose": "agent", "replies": [call, "Noted."]}]).to_string()))
}

#[test]
fn a_repeated_approval_gets_the_same_response() {
    let env = TestEnv::with_pack(&orders_pack());
    let (document, model) = approval_desk(&env);
    let server = env.serve(&["--llm", &format!("scripted:{model}")]);
    save_draft(&server, &document);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    assert_eq!(session.say(&server, "card desk: a note")["awaiting"]["call"]["call_id"], "n1");
    let path = format!("{SIMULATED}/{}/approvals/n1", session.id);
    let decide = |event: Value| send(&server, "POST", &path, &json!({"approved": true, "event_id": event}));
    let first = decide(json!("e1"));
    assert_eq!((first.status, first.header("x-replayed"), reply_texts(&first.json())), (200, "", vec!["Noted."]), "{first:?}");
    let again = decide(json!("e1"));
    assert_eq!((again.status, again.header("x-replayed"), &again.text), (200, "true", &first.text), "{again:?}");
    for other in [json!("e2"), Value::Null] {
        assert_refused(&decide(other), 404, "unknown_call");
    }
    assert_eq!(session.event_types(&server), ["session.start", "user.message", "approval.decision"]);
}

#[test]
fn a_streamed_session_start_has_status_created() {
    let (_place, server) = serve_desk(&desk("Desk"), &[]);
    let begin = |form: &str| send(&server, "POST", &format!("{SIMULATED}?stream={form}"), &json!({"session_id": OTHER, "event_id": "e"}));
    for (form, again) in [("true", ""), ("true", "true"), ("ui", "true")] {
        let started = begin(form);
        assert_eq!(
            (started.status, started.header("x-replayed"), started.header("content-type")),
            (201, again, "text/event-stream"),
            "{started:?}"
        );
        assert!(started.text.contains("Welcome to Desk."), "{started:?}");
    }
    let turn = send(&server, "POST", &format!("{SIMULATED}/{OTHER}/turns?stream=true"), &json!({"type": "user.message", "text": "hi"}));
    assert_eq!(turn.status, 200, "{turn:?}");
}

#[test]
fn turns_of_a_session_run_in_sequence() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let count = || -> Vec<String> { (0..8).map(|_| reply_texts(&session.say(&server, "more please"))[0].to_owned()).collect() };
    let mut replies: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = (0..3).map(|_| scope.spawn(count)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    replies.sort_by_key(|reply| reply.len() * 100 + reply.trim_start_matches("Desk ").parse::<usize>().unwrap());
    let expected: Vec<String> = (1..=24).map(|it| format!("Desk {it}")).collect();
    assert_eq!(replies, expected);
    let state = session.state(&server);
    assert_eq!((&state["vars"]["count"], &state["turn"], &state["seq"]), (&json!(24), &json!(24), &json!(25)));
    assert_eq!(session.assert_replays(&env, &server), 25);
}

#[test]
#[on(postgres)]
fn two_servers_of_a_database_share_its_sessions() {
    let (env, one) = serve_desk(&with_input_timeout(300), &[]);
    let two = env.serve(&REGEX_ONLY);
    let (session, _) = Session::start_simulated(&one, &json!({}));
    let more = json!({"type": "user.message", "text": "more please"});
    let count = |server: &Server| (0..40).filter(|_| session.send_event(server, &more).status == 200).count();
    let taken: usize =
        thread::scope(|scope| [&one, &two].map(|server| scope.spawn(|| count(server))).map(|thread| thread.join().unwrap()).iter().sum());
    assert!(taken > 10, "{taken}");
    assert_eq!(session.state(&two)["vars"]["count"], json!(taken), "none is lost");
    session.say(&two, "log in");
    assert!(wait_until(|| session.state(&one)["status"] == "completed"));
    let events = session.event_types(&one);
    assert_eq!(&events[taken + 1..], ["user.message", "timer.fired", "timer.fired"], "each timer has fired once");
    assert_eq!(session.assert_replays(&env, &one), taken as u64 + 4);
}

#[test]
fn a_session_survives_the_end_of_its_server() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "more please");
    session.say(&server, "log in");
    let before = session.state(&server);
    server.kill();
    drop(server);
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(session.state(&server), before);
    assert_eq!(reply_texts(&session.say(&server, "12")), ["Four digits?"], "the session still waits for the PIN");
    assert_eq!(reply_texts(&session.say(&server, "1234")), ["Thank you."]);
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["Desk 2"]);
    assert_eq!(session.assert_replays(&env, &server), 6);
}

#[test]
fn a_session_whose_document_is_lost_fails_with_an_error() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    drop(server);
    env.sql().run("delete from ce_config_snapshot");
    let server = env.serve(&REGEX_ONLY);
    let looked = server.get(&format!("/v1/runtime/assistants/desk/sessions/{}", session.id));
    assert_refused(&looked, 500, "snapshot_lost");
    let answer = session.say(&server, "1234");
    assert_eq!((&answer["status"], &answer["debug"]["stop_reason"]), (&json!("failed"), &json!("root_missing")), "{answer}");
    assert_eq!(reply_texts(&answer).len(), 1, "the error is reported: {answer}");
    assert_refused(&session.send_event(&server, &json!({"type": "user.message", "text": "1234"})), 409, "session_completed");
    let (again, _) = Session::start_simulated(&server, &json!({}));
    assert_eq!(reply_texts(&again.say(&server, "more please")), ["Desk 1"]);
}

#[test]
fn a_silent_user_is_reprompted_and_then_the_session_ends() {
    let (env, server) = serve_desk(&with_input_timeout(200), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    assert!(wait_until(|| session.state(&server)["status"] == "completed"), "{}", server.log());
    assert_eq!(session.event_types(&server), ["session.start", "user.message", "timer.fired", "timer.fired"]);
    let state = session.state(&server);
    assert_eq!((&state["counters"]["no_input"], &state["timers"]), (&json!(2), &json!([])), "{state}");
    assert!(state["history"].to_string().contains("Still there?"), "{state}");
    assert_refused(&session.send_event(&server, &json!({"type": "user.message", "text": "1234"})), 409, "session_completed");
    assert_eq!(env.sql().texts("select id from cs_timer"), [""; 0]);
    assert_eq!(session.assert_replays(&env, &server), 4);
}

#[test]
fn a_reply_in_time_cancels_its_timer() {
    let (env, server) = serve_desk(&with_input_timeout(60_000), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let timers = || env.sql().texts("select purpose from cs_timer order by purpose");
    assert_eq!(timers(), ["session"]);
    session.say(&server, "log in");
    assert_eq!(timers(), ["no_input", "session"]);
    assert_eq!(reply_texts(&session.say(&server, "1234")), ["Thank you."]);
    assert_eq!(timers(), ["session"]);
    let late = session.send_event(&server, &json!({"type": "timer.fired", "timer_id": "no_input"}));
    assert_eq!((late.status, reply_texts(&late.json()).len()), (200, 0), "the timer was canceled: {late:?}");
    assert_eq!(session.state(&server)["status"], "active");
}

#[test]
fn an_idle_session_is_abandoned() {
    let (_place, server) = serve_desk(&desk("Desk"), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let answer = session.send_event(&server, &json!({"type": "timer.fired", "timer_id": "session"}));
    assert_eq!((answer.status, &answer.json()["status"], reply_texts(&answer.json()).len()), (200, &json!("completed"), 0), "{answer:?}");
    assert_eq!(session.state(&server)["status"], "abandoned");
    assert_refused(&session.send_event(&server, &json!({"type": "user.message", "text": "hi"})), 409, "session_completed");
}

#[test]
fn a_timer_that_was_due_without_a_server_fires_on_the_next_one() {
    let (env, server) = serve_desk(&with_input_timeout(600_000), &[]);
    let (waits, _) = Session::start_simulated(&server, &json!({}));
    waits.say(&server, "log in");
    let (idle, _) = Session::start_simulated(&server, &json!({}));
    drop(server);
    env.sql().run("update cs_timer set due = 1 where id = 'no_input'");
    env.sql().run(&format!("update cs_timer set due = 2 where session_id = '{}'", idle.id));
    let server = env.serve(&REGEX_ONLY);
    assert!(wait_until(|| idle.state(&server)["status"] == "abandoned" && waits.state(&server)["awaiting"]["no_input_count"] == 1));
    assert_eq!(waits.event_types(&server), ["session.start", "user.message", "timer.fired"]);
    assert_eq!(reply_texts(&waits.say(&server, "1234")), ["Thank you."], "the session continues");
    assert_eq!(waits.assert_replays(&env, &server), 4);
}
