//! Executes tools of the groups that this host implements: DOCUMENT_RETRIEVAL, FILES and MCP.

use convengine_core::config::split_mcp_code;
use convengine_core::turn::{EffectError, EffectResult, MCP_GROUP, Reply, ToolReply, ToolRequest};
use convengine_effects::OutputSink;
use convengine_effects::tool::execute_by_group;
use tokio::time::Instant;

use super::mcp;
use super::mcp::McpProgress;
use crate::config::active::ActiveConfig;
use crate::runtime::turn_runner::Host;

/// Executes a tool: by its fake if it has one or if no row configures it, else by its group.
pub async fn execute(
    host: &Host,
    configured: &ActiveConfig,
    progress: Option<&dyn OutputSink>,
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

#[cfg(test)]
#[path = "tool_call_tests.rs"]
mod tests;
