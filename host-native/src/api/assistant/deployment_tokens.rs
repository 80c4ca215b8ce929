//! `/v1/deployments`: the deployments of assistants, workflows and AI agents, and their tokens, which are listed, rotated and revoked.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::credential_watch::Credential;
use convengine_access::security_log::{Logged, LoggedSubject};
use convengine_content::deployment::{AGENT_TOKEN_PREFIX, TOKEN_PREFIX, generate_token, hash_token};
use convengine_host_base::clock;
use convengine_storage::assistant::DocumentKind;
use convengine_storage::assistant::deployment::{self, Deployment};
use convengine_storage::assistant::deployment_token::{self, DeploymentToken};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api::host::Host;
use crate::api::schemas::{list as list_of, nullable_text, object, text};

/// Lists the deployments with their active tokens, without the text of these.
#[utoipa::path(
    get,
    path = "/v1/deployments",
    tag = "assistants",
    responses(
        (status = 200, description = "The deployments, oldest first", body = ref("#/components/schemas/Deployments")),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>) -> Result<Json<Value>, ApiError> {
    let deployments = deployment::list(&host.content.readers).await?;
    let tokens = deployment_token::list_active(&host.content.readers).await?;
    let render = |it: &Deployment| render_deployment(it, tokens.iter().filter(|token| token.deployment == it.id));
    Ok(Json(json!({"deployments": deployments.iter().map(render).collect::<Vec<_>>()})))
}

fn render_deployment<'t>(it: &Deployment, tokens: impl Iterator<Item = &'t DeploymentToken>) -> Value {
    let token = |it: &DeploymentToken| {
        let last_used_at = it.last_used_at.map(clock::format_iso);
        json!({"id": it.id, "created_at": clock::format_iso(it.created_at), "last_used_at": last_used_at})
    };
    json!({
        "id": it.id, "kind": it.program.kind().name(), "document": it.program.id(), "name": it.name, "channel": it.channel,
        "origins": it.origins, "debug": it.debug, "created_at": clock::format_iso(it.created_at), "tokens": tokens.map(token).collect::<Vec<_>>(),
    })
}

/// Creates another token of a deployment, which is shown only once. Earlier ones work until they are revoked.
#[utoipa::path(
    post,
    path = "/v1/deployments/{deployment}/tokens",
    tag = "assistants",
    responses(
        (status = 201, description = "The token", body = ref("#/components/schemas/Deployed")),
        (status = 404, description = "Deployment not found"),
    ),
)]
pub async fn rotate(State(host): State<Arc<Host>>, id: Result<Path<String>, PathRejection>) -> Result<Logged, ApiError> {
    let unknown = || ApiError::not_found("deployment not found; see GET /v1/deployments");
    let deployment = id.ok().and_then(|path| Uuid::try_parse(&path.0).ok()).ok_or_else(unknown)?.to_string();
    let program = deployment::find_program(&host.content.readers, &deployment).await?.ok_or_else(unknown)?;
    let prefix = if program.kind() == DocumentKind::Agent { AGENT_TOKEN_PREFIX } else { TOKEN_PREFIX };
    let (id, token) = (Uuid::new_v4().to_string(), generate_token(prefix));
    let hash = hash_token(&token);
    deployment_token::insert(&host.content.readers, &id, &deployment, &hash, clock::now()).await?;
    host.access.credentials.add(&hash);
    Ok((StatusCode::CREATED, Extension(LoggedSubject(id.clone())), Json(json!({"id": id, "token": token}))))
}

/// Revokes a token of a deployment, which stops working at once.
#[utoipa::path(
    delete,
    path = "/v1/deployments/{deployment}/tokens/{id}",
    tag = "assistants",
    params(("id" = String, Path, format = "uuid", description = "The token id")),
    responses(
        (status = 204, description = "The token is revoked"),
        (status = 404, description = "Token not found in the deployment"),
    ),
)]
pub async fn revoke(State(host): State<Arc<Host>>, path: Result<Path<(String, String)>, PathRejection>) -> Result<StatusCode, ApiError> {
    let unknown = || ApiError::not_found("token not found; it may already be revoked");
    let ids = path.ok().and_then(|path| Some((Uuid::try_parse(&path.0.0).ok()?.to_string(), Uuid::try_parse(&path.0.1).ok()?.to_string())));
    let (deployment, id) = ids.ok_or_else(unknown)?;
    let revoked = deployment_token::revoke(&host.content.readers, &deployment, &id, clock::now()).await;
    if !revoked? {
        return Err(unknown());
    }
    host.access.open_credentials.end(&Credential::DeploymentToken(id.into()));
    Ok(StatusCode::NO_CONTENT)
}

/// The OpenAPI schema of the list.
pub fn deployments_schema() -> Value {
    let token = object(json!({
        "id": text("The token id"), "created_at": text("Creation time"), "last_used_at": nullable_text("Latest use, to the minute"),
    }));
    let one = object(json!({
        "id": text("The deployment id"), "kind": text("The kind of its document"), "document": text("The id of the document"),
        "name": text("The display name"), "channel": text("The channel"), "origins": list_of(&text("An origin")),
        "debug": {"type": "boolean"}, "created_at": text("Creation time"), "tokens": list_of(&token),
    }));
    object(json!({"deployments": list_of(&one)}))
}
