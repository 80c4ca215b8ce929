//! `GET /api/v1/conversation`: conversations for operators.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use convengine_core::turn::Millis;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::query::Asks;
use super::request::uuid;
use crate::clock;
use crate::drive::Host;
use crate::store::conversations::{Wanted, find};

/// Most conversations of an answer, and how many it has unless a client says otherwise.
const MOST: i64 = 200;
const USUAL: i64 = 50;

/// Which conversations a client asks for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Asked {
    /// `RUNNING`, `BLOCKED`, …
    status: Option<String>,
    /// The intent.
    intent: Option<String>,
    /// The state.
    state: Option<String>,
    /// A part of the newest message.
    text: Option<String>,
    /// The earliest time of the newest turn, ISO 8601 or milliseconds.
    from: Option<String>,
    /// The time before which it was.
    to: Option<String>,
    /// Whether a turn has failed.
    #[param(value_type = Option<bool>)]
    faults: Option<String>,
    /// The `next` of the answer before this one.
    after: Option<String>,
    /// Most conversations of the answer.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 200)]
    limit: Option<String>,
}

/// Conversations for operators.
///
/// The conversations that fit, the one with the newest turn first; `next` is what to send as `after` for those that follow.
#[utoipa::path(
    get,
    path = "/api/v1/conversation",
    tag = "operations",
    params(Asked),
    responses(
        (status = 200, description = "Conversations", body = ref("#/components/schemas/Conversations")),
        (status = 400, description = "A filter cannot be read"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>, uri: Uri, Asks(asked): Asks<Asked>) -> Result<Json<Value>, ApiError> {
    let wanted = wanted(asked).map_err(|it| ApiError::new(StatusCode::BAD_REQUEST, &uri, it))?;
    let found = find(&host.readers, &wanted).await.map_err(|it| ApiError::of_database(&it, &uri))?;
    let full = i64::try_from(found.len()).is_ok_and(|it| it == wanted.limit);
    let next = found.last().filter(|_| full).map(|it| format!("{}:{}", it.at, it.conversation_id));
    Ok(Json(json!({"conversations": found, "next": next})))
}

fn wanted(asked: Asked) -> Result<Wanted, String> {
    // Not every database can be asked for a NUL, and what is stored has none.
    let filled = |it: Option<String>| it.map(|it| it.trim().replace('\0', "\u{fffd}")).filter(|it| !it.is_empty());
    let time = |name: &str, it: Option<String>| {
        let wrong = || format!("{name} is no time: send one such as 2026-01-31T12:00:00Z, or milliseconds");
        filled(it).map(|it| clock::parse(&it).ok_or_else(wrong)).transpose()
    };
    let faults = match filled(asked.faults).map(|it| it.to_ascii_lowercase()).as_deref() {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err("faults is not a boolean: send true or false, or leave it out".to_owned()),
    };
    let limit = match filled(asked.limit).map(|it| it.parse::<i64>()) {
        None => USUAL,
        Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
        Some(_) => return Err(format!("limit is not known: send a number from 1 to {MOST}")),
    };
    let after = filled(asked.after).map(|it| place(&it).ok_or("after is not known: send what the answer before this one has as next"));
    Ok(Wanted {
        status: filled(asked.status),
        intent: filled(asked.intent),
        state: filled(asked.state),
        text: filled(asked.text),
        from: time("from", asked.from)?,
        to: time("to", asked.to)?,
        faults,
        after: after.transpose()?,
        limit,
    })
}

fn place(text: &str) -> Option<(Millis, String)> {
    let (at, id) = text.split_once(':')?;
    Some((at.parse().ok()?, uuid(id)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::Query;

    fn read(query: &str) -> Result<Wanted, String> {
        let uri: Uri = format!("/?{query}").parse().expect("a path");
        Query::<Asked>::try_from_uri(&uri).map_err(|it| it.to_string()).and_then(|it| wanted(it.0))
    }

    #[test]
    fn filters_are_read_or_refused_with_what_to_send() {
        let all = read("").expect("no filter");
        assert_eq!((all.limit, all.faults, all.after), (USUAL, None, None));
        let id = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        let some = read(&format!("status=+&faults=TRUE&from=1970-01-01T00:00:01Z&to=2000&limit=7&after=5:{id}")).expect("filters");
        assert_eq!((some.status, some.faults, some.from, some.to, some.limit), (None, Some(true), Some(1000), Some(2000), 7));
        assert_eq!(some.after, Some((5, id.to_owned())));
        for query in ["limit=0", "limit=201", "limit=x", "faults=yes", "from=noon", "after=7", "after=7:x"] {
            assert!(read(query).expect_err(query).contains("send"), "{query}");
        }
    }
}
