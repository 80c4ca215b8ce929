//! `GET /api/v1/security-log`: who has done what that matters to security.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_host_base::clock;
use convengine_storage::security_log::{self, SecurityLogFilter, SecurityLogRow};
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::{QueryParams, next_cursor, read_limit, read_text, read_time};
use super::schemas::{list as list_of, nullable_text, object, text};
use crate::api::host::Host;

/// Query parameters of the list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SecurityLogQuery {
    /// Who did it: the id or the name of a key or token, `administrator`, `command` or `anonymous`.
    actor: Option<String>,
    /// What was done, such as `secret.store`.
    action: Option<String>,
    /// Start of the time range (inclusive), ISO 8601 or milliseconds.
    from: Option<String>,
    /// End of the time range (exclusive), ISO 8601 or milliseconds.
    to: Option<String>,
    /// The `next` value of the previous page.
    #[param(value_type = Option<i64>)]
    after: Option<String>,
    /// Maximum number of entries to return.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 200)]
    limit: Option<String>,
}

/// Lists the security log.
///
/// Returns matching entries, newest first; send `next` as `after` for the next page.
#[utoipa::path(
    get,
    path = "/api/v1/security-log",
    tag = "operations",
    params(SecurityLogQuery),
    responses(
        (status = 200, description = "The entries", body = ref("#/components/schemas/SecurityLog")),
        (status = 400, description = "A filter is invalid"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, QueryParams(query): QueryParams<SecurityLogQuery>) -> Result<Json<Value>, ApiError> {
    let filter = parse_filter(query).map_err(ApiError::bad_request)?;
    let found = security_log::list(&host.content.readers, &filter).await?;
    let next = next_cursor(&found, filter.limit, |it| it.id.to_string());
    Ok(Json(json!({"entries": found.iter().map(render).collect::<Vec<_>>(), "next": next})))
}

fn render(row: &SecurityLogRow) -> Value {
    json!({
        "at": clock::format_iso(row.at), "action": row.action, "actor": row.actor, "actorName": row.actor_name, "subject": row.subject,
        "address": row.address, "outcome": row.outcome,
    })
}

fn parse_filter(query: SecurityLogQuery) -> Result<SecurityLogFilter, String> {
    let after =
        read_text(query.after).map(|cursor| cursor.parse().map_err(|_| "after is invalid; send the next value of the previous page"));
    Ok(SecurityLogFilter {
        actor: read_text(query.actor),
        action: read_text(query.action),
        from: read_time("from", query.from)?,
        to: read_time("to", query.to)?,
        before: after.transpose()?,
        limit: read_limit(query.limit)?,
    })
}

/// The OpenAPI schema of the list.
pub fn schema() -> Value {
    let entry = object(json!({
        "at": text("The time"), "action": text("What was done, such as `secret.store`"),
        "actor": text("Who did it: the id of a key or token, `administrator`, `command` or `anonymous`"),
        "actorName": nullable_text("The name of the key or token"), "subject": text("What it was done to"),
        "address": text("The address of the client; empty for commands"),
        "outcome": {"type": "string", "enum": ["started", "succeeded", "refused", "failed"]},
    }));
    object(json!({"entries": list_of(&entry), "next": nullable_text("Send it as `after` for the next page; null at the end")}))
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;
    use axum::http::Uri;

    use super::*;
    use crate::api::query::DEFAULT_LIMIT;

    #[test]
    fn filters_are_parsed_or_rejected_with_advice() {
        let read = |query: &str| {
            let uri: Uri = format!("/?{query}").parse().expect("a path");
            Query::<SecurityLogQuery>::try_from_uri(&uri).map_err(|it| it.to_string()).and_then(|it| parse_filter(it.0))
        };
        let all = read("actor=+").expect("no filter");
        assert_eq!((all.limit, all.actor, all.before), (DEFAULT_LIMIT, None, None));
        let some = read("actor=key+a&action=secret.store&from=1970-01-01T00:00:01Z&to=2000&limit=7&after=5").expect("filters");
        assert_eq!((some.actor.as_deref(), some.action.as_deref()), (Some("key a"), Some("secret.store")));
        assert_eq!((some.from, some.to, some.limit, some.before), (Some(1000), Some(2000), 7, Some(5)));
        for query in ["limit=0", "limit=201", "from=noon", "after=x"] {
            assert!(read(query).expect_err(query).contains("send"), "{query}");
        }
    }
}
