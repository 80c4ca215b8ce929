//! A fake model with rules from a file.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::pack::Scripted;
use convengine_core::turn::{EffectResult, EmbedRequest, LlmRequest, Millis, Request, TurnInput};

use convengine_host_base::pack_file;

/// A scripted model. Its calls are serialized, because rules count their uses.
#[derive(Debug)]
pub struct ScriptedModel(Box<Mutex<Scripted>>);

impl ScriptedModel {
    /// Reads the rules from a file.
    ///
    /// # Errors
    /// A message if the file cannot be read or is invalid.
    pub fn read(file: &str) -> Result<ScriptedModel, String> {
        let rules = pack_file::read_text(Path::new(file)).map_err(|it| format!("invalid scripted model '{file}': {it}"))?;
        let scripted = Scripted::parse(&rules).map_err(|it| format!("invalid scripted model '{file}': {it}"))?;
        Ok(ScriptedModel(Box::new(Mutex::new(scripted))))
    }

    /// Returns the answer that the scripted turn has for a request, with its delay in milliseconds.
    pub fn turn_answer(&self, request: &Request) -> Option<(EffectResult, u64)> {
        self.rules().answer_from_turn(request)
    }

    /// Notifies the script that a turn begins; returns the turn's time if the script sets it.
    pub fn begin_turn(&self, input: &TurnInput) -> Option<Millis> {
        self.rules().begin_turn(input)
    }

    /// Answers a model call.
    pub async fn generate(&self, request: &LlmRequest) -> EffectResult {
        let (answer, delay_ms) = self.rules().answer_llm(request);
        if delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
        answer
    }

    /// Whether the script embeds texts.
    pub fn has_embeddings(&self) -> bool {
        self.rules().has_embeddings()
    }

    /// Embeds texts.
    pub fn embed(&self, request: &EmbedRequest) -> EffectResult {
        self.rules().embed(request)
    }

    fn rules(&self) -> MutexGuard<'_, Scripted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
