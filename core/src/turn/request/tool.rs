//! A tool, called by the planner or by a request of the turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reply, Request};
use crate::turn::{Class, Map, Operation};

/// Milliseconds that a tool has.
const DEADLINE_MS: u32 = 30_000;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The code; absent when only a group is asked.
    pub tool_code: Option<String>,
    /// The group, such as `HTTP_API`.
    pub tool_group: String,
    /// The arguments.
    pub args: Map,
    /// How the tool is set up: the `spec` of its row of `cv_tool_spec`; absent when the host knows it by its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Arc<Value>>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The answer, JSON text where the tool gives JSON.
    pub text: String,
}

impl From<ToolRequest> for Request {
    fn from(request: ToolRequest) -> Self {
        Request::Tool(request)
    }
}

impl Operation for ToolRequest {
    type Output = ToolReply;

    fn class(&self) -> Class {
        Class::Write
    }

    fn deadline_ms(&self) -> u32 {
        DEADLINE_MS
    }

    fn output(reply: Reply) -> Option<ToolReply> {
        if let Reply::Tool(reply) = reply { Some(reply) } else { None }
    }
}
