//! Assembles streamed tool calls, so that they equal those of a non-streamed answer.

use convengine_core::turn::LlmToolCall;
use serde_json::Value;

use super::dialogue;

/// The tool calls of an answer, as far as they were received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls(Vec<Begun>);

/// A tool call that may not be complete.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Begun {
    /// Its index in the answer.
    place: u64,
    id: String,
    name: String,
    /// The JSON text of the arguments so far.
    written: String,
    /// The arguments if they are not sent as text.
    given: Value,
}

impl Calls {
    /// Adds a piece in OpenAI's form: index, id and name come with the first piece of a call.
    pub fn of_openai(&mut self, piece: &Value) {
        let function = piece.get("function").unwrap_or(piece);
        let (id, name) = (text(piece, "id"), text(function, "name"));
        // Some compatible servers omit the index.
        let further = || self.0.iter().map(|it| it.place + 1).max().unwrap_or(0);
        let last = || self.0.last().map_or(0, |it| it.place);
        let place = piece.get("index").and_then(Value::as_u64).unwrap_or_else(|| if name.is_empty() { last() } else { further() });
        // Others give all calls the same index.
        let is_of = |it: &Begun| it.place == place && (id.is_empty() || it.id.is_empty() || it.id == id);
        let at = self.0.iter().rposition(is_of).unwrap_or_else(|| {
            self.0.push(Begun { place, id: String::new(), name: String::new(), written: String::new(), given: Value::Null });
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
            Some(Value::String(text)) => call.written.push_str(text),
            Some(whole) => call.given = whole.clone(),
        }
    }

    /// Begins a call in Anthropic's form.
    pub fn begin(&mut self, place: u64, block: &Value) {
        let LlmToolCall { id, name, arguments } = dialogue::used(block);
        self.0.push(Begun { place, id, name, written: String::new(), given: arguments });
    }

    /// Adds a piece of arguments to a call that has begun; pieces of other content blocks are ignored.
    pub fn go_on(&mut self, place: u64, piece: &str) {
        if let Some(call) = self.0.iter_mut().rfind(|it| it.place == place) {
            call.written.push_str(piece);
        }
    }

    /// Returns all calls of the complete answer, in order.
    pub fn end(&mut self) -> Vec<LlmToolCall> {
        let mut calls = std::mem::take(&mut self.0);
        calls.sort_by_key(|it| it.place);
        let complete = |Begun { id, name, written, given, .. }: Begun| {
            let arguments = if written.is_empty() { given } else { Value::String(written) };
            LlmToolCall { id, name, arguments: dialogue::arguments(Some(&arguments)) }
        };
        calls.into_iter().map(complete).collect()
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}
