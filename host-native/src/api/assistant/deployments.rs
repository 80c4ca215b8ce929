//! `…/deployments` of assistants and workflows to pages, and of AI agents.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::security_log::{Logged, LoggedSubject};
use convengine_content::deployment::{AGENT_TOKEN_PREFIX, TOKEN_PREFIX, generate_token, hash_token, is_origin};
use convengine_core::turn::Map;
use convengine_host_base::clock;
use convengine_storage::assistant::deployment::{self, Deployment};
use convengine_storage::assistant::{DocumentKind, draft};
use serde_json::{Value, json};
use uuid::Uuid;

use super::document;
use super::runtime::ai_agents::is_channel_allowed;
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::assistant::kind_routes::DocumentPath;
use crate::api::host::Host;

/// Creates a deployment. The token is shown only once.
#[utoipa::path(
    post,
    path = "/v1/{documents}/{document}/deployments",
    tag = "documents",
    request_body = ref("#/components/schemas/DocumentDeployment"),
    responses(
        ObjectRefusals,
        (status = 201, description = "The deployment is created", body = ref("#/components/schemas/Deployed")),
        (status = 404, description = "Document not found"),
        (status = 409, description = "The document has no published version"),
        (status = 422, description = "A member of the body is invalid"),
    ),
)]
pub async fn create(
    State(host): State<Arc<Host>>,
    path: Result<DocumentPath, ApiError>,
    ObjectBody(members): ObjectBody,
) -> Result<Logged, ApiError> {
    let (program, mut members) = (path?.key()?, members?);
    // The token of an AI agent alone admits; origins narrow it.
    if program.kind() == DocumentKind::Agent && members.get("origins").is_none_or(Value::is_null) {
        members.insert("origins".to_owned(), json!([]));
    }
    let about = draft::find_assistant(&host.content.readers, program.as_str()).await?;
    let about = about.ok_or_else(|| document::document_not_found(program.kind()))?;
    let request = NewDeployment::parse(&members).map_err(|reason| ApiError::unprocessable(reason).with_code("invalid_deployment"))?;
    if about.live_version.is_none() {
        return Err(document::not_published(program.kind()));
    }
    let NewDeployment { name, channel, origins, debug } = request;
    if program.kind() == DocumentKind::Agent {
        let document = document::live_document(&host.content, &program).await?.1.document;
        if !is_channel_allowed(&document, &json!(channel)) {
            let message = "channel is not one that the AI agent lists; send one of its channels";
            return Err(ApiError::unprocessable(message).with_code("invalid_deployment"));
        }
    }
    let prefix = if program.kind() == DocumentKind::Agent { AGENT_TOKEN_PREFIX } else { TOKEN_PREFIX };
    let (id, token) = (Uuid::new_v4().to_string(), generate_token(prefix));
    let created = Deployment { id, program, name, channel, origins, debug, created_at: clock::now() };
    let hash = hash_token(&token);
    deployment::insert(&host.content.readers, &created, &hash).await?;
    host.access.credentials.add(&hash);
    host.access.credentials.add_origins(&created.origins);
    let subject = LoggedSubject(created.id.clone());
    Ok((StatusCode::CREATED, Extension(subject), Json(json!({"id": created.id, "token": token}))))
}

/// A validated request for a deployment.
#[derive(Debug, PartialEq, Eq)]
struct NewDeployment {
    name: String,
    channel: String,
    origins: Vec<String>,
    debug: bool,
}

impl NewDeployment {
    fn parse(members: &Map) -> Result<NewDeployment, String> {
        let member = |key: &str| members.get(key).filter(|it| !it.is_null());
        let text = |key: &str| match member(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() && !text.contains('\0') => Ok(Some(text.clone())),
            Some(_) => Err(format!("{key} is not a non-empty string; send one")),
        };
        let origins = member("origins").and_then(Value::as_array).ok_or("origins is not a list; send the origins that may call")?;
        let origin = |it: &Value| {
            let text = it.as_str().unwrap_or_default();
            let line = "send a value such as https://shop.example without a path";
            if is_origin(text) { Ok(text.to_owned()) } else { Err(format!("origins: {it} is not an origin; {line}")) }
        };
        let debug = match member("debug") {
            None => false,
            Some(Value::Bool(on)) => *on,
            Some(_) => return Err("debug is not a Boolean; send true or false".to_owned()),
        };
        Ok(NewDeployment {
            name: text("name")?.ok_or("name is missing; send a name for the deployment")?,
            channel: text("channel")?.unwrap_or_else(|| "web".to_owned()),
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
            debug,
        })
    }
}

/// The OpenAPI schema of a request for a deployment to pages.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["name", "origins"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "The display name"},
            "channel": {"type": ["string", "null"], "description": "The kind of channel; default `web`"},
            "origins": {"type": "array", "items": {"type": "string"}, "description": "The origins that may use the deployment"},
            "debug": {"type": ["boolean", "null"], "description": "Whether users may see debug information"},
        },
    })
}

/// The OpenAPI schema of a request for a deployment of an AI agent.
pub fn agent_schema() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "The display name"},
            "channel": {"type": ["string", "null"], "description": "The channel of messages without one; default `web`"},
            "origins": {"type": ["array", "null"], "items": {"type": "string"}, "description": "The only origins that may call; default all clients with the token, but no page of another origin"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_has_a_name_and_origins() {
        let read = |given: Value| NewDeployment::parse(given.as_object().expect("an object"));
        let found = read(json!({"name": "shop", "origins": ["https://shop.example"], "debug": true, "more": 1})).expect("a deployment");
        assert_eq!((found.channel.as_str(), found.origins.len(), found.debug), ("web", 1, true));
        assert!(read(json!({"name": "shop", "channel": "kiosk", "origins": [], "debug": null})).is_ok_and(|it| !it.debug));
        for (given, words) in [
            (json!({"origins": []}), "name is missing"),
            (json!({"name": " ", "origins": []}), "name is not a non-empty string"),
            (json!({"name": "a\0", "origins": []}), "name is not a non-empty string"),
            (json!({"name": "a"}), "origins is not a list"),
            (json!({"name": "a", "origins": "https://a.example"}), "origins is not a list"),
            (json!({"name": "a", "origins": ["https://a.example/"]}), "is not an origin"),
            (json!({"name": "a", "origins": [5]}), "5 is not an origin"),
            (json!({"name": "a", "channel": 5, "origins": []}), "channel is not a non-empty string"),
            (json!({"name": "a", "origins": [], "debug": "yes"}), "debug is not a Boolean"),
        ] {
            let reason = read(given.clone()).expect_err("refused");
            assert!(reason.contains(words), "{given}: {reason}");
        }
    }
}
