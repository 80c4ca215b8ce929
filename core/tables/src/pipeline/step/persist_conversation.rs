//! Writes the conversation row and audits the result. (docs/spec/pipeline.md#2.26)
//! Reads: the session. Writes: the row, the new memory. Waits for: nothing (the host commits at the end of the turn).

use convengine_turn::{Fault, FaultCode};
use convengine_turn::{PayloadKind, Write};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    let Some(payload) = &cx.session.payload else {
        return Err(Fault::new(FaultCode::PipelineNoResponsePayload, "the configuration produced no answer"));
    };
    let body = match payload.kind {
        PayloadKind::Text => json!({"text": payload.value}),
        PayloadKind::Json => json!({"json": payload.value}),
    };
    let row = cx.session.completed_row(cx.effects.now());
    cx.session.writes_on_failure = Some(cx.session.writes.len());
    cx.session.writes.push(Write::Conversation(row));
    if let Some(memory) = cx.session.new_memory.take() {
        cx.session.writes.push(Write::Memory(memory));
    }
    cx.audit(Stage::EngineReturn, |session| {
        let context = Value::Object(session.context.clone()).to_string();
        let result = json!({"intent": session.intent, "state": session.state, "payload": body, "contextJson": context});
        json!({"intent": session.intent, "state": session.state, "final_result": result})
    });
    Ok(StepOutcome::Continue)
}
