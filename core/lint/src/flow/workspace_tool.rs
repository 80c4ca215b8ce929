//! Tools of the workspace, which workflow graphs call by name. (Codes of tools of flow documents)

use convengine_config::flow::DocumentIssue;
use serde_json::{Value, json};

use super::{PublishTarget, check_document};

/// The location of the tool in the document that it is checked in.
const TOOL_PATH: &str = "/tools/0";

/// Returns all issues of a tool of the workspace: those that it would have in a flow document. Their paths begin at the tool.
pub fn check_workspace_tool(tool: &Value, target: &PublishTarget<'_>) -> Vec<DocumentIssue> {
    let root = json!({"id": "root", "kind": "root", "entry": "start", "edges": [], "nodes": [
        {"id": "start", "type": "start", "name": "Start", "data": {}},
    ]});
    let document = json!({
        "schema_version": "1.0", "doc": "conversation_flow", "id": "workspace", "name": "Workspace", "root": "root", "graphs": [root],
        "intents": [], "tools": [tool],
    });
    let of_tool = |issue: DocumentIssue| Some(DocumentIssue { path: issue.path.strip_prefix(TOOL_PATH)?.to_owned(), ..issue });
    check_document(&document, target).into_iter().filter_map(of_tool).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_tool_has_the_issues_that_it_has_in_a_document() {
        let secrets = BTreeSet::from(["CRM".to_owned()]);
        let target = PublishTarget { secrets: Some(&secrets), ..PublishTarget::empty() };
        let tool = |url: &str, secret: &str| {
            json!({"id": "t", "name": "T", "kind": "http", "request": {
                "method": "GET", "url": url, "headers": {"X-Key": format!("{{{{ secret.{secret} }}}}")}}})
        };
        let found =
            |tool: &Value| check_workspace_tool(tool, &target).into_iter().map(|issue| (issue.code, issue.path)).collect::<Vec<_>>();
        assert_eq!(found(&tool("https://shop.example", "CRM")), []);
        assert_eq!(found(&tool("https://shop.example", "ERP")), [("V010", "/request/headers/X-Key".to_owned())]);
        assert_eq!(found(&tool("http://10.0.0.1", "CRM")), [("V003", "/request/url".to_owned())]);
        assert_eq!(found(&json!({"id": "t", "kind": "http"})), [("D001", String::new())], "it has no name");
        assert!(found(&json!(5)).iter().any(|it| it.0 == "D001"));
    }
}
