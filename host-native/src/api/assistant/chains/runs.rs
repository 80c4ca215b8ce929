//! Starts, lists and reads runs.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use convengine_access::api_error::ApiError;
use convengine_core::turn::{Map, Millis};
use convengine_storage::chain::run::{self, RunFilter};
use convengine_turns::chain::trigger::{LiveChain, Trigger, start_run};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{check_chain, find_run, render_run};
use crate::api::assistant::body::{ObjectRefusals, OptionalObjectBody};
use crate::api::host::Host;
use crate::api::query::{PathParams, QueryParams};

/// The default and the largest size of a page.
const PAGE_SIZES: (i64, i64) = (50, 200);

/// The longest idempotency key, in characters.
const MAX_KEY_CHARS: usize = 255;

/// The statuses of runs.
const STATUSES: [&str; 8] = ["queued", "running", "awaiting_human", "awaiting_event", "sleeping", "succeeded", "failed", "cancelled"];

/// Starts a run.
#[utoipa::path(
    post,
    path = "/v1/workflow-chains/{chain}/run",
    tag = "chains",
    params(("Idempotency-Key" = Option<String>, Header, description = "Starts one run only, within a day")),
    request_body = ref("#/components/schemas/NewRun"),
    responses(
        ObjectRefusals,
        (status = 202, description = "The run has started", body = ref("#/components/schemas/StartedRun")),
        (status = 200, description = "The key has started a run before", body = ref("#/components/schemas/StartedRun")),
        (status = 404, description = "Chain not found"),
        (status = 409, description = "The chain is not published, or paused"),
        (status = 422, description = "The key was used for another input"),
    ),
)]
pub async fn start(
    State(host): State<Arc<Host>>,
    slug: Result<PathParams<String>, ApiError>,
    headers: HeaderMap,
    OptionalObjectBody(members): OptionalObjectBody,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let PathParams(slug) = slug?;
    check_chain(&host.content, &slug).await?;
    let key = read_key(&headers)?;
    let chain = LiveChain::find(&host.content, &slug).await?;
    let mut data = Map::from_iter([("kind".to_owned(), json!("manual"))]);
    data.extend(members.get("input").cloned().map(|it| ("body".to_owned(), it)));
    let started = start_run(&host.turns, &chain, Trigger { data, key, scope: "" }).await?;
    let status = if started.is_duplicate { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(json!({"run_id": started.run, "status": started.status, "duplicate": started.is_duplicate}))))
}

/// Reads the idempotency key of a request.
pub(super) fn read_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().map(str::trim).filter(|key| !key.is_empty() && key.chars().count() <= MAX_KEY_CHARS);
    let refuse = || {
        let message = format!("Idempotency-Key is not a string of 1 to {MAX_KEY_CHARS} characters; send another one or none");
        ApiError::unprocessable(message).with_code("invalid_idempotency_key")
    };
    key.map(|key| Some(key.to_owned())).ok_or_else(refuse)
}

/// The query of a list of runs.
#[derive(Debug, Default, Deserialize)]
pub struct RunQuery {
    status: Option<String>,
    branch: Option<String>,
    after: Option<String>,
    before: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

/// Lists the runs of a chain, newest first.
#[utoipa::path(
    get,
    path = "/v1/workflow-chains/{chain}/runs",
    tag = "chains",
    params(
        ("status" = Option<String>, Query, description = "Statuses, separated by commas"),
        ("branch" = Option<String>, Query, description = "The branch taken"),
        ("after" = Option<String>, Query, description = "Runs that began after this time"),
        ("before" = Option<String>, Query, description = "Runs that began before this time"),
        ("limit" = Option<i64>, Query, description = "The number of runs, 50 by default and 200 at most"),
        ("cursor" = Option<String>, Query, description = "`next` of the previous page"),
    ),
    responses(
        (status = 200, description = "The runs without their traces, and `next` if there are more", body = ref("#/components/schemas/Runs")),
        (status = 400, description = "A query parameter is invalid"),
        (status = 404, description = "Chain not found"),
        (status = 422, description = "A parameter is invalid"),
    ),
)]
pub async fn list(
    State(host): State<Arc<Host>>,
    PathParams(slug): PathParams<String>,
    QueryParams(query): QueryParams<RunQuery>,
) -> Result<Json<Value>, ApiError> {
    check_chain(&host.content, &slug).await?;
    let filter = read_filter(&slug, &query)?;
    let limit = filter.limit;
    let found = run::list(&host.content.readers, &RunFilter { limit: limit + 1, ..filter }).await?;
    let page = found.get(..usize::try_from(limit).unwrap_or(0).min(found.len())).unwrap_or_default();
    let next = page.last().filter(|_| found.len() > page.len()).map(|it| write_cursor(it.created_at, &it.id));
    let without_traces = |state: &Value| {
        let mut shown = render_run(state);
        if let Some(members) = shown.as_object_mut() {
            ["primary_trace", "branch_trace"].into_iter().for_each(|trace| drop(members.shift_remove(trace)));
        }
        shown
    };
    let mut answer = json!({"runs": page.iter().map(|it| without_traces(&it.state)).collect::<Vec<_>>()});
    if let (Some(next), Some(members)) = (next, answer.as_object_mut()) {
        members.insert("next".to_owned(), json!(next));
    }
    Ok(Json(answer))
}

