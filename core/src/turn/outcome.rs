//! The end of a turn.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Map;
use super::notice::{Notice, NoticeBody};
use super::rows::Write;
use crate::json::canon;

/// What the user gets and what is to be committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The conversation.
    pub conversation_id: String,
    /// The intent after the turn.
    pub intent: String,
    /// The state after the turn.
    pub state: String,
    /// The answer; absent when the turn failed.
    pub payload: Option<Payload>,
    /// The context after the turn; absent when the turn failed.
    pub context: Option<Map>,
    /// Why the turn failed.
    pub fault: Option<FaultReport>,
    /// Rows for one transaction, in this order.
    pub writes: Vec<Write>,
    /// The session after the turn.
    pub session: SessionAfter,
}

/// What carries over to the next turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionAfter {
    /// The intent.
    pub intent: String,
    /// The state.
    pub state: String,
    /// The context.
    pub context: Map,
    /// The parameters.
    pub params: Map,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PayloadKind {
    /// Text to show.
    Text,
    /// JSON text that the client parses.
    Json,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// Its form.
    #[serde(rename = "type")]
    pub kind: PayloadKind,
    /// Text, also for JSON.
    pub value: String,
}

/// A failure as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReport {
    /// One of the original's error codes, or one of ours.
    pub code: String,
    /// What to say; names no classes, templates or SQL.
    pub message: String,
    /// Whether sending the message again may help.
    pub recoverable: bool,
}

impl Outcome {
    /// The body of the answer to `POST /api/v1/conversation/message`. (`spec/data-and-api.md` 9.1)
    pub fn response(&self) -> Value {
        let Some(fault) = &self.fault else {
            return json!({
                "conversationId": self.conversation_id,
                "intent": self.intent,
                "state": self.state,
                "payload": self.payload,
                "context": self.context.as_ref().map(|it| Value::Object(it.clone()).to_string()),
                "success": true,
                "errorCode": null,
                "recoverable": false,
                "message": null,
            });
        };
        let value = json!({"errorCode": fault.code, "message": fault.message, "recoverable": fault.recoverable});
        json!({
            "conversationId": self.conversation_id,
            "intent": "ERROR",
            "state": "ERROR",
            "payload": {"type": "ERROR", "value": value.to_string()},
            "context": null,
            "success": false,
            "errorCode": fault.code,
            "recoverable": fault.recoverable,
            "message": fault.message,
        })
    }
}

/// The hash by which a replay is judged: session after, writes, and notices without their times.
///
/// `PIPELINE_TIMING` is left out because the host completes it with its own measurement.
pub fn state_hash(outcome: &Outcome, notices: &[Notice]) -> String {
    let mut hash = canon::Hasher::default();
    let SessionAfter { intent, state, context, params } = &outcome.session;
    hash.value(&(intent, state));
    hash.map(context);
    hash.map(params);
    for write in &outcome.writes {
        if let Write::Conversation(row) = write {
            // Its two maps are large: they are hashed as they stand, not copied first.
            hash.value(&(&row.conversation_id, &row.status, &row.intent_code, &row.state_code));
            hash.value(&(&row.last_user_text, &row.last_assistant, row.created_at, row.updated_at));
            hash.map(&row.context);
            hash.map(&row.params);
        } else {
            hash.value(write);
        }
    }
    for notice in notices {
        match &notice.body {
            NoticeBody::Audit { stage, .. } if stage == "PIPELINE_TIMING" => {}
            NoticeBody::Audit { stage, payload } => {
                hash.value(&(notice.seq, stage));
                hash.json(payload);
            }
            NoticeBody::Verbose(verbose) => {
                hash.value(&notice.seq);
                hash.value(verbose);
            }
        }
    }
    hash.finish()
}
