//! Approval of tool calls by the user. (docs/decisions/0049-approval-of-tool-calls.md)
//!
//! The turn that wants the call asks; the call waits in `context.mcp_approval` and can be approved by the next turn only, which makes
//! exactly this call.

use convengine_config::DialogueAct;
use convengine_turn::{CallApproval, CallApprovalEvent};
use serde_json::{Value, json};

use super::ToolCall;
use crate::audit::Stage;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish_and_audit};

/// Context member that holds the call.
const CONTEXT_KEY: &str = "mcp_approval";

/// The reason of the question.
const REASON: &str = "TOOL_APPROVAL_REQUIRED";

/// Asks the user to approve a call. `planner` is what the planner loop needs to go on; absent for a direct call.
pub fn ask_approval(cx: &mut StepContext<'_>, step: &'static str, call: &ToolCall, planner: Option<Value>) {
    if cx.effects.take_transition(CallApproval::Planned, CallApprovalEvent::Ask).is_none() {
        return;
    }
    let code = call.code.as_deref().unwrap_or_default();
    // Shown whole: what is not shown is not approved.
    let args = json!(call.args);
    cx.session.ask(format!("I need your approval to use {code} with {args}. Shall I go ahead? Please answer yes or no."), REASON);
    let mut waiting = call.to_json();
    if let Some(waiting) = waiting.as_object_mut() {
        waiting.extend([
            ("text".to_owned(), json!(cx.session.working_text())),
            ("turn".to_owned(), json!(cx.session.turn_number)),
            ("planner".to_owned(), planner.unwrap_or_default()),
        ]);
    }
    cx.session.context.insert(CONTEXT_KEY.to_owned(), waiting);
    let progress = Progress { tool_code: Some(code), ..Progress::new(step, "MCP_TOOL_APPROVAL") };
    publish_and_audit(cx, Stage::McpToolApproval, progress, call.to_json());
}

/// Takes the answer to the question of the previous turn; returns whether it approves the call, which then is the session's
/// `approved_call`.
pub fn take_approval(cx: &mut StepContext<'_>) -> bool {
    let session = &mut cx.session;
    let turn = session.context.get(CONTEXT_KEY).and_then(|approval| approval.get("turn")?.as_u64()).unwrap_or_default();
    if turn == u64::from(session.turn_number) {
        return false;
    }
    let Some(waiting) = session.context.shift_remove(CONTEXT_KEY) else { return session.approved_call.is_some() };
    // Only the question that the engine asked can be answered, not a member that something else has written. Without dialogue acts the
    // client answers, and the question may be gone.
    let is_asked = session.clarification.as_ref().is_some_and(|clarification| clarification.reason.as_deref() == Some(REASON));
    let may_answer = is_asked || !session.params.contains_key("dialogue_act");
    if may_answer {
        session.clarification = None;
        session.context.shift_remove("pending_clarification");
    }
    let is_in_time = turn + 1 == u64::from(session.turn_number);
    let event = if may_answer && is_in_time && is_affirmed(cx) { CallApprovalEvent::Approve } else { CallApprovalEvent::Withdraw };
    if cx.effects.take_transition(CallApproval::Asked, event) != Some(CallApproval::Approved) {
        return false;
    }
    cx.session.approved_text = waiting.get("text").and_then(Value::as_str).map(str::to_owned);
    cx.session.approved_call = Some(waiting);
    true
}

/// Whether the message is a plain confirmation: a model may take "yes, but …" for one. Without dialogue acts the client decides.
fn is_affirmed(cx: &StepContext<'_>) -> bool {
    if !cx.session.params.contains_key("dialogue_act") {
        return is_granted_by_client(cx);
    }
    let is_refusal = matches!(cx.session.dialogue_act(), DialogueAct::Negate | DialogueAct::Reset);
    !is_refusal && cx.config.dialogue_acts.is_plain_yes(cx.session.text(), cx.session.client_locale())
}

/// Whether the client approves what it requests in this turn.
pub fn is_granted_by_client(cx: &StepContext<'_>) -> bool {
    ["approval_granted", "approvalGranted"].iter().any(|name| cx.session.params.get(*name) == Some(&Value::Bool(true)))
}
