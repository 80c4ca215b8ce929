//! `/v1/secrets`: secrets that documents refer to by name and no route returns.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use convengine_access::api_error::ApiError;
use convengine_access::security_log::{Logged, LoggedSubject};
use convengine_content::secret_store::{StoreError, is_secret_name};
use convengine_core::turn::Map;
use convengine_host_base::clock;
use convengine_settings::secrets::MIN_SECRET_CHARS;
use convengine_storage::assistant::secret::{self, Secret};
use serde_json::{Value, json};

use super::body::{ObjectBody, ObjectRefusals};
use crate::api::host::Host;

/// Maximum size of a value in bytes.
const MAX_VALUE_BYTES: usize = 8 * 1024;

/// Stores a secret and replaces an existing one with the same name.
#[utoipa::path(
    post,
    path = "/v1/secrets",
    tag = "assistants",
    request_body = ref("#/components/schemas/NewSecret"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The secret is replaced", body = ref("#/components/schemas/KeptSecret")),
        (status = 201, description = "The secret is created", body = ref("#/components/schemas/KeptSecret")),
        (status = 409, description = "The server has no key to seal secrets"),
        (status = 422, description = "The name or the value is invalid"),
    ),
)]
pub async fn put(State(host): State<Arc<Host>>, ObjectBody(members): ObjectBody) -> Result<Logged, ApiError> {
    let members = members?;
    let (name, value) = parse_secret(&members).map_err(|reason| ApiError::unprocessable(reason).with_code("invalid_secret"))?;
    let replaced =
        host.content.secret_store.put(&host.content.readers, name, value, clock::now()).await.map_err(|failure| match failure {
            StoreError::Database(error) => ApiError::from(error),
            StoreError::NoKey(reason) => ApiError::conflict(reason).with_code("secrets_key_missing"),
        })?;
    host.content.secret_store.refresh(&host.content.readers, &host.outbound.secrets).await?;
    let status = if replaced { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Extension(LoggedSubject(name.to_owned())), Json(json!({"name": name, "prefix": ""}))))
}

/// Lists the secrets by name, without their values.
#[utoipa::path(
    get,
    path = "/v1/secrets",
    tag = "assistants",
    responses(
        (status = 200, description = "The secrets", body = ref("#/components/schemas/KeptSecrets")),
    ),
)]
pub async fn list(State(host): State<Arc<Host>>) -> Result<Json<Value>, ApiError> {
    let all = secret::list(&host.content.readers).await?;
    let one = |it: &Secret| json!({"name": it.name, "prefix": "", "updated_at": clock::format_iso(it.updated_at)});
    Ok(Json(json!({"secrets": all.iter().map(one).collect::<Vec<_>>()})))
}

/// Deletes a secret. Calls that refer to it fail from then on.
#[utoipa::path(
    delete,
    path = "/v1/secrets/{name}",
    tag = "assistants",
    params(("name" = String, Path, description = "The secret name")),
    responses(
        (status = 204, description = "The secret is deleted"),
        (status = 404, description = "Secret not found"),
    ),
)]
pub async fn delete(State(host): State<Arc<Host>>, name: Result<Path<String>, PathRejection>) -> Result<StatusCode, ApiError> {
    let unknown = || ApiError::not_found("secret not found; it may already be deleted");
    let name = name.ok().map(|it| it.0).filter(|it| is_secret_name(it)).ok_or_else(unknown)?;
    if !secret::delete(&host.content.readers, &name, clock::now()).await? {
        return Err(unknown());
    }
    host.content.secret_store.refresh(&host.content.readers, &host.outbound.secrets).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parses name and value. Error messages never contain the value.
fn parse_secret(members: &Map) -> Result<(&str, &str), String> {
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    let name = text("name").filter(|it| is_secret_name(it));
    let name = name.ok_or("invalid secret name; use up to 64 capital letters, digits and '_', starting with a letter")?;
    let value =
        text("value").filter(|value| !value.trim().is_empty()).ok_or("value is not a non-empty string; send the value of the secret")?;
    if value.chars().nth(MIN_SECRET_CHARS - 1).is_none() {
        return Err(format!("value is too short; send at least {MIN_SECRET_CHARS} characters, because shorter ones cannot be redacted"));
    }
    if value.contains('\0') || value.len() > MAX_VALUE_BYTES {
        return Err(format!("value is too long or contains NUL; send at most {MAX_VALUE_BYTES} bytes"));
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_a_name_and_a_value_and_a_refusal_shows_neither() {
        let given = |name: Value, value: Value| Map::from_iter([("name".to_owned(), name), ("value".to_owned(), value)]);
        assert_eq!(parse_secret(&given(json!("CRM"), json!(" a b c d "))), Ok(("CRM", " a b c d ")));
        let name_rule = "invalid secret name; use ";
        let size_rule = "value is too long or contains NUL; send ";
        for (name, value, words) in [
            (json!("n4me"), json!("hunter2hunter2"), name_rule),
            (json!("N4ME-"), json!("hunter2hunter2"), name_rule),
            (json!("N4ME".repeat(17)), json!("hunter2hunter2"), name_rule),
            (json!(null), json!("hunter2hunter2"), name_rule),
            (json!("N4ME"), json!(["hunter2hunter2"]), "value is not a non-empty string; send "),
            (json!("N4ME"), json!(" "), "value is not a non-empty string; send "),
            (json!("N4ME"), json!("hunter2"), "value is too short; send "),
            (json!("N4ME"), json!("hunter2\0hunter2"), size_rule),
            (json!("N4ME"), json!("hunter2".repeat(2_000)), size_rule),
        ] {
            let reason = parse_secret(&given(name, value)).expect_err("refused");
            assert!(reason.starts_with(words), "{reason}");
            assert!(!reason.to_lowercase().contains("hunter2") && !reason.to_lowercase().contains("n4me"), "{reason}");
        }
    }
}
