//! `POST /api/v1/conversation/feedback`: stores user feedback (docs/spec/data-and-api.md#9.3).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_core::turn::{ConversationRow, Map, Millis};
use convengine_core::{Stage, is_recorded};
use convengine_host_base::clock;
use convengine_storage::{audit, feedback, load};
use convengine_turns::Turns;
use convengine_turns::audit::meta;
use serde_json::{Value, json};

use super::request::{self, parse_object, parse_text};
use crate::api::host::Host;
use crate::ops::feedback::{Feedback, render_metadata};

/// Stores user feedback about an answer.
#[utoipa::path(
    post,
    path = "/api/v1/conversation/feedback",
    tag = "conversation",
    request_body = ref("#/components/schemas/Feedback"),
    responses(
        (status = 200, description = "The feedback is stored", body = ref("#/components/schemas/FeedbackTaken")),
        (status = 400, description = "The body is invalid"),
        (status = 404, description = "Conversation not found"),
        (status = 406, description = "The client does not accept JSON"),
        (status = 408, description = "The request body timed out"),
        (status = 413, description = "The request body is too large"),
        (status = 415, description = "The Content-Type is not JSON"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn submit(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let bytes = request::read_json_body(&headers, body).await?;
    let mut given = parse_feedback(&bytes).map_err(ApiError::bad_request)?;
    host.outbound.redaction.redact_feedback([&mut given.message_id, &mut given.answer], &mut given.metadata);
    let found = load::load_conversation(&host.content.readers, &given.conversation, 0, None).await?;
    let may_rate = caller.access().may_change(found.owner.as_deref());
    let Some(about) = found.session.conversation.filter(|_| may_rate) else {
        return Err(ApiError::not_found("conversation not found; send the id of a conversation with an answer"));
    };
    let number = feedback::insert(&host.content.readers, &about, &given.to_row(&about)).await?;
    // The feedback is stored; failures of the derived data below must not fail the request.
    let mut audits = Vec::new();
    if let Some(failure) = given.to_failure_row(&about) {
        let metadata = render_metadata(&given, number, &about, None);
        match feedback::insert_failure(&host.content.readers, &about, &failure, &metadata).await {
            Ok(id) => audits.push((
                Stage::SemanticFailureRecorded,
                json!({
                    "failure_id": id,
                    "conversation_id": about.conversation_id,
                    "stage": Stage::McpUserFeedback.name(),
                    "root_cause": failure.cause,
                    "has_generated_sql": failure.generated.is_some(),
                    "has_correct_sql": failure.corrected.is_some(),
                }),
            )),
            Err(error) => tracing::warn!(%error, "cannot store a failed query"),
        }
    }
    let mut captured = 0;
    for row in given.to_knowledge_rows(&about) {
        let metadata = render_metadata(&given, number, &about, Some(&row));
        match feedback::insert_knowledge(&host.content.readers, &about, given.kind(), &row, number, &metadata).await {
            Ok(()) => captured += 1,
            Err(error) => tracing::warn!(%error, "cannot store query knowledge"),
        }
    }
    let payload = json!({
        "conversation_id": about.conversation_id,
        "feedback_type": given.kind(),
        "message_id": given.message_id,
        "captured_query_knowledge_count": 0,
        "captured_user_query_knowledge_count": captured,
        "embedded_user_query_knowledge_count": 0,
        "feedback_id": number,
    });
    audits.push((Stage::McpUserFeedback, payload));
    audit_and_publish(&host.turns, &about, audits).await;
    Ok(Json(json!({
        "success": true,
        "feedbackId": number,
        "capturedQueryKnowledgeCount": 0,
        "capturedUserQueryKnowledgeCount": captured,
        "embeddedUserQueryKnowledgeCount": 0,
        "message": "Feedback saved.",
    })))
}

/// Stores audit rows that belong to no turn and publishes them to subscribers.
async fn audit_and_publish(turns: &Turns, about: &ConversationRow, audits: Vec<(Stage, Value)>) {
    let is_kept =
        |it: &(Stage, Value)| is_recorded(&turns.content.config_manager.active().config.settings.audit, it.0.name(), &about.intent_code);
    let rows: Vec<(&str, Value)> = audits.into_iter().filter(is_kept).map(|(stage, payload)| (stage.name(), payload)).collect();
    let at: Millis = clock::now();
    if let Err(error) = audit::append(&turns.readers, &about.conversation_id, &to_stored_rows(turns, about, &rows, at), at).await {
        tracing::warn!(%error, "cannot store the audit of feedback");
        return;
    }
    for (stage, payload) in rows {
        turns.streams.publish_audit(&about.conversation_id, stage, at, payload);
    }
}

/// Adds `_meta` to rows if audit rows are stored with it.
fn to_stored_rows<'r>(turns: &Turns, about: &ConversationRow, rows: &[(&'r str, Value)], at: Millis) -> Vec<(&'r str, Value)> {
    let time = clock::format_iso(at);
    let to_stored = |(stage, payload): &(&'r str, Value)| match payload {
        Value::Object(payload) if turns.settings.audit_meta => {
            (*stage, Value::Object(meta::payload_with_meta(payload.clone(), stage, &about.conversation_id, &time, None)))
        }
        other => (*stage, other.clone()),
    };
    rows.iter().map(to_stored).collect()
}

fn parse_feedback(bytes: &[u8]) -> Result<Feedback, String> {
    let mut body = parse_object(bytes, "{\"conversationId\": …, \"feedbackType\": …}")?;
    let mut take = |key: &str| body.remove(key).unwrap_or(Value::Null);
    let conversation =
        request::parse_conversation_id(take("conversationId"))?.ok_or("conversationId is missing; send the id of the conversation")?;
    let kind = parse_text("feedbackType", take("feedbackType"))?.unwrap_or_default();
    let good = match kind.trim().to_ascii_uppercase().as_str() {
        "THUMBS_UP" => true,
        "THUMBS_DOWN" => false,
        _ => return Err("feedbackType is invalid; send THUMBS_UP or THUMBS_DOWN".to_owned()),
    };
    let message_id = parse_text("messageId", take("messageId"))?;
    let answer = parse_text("assistantResponse", take("assistantResponse"))?;
    let metadata = match take("metadata") {
        Value::Null => Map::new(),
        Value::Object(it) => it,
        _ => return Err("metadata is not an object; send an object or omit it".to_owned()),
    };
    Ok(Feedback { conversation, is_positive: good, message_id, answer, metadata })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_parsed_or_rejected_with_advice() {
        let id = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        let body = json!({"conversationId": id, "feedbackType": " thumbs_up ", "messageId": 7, "x": 1}).to_string();
        let given = parse_feedback(body.as_bytes()).expect("feedback");
        assert_eq!((given.is_positive, given.message_id.as_deref(), given.metadata.len()), (true, Some("7"), 0));
        for body in [
            json!({}),
            json!([]),
            json!({"conversationId": "1", "feedbackType": "THUMBS_UP"}),
            json!({"conversationId": id}),
            json!({"conversationId": id, "feedbackType": "MEH"}),
            json!({"conversationId": id, "feedbackType": "THUMBS_UP", "metadata": "m"}),
            json!({"conversationId": id, "feedbackType": "THUMBS_UP", "assistantResponse": {}}),
        ] {
            let reason = parse_feedback(body.to_string().as_bytes()).expect_err(&body.to_string());
            assert!(reason.contains("send"), "{reason}");
        }
    }
}
