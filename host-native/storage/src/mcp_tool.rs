//! `cv_mcp_tool`: approved tools of MCP servers; and their rows in `ce_mcp_tool`, which say where they may be used.

use convengine_core::turn::MCP_GROUP;

use super::database::Connection;
use super::statement::{SqlValue as Sql, Statement};

/// Stores the definition of a tool as approved.
pub async fn approve(connection: &mut Connection, code: &str, definition: &str, approval: Option<&str>) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into cv_mcp_tool (tool_code, definition, approval) values ($1, $2, $3)
         on conflict (tool_code) do update set definition = excluded.definition, approval = excluded.approval,
           created_at = excluded.created_at",
    );
    connection.execute(&sql, &[Sql::Text(code), Sql::Text(definition), Sql::OptionalText(approval)]).await.map(|_| ())
}

/// Withdraws the approval of a tool. Returns whether it was approved.
pub async fn withdraw(connection: &mut Connection, code: &str) -> sqlx::Result<bool> {
    let sql = Statement::portable("delete from cv_mcp_tool where tool_code = $1");
    Ok(connection.execute(&sql, &[Sql::Text(code)]).await? > 0)
}

/// Lets planners use a tool for an intent and a state.
pub async fn set_scope(connection: &mut Connection, code: &str, intent: &str, state: &str) -> sqlx::Result<()> {
    let sql = Statement::portable(
        "insert into ce_mcp_tool (tool_id, tool_code, tool_group, intent_code, state_code, enabled)
         select coalesce(max(tool_id), 0) + 1, $1, $2, $3, $4, true from ce_mcp_tool where true
         on conflict (tool_code) do update set tool_group = excluded.tool_group, intent_code = excluded.intent_code,
           state_code = excluded.state_code, enabled = true",
    );
    connection.execute(&sql, &[Sql::Text(code), Sql::Text(MCP_GROUP), Sql::Text(intent), Sql::Text(state)]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_tables;
    use crate::testing::each_database;

    #[tokio::test]
    async fn an_approval_is_replaced_and_withdrawn() {
        for mut database in each_database().await {
            let connection = &mut database.connection;
            approve(connection, "mcp.a.x", "{}", Some("always")).await.expect("stored");
            approve(connection, "mcp.a.x", "{\"name\":\"x\"}", None).await.expect("stored");
            set_scope(connection, "mcp.a.x", "PAY", "ANY").await.expect("stored");
            set_scope(connection, "mcp.a.y", "ANY", "ANY").await.expect("stored");
            set_scope(connection, "mcp.a.x", "SHIP", "OPEN").await.expect("stored");
            let tables = load_tables(connection).await.expect("rows").0;
            let approved = tables.get("cv_mcp_tool").expect("approved tools");
            assert_eq!((approved.len(), &approved[0]["definition"], approved[0].get("approval")), (1, &"{\"name\":\"x\"}".into(), None));
            let scopes: Vec<_> =
                tables.get("ce_mcp_tool").into_iter().flatten().map(|row| (row["tool_code"].clone(), row["intent_code"].clone())).collect();
            assert_eq!(scopes, [("mcp.a.x".into(), "SHIP".into()), ("mcp.a.y".into(), "ANY".into())]);
            assert!(
                withdraw(connection, "mcp.a.x").await.expect("an answer") && !withdraw(connection, "mcp.a.x").await.expect("an answer")
            );
        }
    }
}
