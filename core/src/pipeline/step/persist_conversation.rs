//! Writes the conversation row and audits the result. (docs/spec/pipeline.md#2.26)
//! Reads: the session. Writes: the row, the new memory. Waits for: nothing (the host commits at the end of the turn).

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::fault::{Fault, FaultCode};
use crate::turn::{PayloadKind, Write};
use crate::turning::Turning;

pub(super) fn run(cx: &mut Turning<'_>) -> Result<Flow, Fault> {
    let Some(payload) = &cx.session.payload else {
        return Err(Fault::new(FaultCode::PipelineNoResponsePayload, "the configuration produced no answer"));
    };
    let body = match payload.kind {
        PayloadKind::Text => json!({"text": payload.value}),
        PayloadKind::Json => json!({"json": payload.value}),
    };
    let row = cx.session.row_after(cx.door.now());
    cx.session.kept_on_failure = Some(cx.session.kept.len());
    cx.session.kept.push(Write::Conversation(row));
    if let Some(memory) = cx.session.remembered.take() {
        cx.session.kept.push(Write::Memory(memory));
    }
    cx.audit(Stage::EngineReturn, |session| {
        let context = Value::Object(session.context.clone()).to_string();
        let result = json!({"intent": session.intent, "state": session.state, "payload": body, "contextJson": context});
        json!({"intent": session.intent, "state": session.state, "final_result": result})
    });
    Ok(Flow::Continue)
}
