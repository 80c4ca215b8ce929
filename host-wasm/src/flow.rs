//! The issues that publishing a flow document would report, in the page's format.

use std::collections::BTreeMap;

use convengine_core::config::flow::document::ProgramKind;
use convengine_core::config::flow::{DocumentIssue, DocumentSeverity, document_kind, import_canvas};
use convengine_core::lint::flow::{BoundPrograms, PublishTarget, check_agent, check_document, check_workflow};
use convengine_core::pack::Pack;
use convengine_core::turn::STUB_ADDRESS;
use serde_json::{Value, json};

/// Returns the issues of publishing, including those of a document that cannot be read. Secrets are not checked.
pub fn document_issues(document: &Value, pack: &Pack) -> Value {
    // The pack's fake service may be called.
    let text = document.to_string().replace(STUB_ADDRESS, "https://stub.example");
    let document = import_canvas(serde_json::from_str(&text).unwrap_or_default());
    if let Some(root) = document.get("root").filter(|it| it.is_object()) {
        let programs = BoundPrograms::from_pack(&pack.documents, &pack.workspace_tools);
        let target = PublishTarget { programs: Some(&programs), ..PublishTarget::empty() };
        return check_workflow(root, &pack.workspace_tools, &target).iter().map(issue_to_json).collect();
    }
    let id = document.get("id").and_then(Value::as_str).unwrap_or_default();
    let knowledge: BTreeMap<String, bool> = pack.sources(id).into_iter().map(|it| (it.id, true)).collect();
    let target = PublishTarget { knowledge: Some(&knowledge), ..PublishTarget::empty() };
    let is_agent = document_kind(&document) == Some(ProgramKind::Agent);
    let issues = if is_agent { check_agent(&document, &target) } else { check_document(&document, &target) };
    issues.iter().map(issue_to_json).collect()
}

fn issue_to_json(it: &DocumentIssue) -> Value {
    let severity = if it.severity == DocumentSeverity::Error { "error" } else { "warning" };
    let hint = it.fix.as_deref().unwrap_or_default();
    let mut issue = json!({"severity": severity, "path": it.path, "reason": it.message, "hint": hint, "rule": it.code});
    if let (Some(graph), Some(issue)) = (&it.graph, issue.as_object_mut()) {
        issue.insert("graph".to_owned(), json!(graph));
        issue.extend(it.node.as_ref().map(|node| ("node".to_owned(), json!(node))));
    }
    issue
}
