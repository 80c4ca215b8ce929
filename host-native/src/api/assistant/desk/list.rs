//! `/v1/desk/conversations`: the list of the desk, and one conversation with its transcript and variables.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::caller::Caller;
use convengine_core::config::flow::Flow;
use convengine_core::config::flow::shape::Keyword;
use convengine_core::flow::{active_document, active_state};
use convengine_core::turn::{Map, Millis};
use convengine_host_base::clock;
use convengine_redaction::Redaction;
use convengine_storage::assistant::handoff::{self, DeskConversation};
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{author_of, load_conversation};
use crate::api::host::Host;
use crate::api::query::{PathParams, QueryParams};

/// Maximum and default page size.
const MAX_LIMIT: i64 = 200;
const DEFAULT_LIMIT: i64 = 50;

// Attributes take literals only.
const _: () = assert!(MAX_LIMIT == 200 && DEFAULT_LIMIT == 50, "change the OpenAPI description of the parameter too");

/// Query parameters of the list.
#[derive(Debug, Default, Deserialize)]
pub struct DeskQuery {
    state: Option<String>,
    limit: Option<i64>,
    cursor: Option<String>,
}

/// Lists the conversations that wait for a person or have one, those that have waited longest first.
#[utoipa::path(
    get,
    path = "/v1/desk/conversations",
    tag = "desk",
    params(
        ("state" = Option<String>, Query, description = "`waiting` or `running`; default is both"),
        ("limit" = Option<i64>, Query, description = "Page size, at most 200; default 50"),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the previous page"),
    ),
    responses(
        (status = 200, description = "A page of conversations", body = ref("#/components/schemas/DeskConversations")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 422, description = "The state or the cursor is invalid"),
    ),
)]
pub async fn conversations(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<DeskQuery>,
) -> Result<Json<Value>, ApiError> {
    let refuse = |message: &str| ApiError::unprocessable(message).with_code("invalid_query");
    let state = query.state.as_deref().filter(|it| !it.is_empty());
    if state.is_some_and(|it| !["waiting", "running"].contains(&it)) {
        return Err(refuse("unknown state; use waiting or running"));
    }
    let (at, id) = match &query.cursor {
        None => (Millis::MIN, Uuid::nil().to_string()),
        Some(cursor) => parse_cursor(cursor).ok_or_else(|| refuse("invalid cursor; use the next_cursor of the previous page"))?,
    };
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let found = handoff::list(&host.content.readers, state, (at, &id), limit + 1).await?;
    let page = found.get(..usize::try_from(limit).unwrap_or_default()).unwrap_or(&found);
    let next = page.last().filter(|_| page.len() < found.len()).map(|it| format!("{}.{}", it.requested_at, it.session));
    let rows: Vec<Value> = page.iter().map(|it| render_row(it, &host.outbound.redaction)).collect();
    Ok(Json(json!({"conversations": rows, "next_cursor": next, "author": author_of(&caller)})))
}

fn parse_cursor(cursor: &str) -> Option<(Millis, String)> {
    let (at, id) = cursor.split_once('.')?;
    Some((at.parse().ok()?, Uuid::try_parse(id).ok()?.to_string()))
}

fn render_row(row: &DeskConversation, redaction: &Redaction) -> Value {
    let mut shown = json!({
        "session_id": row.session, "assistant": row.program.id(), "state": row.state, "queue": row.queue, "reason": row.reason,
        "ticket": row.ticket, "author": row.author, "since": clock::format_iso(row.requested_at),
        "updated_at": clock::format_iso(row.updated_at), "preview": row.preview, "unread": row.unread,
    });
    redaction.redact_members(&mut shown, &["reason", "preview"]);
    add_program(&mut shown, &row.program);
    shown
}

/// Names the kind of the document that has the conversation, if it is not an assistant.
fn add_program(shown: &mut Value, program: &ProgramKey) {
    if program.kind() != DocumentKind::Assistant {
        shown["program"] = json!(program.kind().name());
    }
}

/// Returns a conversation with its transcript and variables; private values are masked.
#[utoipa::path(
    get,
    path = "/v1/desk/conversations/{session}",
    tag = "desk",
    responses(
        (status = 200, description = "The conversation", body = ref("#/components/schemas/DeskConversation")),
        (status = 404, description = "The conversation is not at the desk"),
    ),
)]
pub async fn conversation(State(host): State<Arc<Host>>, PathParams(id): PathParams<String>) -> Result<Json<Value>, ApiError> {
    let (stored, running) = load_conversation(&host.content, &id).await?;
    let Some(flow) = running.config.flow().filter(|_| !running.is_document_missing) else {
        // Without the document it is unknown which values are private.
        let message = "snapshot of the session is no longer stored; close the conversation";
        return Err(ApiError::internal(message).with_code("snapshot_lost"));
    };
    let mut state = stored.state;
    convengine_core::flow::redact_session(flow, &mut state);
    // A person talks with, and returns variables to, the document that handed off.
    let active = active_state(&state);
    let mut vars = active.get("vars").and_then(Value::as_object).cloned().unwrap_or_default();
    host.outbound.redaction.redact_variables(&mut vars);
    let declared = declared_variables(active_document(flow, &state), &vars);
    let mut history = active.get("history").and_then(Value::as_array).cloned().unwrap_or_default();
    history.iter_mut().for_each(|it| host.outbound.redaction.redact_members(it, &["text"]));
    let mut member = |name: &str| state.get_mut(name).map(Value::take).unwrap_or_default();
    let mut handoff = member("handoff");
    host.outbound.redaction.redact_members(&mut handoff, &["reason"]);
    let mut identity: Map = ["user", "visitor"].into_iter().map(|name| (name.to_owned(), member(name))).collect();
    host.outbound.redaction.redact_identity(&mut identity);
    let mut shown = json!({
        "session_id": running.session, "assistant": stored.program.id(), "seq": member("seq"), "locale": member("locale"),
        "channel": member("channel"), "handoff": handoff, "history": history, "variables": declared,
    });
    if let Value::Object(members) = &mut shown {
        members.extend(identity);
    }
    add_program(&mut shown, &stored.program);
    Ok(Json(shown))
}

/// The declared variables with their values, in the order of the document.
fn declared_variables(flow: &Flow, vars: &Map) -> Value {
    let all = flow.document.variables.iter();
    all.map(|variable| {
        json!({
            "name": variable.name.to_string(),
            "type": variable.kind.keyword(),
            "value": variable.name.find(vars),
            "redacted": variable.redact,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_a_time_and_a_session() {
        let id = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        assert_eq!(parse_cursor(&format!("5.{id}")), Some((5, id.to_owned())));
        for wrong in ["", "5", "5.", ".x", "x.4d7fe557-03ba-56be-b8c3-a9a5d12f0d69", "5.'"] {
            assert_eq!(parse_cursor(wrong), None, "{wrong}");
        }
    }
}
