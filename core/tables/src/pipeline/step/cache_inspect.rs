//! Audits the conversation row as loaded; runs only when `audit.cache-inspector` is on. (docs/spec/pipeline.md#2.2)
//! Reads: the row. Writes: nothing. Waits for: nothing.

use convengine_text::date::Date;
use convengine_turn::{ConversationRow, Map, payload};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    cx.audit(Stage::CacheInspection, |session| payload!({"cache_snapshot": snapshot(&session.stored)}));
    StepOutcome::Continue
}

fn snapshot(row: &ConversationRow) -> Value {
    let text = |map: &Map| Value::Object(map.clone()).to_string();
    json!({
        "conversationId": row.conversation_id,
        "status": row.status,
        "intentCode": row.intent_code,
        "stateCode": row.state_code,
        "contextJson": text(&row.context),
        "lastUserText": row.last_user_text,
        "lastAssistantJson": row.last_assistant,
        "inputParamsJson": text(&row.params),
        "createdAt": Date::from_millis(row.created_at).to_rfc3339_millis(),
        "updatedAt": Date::from_millis(row.updated_at).to_rfc3339_millis(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_snapshot_has_camel_case_names() {
        let row = ConversationRow {
            conversation_id: "c".to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::new(convengine_text::json::into_members(json!({"k": 1}))),
            last_user_text: Some("hi".to_owned()),
            last_assistant: None,
            params: Arc::default(),
            created_at: 0,
            updated_at: 1_000,
        };
        let expected = json!({
            "conversationId": "c", "status": "RUNNING", "intentCode": "A", "stateCode": "B", "contextJson": "{\"k\":1}", "lastUserText": "hi",
            "lastAssistantJson": null, "inputParamsJson": "{}", "createdAt": "1970-01-01T00:00:00.000Z", "updatedAt": "1970-01-01T00:00:01.000Z",
        });
        assert_eq!(snapshot(&row), expected);
    }
}
