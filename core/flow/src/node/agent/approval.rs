//! Approval of agent tool calls (docs/spec/flows.md#4.13).

use convengine_turn::{CallApproval, CallApprovalEvent};
use serde_json::{Value, json};

use super::super::super::turn::Turn;
use super::call::{CheckedCall, args_violation, error_result};
use super::run::AgentRun;
use super::step_explanation::AgentStepEnd;
use crate::state::FlowEvent;

impl<'c> Turn<'c> {
    /// Handles the decision about the first open call. Returns whether the call is answered, so that the run goes on.
    pub(super) async fn on_approval(&mut self, run: &mut AgentRun<'c>) -> bool {
        let FlowEvent::Approval { call_id, approved, edited_args, reason } = self.event.clone() else { return false };
        let Some(call) = run.memory.pending_calls.first().filter(|it| it.id == call_id).cloned() else {
            self.warn("approval.unknown_call", json!({"call_id": call_id}));
            return false;
        };
        self.begin_approval(run, approved);
        let edited = edited_args.filter(|_| approved).map(Value::Object);
        // The document may have changed since the call.
        let tool = if let CheckedCall::Tool(tool, _) = self.check_call(run, &call) { Some(tool) } else { None };
        let violation = tool.zip(edited.as_ref()).and_then(|(tool, args)| args_violation(tool, args));
        let event = match (approved, tool, &violation) {
            (false, ..) => CallApprovalEvent::Reject,
            (true, None, _) => CallApprovalEvent::Withdraw,
            (true, Some(_), Some(_)) => CallApprovalEvent::Defer,
            (true, Some(_), None) => CallApprovalEvent::Approve,
        };
        let state = self.effects.take_transition(CallApproval::Asked, event).unwrap_or(CallApproval::Asked);
        let payload =
            json!({"node": run.node.id, "call_id": call.id, "tool": call.name, "state": state.name(), "edited": edited.is_some()});
        let result = match (state, tool) {
            (CallApproval::Planned | CallApproval::Asked, _) => {
                let reason = violation.unwrap_or_default();
                self.end_agent_step(run, AgentStepEnd::InvalidEdit(&reason));
                self.warn("approval.invalid_args", json!({"call_id": call_id, "reason": reason}));
                return false;
            }
            (CallApproval::Approved, Some(tool)) => {
                self.trace("agent.approval", payload);
                let write = self.write_signature(tool, edited.as_ref().unwrap_or(&call.arguments));
                let args = edited.clone().unwrap_or_else(|| self.with_redacted_values(tool, call.arguments.clone()));
                // What the person has changed it to may be a call whose result is unknown.
                let changed = write.as_deref().filter(|_| edited.is_some());
                let refusal = self.refuse_call(run, &tool.id, Some(tool)).or_else(|| self.refuse_uncertain_call(changed?));
                match refusal {
                    Some(refusal) => refusal,
                    None => with_edited_args(self.call_counted_tool(run, tool, write.as_deref(), args, true).await, edited),
                }
            }
            (CallApproval::Approved, None) | (CallApproval::Withdrawn, _) => {
                error_result("unknown_tool", "the tool cannot be called any more")
            }
            (CallApproval::Rejected, _) => {
                self.trace("agent.approval", payload);
                error_result("rejected", reason.as_deref().unwrap_or("a person has said no"))
            }
        };
        self.answer_call(run, &call, result);
        true
    }
}

/// Adds the edited arguments to a result, so that the model sees them.
fn with_edited_args(mut result: Value, edited: Option<Value>) -> Value {
    if let (Some(args), Some(result)) = (edited, result.as_object_mut()) {
        result.insert("edited_args".to_owned(), args);
    }
    result
}
