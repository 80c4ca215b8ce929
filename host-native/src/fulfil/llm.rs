//! Language models.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use convengine_core::pack::Scripted;
use convengine_core::turn::{Answer, EffectError, EffectErrorKind, EmbedRequest, LlmRequest, Millis, Request, TurnInput};

use crate::exit::Failure;
use crate::pack_file;

/// Who answers model calls.
#[derive(Debug)]
pub enum Model {
    /// Nobody.
    Off,
    /// Rules from a file.
    Scripted(Box<Mutex<Scripted>>),
}

impl Model {
    /// Reads the value of `--llm`.
    ///
    /// # Errors
    /// A usage failure that says which values there are.
    pub fn parse(text: &str) -> Result<Model, Failure> {
        if text == "off" {
            return Ok(Model::Off);
        }
        let Some(file) = text.strip_prefix("scripted:") else {
            return Err(Failure::usage(format!("the model '{text}' is not available in this version; use scripted:FILE or off")));
        };
        let rules = pack_file::text(Path::new(file)).map_err(|it| Failure::usage(format!("cannot use the scripted model {file}: {it}")))?;
        let scripted = Scripted::parse(&rules).map_err(|it| Failure::usage(format!("cannot use the scripted model {file}: {it}")))?;
        Ok(Model::Scripted(Box::new(Mutex::new(scripted))))
    }

    /// The answer that the turn of a script brings, and after how many milliseconds.
    pub fn bound(&self, request: &Request) -> Option<(Answer, u64)> {
        match self {
            Model::Off => None,
            Model::Scripted(scripted) => scripted.lock().unwrap_or_else(PoisonError::into_inner).bound(request),
        }
    }

    /// Tells a script that a turn begins; returns the turn's time when the script sets one.
    pub fn begins(&self, input: &TurnInput) -> Option<Millis> {
        match self {
            Model::Off => None,
            Model::Scripted(scripted) => scripted.lock().unwrap_or_else(PoisonError::into_inner).begins(input),
        }
    }
}

/// Answers a model call.
pub async fn answer(model: &Model, request: &LlmRequest) -> Answer {
    match model {
        Model::Off => {
            let message = "no language model is set up: start the server with --llm";
            Answer::Error(EffectError::new(EffectErrorKind::Unsupported, message))
        }
        Model::Scripted(scripted) => {
            let (answer, delay_ms) = scripted.lock().unwrap_or_else(PoisonError::into_inner).llm(request);
            if delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            }
            answer
        }
    }
}

/// Embeds texts.
pub fn embed(model: &Model, request: &EmbedRequest) -> Answer {
    match model {
        Model::Off => Answer::Error(EffectError::new(EffectErrorKind::Unsupported, "no model for embeddings is set up")),
        Model::Scripted(scripted) => scripted.lock().unwrap_or_else(PoisonError::into_inner).embed(request),
    }
}
