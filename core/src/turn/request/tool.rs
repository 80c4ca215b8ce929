//! The effect that calls a tool of the host, for the planner or a tool request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reply, Request};
use crate::turn::{Class, Map, Operation};

/// Deadline in milliseconds.
const DEADLINE_MS: u32 = 30_000;

/// Groups of read-only tools.
const READING: [&str; 2] = ["DOCUMENT_RETRIEVAL", "FILES"];

/// A call of a tool.
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

    /// Document and file tools that a row sets up only read; a scripted tool may write.
    fn class(&self) -> Class {
        let reads_only = self.spec.is_some() && READING.contains(&self.tool_group.as_str());
        if reads_only { Class::Read } else { Class::Write }
    }

    fn deadline_ms(&self) -> u32 {
        DEADLINE_MS
    }

    fn output(reply: Reply) -> Option<ToolReply> {
        if let Reply::Tool(reply) = reply { Some(reply) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_a_row_sets_up_to_look_reads() {
        let class = |group: &str, spec: Option<Value>| {
            let spec = spec.map(Arc::new);
            ToolRequest { tool_code: None, tool_group: group.to_owned(), args: Map::new(), spec }.class()
        };
        for group in READING {
            assert_eq!(class(group, Some(json!({}))), Class::Read, "{group}");
            assert_eq!(class(group, None), Class::Write, "{group}");
        }
        for group in ["NOTIFICATION", "WORKFLOW_ACTION", "HTTP_API", "OTHER"] {
            assert_eq!(class(group, Some(json!({}))), Class::Write, "{group}");
        }
    }
}
