//! Calls of tools that are no HTTP service: tools of MCP servers, and functions (docs/spec/flows.md#4.13).

use convengine_config::flow::document::{FlowTool, Retry};
use convengine_config::{join_mcp_code, mcp_spec};
use convengine_turn::{EffectClass, MCP_GROUP, Map, TaskRequest, TaskUse, ToolRequest};
use serde_json::{Value, json};

use super::super::failure::Failure;
use super::service_call::{CallRequest, ServiceCall, tool_effect_class};

/// Attempts of a read; a write is not repeated.
const READ_ATTEMPTS: u32 = 3;

/// Whether a tool is called by another protocol than HTTP.
pub(super) fn is_remote(tool: &FlowTool) -> bool {
    ["mcp", "function"].contains(&tool.kind.as_str())
}

/// Prepares the call of a tool in a session; `is_approved` is whether a person has approved it.
pub(super) fn prepare_remote_call<'c>(
    tool: &'c FlowTool,
    args: Value,
    timeout_ms: Option<u32>,
    retry: Option<&Retry>,
    is_approved: bool,
    session: &str,
) -> Result<ServiceCall<'c>, Failure> {
    let args = if let Value::Object(args) = args { args } else { Map::new() };
    let class = tool_effect_class(tool);
    let extra_roots = Map::from_iter([("args".to_owned(), Value::Object(args.clone()))]);
    let request = match (tool.kind.as_str(), &tool.server) {
        ("mcp", Some(server)) => {
            let name = tool.called_name();
            let mut spec = mcp_spec(server, name, class, class == EffectClass::Read, is_approved);
            if let (Some(spec), Some(ms)) = (spec.as_object_mut(), timeout_ms.or(tool.timeout_ms)) {
                spec.insert("timeout_ms".to_owned(), json!(ms));
            }
            let tool_code = Some(join_mcp_code(server, name));
            CallRequest::Tool(ToolRequest { tool_code, tool_group: MCP_GROUP.to_owned(), args, spec: Some(spec.into()) })
        }
        ("function", _) => CallRequest::Task(TaskRequest {
            task: tool.called_name().to_owned(),
            called_for: TaskUse::Tool,
            rule_id: None,
            container: None,
            input: Some(Value::Object(args)),
            view: Map::from_iter([("conversation_id".to_owned(), json!(session))]),
        }),
        _ => return Err(Failure::new("tool_unknown", "the tool does not name a server")),
    };
    let is_read = class == EffectClass::Read && matches!(request, CallRequest::Tool(_));
    let attempts = if is_read { retry.map_or(READ_ATTEMPTS, |it| it.max_attempts) } else { 1 };
    Ok(ServiceCall { request, tool: Some(tool), retry: retry.cloned().unwrap_or_default(), attempts, success: &[], extra_roots })
}
