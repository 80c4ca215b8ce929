//! Shows the conversation's row as it was loaded; runs only when `audit.cache-inspector` is on. (`spec/pipeline.md` 2.2)
//! Reads: the row. Writes: nothing. Waits for: nothing.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::text::instant::iso;
use crate::turn::{ConversationRow, Map};
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    t.audit(Stage::CacheInspection, |session| json!({"cache_snapshot": snapshot(&session.stored)}));
    Flow::Continue
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
        "createdAt": iso(row.created_at),
        "updatedAt": iso(row.updated_at),
    })
}
