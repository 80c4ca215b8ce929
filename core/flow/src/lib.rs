//! The flow interpreter: runs one event of a session through its document until the turn ends (docs/spec/flows.md#4 to #8).
//!
//! It owns the stored session and what it answers. Parsing documents is done in `config::flow`. Modules use one another in no circle:
//! their layers are in the README of the core.
//!
//! Hosts do not run it themselves: a turn of `convengine-core` does. They use what is about sessions between turns: whether an event is
//! valid ([`check_event`]), which document has the conversation ([`active_document`]), what may be shown of a session ([`redact_session`])
//! and how it gets to another version ([`migrate()`]).

mod active_program;
mod button_input;
pub mod chain;
mod channel;
mod child_session;
mod commands;
mod corrections;
mod desk;
mod explanation;
mod failure;
mod filled_slots;
mod frames;
mod half_of_day;
mod handler;
mod handoff;
mod handoff_distance;
mod intent_match;
mod intent_slots;
mod knowledge;
mod lexical_match;
mod match_explanation;
mod matching;
mod mentions;
mod messages;
mod migrate;
mod model_calls;
mod model_match;
mod node;
mod outcome;
mod phrase_match;
mod redaction;
mod repair;
mod request_renderer;
mod requests;
mod routes;
mod scope;
mod session_start;
mod slot_changes;
mod slot_explanation;
mod slot_prompt;
mod slot_reading;
mod slot_values;
mod spend_budget;
mod state;
mod template;
mod trace;
mod transition;
mod trigger;
mod turn;
mod turn_record;
mod validation;
mod variables;
mod view;
mod walk;

pub use active_program::{active_document, active_state, list_offered_options};
pub(crate) use child_session::{ChildTurn, continue_child_session, start_child_session};
pub(crate) use failure::{Failure, effect_failure_code};
pub use handoff::HandoffState;
pub use migrate::{Migration, MigrationKind, migrate};
pub(crate) use node::{is_retryable, parse_body, read_output, status_failure_code};
pub use redaction::redact_session;
pub(crate) use request_renderer::{IDEMPOTENCY_HEADER, RequestRenderer, post_json};
pub(crate) use state::{FlowUsage, Timer};
pub(crate) use trace::with_member;
pub(crate) use variables::coerce;
pub use walk::{Walker, run};

use serde_json::Value;

use crate::state::FlowEvent;

/// Checks that a JSON object is a session event: its `type` is known, and its members are of the types of the event. Unknown members are
/// ignored.
///
/// A turn does not refuse an invalid event but takes it for a message with its `text`, so a host checks first.
///
/// ```
/// use convengine_flow::check_event;
/// use serde_json::json;
///
/// assert!(check_event(&json!({"type": "session.start", "params": {"plan": "gold"}, "locale": "de-DE"})).is_ok());
/// assert!(check_event(&json!({"type": "user.message"})).is_err(), "a message has a text");
/// assert!(check_event(&json!({"type": "user.leaves"})).is_err());
/// ```
///
/// # Errors
/// Returns the parse error as text when it is not.
pub fn check_event(event: &Value) -> Result<(), String> {
    FlowEvent::parse(event).map(|_| ()).map_err(|error| error.to_string())
}
