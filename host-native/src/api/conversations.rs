//! `GET /api/v1/conversation`: lists conversations for operators.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_core::turn::Millis;
use convengine_host_base::uuid_text::parse_uuid;
use convengine_storage::conversations::{ConversationFilter, find};
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::{QueryParams, next_cursor, read_limit, read_text, read_time};
use crate::api::host::Host;

/// Query parameters of the list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ConversationQuery {
    /// The status, such as `RUNNING` or `BLOCKED`, or `active` of a session.
    status: Option<String>,
    /// The intent.
    intent: Option<String>,
    /// The state.
    state: Option<String>,
    /// A part of the latest message.
    text: Option<String>,
    /// Start of the time range of the latest turn (inclusive), ISO 8601 or milliseconds.
    from: Option<String>,
    /// End of the time range of the latest turn (exclusive), ISO 8601 or milliseconds.
    to: Option<String>,
    /// Whether any turn has failed.
    #[param(value_type = Option<bool>)]
    faults: Option<String>,
    /// The `next` value of the previous page.
    after: Option<String>,
    /// Maximum number of conversations to return.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 200)]
    limit: Option<String>,
}

/// Lists conversations.
///
/// Returns matching conversations, latest turn first; send `next` as `after` for the next page.
#[utoipa::path(
    get,
    path = "/api/v1/conversation",
    tag = "operations",
    params(ConversationQuery),
    responses(
        (status = 200, description = "Conversations", body = ref("#/components/schemas/Conversations")),
        (status = 400, description = "A filter is invalid"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, QueryParams(query): QueryParams<ConversationQuery>) -> Result<Json<Value>, ApiError> {
    let filter = parse_filter(query).map_err(ApiError::bad_request)?;
    let found = find(&host.content.readers, &filter).await?;
    let next = next_cursor(&found, filter.limit, |it| format!("{}:{}", it.updated_at_ms, it.conversation_id));
    Ok(Json(json!({"conversations": found, "next": next})))
}

fn parse_filter(query: ConversationQuery) -> Result<ConversationFilter, String> {
    let faults = match read_text(query.faults).map(|it| it.to_ascii_lowercase()).as_deref() {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err("faults is not a Boolean; send true or false or omit it".to_owned()),
    };
    let after =
        read_text(query.after).map(|cursor| parse_cursor(&cursor).ok_or("after is invalid; send the next value of the previous page"));
    Ok(ConversationFilter {
        status: read_text(query.status),
        intent: read_text(query.intent),
        state: read_text(query.state),
        text: read_text(query.text),
        from: read_time("from", query.from)?,
        to: read_time("to", query.to)?,
        has_faults: faults,
        cursor: after.transpose()?,
        limit: read_limit(query.limit)?,
    })
}

fn parse_cursor(text: &str) -> Option<(Millis, String)> {
    let (at, id) = text.split_once(':')?;
    Some((at.parse().ok()?, parse_uuid(id)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::query::DEFAULT_LIMIT;
    use axum::extract::Query;
    use axum::http::Uri;

    fn read(query: &str) -> Result<ConversationFilter, String> {
        let uri: Uri = format!("/?{query}").parse().expect("a path");
        Query::<ConversationQuery>::try_from_uri(&uri).map_err(|it| it.to_string()).and_then(|it| parse_filter(it.0))
    }

    #[test]
    fn filters_are_parsed_or_rejected_with_advice() {
        let all = read("").expect("no filter");
        assert_eq!((all.limit, all.has_faults, all.cursor), (DEFAULT_LIMIT, None, None));
        let id = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        let some = read(&format!("status=+&faults=TRUE&from=1970-01-01T00:00:01Z&to=2000&limit=7&after=5:{id}")).expect("filters");
        assert_eq!((some.status, some.has_faults, some.from, some.to, some.limit), (None, Some(true), Some(1000), Some(2000), 7));
        assert_eq!(some.cursor, Some((5, id.to_owned())));
        for query in ["limit=0", "limit=201", "limit=x", "faults=yes", "from=noon", "after=7", "after=7:x"] {
            assert!(read(query).expect_err(query).contains("send"), "{query}");
        }
    }
}
