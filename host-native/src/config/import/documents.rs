//! Imports the flow documents of a pack: each becomes the draft of its assistant.

use std::collections::BTreeSet;

use convengine_core::config::flow::document::ProgramKind;
use convengine_core::config::flow::{DocumentIssue, document_kind, import_canvas};
use convengine_core::lint::flow::{self, BoundPrograms, PublishTarget};
use convengine_core::pack::Pack;
use serde_json::{Value, json};

use crate::clock;
use crate::config::settings::Settings;
use crate::config::settings::network::read_list;
use crate::exit::Failure;
use crate::ops::snapshot::{Change, DraftChange};
use crate::runtime::assistant::check::{is_assistant_id, prevents_saving};
use crate::runtime::assistant::plan::month_start;
use crate::storage::assistant::{draft, session};
use crate::storage::{self, Connection};

/// A document with its issues.
#[derive(Debug)]
pub struct CheckedDocument {
    id: String,
    document: Value,
    /// The issues that publishing it would report.
    pub issues: Vec<DocumentIssue>,
}

/// Checks the documents of a pack; secrets are not checked here.
pub fn check_pack(pack: &Pack, settings: &Value) -> Vec<CheckedDocument> {
    let mut checked = check_documents(pack.documents.iter().filter(|it| !runs_in_packs_only(it)).cloned(), settings);
    let (allowed, revoked) = (read_list(settings, "outbound.allow"), BTreeSet::new());
    let programs = BoundPrograms::from_pack(&pack.documents, &pack.workspace_tools);
    let target =
        PublishTarget { revoked_secrets: &revoked, allowed_targets: &allowed, programs: Some(&programs), ..PublishTarget::empty() };
    for document in pack.documents.iter().filter(|it| runs_in_packs_only(it)).cloned() {
        let issues = match document_kind(&document) {
            Some(ProgramKind::Agent) => flow::check_agent(&document, &target),
            Some(ProgramKind::Assistant | ProgramKind::Workflow) | None => flow::check_workflow(&document, &pack.workspace_tools, &target),
        };
        checked.push(CheckedDocument { id: document_id(&document), issues, document });
    }
    checked
}

fn runs_in_packs_only(document: &Value) -> bool {
    matches!(document_kind(document), Some(ProgramKind::Workflow | ProgramKind::Agent))
}

fn document_id(document: &Value) -> String {
    document.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Checks documents.
pub fn check_documents(documents: impl Iterator<Item = Value>, settings: &Value) -> Vec<CheckedDocument> {
    let (allowed, revoked) = (read_list(settings, "outbound.allow"), BTreeSet::new());
    let check = |document: Value| {
        let document = import_canvas(document);
        let context = PublishTarget { revoked_secrets: &revoked, allowed_targets: &allowed, ..PublishTarget::empty() };
        CheckedDocument { id: document_id(&document), issues: flow::check_document(&document, &context), document }
    };
    documents.map(check).collect()
}

/// Returns a line for each problem that prevents storing a document.
pub fn find_problems(documents: &[CheckedDocument]) -> Vec<String> {
    let of_document = |it: &CheckedDocument| {
        let invalid_id = (!is_assistant_id(&it.id)).then(|| "documents: a document has no valid assistant id".to_owned());
        let workflow = runs_in_packs_only(&it.document).then(|| {
            format!("documents.{}: workflow graphs and AI agents run in packs and not on the server; take it out of the pack", it.id)
        });
        let refused = it.issues.iter().filter(|it| prevents_saving(it)).map(|issue| format!("documents.{}: {issue}", it.id));
        invalid_id.into_iter().chain(workflow).chain(refused).collect::<Vec<_>>()
    };
    documents.iter().flat_map(of_document).collect()
}

/// Checks the plan's monthly quota of imported documents.
///
/// # Errors
/// Exit code 1 if the quota is exceeded; 3 if the database cannot be read.
pub async fn check_quota(connection: &mut Connection, documents: &[CheckedDocument], settings: &Settings) -> Result<(), Failure> {
    let Some(quota) = settings.assistants.plan.imports.filter(|_| !documents.is_empty()) else { return Ok(()) };
    let used = session::count_imports(connection, settings.workspace(), month_start(clock::now())).await;
    let used = used.map_err(|it| storage::database_failure(&settings.database, &it))?;
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
    for CheckedDocument { id, document, .. } in documents {
        let stored = draft::find_document(connection, id).await?;
        let is_same = |text: String| serde_json::from_str::<Value>(&text).is_ok_and(|it| it == *document);
        let change = match stored.map(is_same) {
            None => Change::New,
            Some(true) => Change::Equal,
            Some(false) => Change::Replaced,
        };
        changes.push(DraftChange { id: id.clone(), change });
    }
    Ok(changes)
}

/// Saves the documents as drafts in the caller's transaction.
///
/// # Errors
/// The failure of the database.
pub async fn store(connection: &mut Connection, documents: &[CheckedDocument], workspace: &str) -> sqlx::Result<()> {
    for CheckedDocument { id, document, .. } in documents {
        let name = document.get("name").and_then(Value::as_str).unwrap_or_default().replace('\0', "\u{fffd}");
        draft::save_in_transaction(connection, id, &name, &document.to_string(), clock::now()).await?;
        let usage = json!([[workspace, "import", clock::now(), 1, id]]).to_string();
        session::add_usage(connection, &usage).await?;
    }
    Ok(())
}
