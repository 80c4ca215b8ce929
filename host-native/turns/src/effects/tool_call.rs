//! Executes tools of the groups that this host implements: DOCUMENT_RETRIEVAL, FILES and MCP.

use convengine_core::config::split_mcp_code;
use convengine_core::turn::{EffectError, EffectResult, MCP_GROUP, Reply, ToolReply, ToolRequest};
use convengine_effects::OutputSink;
use convengine_effects::tool::execute_by_group;
use tokio::time::Instant;

use convengine_content::Content;
use convengine_content::config::active::ActiveConfig;
use convengine_effects::mcp;
use convengine_effects::mcp::McpProgress;

/// Executes a tool: by its fake if it has one or if no row configures it, else by its group.
pub async fn execute(
    content: &Content,
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
        let progress = progress.map(|it| McpProgress::new(it, &content.outbound.secrets, &content.outbound.redaction));
        let answer = mcp::execute(&content.outbound.mcp, &content.outbound.http, &configured.mcp, request, key, progress, deadline).await;
        // A model may make up names of servers, which must not become labels.
        let code = request.tool_code.as_deref().and_then(split_mcp_code);
        if let Some((server, _)) = code.filter(|code| configured.mcp.enabled_server(code.0).is_ok()) {
            let error = if let EffectResult::Error(error) = &answer { Some(error) } else { None };
            content.meter.record_mcp_call(server, error);
        }
        return answer;
    }
    match execute_by_group(&content.outbound.blocking, &content.readers, &content.outbound.file_roots, request).await {
        Ok(text) => EffectResult::Ok(Reply::Tool(ToolReply { text: content.outbound.secrets.scrub(&text).into_owned() })),
        Err(error) => EffectResult::Error(EffectError { message: content.outbound.secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

#[cfg(test)]
#[path = "tool_call_tests.rs"]
mod tests;
