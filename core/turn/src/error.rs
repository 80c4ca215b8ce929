//! Errors between host and core, as data.
//!
//! An [`EffectError`] is what the outside could not do: the turn goes on with it. A [`TurnError`] is what the host or the core has done
//! wrong: the turn does not go on.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::effect::EffectId;
use super::input::ProgramRef;

/// Why an effect failed. Retries, circuit breakers and error ports decide by it. Only [`Timeout`](Self::Timeout),
/// [`Unavailable`](Self::Unavailable) and [`Interrupted`](Self::Interrupted) count as outages: they are tried again where an author says
/// so, and open circuit breakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectErrorKind {
    /// The deadline passed.
    Timeout,
    /// The other side could not be reached or is out of service.
    Unavailable,
    /// The other side refused.
    Refused,
    /// The answer could not be parsed.
    Invalid,
    /// The requested thing does not exist.
    NotFound,
    /// The host does not allow it.
    Denied,
    /// A circuit breaker is open.
    CircuitOpen,
    /// A rate or spend limit was hit.
    Limited,
    /// This host does not support it.
    Unsupported,
    /// The process ended before the answer was known. A host reports it for a write that may have happened, instead of repeating it.
    Interrupted,
    /// The host cancelled the effect.
    Cancelled,
    /// The reply does not belong to the request.
    Mismatch,
}

/// A failed effect.
///
/// ```
/// use convengine_turn::{EffectError, EffectErrorDetail, EffectErrorKind};
///
/// let error = EffectError::new(EffectErrorKind::Unavailable, "cannot resolve orders.example").with_detail(EffectErrorDetail::DNS);
/// assert_eq!(error.to_string(), "cannot resolve orders.example");
/// let json = r#"{"kind":"unavailable","message":"cannot resolve orders.example","detail":"dns"}"#;
/// assert_eq!(serde_json::to_string(&error)?, json);
///
/// let busy = EffectError { status: Some(503), retry_after_ms: Some(2_000), ..EffectError::new(EffectErrorKind::Unavailable, "busy") };
/// assert_ne!(busy, error);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    /// The class of failure.
    pub kind: EffectErrorKind,
    /// For the audit; never shown to the user.
    pub message: String,
    /// The HTTP status code, if the service answered with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Milliseconds to wait before the next attempt, if the other side asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// A more specific code, if the host knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<EffectErrorDetail>,
    /// Whether nothing has left for the other side, such as when no connection could be opened: a write has certainly not happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
}

/// A more specific failure code. (docs/spec/flows.md#4.6) Hosts may report codes that are not among these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectErrorDetail(Cow<'static, str>);

impl EffectErrorDetail {
    /// The host name could not be resolved.
    pub const DNS: Self = Self(Cow::Borrowed("dns"));
    /// The TLS handshake failed.
    pub const TLS: Self = Self(Cow::Borrowed("tls"));
    /// The address may not be called.
    pub const TARGET: Self = Self(Cow::Borrowed("blocked_target"));
    /// The response exceeds the size limit.
    pub const TOO_LARGE: Self = Self(Cow::Borrowed("response_too_large"));
    /// A tool of an MCP server answered with an error.
    pub const TOOL_ERROR: Self = Self(Cow::Borrowed("tool_error"));
    /// A secret is not stored.
    pub const SECRET_MISSING: Self = Self(Cow::Borrowed("secret_missing"));
    /// The MCP server, the task or the extension does not exist.
    pub const TOOL_UNKNOWN: Self = Self(Cow::Borrowed("tool_unknown"));
    /// A tool of an MCP server may not be called.
    pub const TOOL_DENIED: Self = Self(Cow::Borrowed("tool_denied"));
    /// A tool of an MCP server is not the one that was approved.
    pub const TOOL_CHANGED: Self = Self(Cow::Borrowed("tool_changed"));
    /// The spend budget is used up.
    pub const BUDGET: Self = Self(Cow::Borrowed("budget"));

    /// The code.
    pub fn code(&self) -> &str {
        &self.0
    }
}

