//! What fails a turn.

use crate::turn::{Abandon, FaultReport};

/// Error codes: the original's, and our own for what it did not have. (`spec/pipeline.md` 1.13)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultCode {
    /// The model could not be reached or said no.
    LlmCallFailed,
    /// The model's answer cannot be used.
    LlmInvalidResponse,
    /// A policy row cannot be decided, so nothing may pass.
    PolicyUnavailable,
    /// No response row fits.
    ResponseMappingNotFound,
    /// A response is to be made by a model, and no template says how.
    NoResponseConfigured,
    /// Values are to be extracted, and no template says how.
    PromptContextMissing,
    /// A task that makes the answer failed.
    ResponseResolutionFailed,
    /// The steps produced no answer.
    PipelineNoResponsePayload,
    /// It took longer than a turn may.
    TurnTimeout,
    /// It could not go on after a crash.
    TurnLost,
}

/// A failed turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which failure.
    pub code: FaultCode,
    /// What to tell the client: no class names, templates or SQL.
    pub message: String,
    /// Whether sending the message again may help.
    pub recoverable: bool,
}

impl FaultCode {
    /// The spelling in answers and audits.
    pub fn name(self) -> &'static str {
        match self {
            FaultCode::LlmCallFailed => "LLM_CALL_FAILED",
            FaultCode::LlmInvalidResponse => "LLM_INVALID_RESPONSE",
            FaultCode::PolicyUnavailable => "POLICY_UNAVAILABLE",
            FaultCode::ResponseMappingNotFound => "RESPONSE_MAPPING_NOT_FOUND",
            FaultCode::NoResponseConfigured => "NO_RESPONSE_CONFIGURED",
            FaultCode::PromptContextMissing => "PROMPT_CONTEXT_MISSING",
            FaultCode::ResponseResolutionFailed => "RESPONSE_RESOLUTION_FAILED",
            FaultCode::PipelineNoResponsePayload => "PIPELINE_NO_RESPONSE_PAYLOAD",
            FaultCode::TurnTimeout => "TURN_TIMEOUT",
            FaultCode::TurnLost => "TURN_LOST",
        }
    }
}

impl Fault {
    /// A fault that a repetition does not mend.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), recoverable: false }
    }

    /// A fault that may be gone when the message is sent again.
    pub fn recoverable(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault { recoverable: true, ..Fault::new(code, message) }
    }

    /// A failed model call; clients know one code for all of its causes.
    pub fn of_llm() -> Fault {
        let message = "the language model is not available at the moment; please send the message again";
        Fault::recoverable(FaultCode::LlmCallFailed, message)
    }

    /// A policy or a sensitive pattern that cannot be decided.
    pub fn policy_unavailable() -> Fault {
        Fault::new(FaultCode::PolicyUnavailable, "messages cannot be answered at the moment, because a policy cannot be checked")
    }

    /// A failed task whose result the turn cannot do without.
    pub fn of_task() -> Fault {
        Fault::recoverable(FaultCode::ResponseResolutionFailed, "a task failed while the answer was made; please send the message again")
    }

    /// An abandoned turn; `wrote` says whether it had asked for anything that changes the world.
    pub fn abandoned(why: Abandon, wrote: bool) -> Fault {
        let (code, reason) = match why {
            Abandon::Timeout => (FaultCode::TurnTimeout, "this took too long and was stopped"),
            Abandon::Lost => (FaultCode::TurnLost, "this was interrupted and could not be finished"),
        };
        let advice = match wrote {
            true => "some of it may be done already, so please check before you send the message again",
            false => "please send the message again",
        };
        Fault::recoverable(code, format!("{reason}; {advice}"))
    }

    /// The fault as clients see it.
    pub fn report(&self) -> FaultReport {
        FaultReport { code: self.code.name().to_owned(), message: self.message.clone(), recoverable: self.recoverable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_turn_that_wrote_is_not_to_be_sent_again_unchecked() {
        let said = |wrote| Fault::abandoned(Abandon::Timeout, wrote).report();
        assert_eq!((said(false).code.as_str(), said(true).recoverable), ("TURN_TIMEOUT", true));
        assert!(said(true).message.contains("please check") && !said(false).message.contains("check"));
        assert_eq!(Fault::abandoned(Abandon::Lost, false).report().code, "TURN_LOST");
    }
}
