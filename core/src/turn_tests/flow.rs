use std::sync::Arc;

use convengine_config::Config;
use convengine_pack::Pack;
use serde_json::{Value, json};

use crate::turn::{
    CancelReason, Completion, EffectResult, HttpReply, LoadedSession, Outcome, ProgramRef, Reply, Request, Slice, Turn, TurnInput,
    UserEvent, Write,
};

const SERVICES: &str = include_str!("../../../tests/packs/flow/services.json");
const TIME_ZONES: &str = include_str!("../../../tests/packs/flow/time_zones.json");
const MESSAGES: &str = include_str!("../../../tests/packs/flow/messages.json");

/// Noon of 2026-01-01.
const AT: i64 = 1_767_268_800_000;

fn config(pack: &str) -> Arc<Config> {
    Arc::new(Pack::parse(pack).unwrap().compile().0)
}

fn start(config: &Arc<Config>, session: Option<Value>, event: Value) -> (Turn, Slice) {
    let input = TurnInput {
        turn: "t".to_owned(),
        conversation: "s-1".to_owned(),
        at: AT,
        seed: 1,
        program: ProgramRef::Flow,
        event: UserEvent::from_flow_event(event),
        session: LoadedSession { flow: session.map(Arc::new), ..LoadedSession::default() },
    };
    Turn::start(input, Arc::clone(config)).unwrap()
}

fn stored(outcome: &Outcome) -> Option<Value> {
    outcome.writes.iter().find_map(|write| if let Write::Session { state } = write { Some((**state).clone()) } else { None })
}

fn answer(outcome: &Outcome) -> Value {
    (**outcome.flow.as_ref().unwrap()).clone()
}

fn text(text: &str) -> Value {
    json!({"type": "user.message", "text": text})
}

/// Returns the session after its start and these messages, none of which requests an effect.
fn session(config: &Arc<Config>, messages: &[&str]) -> Value {
    let begin = json!({"type": "session.start"});
    let events = [begin].into_iter().chain(messages.iter().map(|it| text(it)));
    events.fold(None, |session, event| stored(&start(config, session, event).1.end.unwrap())).unwrap()
}

#[test]
fn an_unknown_time_zone_is_a_warning_and_the_next_default_counts() {
    let config = config(TIME_ZONES);
    for (event, zone, warnings) in [
        (json!({"time_zone": "Mars/Base"}), "Europe/Berlin", 1),
        (json!({"time_zone": "", "channel": "kiosk"}), "Asia/Kolkata", 1),
        (json!({"time_zone": "asia/kolkata", "channel": "sms"}), "Asia/Kolkata", 0),
        (json!({}), "Europe/Berlin", 0),
    ] {
        let mut event = event;
        event["type"] = json!("session.start");
        let outcome = start(&config, None, event.clone()).1.end.unwrap();
        let found = answer(&outcome)["debug"]["warnings"].clone();
        assert_eq!((&stored(&outcome).unwrap()["time_zone"], found.as_array().map(Vec::len)), (&json!(zone), Some(warnings)), "{event}");
        assert!(warnings == 0 || found.to_string().contains("time_zone.unknown"), "{found}");
    }
}

#[test]
fn a_stored_session_without_a_time_zone_has_utc() {
    let config = config(TIME_ZONES);
    let ask =
        |session: Value| answer(&start(&config, Some(session), text("what time is it")).1.end.unwrap())["messages"][0]["text"].clone();
    let mut before = session(&config, &[]);
    assert_eq!(ask(before.clone()), "Europe/Berlin: 2026-01-01 13:00, 2026-01-01, days to April: 90, at 2026-01-01T12:00:00.000Z.");
    before.as_object_mut().unwrap().remove("time_zone");
    assert_eq!(ask(before), "UTC: 2026-01-01 12:00, 2026-01-01, days to April: 90, at 2026-01-01T12:00:00.000Z.");
}

