//! `/api/v1/cache`: reads the authors' rows again, and tells what of them is held. (`spec/data-and-api.md` 3.3)

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::query::Asks;
use crate::configured::Refused;
use crate::drive::Host;

/// The lists that clients of the original know, in its order.
const LISTS: [&str; 26] = [
    "ce_config",
    "ce_rule",
    "ce_pending_action",
    "ce_intent",
    "ce_intent_classifier",
    "ce_output_schema",
    "ce_prompt_template",
    "ce_response",
    "ce_container_config",
    "ce_mcp_tool",
    "ce_mcp_db_tool",
    "ce_mcp_planner",
    "ce_policy",
    "ce_verbose",
    "ce_semantic_ambiguity_option",
    "ce_semantic_concept",
    "ce_semantic_concept_embedding",
    "ce_semantic_entity",
    "ce_semantic_join_hint",
    "ce_semantic_join_path",
    "ce_semantic_mapping",
    "ce_semantic_query_class",
    "ce_semantic_relationship",
    "ce_semantic_synonym",
    "ce_semantic_value_pattern",
    "ce_user_query_knowledge",
];

/// Reads the rows again; turns that run go on with what they began with.
#[utoipa::path(
    post,
    path = "/api/v1/cache/refresh",
    tag = "operations",
    responses(
        (status = 200, description = "They are read", body = String, content_type = "text/plain"),
        (status = 422, description = "They have errors that were not there before; everything stays as it was"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn refresh(State(host): State<Arc<Host>>, uri: Uri) -> Result<String, ApiError> {
    match host.current.refresh().await {
        // Clients show the text; the numbers are those of the semantic layer's vectors, which nobody rebuilds here.
        Ok(_) => Ok("Successfully evicted/reloaded caches. Query-failure embedding refresh: indexed=0, failed=0, skipped=0.".to_owned()),
        Err(Refused::Database(error)) => Err(ApiError::of_database(&error, &uri)),
        Err(Refused::Errors(issues)) => {
            let message = "the rows have errors that were not there before: correct them and try again; turns run on as before";
            Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &uri, message).because(&issues))
        }
    }
}

/// What a client asks of [`analyze`].
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Analyze {
    /// `false` for an answer without times.
    #[param(value_type = Option<bool>)]
    warmup: Option<String>,
}

/// What is held of the rows.
#[utoipa::path(
    get,
    path = "/api/v1/cache/analyze",
    tag = "operations",
    params(Analyze),
    responses(
        (status = 200, description = "What is held", body = ref("#/components/schemas/Analysis")),
        (status = 400, description = "A parameter cannot be read"),
    ),
)]
pub async fn analyze(State(host): State<Arc<Host>>, Asks(asked): Asks<Analyze>) -> Json<Value> {
    let warmup = asked.warmup.is_none_or(|it| !it.trim().eq_ignore_ascii_case("false"));
    let current = host.current.now();
    let tables = current.config.source().get("tables").and_then(Value::as_object).cloned().unwrap_or_default();
    let size = |list: &str| tables.get(list).and_then(Value::as_array).map(Vec::len);
    let of_list = |list: &str| match size(list) {
        Some(size) => json!({"exists": true, "hasSimpleKeyEntry": true, "valueType": "rows", "listSize": size, "nativeEntryCount": 1}),
        None => json!({"exists": false}),
    };
    let lists: Map<String, Value> = LISTS.iter().map(|it| ((*it).to_owned(), of_list(it))).collect();
    let mut found = json!({
        "cacheProvider": {
            "snapshot": current.config.hash(),
            "registeredCacheNames": tables.keys().collect::<Vec<_>>(),
            "issues": current.issues,
        },
        "springCacheProperties": {},
        "cacheInfrastructure": {},
        "warmupAndTimingEnabled": warmup,
    });
    let Value::Object(members) = &mut found else { return Json(found) };
    if warmup {
        let timed =
            |list: &&str| ((*list).to_owned(), json!({"firstCallMs": millis(|| size(list)), "secondCallMs": millis(|| size(list))}));
        members.insert("warmupTimingMs".to_owned(), Value::Object(LISTS.iter().map(timed).collect()));
    }
    members.insert("staticCaches".to_owned(), Value::Object(lists));
    // Conversations are read for each turn: what another process has written is never missed.
    let none = json!({"ce_conversation_cache": {"exists": false}, "ce_conversation_history_cache": {"exists": false}});
    members.insert("runtimeCaches".to_owned(), none);
    Json(found)
}

fn millis<T>(work: impl FnOnce() -> T) -> u64 {
    let start = Instant::now();
    std::hint::black_box(work());
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
