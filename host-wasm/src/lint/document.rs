//! The issues that publishing the documents of a pack would report.

use std::collections::BTreeMap;

use convengine_core::config::flow::document::ProgramKind;
use convengine_core::config::flow::{DocumentIssue, document_kind, import_canvas, is_chain};
use convengine_core::lint::flow::{BoundPrograms, PublishTarget, check_agent, check_chain, check_document, check_workflow};
use convengine_core::pack::Pack;
use serde_json::Value;

use crate::types::Issue;

/// Returns the issues of publishing: of an assistant, or of a workflow graph or chain with the documents that it runs. The issues of a
/// document that cannot be read are included. Secrets are not checked.
pub fn find_issues(pack: &Pack) -> Vec<Issue> {
    let programs = BoundPrograms::from_pack(&pack.documents, &pack.workspace_tools);
    let is_program = |document: &Value| document_kind(document).is_some() || is_chain(document);
    let mut documents = pack.documents.iter().enumerate().filter(|it| is_program(it.1)).peekable();
    // An assistant runs no other documents.
    let is_alone = documents.peek().is_some_and(|only| document_kind(only.1) == Some(ProgramKind::Assistant));
    let checked = documents.take(if is_alone { 1 } else { usize::MAX });
    checked
        .flat_map(|(index, document)| check(document, pack, &programs).into_iter().map(move |finding| Issue::of_document(finding, index)))
        .collect()
}

fn check(document: &Value, pack: &Pack, programs: &BoundPrograms) -> Vec<DocumentIssue> {
    let document = import_canvas(document.clone());
    let target = PublishTarget { has_stub: !pack.http.is_empty(), ..PublishTarget::empty() };
    if is_chain(&document) {
        return check_chain(&document, &PublishTarget { programs: Some(programs), ..target });
    }
    if document_kind(&document) == Some(ProgramKind::Workflow) {
        return check_workflow(&document, &pack.workspace_tools, &PublishTarget { programs: Some(programs), ..target });
    }
    let document = pack.with_tools(&document);
    let id = document.get("id").and_then(Value::as_str).unwrap_or_default();
    let knowledge: BTreeMap<String, bool> = pack.sources(id).into_iter().map(|it| (it.id, true)).collect();
    let target = PublishTarget { knowledge: Some(&knowledge), ..target };
    let is_agent = document_kind(&document) == Some(ProgramKind::Agent);
    if is_agent { check_agent(&document, &target) } else { check_document(&document, &target) }
}
