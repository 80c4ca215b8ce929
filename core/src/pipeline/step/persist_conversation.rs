//! Writes the conversation's row and returns the result. (`spec/pipeline.md` 2.26)
//! Reads: the session. Writes: the row, what is remembered. Waits for: nothing (the host commits at the end of the turn).

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::fault::{Fault, FaultCode};
use crate::turn::{PayloadKind, Write};
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    let Some(payload) = &t.session.payload else {
        return Err(Fault::new(FaultCode::PipelineNoResponsePayload, "the configuration produced no answer"));
    };
    let body = match payload.kind {
        PayloadKind::Text => json!({"text": payload.value}),
        PayloadKind::Json => json!({"json": payload.value}),
    };
    let row = t.session.row_after(t.door.now());
    t.session.kept_on_failure = Some(t.session.kept.len());
    t.session.kept.push(Write::Conversation(row));
    if let Some(memory) = t.session.remembered.take() {
        t.session.kept.push(Write::Memory(memory));
    }
    t.audit(Stage::EngineReturn, |session| {
        let context = Value::Object(session.context.clone()).to_string();
        let result = json!({"intent": session.intent, "state": session.state, "payload": body, "contextJson": context});
        json!({"intent": session.intent, "state": session.state, "final_result": result})
    });
    Ok(Flow::Continue)
}
