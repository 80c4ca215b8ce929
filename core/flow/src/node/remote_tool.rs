//! Calls of tools that are no HTTP service: tools of MCP servers, and functions (docs/spec/flows.md#4.13).

use convengine_config::flow::document::{FlowTool, Retry, ServiceData};
use convengine_config::{join_mcp_code, mcp_spec};
use convengine_turn::{EffectClass, MCP_GROUP, Map, TaskRequest, TaskUse, ToolRequest};
use serde_json::{Value, json};

use super::super::Walker;
use super::super::failure::Failure;
use super::http_request::{self, CallRequest, ServiceCall};

/// Attempts of a read; a write is not repeated.
const READ_ATTEMPTS: u32 = 3;

/// Whether a tool is called by another protocol than HTTP.
pub(super) fn is_remote(tool: &FlowTool) -> bool {
    ["mcp", "function"].contains(&tool.kind.as_str())
}

/// Prepares the call of a tool by a service node.
pub(super) fn prepare_node_call<'c>(
    walker: &mut Walker<'c>,
    tool: &'c FlowTool,
    data: &'c ServiceData,
) -> Result<ServiceCall<'c>, Failure> {
    let mut roots = walker.args_roots(data);
    let args = roots.get_mut("args").map(Value::take).unwrap_or_default();
    let retry = data.retry.as_ref().or(tool.retry.as_ref());
    prepare(walker, tool, args, data.timeout_ms, retry, false)
}

/// Prepares the call of a tool by an agent.
pub(super) fn prepare_tool_call<'c>(
    walker: &Walker<'c>,
    tool: &'c FlowTool,
    args: Value,
    is_approved: bool,
) -> Result<ServiceCall<'c>, Failure> {
    prepare(walker, tool, args, None, tool.retry.as_ref(), is_approved)
}

fn prepare<'c>(
    walker: &Walker<'c>,
    tool: &'c FlowTool,
    args: Value,
    timeout_ms: Option<u32>,
    retry: Option<&Retry>,
    is_approved: bool,
) -> Result<ServiceCall<'c>, Failure> {
    let args = if let Value::Object(args) = args { args } else { Map::new() };
    let class = http_request::tool_effect_class(tool);
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
            view: walker.task_view(),
        }),
        _ => return Err(Failure::new("tool_unknown", "the tool does not name a server")),
    };
    let reads = class == EffectClass::Read && matches!(request, CallRequest::Tool(_));
    let attempts = if reads { retry.map_or(READ_ATTEMPTS, |it| it.max_attempts) } else { 1 };
    Ok(ServiceCall { request, tool: Some(tool), retry: retry.cloned().unwrap_or_default(), attempts, success: &[], extra_roots })
}

impl Walker<'_> {
    /// What a function sees of the session.
    fn task_view(&self) -> Map {
        Map::from_iter([("conversation_id".to_owned(), json!(self.state.session_id))])
    }
}
