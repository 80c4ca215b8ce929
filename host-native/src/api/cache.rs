//! `/api/v1/cache`: reloads and reports the configuration rows in memory (docs/spec/data-and-api.md#3.3).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_content::config::active::ReloadError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::query::QueryParams;
use crate::api::host::Host;

/// The tables reported by the original server, in its order.
const LISTED_TABLES: [&str; 26] = [
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

/// Reloads the configuration rows. Running turns continue with their configuration.
#[utoipa::path(
    post,
    path = "/api/v1/cache/refresh",
    tag = "operations",
    responses(
        (status = 200, description = "The rows are reloaded", body = String, content_type = "text/plain"),
        (status = 422, description = "The rows have new errors; nothing is changed"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn refresh(State(host): State<Arc<Host>>) -> Result<String, ApiError> {
    match host.content.config_manager.refresh().await {
        // Clients show this text; the numbers belong to the vectors of the semantic layer, which are not rebuilt here.
        Ok(_) => Ok("Successfully evicted/reloaded caches. Query-failure embedding refresh: indexed=0, failed=0, skipped=0.".to_owned()),
        Err(ReloadError::Database(error)) => Err(ApiError::from(error)),
        Err(ReloadError::NewErrors(issues)) => {
            let message = "rows have new errors; correct them and try again, the active configuration is unchanged";
            Err(ApiError::unprocessable(message).with_issues(&issues))
        }
    }
}

/// Query parameters of [`analyze`].
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AnalyzeQuery {
    /// `false` to omit timings.
    #[param(value_type = Option<bool>)]
    warmup: Option<String>,
}

/// Reports the configuration rows in memory.
#[utoipa::path(
    get,
    path = "/api/v1/cache/analyze",
    tag = "operations",
    params(AnalyzeQuery),
    responses(
        (status = 200, description = "The report", body = ref("#/components/schemas/Analysis")),
        (status = 400, description = "A parameter is invalid"),
    ),
)]
pub async fn analyze(State(host): State<Arc<Host>>, QueryParams(query): QueryParams<AnalyzeQuery>) -> Json<Value> {
    let warmup = query.warmup.is_none_or(|warmup| !warmup.trim().eq_ignore_ascii_case("false"));
    let current = host.content.config_manager.active();
    let tables: BTreeMap<&str, usize> = current.config.row_counts().collect();
    let size = |list: &str| tables.get(list).copied();
    let of_list = |list: &str| match size(list) {
        Some(size) => json!({"exists": true, "hasSimpleKeyEntry": true, "valueType": "rows", "listSize": size, "nativeEntryCount": 1}),
        None => json!({"exists": false}),
    };
    let lists: Map<String, Value> = LISTED_TABLES.iter().map(|table| ((*table).to_owned(), of_list(table))).collect();
    let mut report = json!({
        "cacheProvider": {
            "snapshot": current.config.hash_source(),
            "registeredCacheNames": tables.keys().collect::<Vec<_>>(),
            "issues": current.issues,
        },
        "springCacheProperties": {},
        "cacheInfrastructure": {},
        "warmupAndTimingEnabled": warmup,
    });
    let Value::Object(members) = &mut report else { return Json(report) };
    if warmup {
        let timed = |list: &&str| {
            ((*list).to_owned(), json!({"firstCallMs": time_millis(|| size(list)), "secondCallMs": time_millis(|| size(list))}))
        };
        members.insert("warmupTimingMs".to_owned(), Value::Object(LISTED_TABLES.iter().map(timed).collect()));
    }
    members.insert("staticCaches".to_owned(), Value::Object(lists));
    // Conversations are not cached: each turn reads them from the database.
    let none = json!({"ce_conversation_cache": {"exists": false}, "ce_conversation_history_cache": {"exists": false}});
    members.insert("runtimeCaches".to_owned(), none);
    Json(report)
}

fn time_millis<T>(work: impl FnOnce() -> T) -> u64 {
    let start = Instant::now();
    std::hint::black_box(work());
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