#[test]
fn an_unreadable_session_fails_and_is_left_unchanged() {
    let config = config(SERVICES);
    let mut newer = session(&config, &[]);
    newer["schema_version"] = json!("2.0");
    for unreadable in [newer, json!({}), json!({"schema_version": "1.0", "stack": 5}), json!(null)] {
        let outcome = start(&config, Some(unreadable.clone()), text("flaky")).1.end.unwrap();
        let output = answer(&outcome);
        assert_eq!((&output["status"], &output["debug"]["stop_reason"]), (&json!("failed"), &json!("state_unreadable")), "{unreadable}");
        assert_eq!(output["messages"][0]["text"], "Something went wrong.");
        assert_eq!((stored(&outcome), &output["session_id"]), (None, &json!("s-1")));
    }
}

#[test]
fn a_canceled_turn_leaves_a_session_that_continues() {
    let config = config(SERVICES);
    let before = session(&config, &[]);
    for (cancel_reason, reason) in [(CancelReason::Timeout, "turn_timeout"), (CancelReason::Lost, "turn_lost")] {
        let (mut turn, slice) = start(&config, Some(before.clone()), text("flaky"));
        assert_eq!((slice.effects.len(), slice.end), (1, None));
        let outcome = turn.cancel(cancel_reason, AT + 120_000).unwrap().end.unwrap();
        let output = answer(&outcome);
        assert_eq!((&output["status"], &output["debug"]["stop_reason"]), (&json!("awaiting_input"), &json!(reason)));
        assert_eq!(output["messages"].as_array().map(Vec::len), Some(1));
        assert_eq!(output["messages"][0]["text"], "Something went wrong.");
        let after = stored(&outcome).unwrap();
        assert_eq!((after["stack"].as_array().map(Vec::len), &after["awaiting"]), (Some(1), &Value::Null));
        assert_eq!((&after["vars"]["_active_intent_id"], &after["turn"]), (&Value::Null, &json!(1)));
        assert_eq!(
            start(&config, Some(after), text("undefined")).1.end.map(|end| answer(&end)["status"].clone()),
            Some(json!("awaiting_input"))
        );
    }
}

#[test]
fn a_retry_after_is_honored_up_to_its_maximum() {
    let config = config(SERVICES);
    for (requested, slept) in
        [(None, Some(200)), (Some(100), Some(200)), (Some(3000), Some(3000)), (Some(10_000), Some(10_000)), (Some(10_001), None)]
    {
        let (mut turn, slice) = start(&config, Some(session(&config, &[])), text("flaky"));
        let reply = HttpReply { status: 429, body: String::new(), retry_after_ms: requested, broken_json: false };
        let done = Completion { id: slice.effects[0].id, at: AT, outcome: EffectResult::Ok(Reply::Http(reply)) };
        let next = turn.resume(vec![done]).unwrap();
        let pause = next.effects.first().and_then(|effect| if let Request::Sleep(sleep) = &effect.request { Some(sleep.ms) } else { None });
        assert_eq!((pause, next.end.is_some()), (slept, slept.is_none()), "{requested:?}");
    }
}

#[test]
fn a_seeded_variant_depends_on_session_turn_and_node() {
    let config = config(MESSAGES);
    let variant = |turns: usize| {
        let before = session(&config, &vec!["variants"; turns]);
        let texts = answer(&start(&config, Some(before), text("variants")).1.end.unwrap());
        texts["messages"].as_array().and_then(|messages| messages.last()).map(|message| message["text"].clone())
    };
    let texts: Vec<_> = (0..12).map(variant).collect();
    assert_eq!(texts, (0..12).map(variant).collect::<Vec<_>>());
    assert!(texts.contains(&Some(json!("x"))) && texts.contains(&Some(json!("y"))));
}

#[test]
fn a_session_that_grows_too_large_is_left_unchanged() {
    let config = config(MESSAGES);
    let before = session(&config, &[]);
    let mut large = before;
    large["vars"]["much"] = json!("x".repeat(250 * 1024));
    let outcome = start(&config, Some(large.clone()), text("local")).1.end.unwrap();
    assert_eq!(answer(&outcome)["messages"][0]["text"], "english");
    large["vars"]["much"] = json!("x".repeat(256 * 1024));
    let outcome = start(&config, Some(large), text("local")).1.end.unwrap();
    let output = answer(&outcome);
    assert_eq!((&output["debug"]["stop_reason"], stored(&outcome)), (&json!("state_too_large"), None), "it was already too large");
    assert_eq!(output["messages"].as_array().map(Vec::len), Some(1));
    // It grows in the turn: only its counters are stored, and the answer reports the status.
    let before = session(&config, &[]);
    let room = 256 * 1024 - 200 - before.to_string().len();
    let mut full = before;
    full["vars"]["much"] = json!("x".repeat(room));
    let outcome = start(&config, Some(full.clone()), text("local")).1.end.unwrap();
    let (output, after) = (answer(&outcome), stored(&outcome).unwrap());
    assert_eq!((&output["debug"]["stop_reason"], &output["awaiting"]), (&json!("state_too_large"), &full["awaiting"]));
    assert_eq!((&after["vars"], &after["stack"], &after["awaiting"]), (&full["vars"], &full["stack"], &full["awaiting"]));
    assert_eq!((after["turn"].as_u64(), &after["turn"]), (full["turn"].as_u64().map(|it| it + 1), &output["turn"]));
}

