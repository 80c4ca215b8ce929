//! Approves tools of servers, and calls them by hand.

use std::time::Duration;

use convengine_core::config::join_mcp_code;
use convengine_core::turn::{EffectError, EffectErrorKind, Map};
use convengine_effects::cut_message;
use convengine_effects::mcp::{LIST_LIFETIME, McpCall, catalog::McpServer, check_unchanged, digest, hide, listing};
use convengine_storage::{self as storage, mcp_tool};
use serde_json::Value;
use uuid::Uuid;

use crate::Content;
use crate::config::active::ReloadError;

/// The approval of a tool.
#[derive(Debug)]
pub struct Approval {
    /// The hash of the definition that was reviewed.
    pub digest: String,
    /// When a person approves a call: `always`, `write` or `never`, or null for the default; absent to keep what the row says.
    when: Option<Option<String>>,
    /// The intent and the state for which planners may use the tool, if they are to be set.
    scope: Option<(String, String)>,
}

/// Why a tool is not approved.
#[derive(Debug)]
pub enum ApprovalError {
    /// The server cannot be used.
    Server(EffectError),
    /// The server does not offer the tool.
    NotOffered(String),
    /// The tool is not the one that was reviewed.
    Changed(String),
    /// The row of the server does not allow the tool.
    NotAllowed(String),
    /// The configuration cannot be stored.
    Reload(ReloadError),
}

impl Approval {
    /// Reads `{"digest", "approval"?, "intent_code"?, "state_code"?}`.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(members: &Map) -> Result<Approval, String> {
        let text = |name: &str| match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
            Some(_) => Err(format!("'{name}' is not a string; send one or omit it")),
        };
        let known = ["digest", "approval", "intent_code", "state_code"];
        if let Some(name) = members.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("unknown member '{name}'; send {}", known.join(", ")));
        }
        let when = text("approval")?;
        let is_set = members.contains_key("approval");
        if when.as_deref().is_some_and(|it| !["always", "write", "never"].contains(&it)) {
            return Err("'approval' must be always, write or never".to_owned());
        }
        let (intent, state) = (text("intent_code")?, text("state_code")?);
        let scope = (intent.is_some() || state.is_some()).then(|| {
            let any = || "ANY".to_owned();
            (intent.unwrap_or_else(any), state.unwrap_or_else(any))
        });
        let digest = text("digest")?.ok_or("'digest' is missing; send the digest from the tool list")?;
        Ok(Approval { digest, when: is_set.then_some(when), scope })
    }
}

/// Approves a tool if the server still offers it as it was reviewed. Returns its code.
///
/// # Errors
/// [`ApprovalError`]; nothing is stored then.
pub async fn approve(content: &Content, server: &McpServer, tool: &str, approval: &Approval) -> Result<String, ApprovalError> {
    server.check_allowed(tool).map_err(|it| ApprovalError::NotAllowed(it.message))?;
    let active = content.config_manager.active();
    let listing = async { content.outbound.mcp.connect(&content.outbound.http, server).await?.list_tools(Duration::ZERO).await };
    let list = in_time(content, server, listing).await.map_err(ApprovalError::Server)?;
    let mut named = list.tools.iter().filter(|listed| listed.get("name").and_then(Value::as_str) == Some(tool));
    let Some(offered) = named.next() else {
        return Err(ApprovalError::NotOffered(format!("the MCP server '{}' does not offer the tool '{tool}'", server.key)));
    };
    if named.next().is_some() {
        let message = format!("the MCP server '{}' offers two tools named '{tool}'; neither can be approved", server.key);
        return Err(ApprovalError::NotAllowed(message));
    }
    if digest(offered) != approval.digest {
        let message = format!("the tool '{tool}' is not the one that was reviewed; list the tools and review it again");
        return Err(ApprovalError::Changed(message));
    }
    let code = join_mcp_code(&server.key, tool);
    let when = match &approval.when {
        Some(when) => when.as_deref(),
        None => active.mcp.approval(&code),
    };
    let database = |it: sqlx::Error| ApprovalError::Reload(ReloadError::Database(it));
    let mut connection = storage::open(content.config_manager.database(), false).await.map_err(database)?;
    connection.begin().await.map_err(database)?;
    mcp_tool::approve(&mut connection, &code, &offered.to_string(), when).await.map_err(database)?;
    if let Some((intent, state)) = &approval.scope {
        mcp_tool::set_scope(&mut connection, &code, intent, state).await.map_err(database)?;
    }
    let new_errors = content.config_manager.find_new_errors(&mut connection).await.map_err(database)?;
    if !new_errors.is_empty() {
        connection.rollback().await.map_err(database)?;
        return Err(ApprovalError::Reload(ReloadError::NewErrors(new_errors)));
    }
    connection.commit().await.map_err(database)?;
    connection.close().await.map_err(database)?;
    content.config_manager.refresh().await.map_err(ApprovalError::Reload)?;
    Ok(code)
}

