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

use std::sync::{Arc, Mutex};
use std::time::Duration;

use convengine_core::turn::{EffectError, EffectResult, LlmMode, LlmReply, LlmRequest, Reply};
use convengine_settings::secrets::Secrets;
use convengine_settings::{LlmSettings, ProviderAccess, ProviderKey};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Models;
use crate::OutputSink;

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

/// Follows the output of a call.
#[derive(Debug, Default)]
pub struct TestSubscriber {
    sent: Mutex<Vec<Piece>>,
}

/// What was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Delta(String),
    Reset,
}

impl OutputSink for TestSubscriber {
    fn send_delta(&self, text: &str) {
        self.sent.lock().expect("no panic").push(Piece::Delta(text.to_owned()));
    }

    fn send_reset(&self) {
        self.sent.lock().expect("no panic").push(Piece::Reset);
    }

    fn send_progress(&self, progress: &Value) {
        panic!("a model has no progress: {progress}");
    }
}

impl TestSubscriber {
    /// Subscribes.
    pub fn new() -> TestSubscriber {
        TestSubscriber::default()
    }

    /// Takes what was sent so far.
    pub fn take_pieces(&self) -> Vec<Piece> {
        std::mem::take(&mut self.sent.lock().expect("no panic"))
    }

    /// Takes what was sent, and returns the text since the last reset.
    pub fn published_text(&self) -> String {
        join_since_reset(&self.take_pieces())
    }
}

/// The text since the last reset.
pub fn join_since_reset(pieces: &[Piece]) -> String {
    let last = pieces.rsplit(|piece| *piece == Piece::Reset).next().unwrap_or_default();
    last.iter().filter_map(|piece| if let Piece::Delta(text) = piece { Some(text.as_str()) } else { None }).collect()
}
