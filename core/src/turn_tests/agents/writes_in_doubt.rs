//! Turns that end before the model learns that a write may have been carried out. (docs/decisions/0017-writes-in-doubt.md)

use std::sync::Arc;

use convengine_config::Config;
use convengine_pack::Pack;
use serde_json::{Value, json};

use crate::turn::{
    CancelReason, Completion, Effect, EffectError, EffectErrorKind, EffectResult, HttpReply, LlmReply, LlmToolCall, LoadedSession, Outcome,
    ProgramRef, Reply, Request, Slice, Turn, TurnInput, UserEvent, Write,
};

const PACK: &str = include_str!("../../../../tests/packs/flow/agent_in_doubt.json");

const AT: i64 = 1_767_268_800_000;

/// More characters than a message may have.
const TOO_LONG: usize = 300_000;

struct Session {
    config: Arc<Config>,
    state: Option<Value>,
}

impl Session {
    /// A session whose agent waits for a message.
    fn new() -> Session {
        let mut session = Session { config: Arc::new(Pack::parse(PACK).unwrap().compile().0), state: None };
        session.send(&json!({"type": "session.start"}));
        session.send(&message("talk to the agent"));
        session
    }

    /// Runs a turn that requests nothing.
    fn send(&mut self, event: &Value) {
        let (_, slice) = self.begin(event);
        self.store(&slice.end.unwrap());
    }

    /// Begins a turn.
    fn begin(&self, event: &Value) -> (Turn, Slice) {
        let input = TurnInput {
            turn: "t".to_owned(),
            conversation: "s".to_owned(),
            at: AT,
            seed: 1,
            program: ProgramRef::Flow,
            event: UserEvent::from_flow_event(event.clone()),
            session: LoadedSession { flow: self.state.clone().map(Arc::new), ..LoadedSession::default() },
        };
        Turn::start(input, Arc::clone(&self.config)).unwrap()
    }

    fn store(&mut self, outcome: &Outcome) {
        let state =
            outcome.writes.iter().find_map(|write| if let Write::Session { state } = write { Some((**state).clone()) } else { None });
        self.state = state.or(self.state.take());
    }

    /// Says something that leads to a call of the tool; returns the turn with the request of the call.
    fn call(&self) -> (Turn, Effect) {
        let (mut turn, slice) = self.begin(&message("room 7"));
        let slice = answer(&mut turn, &slice.effects[0], EffectResult::Ok(Reply::Llm(booking())));
        (turn, slice.effects[0].clone())
    }

    fn awareness(&self) -> Value {
        let calls = self.state.as_ref().and_then(|it| it.get("uncertain_calls")).and_then(Value::as_array);
        json!(calls.into_iter().flatten().map(|it| &it["known_to"]).collect::<Vec<_>>())
    }
}

fn message(text: &str) -> Value {
    json!({"type": "user.message", "text": text})
}

fn booking() -> LlmReply {
    let call = LlmToolCall { id: "b".to_owned(), name: "book".to_owned(), arguments: json!({"room": "7"}) };
    LlmReply { tool_calls: vec![call], ..LlmReply::from_script(String::new()) }
}

fn text(text: &str) -> LlmReply {
    LlmReply::from_script(text.to_owned())
}

fn answer(turn: &mut Turn, effect: &Effect, outcome: EffectResult) -> Slice {
    turn.resume(vec![Completion { id: effect.id, at: AT, outcome }]).unwrap()
}

/// The idempotency key of an HTTP call.
fn key_of(effect: &Effect) -> &str {
    let Request::Http(request) = &effect.request else { panic!("{effect:?}") };
    &request.headers.iter().find(|it| it.0 == "Idempotency-Key").unwrap().1
}

