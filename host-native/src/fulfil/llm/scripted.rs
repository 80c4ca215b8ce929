//! A fake model with rules from a file.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::pack::Scripted;
use convengine_core::turn::{Answer, EmbedRequest, LlmRequest, Millis, Request, TurnInput};

use crate::pack_file;

/// A scripted model. Its calls are serialized, because rules count their uses.
#[derive(Debug)]
pub struct Script(Box<Mutex<Scripted>>);

impl Script {
    /// Reads the rules from a file.
    ///
    /// # Errors
    /// A message if the file cannot be read or is invalid.
    pub fn read(file: &str) -> Result<Script, String> {
        let rules = pack_file::text(Path::new(file)).map_err(|it| format!("invalid scripted model '{file}': {it}"))?;
        let scripted = Scripted::parse(&rules).map_err(|it| format!("invalid scripted model '{file}': {it}"))?;
        Ok(Script(Box::new(Mutex::new(scripted))))
    }

    /// Returns the answer that the scripted turn has for a request, with its delay in milliseconds.
    pub fn bound(&self, request: &Request) -> Option<(Answer, u64)> {
        self.rules().bound(request)
    }

    /// Notifies the script that a turn begins; returns the turn's time if the script sets it.
    pub fn begins(&self, input: &TurnInput) -> Option<Millis> {
        self.rules().begins(input)
    }

    /// Answers a model call.
    pub async fn llm(&self, request: &LlmRequest) -> Answer {
        let (answer, delay_ms) = self.rules().llm(request);
        if delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
        answer
    }

    /// Embeds texts.
    pub fn embed(&self, request: &EmbedRequest) -> Answer {
        self.rules().embed(request)
    }

    fn rules(&self) -> MutexGuard<'_, Scripted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