/// Withdraws the approval of a tool. Returns whether it was approved.
///
/// # Errors
/// Why the configuration cannot be stored.
pub async fn withdraw(content: &Content, server: &str, tool: &str) -> Result<bool, ReloadError> {
    let mut connection = storage::open(content.config_manager.database(), false).await.map_err(ReloadError::Database)?;
    let existed = mcp_tool::withdraw(&mut connection, &join_mcp_code(server, tool)).await.map_err(ReloadError::Database)?;
    connection.close().await.map_err(ReloadError::Database)?;
    if existed {
        content.config_manager.refresh().await?;
    }
    Ok(existed)
}

/// Runs a request to a server within the time limit of tools. An error is as the one of a turn: without what must not be shown, and short.
async fn in_time<T>(
    content: &Content,
    server: &McpServer,
    request: impl Future<Output = Result<T, EffectError>>,
) -> Result<T, EffectError> {
    let limit = content.outbound.tool_timeouts.call;
    let outcome = tokio::time::timeout(limit, request).await.unwrap_or_else(|_| {
        content.outbound.mcp.retire(&server.key);
        let message = format!(
            "the MCP server '{}' did not answer within {} ms; convengine.tools.timeout is the limit",
            server.key,
            limit.as_millis()
        );
        Err(EffectError::new(EffectErrorKind::Timeout, message))
    });
    outcome.map_err(|error| {
        cut_message(EffectError { message: hide(&content.outbound.secrets, &content.outbound.redaction, &error.message), ..error })
    })
}

/// Lists the tools of a server with their states.
///
/// # Errors
/// The failure of connecting or listing.
pub async fn list_tools(content: &Content, server: &McpServer) -> Result<Value, EffectError> {
    let active = content.config_manager.active();
    in_time(content, server, listing::list(&content.outbound.mcp, &content.outbound.http, &active.mcp, server)).await
}

/// Calls a tool by hand, as the server offers it: one that is not approved yet, or one that has not changed since its approval. `None` if the
/// server does not offer it.
///
/// # Errors
/// The failure of the call.
pub async fn call_by_hand(content: &Content, server: &McpServer, tool: &str, args: &Map) -> Result<Option<String>, EffectError> {
    let active = content.config_manager.active();
    let called = in_time(content, server, async {
        let connection = content.outbound.mcp.connect(&content.outbound.http, server).await?;
        let list = connection.list_tools(LIST_LIFETIME).await?;
        if !list.tools.iter().any(|listed| listed.get("name").and_then(Value::as_str) == Some(tool)) {
            return Ok(None);
        }
        server.check_allowed(tool)?;
        let offered = connection.find_tool(tool).await?;
        if let Ok(approved) = active.mcp.approved(&join_mcp_code(&server.key, tool)) {
            check_unchanged(server, tool, approved, &offered)?;
        }
        let key = Uuid::new_v4().to_string();
        let text = connection.call(&McpCall { tool, args, key: &key, progress: None }).await?;
        Ok(Some(text))
    })
    .await;
    if !matches!(called, Ok(None)) {
        content.meter.record_mcp_call(&server.key, called.as_ref().err());
    }
    Ok(called?.map(|it| hide(&content.outbound.secrets, &content.outbound.redaction, &it)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_approval_names_what_was_reviewed() {
        let read = |members: Value| Approval::read(members.as_object().unwrap()).map(|it| (it.digest, it.when, it.scope));
        let scope = Some(("PAY".to_owned(), "ANY".to_owned()));
        assert_eq!(
            read(json!({"digest": "sha256:1", "approval": "always", "intent_code": "PAY"})),
            Ok(("sha256:1".to_owned(), Some(Some("always".to_owned())), scope))
        );
        assert_eq!(read(json!({"digest": "x", "approval": null})), Ok(("x".to_owned(), Some(None), None)));
        for wrong in [json!({}), json!({"digest": 1}), json!({"digest": "x", "approval": "no"}), json!({"digest": "x", "more": 1})] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