/// A document that says who its user is.
fn greeting() -> Arc<Config> {
    let say = "{{ user.id | default('nobody') }} {{ user.name | default('-') }} {{ visitor.id | default('nobody') }}";
    let document = json!({
        "schema_version": "1.0", "doc": "conversation_flow", "id": "who", "name": "Who", "root": "root", "default_locale": "en",
        "settings": {"llm_match": false, "llm_verify": false},
        "intents": [{"id": "who", "name": "Who", "phrases": ["who am i"], "graph": "who"}],
        "graphs": [
            {"id": "root", "kind": "root", "name": "Root", "entry": "start", "nodes": [
                {"id": "start", "type": "start", "name": "Start", "data": {}},
                {"id": "idle", "type": "end", "name": "Idle", "data": {"end_session": false}},
            ], "edges": [{"id": "e", "source": "start", "target": "idle"}]},
            {"id": "who", "kind": "intent", "name": "Who", "entry": "in", "nodes": [
                {"id": "in", "type": "intent", "name": "In", "data": {"intent_id": "who"}},
                {"id": "say", "type": "message", "name": "Say", "data": {"blocks": [{"kind": "text", "text": say}]}},
                {"id": "end", "type": "end", "name": "End", "data": {}},
            ], "edges": [{"id": "a", "source": "in", "target": "say"}, {"id": "b", "source": "say", "target": "end"}]},
        ],
    });
    config(&json!({"name": "who", "documents": [document]}).to_string())
}

/// What the document says to an event of a session, and the session then.
fn who(config: &Arc<Config>, session: &Value, identity: &Value) -> (String, Value) {
    let event = json!({"type": "user.message", "text": "who am i", "identity": identity});
    let outcome = start(config, Some(session.clone()), event).1.end.unwrap();
    (answer(&outcome)["messages"][0]["text"].as_str().unwrap().to_owned(), stored(&outcome).unwrap())
}

#[test]
fn what_a_page_says_of_its_user_is_beside_who_the_user_is() {
    let config = greeting();
    let begin = |event: Value| stored(&start(&config, None, event).1.end.unwrap()).unwrap();
    let of_page = begin(json!({"type": "session.start", "visitor": {"id": "u-2", "verified": false}}));
    assert_eq!(who(&config, &of_page, &Value::Null).0, "nobody - u-2");
    assert_eq!((of_page.get("user"), &of_page["visitor"]["id"]), (None, &json!("u-2")));
    let of_host = begin(json!({"type": "session.start", "user": {"id": "u-1", "name": "Ada"}}));
    assert_eq!(who(&config, &of_host, &Value::Null).0, "u-1 Ada nobody");
    assert_eq!(of_host.get("visitor"), None, "sessions of before have the same state as before");
}

#[test]
fn a_user_may_sign_in_during_a_session() {
    let config = greeting();
    let session = stored(&start(&config, None, json!({"type": "session.start", "visitor": {"id": "u-2"}})).1.end.unwrap()).unwrap();
    let (said, session) = who(&config, &session, &json!({"user": {"id": "u-1", "name": "Ada"}}));
    assert_eq!(said, "u-1 Ada u-2");
    let other = json!({"user": {"id": "u-3"}});
    for identity in [Value::Null, json!({}), json!({"user": null}), json!({"user": "u-3"}), json!(5), other] {
        assert_eq!(who(&config, &session, &identity).0, "u-1 Ada u-2", "{identity}");
    }
}
