//! Approval of sensitive messages. (docs/decisions/0032-guardrail-approvals.md)
//!
//! A denied message is stored in `context.guardrail_pending` and can be approved by the next turn only. The approval is evaluated
//! before the interaction policy, so that one confirmation cannot approve a message and a pending action at once. Once approved, the
//! turn works on the denied message and its dialogue act. Intent and state are the conversation's current ones; those of the denial
//! are kept for templates.

use convengine_config::{DialogueAct, Indeterminate};
use convengine_text::collapse_whitespace;
use serde_json::{Value, json};

use crate::session::Session;
use crate::step_context::StepContext;

/// Context member that holds the denied message.
const CONTEXT_KEY: &str = "guardrail_pending";

/// The approval status of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approval {
    /// Whether the message is sensitive.
    pub sensitive: bool,
    /// Whether it was approved.
    pub granted: bool,
}

/// Returns the approval status of the message that the turn works on.
///
/// # Errors
/// [`Indeterminate`] when a pattern cannot be evaluated and the gate does not fail closed.
pub fn check_approval(cx: &StepContext<'_>) -> Result<Approval, Indeterminate> {
    if cx.session.approved_text.is_some() {
        return Ok(Approval { sensitive: true, granted: true });
    }
    let settings = &cx.config.settings.guardrail;
    let found = cx.config.sensitive_patterns.is_sensitive(&collapse_whitespace(cx.session.user_text.as_deref().unwrap_or_default()));
    let sensitive = match found {
        Ok(sensitive) => sensitive || (settings.fail_closed && cx.config.sensitive_patterns.has_invalid_pattern()),
        Err(Indeterminate) if settings.fail_closed => true,
        Err(undecided) if settings.require_approval => return Err(undecided),
        Err(Indeterminate) => false,
    };
    Ok(Approval { sensitive, granted: is_granted(&cx.session, settings.fail_closed) })
}

/// Applies this turn's answer to a denied message: a confirmation or a client approval makes it the message of the turn.
///
/// Returns true when a confirmation approves nothing because only the client may approve; it must not confirm anything else either.
pub fn take_answer(cx: &mut StepContext<'_>) -> bool {
    let Some(waiting) = cx.session.context.shift_remove(CONTEXT_KEY) else { return false };
    let settings = &cx.config.settings.guardrail;
    let turn = waiting.get("turn").and_then(Value::as_u64).unwrap_or_default();
    if !settings.enabled || !settings.require_approval || turn + 1 != u64::from(cx.session.turn_number) {
        return false;
    }
    let text = waiting.get("text").and_then(Value::as_str).filter(|sql| !sql.trim().is_empty());
    let Some(text) = text.filter(|_| is_approved(cx)) else { return cx.session.dialogue_act() == DialogueAct::Affirm };
    let act = cx.config.dialogue_acts.match_pattern(text.trim()).unwrap_or(DialogueAct::NewRequest);
    cx.session.approved_text = Some(text.to_owned());
    cx.session.set_param("dialogue_act", act.name());
    cx.session.set_standalone_query(None);
    false
}

/// Whether the denied message is approved. A message that is itself sensitive approves nothing, unless it is a plain confirmation.
fn is_approved(cx: &StepContext<'_>) -> bool {
    let settings = &cx.config.settings.guardrail;
    let plain_yes = cx.config.dialogue_acts.is_plain_yes(cx.session.text(), cx.session.client_locale());
    let sensitive = cx.config.sensitive_patterns.is_sensitive(&collapse_whitespace(cx.session.text())) != Ok(false);
    let is_affirmed = settings.affirm_approves && cx.session.dialogue_act() == DialogueAct::Affirm;
    (is_affirmed && (plain_yes || !sensitive)) || (is_granted(&cx.session, settings.fail_closed) && !sensitive)
}

/// Stores the denied message so that the next turn can approve it.
pub fn store_pending_approval(session: &mut Session) {
    let waiting = json!({"text": session.working_text(), "intent": session.intent, "state": session.state, "turn": session.turn_number});
    session.context.insert(CONTEXT_KEY.to_owned(), waiting);
}

/// Whether the client or the application has approved; a gate that fails closed accepts booleans only.
fn is_granted(session: &Session, fail_closed: bool) -> bool {
    let client_values = ["approval_granted", "approvalGranted"].map(|key| session.params.get(key).filter(|value| !value.is_null()));
    let context_value = session.context.get("approval").and_then(|it| it.get("granted")).filter(|it| !it.is_null());
    let all = || client_values.into_iter().chain([context_value]).flatten();
    if fail_closed && all().any(|it| !it.is_boolean()) {
        return false;
    }
    let first = client_values.into_iter().flatten().find_map(Value::as_bool);
    let is_true =
        |value: &Value| value.as_bool().unwrap_or_else(|| value.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("true")));
    first.unwrap_or_else(|| context_value.is_some_and(is_true))
}
