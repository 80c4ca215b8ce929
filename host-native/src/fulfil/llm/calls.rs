//! Calls of tools that come in pieces, put together so that they equal those of a whole answer.

use convengine_core::turn::LlmToolCall;
use serde_json::Value;

use super::dialogue;

/// The calls of an answer, as far as they have come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls(Vec<Begun>);

/// A call of which more may come.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Begun {
    /// Where it stands in the answer.
    place: u64,
    id: String,
    name: String,
    /// The JSON text so far.
    written: String,
    /// The arguments when no text of them comes.
    given: Value,
}

impl Calls {
    /// Takes up a piece in the form of OpenAI: place, id and name come with the first piece of a call.
    pub fn of_openai(&mut self, piece: &Value) {
        let function = piece.get("function").unwrap_or(piece);
        let (id, name) = (text(piece, "id"), text(function, "name"));
        // Servers that only speak like OpenAI may leave the place out.
        let further = || self.0.iter().map(|it| it.place + 1).max().unwrap_or(0);
        let last = || self.0.last().map_or(0, |it| it.place);
        let place = piece.get("index").and_then(Value::as_u64).unwrap_or_else(|| if name.is_empty() { last() } else { further() });
        // Others give the same place to all calls.
        let is_of = |it: &Begun| it.place == place && (id.is_empty() || it.id.is_empty() || it.id == id);
        let at = self.0.iter().rposition(is_of).unwrap_or_else(|| {
            self.0.push(Begun { place, id: String::new(), name: String::new(), written: String::new(), given: Value::Null });
            self.0.len() - 1
        });
        let Some(call) = self.0.get_mut(at) else { return };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        // Some say the whole name with every piece.
        if call.name != name {
            call.name.push_str(name);
        }
        match function.get("arguments") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.written.push_str(text),
            Some(whole) => call.given = whole.clone(),
        }
    }

    /// Begins a call in the form of Anthropic.
    pub fn begin(&mut self, place: u64, block: &Value) {
        let LlmToolCall { id, name, arguments } = dialogue::used(block);
        self.0.push(Begun { place, id, name, written: String::new(), given: arguments });
    }

    /// Takes up a piece of the arguments of a call that has begun; other pieces are of no call.
    pub fn go_on(&mut self, place: u64, piece: &str) {
        if let Some(call) = self.0.iter_mut().rfind(|it| it.place == place) {
            call.written.push_str(piece);
        }
    }

    /// All calls, when the answer is complete.
    pub fn end(&mut self) -> Vec<LlmToolCall> {
        let mut calls = std::mem::take(&mut self.0);
        calls.sort_by_key(|it| it.place);
        let called = |Begun { id, name, written, given, .. }: Begun| {
            let arguments = if written.is_empty() { given } else { Value::String(written) };
            LlmToolCall { id, name, arguments: dialogue::arguments(Some(&arguments)) }
        };
        calls.into_iter().map(called).collect()
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}
