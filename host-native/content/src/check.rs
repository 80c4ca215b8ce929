//! Validation of documents of all kinds before they are saved and published. (docs/spec/flows.md#2.1, docs/spec/flows.md#11)

use std::collections::{BTreeMap, BTreeSet};

use convengine_access::scope::Scopes;
use convengine_core::config::flow::{DocumentIssue, UNREADABLE_CODES, snapshot_hash as document_hash};
use convengine_core::lint::flow::{self, ApprovedTool, ModelProvider, PublishTarget};
use convengine_core::turn::MAX_SCRIPT_TIMEOUT_MS;
use convengine_effects::script;
use convengine_host_base::clock;
use convengine_settings::network::read_allowed_targets;
use convengine_storage::api_key;
use convengine_storage::assistant::knowledge::source;
use convengine_storage::assistant::{DocumentKind, ProgramKey, secret};
use convengine_storage::run_blocking;
use serde_json::Value;

use super::{bundle, mcp_tools};
use crate::Content;

/// The largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Validates a document against the secrets, settings and other documents of a host. Returns it with its issues; an issue that prevents
/// saving is returned alone.
pub async fn check_document(content: &Content, key: &ProgramKey, document: Value) -> sqlx::Result<(Value, Vec<DocumentIssue>)> {
    let environment = Environment::load(content).await?;
    match key.kind() {
        DocumentKind::Assistant => {
            let sources = load_sources(content, key).await?;
            let check = move |document: &Value| {
                let script_issues = script::check_document(document);
                let target = PublishTarget { script_issues: &script_issues, knowledge: Some(&sources), ..environment.target() };
                flow::check_document(document, &target)
            };
            run(document, check).await
        }
        DocumentKind::Workflow => {
            let sources = load_sources(content, key).await?;
            let tools = bundle::find_tools(&content.readers, key.kind(), &document).await?;
            let programs = bundle::load_programs(&content.readers, &document, &tools).await?;
            let check = move |document: &Value| {
                let target = PublishTarget { programs: Some(&programs), knowledge: Some(&sources), ..environment.target() };
                flow::check_workflow(document, &tools, &target)
            };
            run(document, check).await
        }
        DocumentKind::Chain => {
            let programs = bundle::load_step_programs(&content.readers, &document).await?;
            let check = move |document: &Value| {
                let target = PublishTarget { programs: Some(&programs), ..environment.target() };
                flow::check_chain(document, &target)
            };
            run(document, check).await
        }
        DocumentKind::Agent => {
            let sources = load_sources(content, key).await?;
            let check = move |document: &Value| {
                let target = PublishTarget { knowledge: Some(&sources), ..environment.target() };
                flow::check_agent(document, &target)
            };
            run(document, check).await
        }
    }
}

/// Validates a tool of the workspace. Returns it with its issues.
pub async fn check_tool(content: &Content, tool: Value) -> sqlx::Result<(Value, Vec<DocumentIssue>)> {
    let environment = Environment::load(content).await?;
    run(tool, move |tool| flow::check_workspace_tool(tool, &environment.target())).await
}

/// What documents of all kinds are checked against.
struct Environment {
    secrets: BTreeSet<String>,
    revoked: BTreeSet<String>,
    allowed: Vec<String>,
    script_timeout_ms: u64,
    mcp_tools: BTreeMap<String, ApprovedTool>,
    functions: BTreeSet<String>,
    has_desk: Option<bool>,
    providers: BTreeMap<String, ModelProvider>,
}

impl Environment {
    async fn load(content: &Content) -> sqlx::Result<Environment> {
        // Another process may have just changed a secret.
        content.secret_store.refresh_if_changed(&content.readers, &content.outbound.secrets).await?;
        let revoked = secret::list_revoked(&content.readers).await?;
        let settings = content.config_manager.settings();
        let allowed = read_allowed_targets(settings);
        let secrets = content.outbound.secrets.names();
        let script_timeout = content.outbound.script_timeout.map_or(MAX_SCRIPT_TIMEOUT_MS.into(), |it| it.as_millis());
        let active = content.config_manager.active();
        let mcp_tools = mcp_tools::approved_tools(&active.mcp);
        let tasks = active.config.bindings.names().chain(active.config.extensions.names()).map(str::to_owned);
        let functions = tasks.chain(active.fakes.tasks.keys().cloned()).collect();
        let script_timeout_ms = u64::try_from(script_timeout).unwrap_or(u64::MAX);
        let has_desk = find_desk(content).await?;
        let providers = content.outbound.models.providers();
        Ok(Environment { secrets, revoked, allowed, script_timeout_ms, mcp_tools, functions, has_desk, providers })
    }

    fn target(&self) -> PublishTarget<'_> {
        PublishTarget {
            secrets: Some(&self.secrets),
            revoked_secrets: &self.revoked,
            allowed_targets: &self.allowed,
            script_timeout_ms: Some(self.script_timeout_ms),
            mcp_tools: Some(&self.mcp_tools),
            functions: Some(&self.functions),
            has_desk: self.has_desk,
            providers: Some(&self.providers),
            ..PublishTarget::empty()
        }
    }
}

/// Whether a key opens the desk; `None` without keys, where nobody or another credential may be asked for.
async fn find_desk(content: &Content) -> sqlx::Result<Option<bool>> {
    let now = clock::now();
    let keys: Vec<_> = api_key::list(&content.readers).await?.into_iter().filter(|it| it.is_valid_at(now)).collect();
    let opens_desk = |scopes: &str| Scopes::parse(scopes).is_ok_and(|it| it.is_sufficient_for(Scopes::DESK));
    Ok((!keys.is_empty()).then(|| keys.iter().any(|it| opens_desk(&it.scopes))))
}

/// The sources of the document's knowledge base, each with whether it is ready.
async fn load_sources(content: &Content, key: &ProgramKey) -> sqlx::Result<BTreeMap<String, bool>> {
    let sources = source::list(&content.readers, &key.as_str().replace('\0', "")).await?;
    Ok(sources.into_iter().map(|it| (it.source.id, it.is_searchable)).collect())
}

/// Runs a check, which may take long.
async fn run(
    document: Value,
    check: impl FnOnce(&Value) -> Vec<DocumentIssue> + Send + 'static,
) -> sqlx::Result<(Value, Vec<DocumentIssue>)> {
    run_blocking(move || {
        let issues = check(&document);
        (document, issues)
    })
    .await
}

/// Returns the snapshot hash of a document.
pub fn snapshot_hash(document: &Value) -> String {
    document_hash(document)
}

/// Returns the issue of a document that exceeds [`MAX_DOCUMENT_BYTES`].
pub fn too_large_issue() -> DocumentIssue {
    DocumentIssue::error("D005", "", format!("document is larger than {MAX_DOCUMENT_BYTES} bytes")).with_fix("reduce its size")
}

/// Returns whether an issue prevents saving a document as a draft.
pub fn prevents_saving(issue: &DocumentIssue) -> bool {
    issue.is_error() && UNREADABLE_CODES.contains(&issue.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_too_large_is_not_saved() {
        assert!(prevents_saving(&too_large_issue()));
    }
}
