//! What can go wrong between host and core, as data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::effect::EffectId;
use super::input::ProgramRef;

/// Why an effect failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectErrorKind {
    /// The deadline passed.
    Timeout,
    /// The other side could not be reached or is out of service.
    Unavailable,
    /// The other side said no.
    Refused,
    /// The answer could not be understood.
    Invalid,
    /// The thing asked for does not exist.
    NotFound,
    /// The host does not allow it.
    Denied,
    /// A circuit breaker is open.
    CircuitOpen,
    /// A rate or spend limit was hit.
    Limited,
    /// This host cannot do it.
    Unsupported,
    /// The process ended before the answer was known.
    Interrupted,
    /// The host gave the effect up.
    Cancelled,
    /// The reply is of another kind than the request.
    Mismatch,
}

/// A failed effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    /// The class of failure.
    pub kind: EffectErrorKind,
    /// For the audit; never shown to the user.
    pub message: String,
    /// The status code, of a service that answered with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Milliseconds that the other side asks to wait before the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What it was more exactly, where the host knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<EffectErrorDetail>,
}

/// What a failure was, for those who have a word for it: the code of `convoship.md` 4.6. It is a text on its way, which keeps the engine
/// of the browser small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectErrorDetail(Cow<'static, str>);

impl EffectErrorDetail {
    /// The name of the other side is not known.
    pub const DNS: Self = Self(Cow::Borrowed("dns"));
    /// There was no agreement about the encryption.
    pub const TLS: Self = Self(Cow::Borrowed("tls"));
    /// The address is none that may be called.
    pub const TARGET: Self = Self(Cow::Borrowed("blocked_target"));
    /// The answer is longer than it may be.
    pub const TOO_LARGE: Self = Self(Cow::Borrowed("response_too_large"));
    /// What may be spent is spent.
    pub const BUDGET: Self = Self(Cow::Borrowed("budget"));

    /// The code.
    pub fn code(&self) -> &str {
        &self.0
    }
}

impl EffectError {
    /// Creates an error.
    pub fn new(kind: EffectErrorKind, message: impl Into<String>) -> Self {
        EffectError { kind, message: message.into(), status: None, retry_after_ms: None, detail: None }
    }

    /// The same, said more exactly.
    #[must_use]
    pub fn detailed(self, detail: EffectErrorDetail) -> Self {
        EffectError { detail: Some(detail), ..self }
    }

    pub(super) fn mismatch() -> Self {
        EffectError::new(EffectErrorKind::Mismatch, "the host answered with a reply of another kind")
    }
}

/// A misuse of the protocol or a journal that no longer fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The program waits for something that is not an effect: a defect of the core.
    #[error("the turn waits for something that is not an effect")]
    Stalled,
    /// Nobody asked, or it was answered already.
    #[error("effect {} is not open: answer each effect of a slice once", id.0)]
    UnknownEffect {
        /// Which effect.
        id: EffectId,
    },
    /// The journal was written by a protocol that this build does not know.
    #[error("the journal has protocol {found}, this build knows {known}")]
    Protocol {
        /// What the journal says.
        found: u16,
        /// What this build speaks.
        known: u16,
    },
    /// The configuration runs something else than was asked for.
    #[error("the turn asks for {asked:?}, and the configuration runs {runs:?}")]
    Program {
        /// What the input or the journal says.
        asked: ProgramRef,
        /// What the configuration runs.
        runs: ProgramRef,
    },
    /// The replay asked for something else than the recorded turn.
    #[error(transparent)]
    Diverged(Box<Diverged>),
}

/// The first point at which a replay differs from its journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("effect {} of the journal (number {index}) differs in {step}: {difference}", effect.0)]
pub struct Diverged {
    /// Position in the journal, from 0.
    pub index: usize,
    /// Which effect.
    pub effect: EffectId,
    /// The step in which the replay stands.
    pub step: String,
    /// Which fields differ and how, one a line.
    pub difference: String,
}
