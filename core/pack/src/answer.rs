//! Answers of a single turn: the turn must request them, in order. A player reports those that were not requested.

use convengine_text::json::decode;
use convengine_turn::{
    ContainerReply, EffectError, EffectErrorKind, EffectResult, HttpCaller, HttpReply, Reply, Request, SqlReply, TaskReply, ToolReply,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scripted::model_answer;

/// The key by which a scripted answer matches a request. Printed, it is what the check `$` of a talk lists.
///
/// ```
/// use convengine_pack::ScriptedCall;
///
/// let calls = [ScriptedCall::Llm("policy".to_owned()), ScriptedCall::Task("crm:guest".to_owned())];
/// assert_eq!(calls.map(|call| call.to_string()), ["policy", "task crm:guest"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedCall {
    /// A model call, by purpose.
    Llm(String),
    /// A task, as `bean:method`.
    Task(String),
    /// A tool, by code, or by group if the request has no code.
    Tool(String),
    /// A container, as `page/section/container`.
    Container(String),
}

impl ScriptedCall {
    /// Returns the key of a request; `None` for requests that are never scripted by turns: embeddings, waits, searches, scripts, extensions
    /// and what they call, handoffs and notifications.
    pub fn from_request(request: &Request) -> Option<ScriptedCall> {
        match request {
            Request::Llm(request) => Some(ScriptedCall::Llm(request.purpose.clone())),
            Request::Task(request) => Some(ScriptedCall::Task(request.task.clone())),
            Request::Tool(request) => Some(ScriptedCall::Tool(request.tool_code.as_ref().unwrap_or(&request.tool_group).clone())),
            Request::Container(it) => Some(ScriptedCall::Container(format!("{}/{}/{}", it.page_id, it.section_id, it.container_id))),
            Request::Http(request) => match &request.caller {
                HttpCaller::Tool(code) => Some(ScriptedCall::Tool(code.clone())),
                HttpCaller::Task(name) => Some(ScriptedCall::Task(name.clone())),
                HttpCaller::Extension(_) => None,
                HttpCaller::Handoff(_) | HttpCaller::Notify(_) => None,
            },
            Request::Sql(request) => Some(ScriptedCall::Tool(request.tool_code.clone())),
            Request::Embed(_) | Request::Sleep(_) | Request::Extension(_) => None,
            Request::Knowledge(_) | Request::Script(_) | Request::PhraseSearch(_) => None,
        }
    }
}

impl std::fmt::Display for ScriptedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScriptedCall::Llm(purpose) => f.write_str(purpose),
            ScriptedCall::Task(name) => write!(f, "task {name}"),
            ScriptedCall::Tool(code) => write!(f, "tool {code}"),
            ScriptedCall::Container(name) => write!(f, "container {name}"),
        }
    }
}

/// One scripted answer of a turn. In JSON one of the members `llm`, `task`, `tool` and `container` says what it answers.
///
/// ```
/// use convengine_pack::{PackAnswer, ScriptedCall};
///
/// let answer: PackAnswer = serde_json::from_str(r#"{"tool": "stock.count", "reply": "3", "delay_ms": 200}"#)?;
/// assert_eq!((&answer.call, answer.delay_ms), (&ScriptedCall::Tool("stock.count".to_owned()), 200));
/// assert!(serde_json::from_str::<PackAnswer>(r#"{"tool": "a", "llm": "policy"}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AnswerMembers")]
pub struct PackAnswer {
    /// What it answers.
    #[serde(flatten)]
    pub call: ScriptedCall,
    /// The reply.
    pub reply: Value,
    /// The failure, in place of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<EffectError>,
    /// The simulated latency, in milliseconds.
    pub delay_ms: u64,
    /// The line in the talk; 0 in a pack.
    pub line: u32,
}

/// The members of an answer, of which one names what it answers.
#[derive(Deserialize)]
struct AnswerMembers {
    llm: Option<String>,
    task: Option<String>,
    tool: Option<String>,
    container: Option<String>,
    #[serde(default)]
    reply: Value,
    error: Option<EffectError>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    line: u32,
}

impl TryFrom<AnswerMembers> for PackAnswer {
    type Error = &'static str;

    fn try_from(members: AnswerMembers) -> Result<PackAnswer, &'static str> {
        let AnswerMembers { llm, task, tool, container, reply, error, delay_ms, line } = members;
        let call = match (llm, task, tool, container) {
            (Some(purpose), None, None, None) => ScriptedCall::Llm(purpose),
            (None, Some(name), None, None) => ScriptedCall::Task(name),
            (None, None, Some(code), None) => ScriptedCall::Tool(code),
            (None, None, None, Some(name)) => ScriptedCall::Container(name),
            _ => return Err("expected one of 'llm', 'task', 'tool' and 'container'"),
        };
        Ok(PackAnswer { call, reply, error, delay_ms, line })
    }
}

impl PackAnswer {
    /// Converts it to the answer of an effect request.
    pub(super) fn to_answer(&self, request: &Request) -> EffectResult {
        if let Some(error) = &self.error {
            return EffectResult::Error(error.clone());
        }
        let text = || self.reply.as_str().map_or_else(|| self.reply.to_string(), str::to_owned);
        match (&self.call, request) {
            (_, Request::Http(_)) => {
                EffectResult::Ok(Reply::Http(HttpReply { status: 200, body: text(), retry_after_ms: None, broken_json: false }))
            }
            (_, Request::Sql(_)) => EffectResult::Ok(Reply::Sql(SqlReply::from_script(self.reply.clone()))),
            (ScriptedCall::Llm(purpose), _) => model_answer(purpose, Some(&self.reply)),
            (ScriptedCall::Task(_), _) => match decode::<TaskReply>(&self.reply) {
                Ok(reply) => EffectResult::Ok(Reply::Task(Box::new(reply))),
                Err(error) => EffectResult::Error(EffectError::new(EffectErrorKind::Invalid, error.to_string())),
            },
            (ScriptedCall::Tool(_), _) => EffectResult::Ok(Reply::Tool(ToolReply { text: text() })),
            (ScriptedCall::Container(_), _) => EffectResult::Ok(Reply::Container(ContainerReply { data: self.reply.clone() })),
        }
    }
}
