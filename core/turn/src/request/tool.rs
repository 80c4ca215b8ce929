//! The effect that calls a tool of the host, for the planner or a tool request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EffectClass, Operation, Reply, Request};
use crate::Map;

/// The group of tools of MCP servers.
pub const MCP_GROUP: &str = "MCP";

/// Deadline in milliseconds.
const DEADLINE_MS: u32 = 30_000;

/// Groups of read-only tools.
const READ_ONLY_GROUPS: [&str; 2] = ["DOCUMENT_RETRIEVAL", "FILES"];

/// A call of a tool that the host carries out itself: a document search, a file, a tool of an MCP server. Tools that are HTTP services or
/// queries arrive as [`HttpRequest`](crate::HttpRequest) and [`SqlRequest`](crate::SqlRequest).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The code; absent when only a group is requested.
    pub tool_code: Option<String>,
    /// The group, such as `HTTP_API`.
    pub tool_group: String,
    /// The arguments.
    pub args: Map,
    /// The tool's setup: the `spec` of its row of `cv_tool_spec`; absent when the host knows the tool by its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Arc<Value>>,
}

/// A tool's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The answer; JSON text if the tool returns JSON.
    pub text: String,
}

impl From<ToolRequest> for Request {
    fn from(request: ToolRequest) -> Self {
        Request::Tool(request)
    }
}

impl Operation for ToolRequest {
    type Output = ToolReply;

    /// Document and file tools that a row sets up only read; tools of MCP servers say what they do; a scripted tool may write.
    fn class(&self) -> EffectClass {
        let Some(spec) = self.spec.as_deref() else { return EffectClass::Write };
        if READ_ONLY_GROUPS.contains(&self.tool_group.as_str()) {
            return EffectClass::Read;
        }
        match spec.get("effect").and_then(Value::as_str).filter(|_| self.tool_group == MCP_GROUP) {
            Some("read") => EffectClass::Read,
            Some("irreversible") => EffectClass::Irreversible,
            _ => EffectClass::Write,
        }
    }

    fn is_repeatable(&self) -> bool {
        let is_idempotent = || self.spec.as_deref().is_some_and(|spec| spec.get("idempotent") == Some(&Value::Bool(true)));
        self.class() == EffectClass::Read || (self.tool_group == MCP_GROUP && is_idempotent())
    }

    fn deadline_ms(&self) -> u32 {
        let own = self.spec.as_deref().and_then(|spec| spec.get("timeout_ms")?.as_u64()).and_then(|timeout| u32::try_from(timeout).ok());
        own.filter(|_| self.tool_group == MCP_GROUP).unwrap_or(DEADLINE_MS)
    }

    /// Tools of MCP servers report progress.
    fn is_streamed(&self) -> bool {
        self.tool_group == MCP_GROUP
    }

    fn extract_output(reply: Reply) -> Option<ToolReply> {
        if let Reply::Tool(reply) = reply { Some(reply) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_read_only_groups_with_a_spec_are_reads() {
        let class = |group: &str, spec: Option<Value>| {
            let spec = spec.map(Arc::new);
            ToolRequest { tool_code: None, tool_group: group.to_owned(), args: Map::new(), spec }.class()
        };
        for group in READ_ONLY_GROUPS {
            assert_eq!(class(group, Some(json!({}))), EffectClass::Read, "{group}");
            assert_eq!(class(group, None), EffectClass::Write, "{group}");
        }
        assert_eq!(class("MCP", Some(json!({"effect": "read"}))), EffectClass::Read);
        assert_eq!(class("MCP", Some(json!({"effect": "irreversible"}))), EffectClass::Irreversible);
        assert_eq!(class("OTHER", Some(json!({"effect": "read"}))), EffectClass::Write);
        for group in ["NOTIFICATION", "WORKFLOW_ACTION", "HTTP_API", "OTHER"] {
            assert_eq!(class(group, Some(json!({}))), EffectClass::Write, "{group}");
        }
    }
}
