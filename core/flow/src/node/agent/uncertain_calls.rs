//! Calls of an agent that may have been carried out without anybody knowing (docs/spec/flows.md#4.13).
//!
//! A call that changes something is noted before it is made, so that a turn that is canceled meanwhile leaves it uncertain, and forgotten
//! once its result is known. The note is the session's: it outlives the memory of the agent, and nested documents.

use convengine_config::flow::document::FlowTool;
use convengine_text::json::canonical::Hasher;
use serde_json::{Value, json};

use super::super::super::turn::Turn;
use super::call::{CallOutcome, error_result};
use super::collected::changes_something;
use crate::state::{Awareness, UncertainCall};

/// Maximum uncertain calls of a session; the oldest are forgotten first.
const MAX_UNCERTAIN_CALLS: usize = 32;

/// The message to the model about a call whose result is unknown.
pub(super) const MAY_HAVE_ACTED: &str = "the call may have been carried out; do not repeat it without asking the user";

/// Why a call is not repeated, for the model.
const NOT_REPEATED: &str =
    "this call has failed, but may have been carried out all the same: it is not made again before the user has answered";

/// A call that is noted while it is made.
pub(super) struct NotedWrite {
    /// Its signature.
    call: String,
    /// Whether it repeats one whose result is unknown.
    is_repeated: bool,
}

impl Turn<'_> {
    /// What distinguishes a call that changes something: the tool, also of another document, and the arguments as the model gives them. A
    /// value that the model does not see is not hashed, because a hash of few possible values reveals it.
    pub(super) fn write_signature(&self, tool: &FlowTool, args: &Value) -> Option<String> {
        changes_something(tool).then(|| {
            let mut hasher = Hasher::default();
            hasher.add_value(&json!([tool.id, self.redactions().redact_value(args.clone())]));
            hasher.finish()
        })
    }

    /// Refuses to repeat an uncertain call until the user has said something. Returns the result for the model.
    pub(super) fn refuse_uncertain_call(&mut self, signature: &str) -> Option<Value> {
        let call = self.state.uncertain_calls.iter_mut().find(|it| it.call == signature)?;
        if call.known_to == Awareness::User {
            return None;
        }
        call.known_to = Awareness::Model;
        Some(error_result("in_doubt", NOT_REPEATED))
    }

    /// The idempotency key with which an uncertain call was made.
    pub(super) fn uncertain_key(&self, signature: &str) -> Option<String> {
        self.state.uncertain_calls.iter().find(|it| it.call == signature)?.key.clone()
    }

    /// Notes a call that is about to be made; `key` is its idempotency key if it is an HTTP call.
    pub(super) fn note_write(&mut self, signature: &str, key: Option<String>) -> NotedWrite {
        let calls = &mut self.state.uncertain_calls;
        let call = signature.to_owned();
        if let Some(first) = calls.iter_mut().find(|it| it.call == signature) {
            first.known_to = Awareness::Nobody;
            first.key = key;
            return NotedWrite { call, is_repeated: true };
        }
        calls.push(UncertainCall { call: call.clone(), key, known_to: Awareness::Nobody });
        NotedWrite { call, is_repeated: false }
    }

    /// Forgets a call whose result is known; the model knows of any other. The failure of a call that repeats an uncertain one says nothing
    /// of the first; if it is the service's answer (`is_answered`), the service would answer the same to the same key, so the next repetition
    /// has another.
    pub(super) fn settle_write(&mut self, noted: NotedWrite, outcome: CallOutcome, is_answered: bool) {
        let NotedWrite { call, is_repeated } = noted;
        let is_settled = outcome == CallOutcome::Done || outcome == CallOutcome::Failed && !is_repeated;
        let calls = &mut self.state.uncertain_calls;
        if is_settled {
            calls.retain(|it| it.call != call);
        } else if let Some(uncertain) = calls.iter_mut().find(|it| it.call == call) {
            uncertain.known_to = Awareness::Model;
            uncertain.key = uncertain.key.take().filter(|_| !(is_repeated && is_answered));
        }
        let surplus = calls.len().saturating_sub(MAX_UNCERTAIN_CALLS);
        calls.drain(..surplus);
    }
}