fn read_filter<'f>(slug: &'f str, query: &RunQuery) -> Result<RunFilter<'f>, ApiError> {
    let refuse =
        |name: &str, what: &str| ApiError::unprocessable(format!("{name} is not {what}; correct it or omit it")).with_code("invalid_query");
    let time = |name: &'static str, text: &Option<String>| -> Result<Option<Millis>, ApiError> {
        text.as_deref()
            .map(|text| convengine_core::text::cron::parse_instant(text).ok_or_else(|| refuse(name, "a time in RFC 3339")))
            .transpose()
    };
    let statuses: Vec<String> =
        query.status.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    if statuses.iter().any(|status| !STATUSES.contains(&status.as_str())) {
        return Err(refuse("status", "a list of statuses"));
    }
    // PostgreSQL keeps no NUL.
    if query.branch.as_deref().is_some_and(|it| it.contains('\0')) {
        return Err(refuse("branch", "the id of a branch"));
    }
    let limit = match query.limit.as_deref() {
        None => PAGE_SIZES.0,
        Some(text) => {
            text.parse().ok().filter(|it| (1..=PAGE_SIZES.1).contains(it)).ok_or_else(|| refuse("limit", "a number from 1 to 200"))?
        }
    };
    let cursor =
        query.cursor.as_deref().map(|cursor| read_cursor(cursor).ok_or_else(|| refuse("cursor", "the 'next' of a page"))).transpose()?;
    Ok(RunFilter {
        chain: slug,
        statuses,
        branch: query.branch.clone(),
        after: time("after", &query.after)?,
        before: time("before", &query.before)?,
        cursor,
        limit,
    })
}

fn write_cursor(at: Millis, run: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{at} {run}"))
}

fn read_cursor(text: &str) -> Option<(Millis, String)> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (at, run) = std::str::from_utf8(&bytes).ok()?.split_once(' ')?;
    Some((at.parse().ok()?, uuid::Uuid::try_parse(run).ok()?.to_string()))
}

/// Returns a run.
#[utoipa::path(
    get,
    path = "/v1/workflow-chains/{chain}/runs/{run}",
    tag = "chains",
    responses(
        (status = 200, description = "The run with its traces", body = ref("#/components/schemas/Run")),
        (status = 404, description = "Run not found"),
    ),
)]
pub async fn read(State(host): State<Arc<Host>>, PathParams((slug, run)): PathParams<(String, String)>) -> Result<Json<Value>, ApiError> {
    let (_, stored) = find_run(&host.content, &slug, &run).await?;
    Ok(Json(render_run(&stored.state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back() {
        let run = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69".to_owned();
        assert_eq!(read_cursor(&write_cursor(5, &run)), Some((5, run)));
        assert_eq!(read_cursor("x"), None);
    }

    #[test]
    fn a_filter_is_read_or_refused() {
        let query =
            |status: &str, limit: &str| RunQuery { status: Some(status.to_owned()), limit: Some(limit.to_owned()), ..RunQuery::default() };
        let filter = read_filter("a", &query("failed, queued", "3")).expect("a filter");
        assert_eq!((filter.statuses.len(), filter.limit), (2, 3));
        assert!(read_filter("a", &query("done", "3")).is_err() && read_filter("a", &query("", "201")).is_err());
    }
}