/// Checks that nobody knows of the call, that the model is told of it instead of making it again, and that it is made with its key after the
/// user has answered.
fn assert_told_before_repeated(mut session: Session, first: &Effect) {
    assert_eq!(session.awareness(), json!(["nobody"]));
    let (mut turn, second) = session.call();
    let Request::Llm(request) = &second.request else { panic!("{second:?}") };
    let told = &request.dialogue.as_ref().unwrap().messages.last().unwrap().content;
    assert!(told.contains("in_doubt"), "{told}");
    session.store(&answer(&mut turn, &second, EffectResult::Ok(Reply::Llm(text("Shall I try again?")))).end.unwrap());
    assert_eq!(session.awareness(), json!(["model"]));
    let (mut turn, third) = session.call();
    assert_eq!(key_of(&third), key_of(first));
    let done = HttpReply { status: 200, body: r#"{"id": "B-1"}"#.to_owned(), retry_after_ms: None, broken_json: false };
    let slice = answer(&mut turn, &third, EffectResult::Ok(Reply::Http(done)));
    session.store(&answer(&mut turn, &slice.effects[0], EffectResult::Ok(Reply::Llm(text("It is booked.")))).end.unwrap());
    assert_eq!(session.awareness(), json!([]));
}

#[test]
fn a_call_of_a_canceled_turn_is_not_repeated_before_the_model_knows_of_it() {
    for reason in [CancelReason::Timeout, CancelReason::Lost] {
        let mut session = Session::new();
        let (mut turn, first) = session.call();
        session.store(&turn.cancel(reason, AT + 120_000).unwrap().end.unwrap());
        session.send(&message("talk to the agent"));
        assert_told_before_repeated(session, &first);
    }
}

#[test]
fn a_call_of_a_turn_that_is_undone_is_not_forgotten() {
    let mut session = Session::new();
    let (mut turn, first) = session.call();
    let lost = EffectError::new(EffectErrorKind::Timeout, "no answer");
    let slice = answer(&mut turn, &first, EffectResult::Error(lost));
    let end = answer(&mut turn, &slice.effects[0], EffectResult::Ok(Reply::Llm(text(&"x".repeat(TOO_LONG))))).end.unwrap();
    assert_eq!(end.flow.as_ref().unwrap()["debug"]["stop_reason"], "message_too_large");
    session.store(&end);
    assert_told_before_repeated(session, &first);
}

#[test]
fn a_call_that_was_never_sent_may_be_made_at_once() {
    let session = Session::new();
    let (mut turn, first) = session.call();
    let refused = EffectError::new(EffectErrorKind::Unavailable, "connection refused").with_nothing_sent();
    let slice = answer(&mut turn, &first, EffectResult::Error(refused));
    let slice = answer(&mut turn, &slice.effects[0], EffectResult::Ok(Reply::Llm(booking())));
    assert_ne!(key_of(&slice.effects[0]), key_of(&first));
}

#[test]
fn a_repetition_that_the_service_answers_is_not_bound_to_its_key() {
    let mut session = Session::new();
    let (mut turn, first) = session.call();
    let lost = EffectError::new(EffectErrorKind::Timeout, "no answer");
    let slice = answer(&mut turn, &first, EffectResult::Error(lost));
    session.store(&answer(&mut turn, &slice.effects[0], EffectResult::Ok(Reply::Llm(text("Shall I try again?")))).end.unwrap());
    let (mut turn, second) = session.call();
    assert_eq!(key_of(&second), key_of(&first));
    let conflict = HttpReply { status: 409, body: "{}".to_owned(), retry_after_ms: None, broken_json: false };
    let slice = answer(&mut turn, &second, EffectResult::Ok(Reply::Http(conflict)));
    session.store(&answer(&mut turn, &slice.effects[0], EffectResult::Ok(Reply::Llm(text("Shall I try again?")))).end.unwrap());
    // What the first has done is still unknown, but the service would answer the same to its key.
    assert_eq!(session.awareness(), json!(["model"]));
    let (_, third) = session.call();
    assert_ne!(key_of(&third), key_of(&first));
}
