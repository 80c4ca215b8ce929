//! Tools of the workspace in assistants and AI agents: those that a document names and does not have. (docs/spec/flows.md#4.13)

use std::collections::BTreeSet;

use convengine_core::config::flow::{add_workspace_tools, find_missing_tools};
use convengine_storage::Pool;
use convengine_storage::assistant::tool;
use serde_json::Value;

use super::references::is_tool_id;

/// Adds to an assistant or AI agent the tools of the workspace that it names and does not have. Drafts stay as they are written, so that a
/// published version has the definitions of its publication.
pub async fn complete(pool: &Pool, document: &mut Value) -> sqlx::Result<()> {
    let names: BTreeSet<String> = find_missing_tools(document).into_iter().map(str::to_owned).collect();
    if !names.is_empty() {
        add_workspace_tools(document, &load_tools(pool, &names).await?);
    }
    Ok(())
}

/// Returns the tools of the workspace that have one of these names.
pub async fn load_tools(pool: &Pool, names: &BTreeSet<String>) -> sqlx::Result<Vec<Value>> {
    // PostgreSQL refuses a name with a zero character.
    let ids: Vec<&str> = names.iter().map(String::as_str).filter(|it| is_tool_id(it)).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = tool::find_all(pool, ids).await?;
    Ok(found.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

#[cfg(test)]
mod tests {
    use convengine_storage::testing::each_database;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_document_gets_the_stored_tools_that_it_names() {
        for database in each_database().await {
            for id in ["find", "other"] {
                tool::save(&database.pool, id, &json!({"id": id}).to_string(), 1).await.expect("saved");
            }
            let mut document = json!({"doc": "ai_agent", "tool_names": ["find", "none", "\u{0}"]});
            complete(&database.pool, &mut document).await.expect("completed");
            assert_eq!(document["tools"], json!([{"id": "find"}]));
        }
    }
}
