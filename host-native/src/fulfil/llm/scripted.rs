//! Rules from a file in the place of a model.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convengine_core::pack::Scripted;
use convengine_core::turn::{Answer, EmbedRequest, LlmRequest, Millis, Request, TurnInput};

use crate::pack_file;

/// A scripted model; its calls are answered one after the other, because rules count their uses.
#[derive(Debug)]
pub struct Script(Box<Mutex<Scripted>>);

impl Script {
    /// Reads the rules.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn read(file: &str) -> Result<Script, String> {
        let rules = pack_file::text(Path::new(file)).map_err(|it| format!("cannot use the scripted model {file}: {it}"))?;
        let scripted = Scripted::parse(&rules).map_err(|it| format!("cannot use the scripted model {file}: {it}"))?;
        Ok(Script(Box::new(Mutex::new(scripted))))
    }

    /// The answer that the turn of a script brings, and after how many milliseconds.
    pub fn bound(&self, request: &Request) -> Option<(Answer, u64)> {
        self.rules().bound(request)
    }

    /// Tells the script that a turn begins; returns the turn's time when the script sets one.
    pub fn begins(&self, input: &TurnInput) -> Option<Millis> {
        self.rules().begins(input)
    }

    /// Answers a call.
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
