//! Messages that wait for an approval. (`decisions.md` 9, guardrail)
//!
//! A denied message stands in `context.guardrail_pending`; the next turn answers it, and only that one. The answer is taken before
//! the interaction policy decides, so that a yes which approves a message cannot agree to a pending action, too: from then on the
//! turn has the approved message and the act of its words, and decides, resolves, extracts and acts by these. Intent and state
//! are those of the conversation by then; the ones of the denial are kept for templates.

use serde_json::{Value, json};

use crate::config::{Act, Undecided};
use crate::session::Session;
use crate::text::on_one_line;
use crate::turning::Turning;

/// Where a denied message waits.
const NODE: &str = "guardrail_pending";

/// What is known of a message's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approval {
    /// Whether the message is sensitive.
    pub sensitive: bool,
    /// Whether it was approved.
    pub granted: bool,
}

/// Judges the message that the turn works on.
///
/// # Errors
/// [`Undecided`] when a pattern cannot be decided and the gate does not fail closed.
pub fn approval(t: &Turning<'_>) -> Result<Approval, Undecided> {
    if t.session.approved_text.is_some() {
        return Ok(Approval { sensitive: true, granted: true });
    }
    let settings = &t.config.settings.guardrail;
    let found = t.config.sensitive.find(&on_one_line(t.session.user_text.as_deref().unwrap_or_default()));
    let sensitive = match found {
        Ok(sensitive) => sensitive || (settings.fail_closed && t.config.sensitive.is_broken()),
        Err(Undecided) if settings.fail_closed => true,
        Err(undecided) if settings.require_approval => return Err(undecided),
        Err(Undecided) => false,
    };
    Ok(Approval { sensitive, granted: is_granted(&t.session, settings.fail_closed) })
}

/// Takes this turn's answer to a denied message: a yes or an approval of the client makes it the message of the turn.
///
/// True when the yes approves nothing, because only the client may: it was the answer to the denial and agrees to nothing else.
pub fn take_answer(t: &mut Turning<'_>) -> bool {
    let Some(waiting) = t.session.context.shift_remove(NODE) else { return false };
    let settings = &t.config.settings.guardrail;
    let turn = waiting.get("turn").and_then(Value::as_u64).unwrap_or_default();
    if !settings.enabled || !settings.require_approval || turn + 1 != u64::from(t.session.turn_number) {
        return false;
    }
    let text = waiting.get("text").and_then(Value::as_str).filter(|it| !it.trim().is_empty());
    let Some(text) = text.filter(|_| is_approved(t)) else { return t.session.act() == Act::Affirm };
    let act = t.config.acts.named(text.trim()).unwrap_or(Act::NewRequest);
    t.session.approved_text = Some(text.to_owned());
    t.session.set_param("dialogue_act", act.name());
    t.session.set_standalone_query(None);
    false
}

/// A message that is sensitive itself speaks for itself, unless it is nothing but a yes.
fn is_approved(t: &Turning<'_>) -> bool {
    let settings = &t.config.settings.guardrail;
    let plain_yes = t.config.acts.named(t.session.text()) == Some(Act::Affirm);
    let sensitive = t.config.sensitive.find(&on_one_line(t.session.text())) != Ok(false);
    let yes = settings.affirm_approves && t.session.act() == Act::Affirm;
    (yes && (plain_yes || !sensitive)) || (is_granted(&t.session, settings.fail_closed) && !sensitive)
}

/// Lets the denied message wait for its approval on the next turn.
pub fn wait(session: &mut Session) {
    let waiting = json!({"text": session.working_text(), "intent": session.intent, "state": session.state, "turn": session.turn_number});
    session.context.insert(NODE.to_owned(), waiting);
}

/// Whether the client or the application has approved; with a gate that fails closed only true itself counts.
fn is_granted(session: &Session, fail_closed: bool) -> bool {
    let sent = ["approval_granted", "approvalGranted"].map(|it| session.params.get(it).filter(|it| !it.is_null()));
    let of_context = session.context.get("approval").and_then(|it| it.get("granted")).filter(|it| !it.is_null());
    let all = || sent.into_iter().chain([of_context]).flatten();
    if fail_closed && all().any(|it| !it.is_boolean()) {
        return false;
    }
    let first = sent.into_iter().flatten().find_map(Value::as_bool);
    let in_words = |it: &Value| it.as_bool().unwrap_or_else(|| it.as_str().is_some_and(|it| it.trim().eq_ignore_ascii_case("true")));
    first.unwrap_or_else(|| of_context.is_some_and(in_words))
}
