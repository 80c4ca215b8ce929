//! Models against fake provider servers on loopback.

mod called;
mod dialogue;
mod errors;
mod order;
mod provider;
mod replies;
mod secrets;
mod server;
mod streams;

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use convengine_core::turn::{
    Answer, Class, Effect, EffectError, EffectId, LlmMode, LlmReply, LlmRequest, Loaded, ProgramRef, Reply, Request, TurnInput, UserEvent,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Models;
use crate::secrets::Secrets;
use crate::settings::{Access, Key, Llm};
use crate::stream::{Streams, Subscription, Tokens, Told};

/// The API key of all tests.
pub const KEY: &str = "sk-test-0123456789";

/// Settings with all providers at one address and a single attempt.
pub fn settings(address: &str, words: &[&str]) -> Llm {
    let access = |path: &str| Access { address: Some(format!("{address}{path}")), key: Some(Key(KEY.to_owned())), model: None };
    Llm {
        words: words.iter().map(|it| (*it).to_owned()).collect(),
        openai: access("/v1"),
        anthropic: access(""),
        ollama: access(""),
        max_attempts: 1,
        ..Llm::default()
    }
}

/// Models without backoff between attempts.
pub fn models(llm: &Llm) -> Models {
    let mut secrets = Secrets::default();
    secrets.know("TEST_KEY", KEY);
    let models = Models::new(llm, Arc::new(secrets)).expect("usable values");
    Models { first_wait: Duration::ZERO, ..models }
}

/// A model call with a purpose.
pub fn call(purpose: &str, mode: LlmMode) -> LlmRequest {
    LlmRequest {
        purpose: purpose.to_owned(),
        mode,
        system: "Be kind.".to_owned(),
        user: "Say hello.".to_owned(),
        hint: Some("Shortly.".to_owned()),
        schema: None,
        context: json!({"customer": "not for the provider"}),
        user_text: "hello".to_owned(),
        dialogue: None,
    }
}

/// A deadline that no test reaches.
pub fn far() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Makes a call without streaming.
pub async fn ask(models: &Models, request: &LlmRequest) -> Result<LlmReply, EffectError> {
    reply(models.llm(request, None, far()).await)
}

/// Returns the reply or the error of an answer.
pub fn reply(answer: Answer) -> Result<LlmReply, EffectError> {
    match answer {
        Answer::Ok(Reply::Llm(reply)) => Ok(reply),
        Answer::Ok(other) => panic!("{other:?}"),
        Answer::Error(error) => Err(error),
    }
}

/// A stream subscriber of a call.
pub struct Listener {
    pub tokens: Tokens,
    subscription: Subscription,
}

impl Listener {
    /// Subscribes.
    pub fn new() -> Listener {
        let streams = Arc::new(Streams::default());
        let subscription = streams.subscribe("c");
        let event = UserEvent::default();
        let (turn, conversation, program) = ("t".to_owned(), "c".to_owned(), ProgramRef::PipelineV2);
        let input = TurnInput { turn, conversation, at: 0, seed: 1, program, event, session: Loaded::default() };
        let request = Request::Llm(call("response_text", LlmMode::Text));
        let effect = Effect {
            id: EffectId(3),
            key: "t/3".to_owned(),
            class: Class::Read,
            deadline_ms: 60_000,
            stream: true,
            repeatable: true,
            request,
        };
        let tokens = Told::of(&streams, &input).tokens(&effect).expect("the effect streams");
        Listener { tokens, subscription }
    }

    /// Returns the data of the events so far.
    pub fn heard(&mut self) -> Vec<Value> {
        let mut wire = String::new();
        while let Poll::Ready(Some(events)) = self.subscription.poll(&mut Context::from_waker(Waker::noop())) {
            wire.push_str(std::str::from_utf8(&events).expect("text"));
        }
        assert!(!wire.contains("id:"), "events that are not stored have no id: {wire}");
        let data = |event: &str| serde_json::from_str(event.strip_prefix("event:TOKEN\ndata:").expect("a token")).expect("JSON");
        wire.split_terminator("\n\n").map(data).collect()
    }

    /// Returns the published text since the last reset.
    pub fn text(&mut self) -> String {
        let events = self.heard();
        let last = events.rsplit(|it| it["reset"] == true).next().unwrap_or_default();
        last.iter().map(|it| it["text"].as_str().expect("a text")).collect()
    }
}
