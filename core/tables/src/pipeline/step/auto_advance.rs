//! Recomputes the schema facts, because rules may have changed the context. (docs/spec/pipeline.md#2.18, docs/spec/pipeline.md#Q-18)
//! Reads: `ce_output_schema`, context. Writes: schema facts. Waits for: nothing.

use convengine_turn::payload;

use super::StepOutcome;
use crate::audit::Stage;
use crate::schema;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    let config = cx.config;
    let Some(schema) = cx.session.schema.as_ref().and_then(|schema| config.schemas.find_by_id(schema.id)) else {
        cx.audit(Stage::AutoAdvanceSkippedNoSchema, |_| payload!({"reason": "no schema resolved"}));
        return StepOutcome::Continue;
    };
    let facts = schema::compute_facts(schema, &cx.session.context);
    cx.audit(Stage::AutoAdvanceFacts, |session| {
        payload!({
            "schemaComplete": facts.complete, "hasAnySchemaValue": facts.has_any, "intent": session.intent, "state": session.state,
        })
    });
    cx.session.schema = Some(facts);
    StepOutcome::Continue
}
