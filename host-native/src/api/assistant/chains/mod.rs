//! `/v1/workflow-chains/{chain}`: runs of chains (docs/spec/workflows-http.md#4, docs/spec/workflows-http.md#5).

mod events;
mod ingress;
mod runs;
pub mod schemas;
mod status;
mod waits;

use convengine_access::api_error::ApiError;
use convengine_content::Content;
use convengine_core::chain::run_view;
use convengine_storage::assistant::session::Session;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft};
use convengine_turns::chain::event;
use convengine_turns::chain::trigger::TriggerError;
use serde_json::{Value, json};
use utoipa_axum::routes;
use uuid::Uuid;

use crate::api::routes::Routes;

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
fn run_not_found() -> ApiError {
    ApiError::not_found("run not found; list the runs of the chain")
}

/// Finds a run of a chain.
async fn find_run(content: &Content, slug: &str, run: &str) -> Result<(String, Session), ApiError> {
    let id = Uuid::try_parse(run).map_err(|_| run_not_found())?.to_string();
    let found = event::find_run(content, slug, &id).await?;
    found.map(|it| (id, it)).ok_or_else(run_not_found)
}

/// Checks that a chain exists.
async fn check_chain(content: &Content, slug: &str) -> Result<(), ApiError> {
    let unknown = || ApiError::not_found(TriggerError::NotFound.to_string());
    if !DocumentKind::Chain.is_id(slug) {
        return Err(unknown());
    }
    let key = ProgramKey::new(DocumentKind::Chain, slug);
    let found = draft::find_assistant(&content.readers, key.as_str()).await?;
    found.map(|_| ()).ok_or_else(unknown)
}

/// The stored run as clients see it.
fn render_run(state: &Value) -> Value {
    run_view(state).unwrap_or_else(|| json!({"status": "failed", "error": {"code": "state_unreadable"}}))
}

/// The run and its status, as most routes answer.
fn render_status(answer: &Value) -> Value {
    json!({"run_id": answer.get("run_id"), "status": answer.get("status")})
}
