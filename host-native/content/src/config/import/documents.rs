//! Imports the documents of a pack, each as a draft, and the tools of its workspace.

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::config::flow::{DocumentIssue, add_workspace_tools, import_canvas};
use convengine_core::lint::flow::{self, BoundPrograms, ModelProvider, PublishTarget};
use convengine_core::pack::Pack;
use convengine_effects::llm::list_providers;
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use convengine_settings::network::read_allowed_targets;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft, session};
use convengine_storage::call_log::CallLogColumns;
use convengine_storage::turn_rows::TurnRows;
use convengine_storage::{self as storage, Connection, commit};
use serde_json::Value;

use super::ImportTarget;
use crate::check::prevents_saving;
use crate::config::snapshot::DraftChange;
use crate::plan::month_start;

/// A document with its issues.
#[derive(Debug)]
pub struct CheckedDocument {
    key: ProgramKey,
    document: Value,
    /// The issues that publishing it would report.
    pub issues: Vec<DocumentIssue>,
}

/// What documents are checked against beside each other.
#[derive(Debug, Clone, Copy)]
pub struct CheckContext<'s> {
    /// The `convengine` settings tree.
    pub tree: &'s Value,
    /// The providers of models; `None` if unknown.
    pub providers: Option<&'s BTreeMap<String, ModelProvider>>,
    /// Whether the fake service at `${STUB}` may be called: in a pack that has one, as long as it is not imported.
    pub has_stub: bool,
    /// Whether the settings say that there is no model.
    pub has_no_model: bool,
}

/// Returns the providers of models of a command. They are unknown for one without models, which need not have the settings of the server.
pub fn find_providers(settings: &Settings) -> Option<BTreeMap<String, ModelProvider>> {
    Some(list_providers(&settings.llm)).filter(|it| !it.is_empty())
}

/// Checks the documents of a pack; secrets are not checked here.
pub fn check_pack(pack: &Pack, context: CheckContext<'_>) -> Vec<CheckedDocument> {
    check_documents(pack.documents.clone(), &pack.workspace_tools, context)
}

/// Checks documents, which may run each other and call the tools.
pub fn check_documents(documents: Vec<Value>, tools: &[Value], context: CheckContext<'_>) -> Vec<CheckedDocument> {
    let documents: Vec<Value> = documents.into_iter().map(import_canvas).collect();
    let (allowed, revoked) = (read_allowed_targets(context.tree), BTreeSet::new());
    let programs = BoundPrograms::from_pack(&documents, tools);
    let target = PublishTarget {
        revoked_secrets: &revoked,
        allowed_targets: &allowed,
        programs: Some(&programs),
        providers: context.providers,
        has_stub: context.has_stub,
        ..PublishTarget::empty()
    };
    let check = |document: Value| {
        let key = ProgramKey::of_document(&document);
        let mut completed = document.clone();
        add_workspace_tools(&mut completed, tools);
        let issues = match key.kind() {
            DocumentKind::Assistant => flow::check_document(&completed, &target),
            DocumentKind::Workflow => flow::check_workflow(&document, tools, &target),
            DocumentKind::Chain => flow::check_chain(&document, &target),
            DocumentKind::Agent => flow::check_agent(&completed, &target),
        };
        CheckedDocument { key, document, issues }
    };
    documents.into_iter().map(check).collect()
}

/// Returns a line for each problem that prevents storing a document.
pub fn find_problems(documents: &[CheckedDocument]) -> Vec<String> {
    let of_document = |it: &CheckedDocument| {
        let (kind, id) = (it.key.kind(), it.key.id());
        let invalid_id = (!kind.is_id(id)).then(|| format!("documents: a document has no valid {} {}", kind.title(), kind.id_member()));
        let refused = it.issues.iter().filter(|it| prevents_saving(it)).map(|issue| format!("documents.{id}: {issue}"));
        invalid_id.into_iter().chain(refused).collect::<Vec<_>>()
    };
    documents.iter().flat_map(of_document).collect()
}

/// Checks the plan's monthly quota of imported documents.
///
/// # Errors
/// Exit code 1 if the quota is exceeded; 3 if the database cannot be read.
pub async fn check_quota(connection: &mut Connection, documents: &[CheckedDocument], target: &ImportTarget<'_>) -> Result<(), Failure> {
    let Some(quota) = target.plan.imports.filter(|_| !documents.is_empty()) else { return Ok(()) };
    let used = session::count_imports(connection, target.workspace, month_start(clock::now())).await;
    let used = used.map_err(|it| storage::database_failure(target.database, &it))?;
    if used + i64::try_from(documents.len()).unwrap_or(i64::MAX) <= i64::from(quota) {
        return Ok(());
    }
    Err(Failure::check_failed(vec![format!("nothing imported: the plan allows {quota} document imports per month; used: {used}")]))
}

/// Compares the documents with the stored drafts.
///
/// # Errors
/// The failure of the database.
pub async fn compare_drafts(connection: &mut Connection, documents: &[CheckedDocument]) -> sqlx::Result<Vec<DraftChange>> {
    let mut changes = Vec::with_capacity(documents.len());
    for CheckedDocument { key, document, .. } in documents {
        let stored = draft::find_document(connection, key.as_str()).await?;
        let program = (key.kind() != DocumentKind::Assistant).then(|| key.kind().name());
        changes.push(DraftChange::between(key.id().to_owned(), program, stored.as_deref(), document));
    }
    Ok(changes)
}

/// Saves the documents as drafts in the caller's transaction.
///
/// # Errors
/// The failure of the database.
pub async fn store(connection: &mut Connection, documents: &[CheckedDocument], workspace: &str) -> sqlx::Result<()> {
    for CheckedDocument { key, document, .. } in documents {
        let name = draft::display_name(document);
        let (id, text, expected) = (key.as_str(), document.to_string(), draft::Expected::Anything);
        draft::save_in_transaction(connection, id, &name, &text, expected, clock::now()).await?;
        let mut rows = TurnRows::default();
        rows.add_usage(workspace, "import", clock::now(), 1, id);
        commit::write(connection, &rows, CallLogColumns::Plain).await?;
    }
    Ok(())
}
