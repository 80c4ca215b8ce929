//! Holds a sensitive message back until it is approved. (`spec/pipeline.md` 2.12, `decisions.md` 9)
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

pub(super) fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    let settings = &t.config.settings.guardrail;
    if !settings.enabled {
        return Ok(Flow::Continue);
    }
    let text = on_one_line(t.session.working_text().unwrap_or_default());
    if settings.sanitize_input {
        t.session.set_param("sanitized_user_text", text.clone());
    }
    let approval = action::approval(t).map_err(|_| Fault::policy_unavailable())?;
    let required = settings.require_approval && approval.sensitive;
    if let Some(why) = t.door.why("guardrail") {
        let verdict = match (approval.sensitive, required, approval.granted) {
            (false, ..) => "let through: the message is not sensitive",
            (true, false, _) => "let through: the message is sensitive, but needs no approval",
            (true, true, true) => "let through: the message is sensitive and approved",
            (true, true, false) => "held back: the message is sensitive and not approved",
        };
        let about = json!({"text": text, "sensitive": approval.sensitive, "required": required, "granted": approval.granted});
        why.about(about).of(t.config.sensitive.considered(&text)).decided(&t.door, verdict);
    }
    if required && !approval.granted {
        deny(t, &text);
        return Ok(Flow::Continue);
    }
    t.session.set_param("guardrail_blocked", false);
    t.audit(Stage::GuardrailAllow, |session| {
        json!({
            "result": "ALLOW", "sensitive": approval.sensitive, "approvalRequired": required, "approvalGranted": approval.granted,
            "intent": session.intent, "state": session.state,
        })
    });
    Ok(Flow::Continue)
}

fn deny(t: &mut Turning<'_>, text: &str) {
    for key in ["guardrail_blocked", "skip_tool_execution", "skip_pending_action_execution"] {
        t.session.set_param(key, true);
    }
    t.session.set_param("guardrail_reason", REASON);
    t.session.set_param("policy_decision", Decision::ReclassifyIntent.name());
    action::put_back(t);
    // A turn that asks which action is meant has its question already; a second one would make the next yes ambiguous.
    if !t.session.stalled {
        action::wait(&mut t.session);
    }
    t.audit(Stage::GuardrailDeny, |session| {
        json!({
            "result": "DENY", "reason": REASON, "sensitive": true, "approvalGranted": false, "userText": text,
            "intent": session.intent, "state": session.state,
        })
    });
}
