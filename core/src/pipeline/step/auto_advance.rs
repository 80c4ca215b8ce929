//! Computes how far the schema has come once more, because rules may have changed the context. (`spec/pipeline.md` 2.18, Q-18)
//! Reads: `ce_output_schema`, context. Writes: schema facts. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::schema;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    let config = t.config;
    let Some(schema) = t.session.schema.as_ref().and_then(|it| config.schemas.by_id(it.id)) else {
        t.audit(Stage::AutoAdvanceSkippedNoSchema, |_| json!({"reason": "no schema resolved"}));
        return Flow::Continue;
    };
    let facts = schema::facts(schema, &t.session.context);
    t.audit(Stage::AutoAdvanceFacts, |session| {
        json!({
            "schemaComplete": facts.complete, "hasAnySchemaValue": facts.has_any, "intent": session.intent, "state": session.state,
        })
    });
    t.session.schema = Some(facts);
    Flow::Continue
}
