//! `/v1/agents/{agent}/deployments`: where assistants are used.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_core::turn::Map;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{body, named, no_assistant};
use crate::assistant::deployment::{is_origin, token, token_hash};
use crate::clock;
use crate::drive::Host;
use crate::http::error::ApiError;
use crate::store::assistant::deployment::{self, Deployment};
use crate::store::assistant::draft;

/// Lets pages use an assistant. The token is shown this once.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/deployments",
    tag = "assistants",
    params(("agent" = String, Path, description = "The assistant")),
    request_body = ref("#/components/schemas/Deployment"),
    responses(
        (status = 201, description = "They may", body = ref("#/components/schemas/Deployed")),
        (status = 400, description = "The body is not JSON"),
        (status = 404, description = "There is no such assistant"),
        (status = 408, description = "The body does not go on"),
        (status = 409, description = "It has no version"),
        (status = 413, description = "The body is too long"),
        (status = 415, description = "The body does not say that it is JSON"),
        (status = 422, description = "A member of the body is not right"),
        (status = 503, description = "The database does not answer"),
    ),
)]
pub async fn create(
    State(host): State<Arc<Host>>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let given = body::object(&uri, &headers, body).await;
    let (assistant, given) = (named(id, &uri)?, given?);
    let database = |error: sqlx::Error| ApiError::of_database(&error, &uri);
    let about = draft::about(&host.readers, &assistant).await.map_err(database)?.ok_or_else(|| no_assistant(&uri))?;
    let asked = Asked::read(&given).map_err(|it| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, &uri, it).coded("invalid_deployment"))?;
    if about.live_version.is_none() {
        let message = "the assistant has no version: publish it first";
        return Err(ApiError::new(StatusCode::CONFLICT, &uri, message).coded("not_published"));
    }
    let Asked { name, channel, origins, debug } = asked;
    let (id, token) = (Uuid::new_v4().to_string(), token());
    let made = Deployment { id, assistant, name, channel, origins, debug, created_at: clock::now() };
    deployment::insert(&host.readers, &made, &token_hash(&token)).await.map_err(database)?;
    Ok((StatusCode::CREATED, Json(json!({"id": made.id, "token": token}))))
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    name: String,
    channel: String,
    origins: Vec<String>,
    debug: bool,
}

impl Asked {
    fn read(given: &Map) -> Result<Asked, String> {
        let member = |key: &str| given.get(key).filter(|it| !it.is_null());
        let text = |key: &str| match member(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() && !text.contains('\0') => Ok(Some(text.clone())),
            Some(_) => Err(format!("{key} is no text: send one")),
        };
        let origins = member("origins").and_then(Value::as_array).ok_or("origins is no list: send the origins whose pages may call")?;
        let origin = |it: &Value| {
            let text = it.as_str().unwrap_or_default();
            let line = "write such as https://shop.example or http://localhost:3000, without a path";
            if is_origin(text) { Ok(text.to_owned()) } else { Err(format!("origins: {it} is no origin: {line}")) }
        };
        let debug = match member("debug") {
            None => false,
            Some(Value::Bool(on)) => *on,
            Some(_) => return Err("debug is no truth: send true or false".to_owned()),
        };
        Ok(Asked {
            name: text("name")?.ok_or("name is missing: say what the deployment is called")?,
            channel: text("channel")?.unwrap_or_else(|| "web".to_owned()),
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
            debug,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_has_a_name_and_origins() {
        let read = |given: Value| Asked::read(given.as_object().expect("an object"));
        let found = read(json!({"name": "shop", "origins": ["https://shop.example"], "debug": true, "more": 1})).expect("a deployment");
        assert_eq!((found.channel.as_str(), found.origins.len(), found.debug), ("web", 1, true));
        assert!(read(json!({"name": "shop", "channel": "kiosk", "origins": [], "debug": null})).is_ok_and(|it| !it.debug));
        for (given, words) in [
            (json!({"origins": []}), "name is missing"),
            (json!({"name": " ", "origins": []}), "name is no text"),
            (json!({"name": "a\0", "origins": []}), "name is no text"),
            (json!({"name": "a"}), "origins is no list"),
            (json!({"name": "a", "origins": "https://a.example"}), "origins is no list"),
            (json!({"name": "a", "origins": ["https://a.example/"]}), "is no origin"),
            (json!({"name": "a", "origins": [5]}), "5 is no origin"),
            (json!({"name": "a", "channel": 5, "origins": []}), "channel is no text"),
            (json!({"name": "a", "origins": [], "debug": "yes"}), "debug is no truth"),
        ] {
            let reason = read(given.clone()).expect_err("refused");
            assert!(reason.contains(words), "{given}: {reason}");
        }
    }
}
