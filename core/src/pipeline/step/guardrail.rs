//! Blocks a sensitive message until it is approved. (docs/spec/pipeline.md#2.12, docs/decisions/README.md#9)
//! Reads: settings, the message, `approval_granted`, `context.approval`. Writes: `guardrail_*`, `sanitized_user_text`, the skip flags,
//! `policy_decision`, `guardrail_pending`. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::action;
use crate::audit::Stage;
use crate::config::Decision;
use crate::fault::Fault;
use crate::text::on_one_line;
use crate::turning::Turning;

const REASON: &str = "SENSITIVE_ACTION_APPROVAL_REQUIRED";

pub(super) fn run(cx: &mut Turning<'_>) -> Result<Flow, Fault> {
    let settings = &cx.config.settings.guardrail;
    if !settings.enabled {
        return Ok(Flow::Continue);
    }
    let text = on_one_line(cx.session.working_text().unwrap_or_default());
    if settings.sanitize_input {
        cx.session.set_param("sanitized_user_text", text.clone());
    }
    let approval = action::approval(cx).map_err(|_| Fault::policy_unavailable())?;
    let required = settings.require_approval && approval.sensitive;
    if let Some(explanation) = cx.door.why("guardrail") {
        let verdict = match (approval.sensitive, required, approval.granted) {
            (false, ..) => "let through: the message is not sensitive",
            (true, false, _) => "let through: the message is sensitive, but needs no approval",
            (true, true, true) => "let through: the message is sensitive and approved",
            (true, true, false) => "held back: the message is sensitive and not approved",
        };
        let about = json!({"text": text, "sensitive": approval.sensitive, "required": required, "granted": approval.granted});
        explanation.about(about).of(cx.config.sensitive.considered(&text)).decided(&cx.door, verdict);
    }
    if required && !approval.granted {
        deny(cx, &text);
        return Ok(Flow::Continue);
    }
    cx.session.set_param("guardrail_blocked", false);
    cx.audit(Stage::GuardrailAllow, |session| {
        json!({
            "result": "ALLOW", "sensitive": approval.sensitive, "approvalRequired": required, "approvalGranted": approval.granted,
            "intent": session.intent, "state": session.state,
        })
    });
    Ok(Flow::Continue)
}

fn deny(cx: &mut Turning<'_>, text: &str) {
    for key in ["guardrail_blocked", "skip_tool_execution", "skip_pending_action_execution"] {
        cx.session.set_param(key, true);
    }
    cx.session.set_param("guardrail_reason", REASON);
    cx.session.set_param("policy_decision", Decision::ReclassifyIntent.name());
    action::put_back(cx);
    // A turn that asks for an action already has its question; a second one would make the next confirmation ambiguous.
    if !cx.session.stalled {
        action::wait(&mut cx.session);
    }
    cx.audit(Stage::GuardrailDeny, |session| {
        json!({
            "result": "DENY", "reason": REASON, "sensitive": true, "approvalGranted": false, "userText": text,
            "intent": session.intent, "state": session.state,
        })
    });
}
