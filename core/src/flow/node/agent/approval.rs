//! Approval of agent tool calls (docs/spec/flows.md#4.13).

use serde_json::{Value, json};

use super::super::super::Walk;
use super::super::super::walk::Next;
use super::tools::{Judged, breach, failed};
use super::{Stay, Then};
use crate::flow::state::{Awaiting, FlowEvent};

impl<'c> Walk<'c> {
    /// Handles the decision about the first open call, then continues with the other calls in order.
    pub(super) async fn agent_decided(&mut self, mut run: Stay<'c>, awaiting: Awaiting) -> Next {
        let FlowEvent::Approval { call_id, approved, edited_args, reason } = self.event.clone() else { return Next::Wait(awaiting) };
        let Some(call) = run.memory.open.first().filter(|it| it.id == call_id).cloned() else {
            self.warn("approval.unknown_call", json!({"call_id": call_id}));
            return Next::Wait(awaiting);
        };
        let edited = edited_args.filter(|_| approved).map(Value::Object);
        let state = if approved { "approved" } else { "rejected" };
        let payload = json!({"node": run.node.id, "call_id": call.id, "tool": call.name, "state": state, "edited": edited.is_some()});
        let result = match (approved, self.judged(run.data, &call)) {
            (true, Judged::Tool(tool, _)) => {
                if let Some(reason) = edited.as_ref().and_then(|it| breach(tool, it)) {
                    self.warn("approval.invalid_args", json!({"call_id": call_id, "reason": reason}));
                    return Next::Wait(awaiting);
                }
                self.trace("agent.approval", payload);
                let args = edited.clone().unwrap_or_else(|| call.arguments.clone());
                with_edited(self.calls(run.node, tool, args).await, edited)
            }
            // The document has changed since the call.
            (true, _) => failed("unknown_tool", "the tool cannot be called any more"),
            (false, _) => {
                self.trace("agent.approval", payload);
                failed("rejected", reason.as_deref().unwrap_or("a person has said no"))
            }
        };
        self.answers(&mut run, &call, result);
        self.goes_on(run).await
    }

    async fn goes_on(&mut self, mut run: Stay<'c>) -> Next {
        match self.works(&mut run).await {
            Then::On => self.thinks(run).await,
            then @ (Then::Rest | Then::Ask | Then::Leave(_) | Then::Fail(_)) => self.close(run, then),
        }
    }
}

/// Adds the edited arguments to a result, so that the model sees them.
fn with_edited(mut result: Value, edited: Option<Value>) -> Value {
    if let (Some(args), Some(result)) = (edited, result.as_object_mut()) {
        result.insert("edited_args".to_owned(), args);
    }
    result
}
