//! Assembles streamed tool calls, so that they equal those of a non-streamed answer.

use convengine_core::turn::LlmToolCall;
use serde_json::Value;

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
    /// Adds a piece in OpenAI's form: index, id and name come with the first piece of a call.
    pub fn push_openai(&mut self, piece: &Value) {
        let function = piece.get("function").unwrap_or(piece);
        let (id, name) = (str_member(piece, "id"), str_member(function, "name"));
        // Some compatible servers omit the index.
        let further = || self.0.iter().map(|it| it.index + 1).max().unwrap_or(0);
        let last = || self.0.last().map_or(0, |it| it.index);
        let place = piece.get("index").and_then(Value::as_u64).unwrap_or_else(|| if name.is_empty() { last() } else { further() });
        // Others give all calls the same index.
        let is_of = |it: &PartialToolCall| it.index == place && (id.is_empty() || it.id.is_empty() || it.id == id);
        let at = self.0.iter().rposition(is_of).unwrap_or_else(|| {
            self.0.push(PartialToolCall { index: place, id: String::new(), name: String::new(), json: String::new(), value: Value::Null });
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
        match function.get("arguments") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.json.push_str(text),
            Some(whole) => call.value = whole.clone(),
        }
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

fn str_member<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}
