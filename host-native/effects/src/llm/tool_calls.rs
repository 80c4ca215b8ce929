//! Assembles streamed tool calls, so that they equal those of a non-streamed answer.

use convengine_core::turn::LlmToolCall;
use serde_json::{Map, Value};

use super::dialogue;

/// The tool calls of an answer, as far as they were received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCallAssembler(Vec<PartialToolCall>);

/// A tool call that may not be complete.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PartialToolCall {
    /// Its index in the answer.
    index: u64,
    id: String,
    name: String,
    /// The JSON text of the arguments so far.
    json: String,
    /// The arguments if they are not sent as text.
    value: Value,
}

impl ToolCallAssembler {
    /// Adds a piece in OpenAI's form: index, id and name come with the first piece of a call. `is_tool` tells the names of tools from parts of
    /// them.
    pub fn push_openai(&mut self, piece: &Value, is_tool: impl Fn(&str) -> bool) {
        let function = piece.get("function").unwrap_or(piece);
        let (id, name) = (str_member(piece, "id"), str_member(function, "name"));
        let arguments = function.get("arguments").filter(|it| !it.is_null());
        // Some compatible servers omit the index.
        let index = piece.get("index").and_then(Value::as_u64).unwrap_or_else(|| self.guess_index(id, name));
        // Others give all calls the same index.
        let is_of = |call: &PartialToolCall| {
            let has_id = id.is_empty() || call.id.is_empty() || call.id == id;
            call.index == index && has_id && !call.is_followed_by(name, arguments, &is_tool)
        };
        let at = self.0.iter().rposition(is_of).unwrap_or_else(|| {
            self.0.push(PartialToolCall { index, id: String::new(), name: String::new(), json: String::new(), value: Value::Null });
            self.0.len() - 1
        });
        let Some(call) = self.0.get_mut(at) else { return };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        // Some repeat the whole name with every piece.
        if call.name != name {
            call.name.push_str(name);
        }
        match arguments {
            None => {}
            Some(Value::String(text)) => call.json.push_str(text),
            Some(whole) => call.value = whole.clone(),
        }
    }

    /// The index of a piece without one: that of the last call if the piece continues it.
    fn guess_index(&self, id: &str, name: &str) -> u64 {
        let Some(last) = self.0.last() else { return 0 };
        let repeats = last.name == name && (if id.is_empty() { !last.is_complete() } else { last.id == id });
        if name.is_empty() || repeats { last.index } else { self.0.iter().map(|it| it.index + 1).max().unwrap_or(0) }
    }

    /// Begins a call in Anthropic's form.
    pub fn begin_anthropic(&mut self, place: u64, block: &Value) {
        let LlmToolCall { id, name, arguments } = dialogue::parse_tool_use(block);
        self.0.push(PartialToolCall { index: place, id, name, json: String::new(), value: arguments });
    }

    /// Adds a piece of arguments to a call that has begun; pieces of other content blocks are ignored.
    pub fn push_arguments(&mut self, place: u64, piece: &str) {
        if let Some(call) = self.0.iter_mut().rfind(|it| it.index == place) {
            call.json.push_str(piece);
        }
    }

    /// Returns all calls of the complete answer, in order.
    pub fn finish(&mut self) -> Vec<LlmToolCall> {
        let mut calls = std::mem::take(&mut self.0);
        calls.sort_by_key(|it| it.index);
        let complete = |PartialToolCall { id, name, json: written, value: given, .. }: PartialToolCall| {
            let arguments = if written.is_empty() { given } else { Value::String(written) };
            LlmToolCall { id, name, arguments: dialogue::parse_arguments(Some(&arguments)) }
        };
        calls.into_iter().map(complete).collect()
    }
}

impl PartialToolCall {
    /// Whether a piece with a name begins another call: that of another tool, or with arguments although these are complete.
    fn is_followed_by(&self, name: &str, arguments: Option<&Value>, is_tool: impl Fn(&str) -> bool) -> bool {
        let is_other = name != self.name && is_tool(name) && is_tool(&self.name);
        let brings_arguments = arguments.is_some_and(|arguments| arguments.as_str().is_none_or(|text| !text.trim().is_empty()));
        is_other || (!name.is_empty() && brings_arguments && self.is_complete())
    }

    fn is_complete(&self) -> bool {
        !self.value.is_null() || serde_json::from_str::<Map<String, Value>>(&self.json).is_ok()
    }
}

fn str_member<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}
