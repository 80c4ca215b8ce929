//! Redaction: replaces sensitive values by the names of their variables.
//!
//! It owns what a turn stores and what operators see. Which variables are redacted is decided in `config::flow`.

mod mask;
mod personal;
mod turn;
mod values;

pub use mask::redact_session;
pub(crate) use personal::mask_trace;
pub(crate) use values::Redactions;