impl EffectError {
    /// Creates an error.
    pub fn new(kind: EffectErrorKind, message: impl Into<String>) -> Self {
        EffectError { kind, message: message.into(), status: None, retry_after_ms: None, detail: None, unsent: false }
    }

    /// Returns the error with a more specific code.
    #[must_use]
    pub fn with_detail(self, detail: EffectErrorDetail) -> Self {
        EffectError { detail: Some(detail), ..self }
    }

    /// Returns the error as one before which nothing was sent.
    #[must_use]
    pub fn with_nothing_sent(self) -> Self {
        EffectError { unsent: true, ..self }
    }

    /// Whether a write that failed with this error may have happened all the same. (docs/spec/tools.md#1.4)
    ///
    /// ```
    /// use convengine_turn::{EffectError, EffectErrorKind};
    ///
    /// let lost = EffectError::new(EffectErrorKind::Unavailable, "the connection broke off");
    /// assert!(lost.may_have_acted());
    /// assert!(!lost.clone().with_nothing_sent().may_have_acted());
    /// assert!(!EffectError { status: Some(503), ..lost }.may_have_acted());
    /// assert!(!EffectError::new(EffectErrorKind::Refused, "no").may_have_acted());
    /// ```
    pub fn may_have_acted(&self) -> bool {
        !self.unsent
            && self.status != Some(503)
            && match self.kind {
                EffectErrorKind::Timeout
                | EffectErrorKind::Unavailable
                | EffectErrorKind::Invalid
                | EffectErrorKind::Interrupted
                | EffectErrorKind::Cancelled
                | EffectErrorKind::Mismatch => true,
                EffectErrorKind::Refused
                | EffectErrorKind::NotFound
                | EffectErrorKind::Denied
                | EffectErrorKind::CircuitOpen
                | EffectErrorKind::Limited
                | EffectErrorKind::Unsupported => false,
            }
    }

    pub(super) fn mismatch() -> Self {
        EffectError::new(EffectErrorKind::Mismatch, "the host answered with a reply of another kind")
    }
}

/// A misuse of the protocol, or a journal that does not match. A failure of the conversation is not one of these: it is the
/// [fault](crate::Outcome::fault) of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The program waits for something other than an effect: a bug in the core.
    #[error("the turn waits for something other than an effect")]
    Stalled,
    /// The effect was not requested, or is answered already.
    #[error("effect {} is not open; answer each effect of a slice exactly once", id.0)]
    UnknownEffect {
        /// The effect.
        id: EffectId,
    },
    /// The journal has a protocol that this build does not support.
    #[error("unsupported journal protocol {found}; this build supports {known}")]
    Protocol {
        /// The protocol of the journal.
        found: u16,
        /// The protocol of this build.
        known: u16,
    },
    /// The configuration runs another program than requested.
    #[error("the turn requires program {requested:?}, but the configuration runs {configured:?}")]
    Program {
        /// The program of the input or the journal.
        requested: ProgramRef,
        /// The program of the configuration.
        configured: ProgramRef,
    },
    /// The configuration runs a program that this build was compiled without.
    #[error("the configuration requires the feature '{feature}' of convengine-core, which this build does not have")]
    MissingFeature {
        /// The feature.
        feature: &'static str,
    },
    /// The replay requested another effect than the recorded turn: the configuration, the build or the journal is another one.
    #[error(transparent)]
    Diverged(Box<Divergence>),
}

/// The first point at which a replay differs from its journal. Its message has all of it, for logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("replay diverged at effect {} (journal entry {index}) in step {step}{}: {difference}", effect.0, last_port(ports))]
pub struct Divergence {
    /// Position in the journal, from 0.
    pub index: usize,
    /// The effect.
    pub effect: EffectId,
    /// The replay's current step.
    pub step: String,
    /// The ports that the replay has taken in a flow, each as `graph/node:port`.
    pub ports: Vec<String>,
    /// The fields of the request that differ, one per line, as `field: recorded became replayed`. A journal without requests has a sentence
    /// here instead.
    pub difference: String,
}

/// Names the port that was taken last, if any.
fn last_port(ports: &[String]) -> String {
    ports.last().map(|it| format!(", after the port {it}")).unwrap_or_default()
}
