//! Decides whether the message belongs to a pending action or slot, or is a new request. (`spec/pipeline.md` 2.7, `decisions.md` 9)
//! Reads: `dialogue_act`, pending action and slot, settings. Writes: `policy_decision`, `skip_intent_resolution`. Waits for: nothing.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::settings::Interaction;
use crate::config::{Act, Decision};
use crate::session::Session;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    let act = t.session.act();
    let action = has_pending_action(&t.session);
    let slot = ["pending_slot", "pendingSlot"].iter().any(|it| has_value(t.session.context.get(*it)));
    let settings = &t.config.settings.interaction;
    let may_decide = !settings.require_resolved || t.session.is_resolved();
    let found = if may_decide { decide(settings, act, action, slot) } else { None };
    let decision = found.unwrap_or(Decision::ReclassifyIntent);
    t.session.set_param("policy_decision", decision.name());
    t.session.set_param("skip_intent_resolution", found.is_some());
    t.audit(Stage::InteractionPolicyDecided, |session| {
        json!({
            "dialogueAct": act.name(),
            "policyDecision": decision.name(),
            "skipIntentResolution": found.is_some(),
            "hasPendingAction": action,
            "hasPendingSlot": slot,
            "intent": session.intent,
            "state": session.state,
        })
    });
    Flow::Continue
}

fn has_pending_action(session: &Session) -> bool {
    let in_context = ["pending_action", "pendingAction"].iter().any(|it| has_value(session.context.get(*it)));
    let keys = ["pending_action", "pendingAction", "pending_action_key", "pending_action_task"];
    in_context || keys.iter().any(|it| has_value(session.params.get(*it)))
}

fn has_value(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => true,
    }
}

/// The matrix of the settings first, then the flags; nothing when the message is a new request.
fn decide(settings: &Interaction, act: Act, action: bool, slot: bool) -> Option<Decision> {
    let subject = match (action, slot) {
        (true, _) => "PENDING_ACTION",
        (false, true) => "PENDING_SLOT",
        (false, false) => "NONE",
    };
    if let Some(decision) = settings.matrix.get(&format!("{subject}:{}", act.name())) {
        return Some(*decision);
    }
    if settings.execute_pending_on_affirm && action && act == Act::Affirm {
        return Some(Decision::ExecutePendingAction);
    }
    if settings.reject_pending_on_negate && action && act == Act::Negate {
        return Some(Decision::RejectPendingAction);
    }
    let fills = settings.fill_pending_slot && slot && !matches!(act, Act::NewRequest | Act::Greeting);
    fills.then_some(Decision::FillPendingSlot)
}
