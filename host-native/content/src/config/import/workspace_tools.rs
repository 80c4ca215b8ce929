//! Imports the tools of a pack's workspace, which documents name.

use std::collections::BTreeSet;

use convengine_core::config::flow::DocumentIssue;
use convengine_core::lint::flow::{PublishTarget, check_workspace_tool};
use convengine_core::pack::Pack;
use convengine_host_base::clock;
use convengine_settings::network::read_allowed_targets;
use convengine_storage::Connection;
use convengine_storage::assistant::tool;
use serde_json::Value;

use crate::check::prevents_saving;
use crate::config::snapshot::DraftChange;
use crate::references::is_tool_id;

/// A tool with its issues.
#[derive(Debug)]
pub struct CheckedTool {
    id: String,
    document: Value,
    /// Its issues.
    pub issues: Vec<DocumentIssue>,
}

/// Checks the tools of a pack; secrets are not checked here.
pub fn check_pack(pack: &Pack, settings: &Value) -> Vec<CheckedTool> {
    let (allowed, revoked) = (read_allowed_targets(settings), BTreeSet::new());
    let target = PublishTarget { revoked_secrets: &revoked, allowed_targets: &allowed, ..PublishTarget::empty() };
    let check = |it: &Value| CheckedTool {
        id: it.get("id").and_then(Value::as_str).unwrap_or_default().to_owned(),
        document: it.clone(),
        issues: check_workspace_tool(it, &target),
    };
    pack.workspace_tools.iter().map(check).collect()
}

/// Returns a line for each problem that prevents storing a tool.
pub fn find_problems(tools: &[CheckedTool]) -> Vec<String> {
    let of_tool = |it: &CheckedTool| {
        let invalid_id = (!is_tool_id(&it.id)).then(|| "workspace_tools: a tool has no valid id".to_owned());
        let refused = it.issues.iter().filter(|it| prevents_saving(it)).map(|issue| format!("workspace_tools.{}: {issue}", it.id));
        invalid_id.into_iter().chain(refused).collect::<Vec<_>>()
    };
    tools.iter().flat_map(of_tool).collect()
}

/// Compares the tools with the stored ones.
///
/// # Errors
/// The failure of the database.
pub async fn compare(connection: &mut Connection, tools: &[CheckedTool]) -> sqlx::Result<Vec<DraftChange>> {
    let stored: Vec<Value> = tool::list(connection).await?.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let find = |id: &str| stored.iter().find(|tool| tool.get("id").is_some_and(|it| it == id)).map(ToString::to_string);
    let change = |it: &CheckedTool| DraftChange::between(it.id.clone(), Some("tool"), find(&it.id).as_deref(), &it.document);
    Ok(tools.iter().map(change).collect())
}

/// Stores the tools in the caller's transaction.
///
/// # Errors
/// The failure of the database.
pub async fn store(connection: &mut Connection, tools: &[CheckedTool]) -> sqlx::Result<()> {
    for CheckedTool { id, document, .. } in tools {
        tool::save_in_transaction(connection, id, &document.to_string(), clock::now()).await?;
    }
    Ok(())
}
