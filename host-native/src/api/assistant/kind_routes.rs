//! Routes that several kinds of documents share. Each is written once, with the tag `documents`, placeholders such as `{documents}` in its path
//! and the word "document" in its descriptions, which are replaced for each kind. Handlers get the kind as an extension.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_content::Content;
use convengine_storage::assistant::session::Session;
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use convengine_turns::running_session::RunningSession;
use serde_json::Value;
use utoipa_axum::router::UtoipaMethodRouter;

use super::document::document_not_found;
use super::runtime::load_session;
use crate::api::host::Host;

/// The words of a kind in the place of those in paths.
fn path_words(kind: DocumentKind) -> [(&'static str, &'static str); 5] {
    let (documents, programs, draft, validate, sessions) = match kind {
        DocumentKind::Assistant => ("agents", "assistants", "flow", "flow/validate-publish", "assistants/{agent}/sessions"),
        DocumentKind::Workflow => ("workflows", "workflows", "draft", "validate-publish", "workflows/sessions"),
        DocumentKind::Chain => ("workflow-chains", "workflow-chains", "draft", "validate-publish", "workflow-chains/sessions"),
        DocumentKind::Agent => ("ai-agents", "ai-agents", "draft", "validate-publish", "ai-agents/sessions"),
    };
    [("{documents}", documents), ("{programs}", programs), ("{draft}", draft), ("{validate}", validate), ("{sessions}", sessions)]
}

/// The words of a kind in the place of those in descriptions, to be replaced in this order.
fn text_words(kind: DocumentKind) -> [(&'static str, &'static str); 7] {
    let (tag, list, draft, deployment, one, title) = match kind {
        DocumentKind::Assistant => ("\"assistants\"", "/Assistants", "/Flow", "/Deployment", "an assistant", "Assistant"),
        DocumentKind::Workflow => ("\"workflows\"", "/Workflows", "/Draft", "/Deployment", "a workflow", "Workflow"),
        DocumentKind::Chain => ("\"workflows\"", "/Chains", "/Draft", "/Deployment", "a workflow chain", "Workflow chain"),
        DocumentKind::Agent => ("\"workflows\"", "/AiAgents", "/Draft", "/AgentDeployment", "an AI agent", "AI agent"),
    };
    [
        ("\"documents\"", tag),
        ("/Documents", list),
        ("/DocumentDraft", draft),
        ("/DocumentDeployment", deployment),
        ("a document", one),
        ("Document", title),
        ("document", kind.title()),
    ]
}

/// The name of the path parameter with the id of a document.
fn parameter(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Assistant => "agent",
        DocumentKind::Workflow => "workflow",
        DocumentKind::Chain => "chain",
        DocumentKind::Agent => "ai_agent",
    }
}

fn replace_words(text: String, words: &[(&str, &str)]) -> String {
    words.iter().fold(text, |text, (word, own)| text.replace(word, own))
}

/// Returns shared handlers for one kind.
pub fn for_kind(kind: DocumentKind, handlers: UtoipaMethodRouter<Arc<Host>>) -> UtoipaMethodRouter<Arc<Host>> {
    let (schemas, mut paths, methods) = handlers;
    let parameter = format!("{{{}}}", parameter(kind));
    let name = |path: String| replace_words(path, &path_words(kind)).replace("{document}", &parameter);
    paths.paths = std::mem::take(&mut paths.paths).into_iter().map(|(path, item)| (name(path), item)).collect();
    (schemas, paths, methods.layer(Extension(kind)))
}

/// Replaces the placeholders in a shared operation by the words of the kind that has its path.
pub fn complete_operation(operation: &mut Value, path: &str) {
    let is_shared = operation.pointer("/tags/0").is_some_and(|it| it == "documents");
    let has_path = |kind: &DocumentKind| path_words(*kind).iter().take(2).any(|(_, own)| path.split('/').any(|it| it == *own));
    let Some(kind) = DocumentKind::ALL.into_iter().find(has_path).filter(|_| is_shared) else { return };
    // No word has characters that JSON escapes.
    if let Ok(completed) = serde_json::from_str(&replace_words(operation.to_string(), &text_words(kind))) {
        *operation = completed;
    }
}

/// The document that the path of a route of its kind names.
#[derive(Debug)]
pub struct DocumentPath {
    /// The kind.
    pub kind: DocumentKind,
    /// The id, which no document needs to have.
    pub id: String,
}

impl DocumentPath {
    /// The key of the document.
    ///
    /// # Errors
    /// 404 if no document can have the id.
    pub fn key(&self) -> Result<ProgramKey, ApiError> {
        if self.kind.is_id(&self.id) { Ok(ProgramKey::new(self.kind, &self.id)) } else { Err(document_not_found(self.kind)) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for DocumentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (kind, mut parameters) = read_path(parts, state).await?;
        let id = parameters.remove(parameter(kind)).ok_or_else(path_not_found)?;
        Ok(DocumentPath { kind, id })
    }
}

/// The session that the path of a route of its kind names.
#[derive(Debug)]
pub struct SessionPath {
    kind: DocumentKind,
    /// The id of the document, if the path has it.
    document: Option<String>,
    id: String,
}

impl SessionPath {
    /// Loads the session with the document it runs on.
    ///
    /// # Errors
    /// 404 if the document, or the kind, has no such session, 503 if the database is unavailable.
    pub async fn load(&self, content: &Content) -> Result<(Session, RunningSession), ApiError> {
        let (stored, running) = load_session(content, &self.id).await?;
        let is_of_document = self.document.as_deref().is_none_or(|id| id == stored.program.id());
        if stored.program.kind() == self.kind && is_of_document { Ok((stored, running)) } else { Err(path_not_found()) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (kind, mut parameters) = read_path(parts, state).await?;
        let id = parameters.remove("session").ok_or_else(path_not_found)?;
        let document = parameters.remove(parameter(kind));
        // Sessions of assistants are below their assistant; without its id any of them would do.
        if kind == DocumentKind::Assistant && document.is_none() {
            return Err(path_not_found());
        }
        Ok(SessionPath { kind, document, id })
    }
}

async fn read_path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<(DocumentKind, BTreeMap<String, String>), ApiError> {
    let kind = parts.extensions.get::<DocumentKind>().copied().ok_or_else(path_not_found)?;
    let Path(parameters) = Path::from_request_parts(parts, state).await.map_err(|_| path_not_found())?;
    Ok((kind, parameters))
}
