//! Models against fake provider servers on loopback.

mod dialogue;
mod errors;
mod gateway;
mod order;
mod provider;
mod replies;
mod secrets;
mod server;
mod streams;
mod tool_call_streams;

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use convengine_core::turn::{
    Effect, EffectClass, EffectError, EffectId, EffectResult, LlmMode, LlmReply, LlmRequest, LoadedSession, ProgramRef, Reply, Request,
    TurnInput, UserEvent,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Models;
use crate::auth::caller::ConversationAccess;
use crate::config::secrets::Secrets;
use crate::config::settings::{LlmSettings, ProviderAccess, ProviderKey};
use crate::runtime::stream::{Streams, Subscription, TokenPublisher, TurnPublisher};

/// The API key of all tests.
pub const KEY: &str = "sk-test-0123456789";

/// Settings with all providers at one address and a single attempt.
pub fn settings(address: &str, words: &[&str]) -> LlmSettings {
    let access =
        |path: &str| ProviderAccess { address: Some(format!("{address}{path}")), key: Some(ProviderKey(KEY.to_owned())), model: None };
    LlmSettings {
        model_specs: words.iter().map(|it| (*it).to_owned()).collect(),
        openai: access("/v1"),
        anthropic: access(""),
        ollama: access(""),
        max_attempts: 1,
        ..LlmSettings::default()
    }
}

/// Models without backoff between attempts.
pub fn models(llm: &LlmSettings) -> Models {
    let mut secrets = Secrets::default();
    secrets.add("TEST_KEY", KEY);
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
pub fn far_deadline() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Makes a call without streaming.
pub async fn generate(models: &Models, request: &LlmRequest) -> Result<LlmReply, EffectError> {
    into_result(models.generate(request, None, far_deadline()).await.result)
}

/// Returns the reply or the error of an answer.
pub fn into_result(answer: EffectResult) -> Result<LlmReply, EffectError> {
    match answer {
        EffectResult::Ok(Reply::Llm(reply)) => Ok(reply),
        EffectResult::Ok(other) => panic!("{other:?}"),
        EffectResult::Error(error) => Err(error),
    }
}

/// A stream subscriber of a call.
pub struct TestSubscriber {
    pub tokens: TokenPublisher,
    subscription: Subscription,
}

impl TestSubscriber {
    /// Subscribes.
    pub fn new() -> TestSubscriber {
        let streams = Arc::new(Streams::default());
        let subscription = streams.subscribe("c", &ConversationAccess::all());
        let event = UserEvent::default();
        let (turn, conversation, program) = ("t".to_owned(), "c".to_owned(), ProgramRef::PipelineV2);
        let input = TurnInput { turn, conversation, at: 0, seed: 1, program, event, session: LoadedSession::default() };
        let request = Request::Llm(call("response_text", LlmMode::Text));
        let effect = Effect {
            id: EffectId(3),
            key: "t/3".to_owned(),
            class: EffectClass::Read,
            deadline_ms: 60_000,
            stream: true,
            repeatable: true,
            request,
        };
        let tokens = TurnPublisher::new(&streams, &input, None).token_publisher(&effect).expect("the effect streams");
        TestSubscriber { tokens, subscription }
    }

    /// Returns the data of the events so far.
    pub fn events(&mut self) -> Vec<Value> {
        let mut wire = String::new();
        while let Poll::Ready(Some(events)) = self.subscription.poll(&mut Context::from_waker(Waker::noop())) {
            wire.push_str(std::str::from_utf8(&events).expect("text"));
        }
        assert!(!wire.contains("id:"), "events that are not stored have no id: {wire}");
        let data = |event: &str| serde_json::from_str(event.strip_prefix("event:TOKEN\ndata:").expect("a token")).expect("JSON");
        wire.split_terminator("\n\n").map(data).collect()
    }

    /// Returns the published text since the last reset.
    pub fn published_text(&mut self) -> String {
        let events = self.events();
        let last = events.rsplit(|it| it["reset"] == true).next().unwrap_or_default();
        last.iter().map(|it| it["text"].as_str().expect("a text")).collect()
    }
}
