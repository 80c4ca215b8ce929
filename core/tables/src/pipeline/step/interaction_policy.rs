//! Decides whether the message belongs to a pending action or slot, or is a new request. (docs/spec/pipeline.md#2.7,
//! docs/decisions/0029-dialogue-acts-and-the-interaction-matrix.md) An answer to a message or a tool call that waits for approval is taken first, so that one confirmation counts once.
//! Reads: `dialogue_act`, `ce_pending_action`, pending action and slot, `guardrail_pending`, `mcp_approval`, settings.
//! Writes: `policy_decision`, `skip_intent_resolution`, the approved message and call. Waits for: nothing.

use convengine_config::settings::InteractionSettings;
use convengine_config::{DialogueAct, InteractionDecision};
use convengine_text::json::has_content;
use convengine_turn::payload;

use super::StepOutcome;
use crate::audit::Stage;
use crate::pending_action;
use crate::step_context::StepContext;
use crate::tool;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    let answers_denial = pending_action::take_answer(cx);
    let act = cx.session.dialogue_act();
    let is_call_approved = tool::take_approval(cx);
    let pending = !answers_denial && !is_call_approved && pending_action::has_pending_action(cx);
    // Only a slot that the application keeps open is filled; questions of the schema extraction are covered by the intent lock.
    let slot = ["pending_slot", "pendingSlot"].iter().any(|key| cx.session.context.get(*key).is_some_and(has_content));
    let settings = &cx.config.settings.interaction;
    let may_decide = !settings.require_resolved || cx.session.is_resolved();
    let found = if may_decide { decide(settings, act, pending, slot) } else { None };
    let decision = found.unwrap_or(InteractionDecision::ReclassifyIntent);
    cx.session.set_param("policy_decision", decision.name());
    let is_resolved = found.is_some() || is_call_approved;
    cx.session.set_param("skip_intent_resolution", is_resolved);
    if is_call_approved {
        cx.session.set_param("skip_schema_extraction", true);
    }
    cx.audit(Stage::InteractionPolicyDecided, |session| {
        payload!({
            "dialogueAct": act.name(),
            "policyDecision": decision.name(),
            "skipIntentResolution": is_resolved,
            "hasPendingAction": pending,
            "hasPendingSlot": slot,
            "intent": session.intent,
            "state": session.state,
        })
    });
    StepOutcome::Continue
}

/// Applies the settings' matrix, then the flags; `None` when the message is a new request.
fn decide(settings: &InteractionSettings, act: DialogueAct, pending: bool, slot: bool) -> Option<InteractionDecision> {
    let subject = match (pending, slot) {
        (true, _) => "PENDING_ACTION",
        (false, true) => "PENDING_SLOT",
        (false, false) => "NONE",
    };
    if let Some(decision) = settings.matrix.get(&format!("{subject}:{}", act.name())) {
        return Some(*decision);
    }
    if settings.execute_pending_on_affirm && pending && act == DialogueAct::Affirm {
        return Some(InteractionDecision::ExecutePendingAction);
    }
    if settings.reject_pending_on_negate && pending && act == DialogueAct::Negate {
        return Some(InteractionDecision::RejectPendingAction);
    }
    let fills = settings.fill_pending_slot && slot && !matches!(act, DialogueAct::NewRequest | DialogueAct::Greeting);
    fills.then_some(InteractionDecision::FillPendingSlot)
}
