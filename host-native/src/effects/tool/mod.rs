//! Executes tools of the groups that this host implements: DOCUMENT_RETRIEVAL, FILES and MCP.

use convengine_core::config::{canonical_tool_group, split_mcp_code};
use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, MCP_GROUP, Reply, ToolReply, ToolRequest};
use serde::de::DeserializeOwned;
use serde_json::Value;

use tokio::time::Instant;

use super::mcp::McpProgress;
use super::{documents, files, mcp};
use crate::config::active::ActiveConfig;
use crate::config::settings::Roots;
use crate::runtime::blocking::BlockingShare;
use crate::runtime::stream::TokenPublisher;
use crate::runtime::turn_runner::Host;
use crate::storage::Pool;

/// Executes a tool: by its fake if it has one or if no row configures it, else by its group.
pub async fn execute(
    host: &Host,
    configured: &ActiveConfig,
    progress: Option<&TokenPublisher>,
    key: &str,
    request: &ToolRequest,
    deadline: Instant,
) -> EffectResult {
    if request.spec.is_none() || configured.fakes.has_tool(request) {
        return configured.fakes.answer_tool(request);
    }
    if request.tool_group == MCP_GROUP {
        let progress = progress.map(|it| McpProgress::new(it, &host.secrets, &host.redaction));
        let answer = mcp::execute(&host.mcp, &host.http, &configured.mcp, request, key, progress, deadline).await;
        // A model may make up names of servers, which must not become labels.
        let code = request.tool_code.as_deref().and_then(split_mcp_code);
        if let Some((server, _)) = code.filter(|it| configured.mcp.enabled_server(it.0).is_ok()) {
            let error = if let EffectResult::Error(error) = &answer { Some(error) } else { None };
            host.meter.record_mcp_call(server, error);
        }
        return answer;
    }
    match execute_by_group(&host.blocking, &host.readers, &host.file_roots, request).await {
        Ok(text) => EffectResult::Ok(Reply::Tool(ToolReply { text: host.secrets.scrub(&text).into_owned() })),
        Err(error) => EffectResult::Error(EffectError { message: host.secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

/// Executes a tool that a row configures, by its group, and returns its result as text.
///
/// # Errors
/// `Unsupported` for another group, or the failure of the group's executor.
pub async fn execute_by_group(
    blocking: &BlockingShare,
    documents: &Pool,
    roots: &Roots,
    request: &ToolRequest,
) -> Result<String, EffectError> {
    match canonical_tool_group(&request.tool_group).as_str() {
        "DOCUMENT_RETRIEVAL" => documents::search(documents, request).await,
        "FILES" => files::execute(blocking, roots, request).await,
        other => Err(unsupported_group(other)),
    }
}

fn unsupported_group(group: &str) -> EffectError {
    let message = format!("no executor for tool group '{group}': give the tool one of the groups of this server, or a script");
    EffectError::new(EffectErrorKind::Unsupported, message)
}

/// Parses the tool's configuration; missing members have their defaults.
///
/// # Errors
/// `Invalid` for a configuration of another form.
pub fn parse_spec<T: DeserializeOwned + Default>(request: &ToolRequest) -> Result<T, EffectError> {
    match request.spec.as_deref() {
        None | Some(Value::Null) => Ok(T::default()),
        Some(spec) => T::deserialize(spec).map_err(|it| invalid(format!("the spec of the tool cannot be used: {it}"))),
    }
}

/// An argument as text; `None` if it is missing, null or blank.
pub fn argument_text(request: &ToolRequest, name: &str) -> Option<String> {
    let text = match request.args.get(name)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => return None,
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// The error for a wrong tool configuration or call.
pub fn invalid(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests;
