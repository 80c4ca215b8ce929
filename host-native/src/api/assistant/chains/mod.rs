//! `/v1/workflow-chains/{chain}`: runs of chains (docs/spec/workflows-http.md#4, docs/spec/workflows-http.md#5).

mod events;
mod ingress;
mod runs;
pub mod schemas;
mod status;
mod waits;

use axum::http::{StatusCode, Uri};
use convengine_core::chain::run_view;
use serde_json::{Value, json};
use utoipa_axum::routes;
use uuid::Uuid;

use crate::api::assistant::document::bundle_failed;
use crate::api::error::{ApiError, refusal_error};
use crate::auth::routes::Routes;
use crate::runtime::chain::event;
use crate::runtime::chain::trigger::TriggerError;
use crate::runtime::turn_runner::{Host, Refusal};
use crate::storage::assistant::session::Session;
use crate::storage::assistant::{DocumentKind, ProgramKey, draft};

pub use status::describe as describe_status;

/// Adds the routes with their required scopes.
pub fn add_all(routes: Routes) -> Routes {
    routes
        .add_admin(routes!(status::set))
        .add_admin(routes!(runs::start))
        .add_admin(routes!(runs::list))
        .add_admin(routes!(runs::read))
        .add_admin(routes!(waits::token))
        .add_admin(routes!(waits::cancel))
        .add_admin(routes!(waits::retry))
        .add_admin(routes!(events::trace))
        .add_admin(routes!(events::events))
        .add_resume(routes!(waits::resume))
        .add_signed(routes!(ingress::start))
        .add_signed(routes!(ingress::answer))
}

/// The error for a chain or run that does not exist.
fn run_not_found(uri: &Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, uri, "run not found; list the runs of the chain")
}

/// Finds a run of a chain.
async fn find_run(host: &Host, uri: &Uri, slug: &str, run: &str) -> Result<(String, Session), ApiError> {
    let id = Uuid::try_parse(run).map_err(|_| run_not_found(uri))?.to_string();
    let found = event::find_run(host, slug, &id).await.map_err(|it| ApiError::from_database(&it, uri))?;
    found.map(|it| (id, it)).ok_or_else(|| run_not_found(uri))
}

/// Checks that a chain exists.
async fn check_chain(host: &Host, uri: &Uri, slug: &str) -> Result<(), ApiError> {
    let unknown = || ApiError::new(StatusCode::NOT_FOUND, uri, TriggerError::NotFound.to_string());
    if !DocumentKind::Chain.is_id(slug) {
        return Err(unknown());
    }
    let key = ProgramKey::new(DocumentKind::Chain, slug);
    let found = draft::find_assistant(&host.readers, key.as_str()).await.map_err(|it| ApiError::from_database(&it, uri))?;
    found.map(|_| ()).ok_or_else(unknown)
}

/// Converts the error of a trigger.
fn trigger_failed(error: &TriggerError, uri: &Uri) -> ApiError {
    let refuse = |status| ApiError::new(status, uri, error.to_string());
    match error {
        TriggerError::NotFound => refuse(StatusCode::NOT_FOUND),
        TriggerError::NotPublished => refuse(StatusCode::CONFLICT).with_code("not_published"),
        TriggerError::Paused => refuse(StatusCode::CONFLICT).with_code("chain_paused"),
        TriggerError::KeyReused => refuse(StatusCode::UNPROCESSABLE_ENTITY).with_code("idempotency_key_reused"),
        TriggerError::Unreadable => refuse(StatusCode::UNPROCESSABLE_ENTITY).with_code("invalid_document"),
        TriggerError::Bundle(error) => bundle_failed(error, uri),
        TriggerError::Database(error) => ApiError::from_database(error, uri),
        TriggerError::Commit(error) => refusal_error(&Refusal::Commit(error.clone()), uri),
    }
}

/// The stored run as clients see it.
fn render_run(state: &Value) -> Value {
    run_view(state).unwrap_or_else(|| json!({"status": "failed", "error": {"code": "state_unreadable"}}))
}

/// The run and its status, as most routes answer.
fn render_status(answer: &Value) -> Value {
    json!({"run_id": answer.get("run_id"), "status": answer.get("status")})
}
