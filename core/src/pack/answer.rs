//! Answers of a single turn: the turn must request them, in order.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scripted::of_model;
use crate::turn::{
    Answer, ContainerReply, EffectError, EffectErrorKind, HttpCaller, HttpReply, Reply, Request, SqlReply, TaskReply, ToolReply,
};

/// The key by which a scripted answer matches a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// A model call, by purpose.
    Llm(String),
    /// A task, as `bean:method`.
    Task(String),
    /// A tool, by code, or by group if the request has no code.
    Tool(String),
    /// A container, as `page/section/container`.
    Container(String),
}

impl Asked {
    /// Returns the key of a request; `None` for requests that are never scripted.
    pub fn of(request: &Request) -> Option<Asked> {
        match request {
            Request::Llm(request) => Some(Asked::Llm(request.purpose.clone())),
            Request::Task(request) => Some(Asked::Task(request.task.clone())),
            Request::Tool(request) => Some(Asked::Tool(request.tool_code.as_ref().unwrap_or(&request.tool_group).clone())),
            Request::Container(it) => Some(Asked::Container(format!("{}/{}/{}", it.page_id, it.section_id, it.container_id))),
            Request::Http(request) => match &request.caller {
                HttpCaller::Tool(code) => Some(Asked::Tool(code.clone())),
                HttpCaller::Task(name) => Some(Asked::Task(name.clone())),
                HttpCaller::Extension(_) => None,
            },
            Request::Sql(request) => Some(Asked::Tool(request.tool_code.clone())),
            Request::Embed(_) | Request::Sleep(_) | Request::Extension(_) => None,
        }
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Asked::Llm(purpose) => f.write_str(purpose),
            Asked::Task(name) => write!(f, "task {name}"),
            Asked::Tool(code) => write!(f, "tool {code}"),
            Asked::Container(name) => write!(f, "container {name}"),
        }
    }
}

/// One scripted answer of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackAnswer {
    /// What it answers.
    #[serde(flatten)]
    pub asked: Asked,
    /// The reply.
    #[serde(default)]
    pub reply: Value,
    /// The failure, in place of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EffectError>,
    /// The simulated latency, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// The line in the talk; 0 in a pack.
    #[serde(default)]
    pub line: u32,
}

impl PackAnswer {
    /// Converts it to the answer of an effect request.
    pub(super) fn answer(&self, request: &Request) -> Answer {
        if let Some(error) = &self.error {
            return Answer::Error(error.clone());
        }
        let text = || self.reply.as_str().map_or_else(|| self.reply.to_string(), str::to_owned);
        match (&self.asked, request) {
            (_, Request::Http(_)) => {
                Answer::Ok(Reply::Http(HttpReply { status: 200, body: text(), retry_after_ms: None, broken_json: false }))
            }
            (_, Request::Sql(_)) => Answer::Ok(Reply::Sql(SqlReply::of(self.reply.clone()))),
            (Asked::Llm(purpose), _) => of_model(purpose, Some(&self.reply)),
            (Asked::Task(_), _) => match serde_json::from_value::<TaskReply>(self.reply.clone()) {
                Ok(reply) => Answer::Ok(Reply::Task(Box::new(reply))),
                Err(error) => Answer::Error(EffectError::new(EffectErrorKind::Invalid, error.to_string())),
            },
            (Asked::Tool(_), _) => Answer::Ok(Reply::Tool(ToolReply { text: text() })),
            (Asked::Container(_), _) => Answer::Ok(Reply::Container(ContainerReply { data: self.reply.clone() })),
        }
    }
}
