//! Blocks a sensitive message until it is approved. (docs/spec/pipeline.md#2.12, docs/decisions/0032-guardrail-approvals.md)
//! Reads: settings, the message, `approval_granted`, `context.approval`. Writes: `guardrail_*`, `sanitized_user_text`, the skip flags,
//! `policy_decision`, `guardrail_pending`. Waits for: nothing.

use convengine_config::InteractionDecision;
use convengine_text::collapse_whitespace;
use convengine_turn::Fault;
use convengine_turn::payload;
use serde_json::json;

use super::StepOutcome;
use crate::audit::Stage;
use crate::pending_action;
use crate::step_context::StepContext;

const REASON: &str = "SENSITIVE_ACTION_APPROVAL_REQUIRED";

pub(super) fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    let settings = &cx.config.settings.guardrail;
    if !settings.enabled {
        return Ok(StepOutcome::Continue);
    }
    let text = collapse_whitespace(cx.session.working_text().unwrap_or_default());
    if settings.sanitize_input {
        cx.session.set_param("sanitized_user_text", text.clone());
    }
    let approval = pending_action::check_approval(cx).map_err(|_| Fault::policy_unavailable())?;
    let required = settings.require_approval && approval.sensitive;
    if let Some(explanation) = cx.effects.begin_explanation("guardrail") {
        let verdict = match (approval.sensitive, required, approval.granted) {
            (false, ..) => "let through: the message is not sensitive",
            (true, false, _) => "let through: the message is sensitive, but needs no approval",
            (true, true, true) => "let through: the message is sensitive and approved",
            (true, true, false) => "held back: the message is sensitive and not approved",
        };
        let about = json!({"text": text, "sensitive": approval.sensitive, "required": required, "granted": approval.granted});
        explanation.with_subject(about).with_candidates(cx.config.sensitive_patterns.candidates(&text)).record(&cx.effects, verdict);
    }
    if required && !approval.granted {
        deny(cx, &text);
        return Ok(StepOutcome::Continue);
    }
    cx.session.set_param("guardrail_blocked", false);
    cx.audit(Stage::GuardrailAllow, |session| {
        payload!({
            "result": "ALLOW", "sensitive": approval.sensitive, "approvalRequired": required, "approvalGranted": approval.granted,
            "intent": session.intent, "state": session.state,
        })
    });
    Ok(StepOutcome::Continue)
}

fn deny(cx: &mut StepContext<'_>, text: &str) {
    for key in ["guardrail_blocked", "skip_tool_execution", "skip_pending_action_execution"] {
        cx.session.set_param(key, true);
    }
    cx.session.set_param("guardrail_reason", REASON);
    cx.session.set_param("policy_decision", InteractionDecision::ReclassifyIntent.name());
    pending_action::undo_decision(cx);
    // A turn that asks for an action already has its question; a second one would make the next confirmation ambiguous.
    if !cx.session.is_question_turn {
        pending_action::store_pending_approval(&mut cx.session);
    }
    cx.audit(Stage::GuardrailDeny, |session| {
        payload!({
            "result": "DENY", "reason": REASON, "sensitive": true, "approvalGranted": false, "userText": text,
            "intent": session.intent, "state": session.state,
        })
    });
}
