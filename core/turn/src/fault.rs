//! Faults: failures that end a turn.
//!
//! A turn fails only if it cannot answer. What an author has planned for is no fault: an error port, a fallback text, a refused message.

use serde::{Deserialize, Serialize};

use super::cancel::CancelReason;

/// Error codes. (docs/spec/pipeline.md#1.13)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultCode {
    /// The model could not be reached or refused.
    LlmCallFailed,
    /// The model's answer is unusable.
    LlmInvalidResponse,
    /// A policy row cannot be evaluated, so no message may pass.
    PolicyUnavailable,
    /// No response row matches.
    ResponseMappingNotFound,
    /// A model has to write the answer, but no template matches.
    NoResponseConfigured,
    /// Values have to be extracted, but no template matches.
    PromptContextMissing,
    /// A task that contributes to the answer failed.
    ResponseResolutionFailed,
    /// The steps produced no answer.
    PipelineNoResponsePayload,
    /// The turn exceeded its maximum duration.
    TurnTimeout,
    /// The turn could not continue after a crash.
    TurnLost,
}

/// Why a turn has failed. Clients get it as a [`FaultReport`].
///
/// ```
/// use convengine_turn::{CancelReason, Fault};
///
/// let fault = Fault::from_cancellation(CancelReason::Timeout, false);
/// assert_eq!(fault.code.name(), "TURN_TIMEOUT");
/// assert!(fault.report().recoverable);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The error code.
    pub code: FaultCode,
    /// The message for the client: no class names, templates or SQL.
    pub message: String,
    /// Whether sending the message again may help.
    pub recoverable: bool,
}

/// A fault as reported to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReport {
    /// The error code. (docs/spec/pipeline.md#1.13)
    pub code: String,
    /// The message; names no classes, templates or SQL.
    pub message: String,
    /// Whether sending the message again may help.
    pub recoverable: bool,
}

impl FaultCode {
    /// The spelling in responses and audits.
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
    /// A non-retryable fault.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), recoverable: false }
    }

    /// A retryable fault: sending the message again may help.
    pub fn new_recoverable(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault { recoverable: true, ..Fault::new(code, message) }
    }

    /// A failed model call; clients get one code for all causes. (docs/spec/pipeline.md#Q-25)
    pub fn from_llm_failure() -> Fault {
        let message = "the language model is not available at the moment; please send the message again";
        Fault::new_recoverable(FaultCode::LlmCallFailed, message)
    }

    /// A policy or a sensitive pattern that cannot be evaluated.
    pub fn policy_unavailable() -> Fault {
        Fault::new(FaultCode::PolicyUnavailable, "messages cannot be answered at the moment, because a policy cannot be checked")
    }

    /// A failed task whose result the turn requires.
    pub fn from_task_failure() -> Fault {
        Fault::new_recoverable(
            FaultCode::ResponseResolutionFailed,
            "a task failed while the answer was made; please send the message again",
        )
    }

    /// A canceled turn; `has_writes` says whether it had requested any write effect. The message then asks to check before sending again,
    /// because the write may have happened.
    pub fn from_cancellation(cause: CancelReason, has_writes: bool) -> Fault {
        let (code, reason) = match cause {
            CancelReason::Timeout => (FaultCode::TurnTimeout, "this took too long and was stopped"),
            CancelReason::Lost => (FaultCode::TurnLost, "this was interrupted and could not be finished"),
            CancelReason::Requested => (FaultCode::TurnLost, "this was stopped on request"),
        };
        let advice = match has_writes {
            true => "some of it may be done already, so please check before you send the message again",
            false => "please send the message again",
        };
        Fault::new_recoverable(code, format!("{reason}; {advice}"))
    }

    /// The fault as reported to clients.
    pub fn report(&self) -> FaultReport {
        FaultReport { code: self.code.name().to_owned(), message: self.message.clone(), recoverable: self.recoverable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canceled_turn_with_writes_asks_to_check_before_resending() {
        let report = |wrote| Fault::from_cancellation(CancelReason::Timeout, wrote).report();
        assert_eq!((report(false).code.as_str(), report(true).recoverable), ("TURN_TIMEOUT", true));
        assert!(report(true).message.contains("please check") && !report(false).message.contains("check"));
        assert_eq!(Fault::from_cancellation(CancelReason::Lost, false).report().code, "TURN_LOST");
    }
}
