//! What an agent remembers between its turns: a reserved variable of the session. (`convoship.md` 4.13)

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::config::flow::document::AgentMemory;
use crate::turn::{LlmMessage, LlmRole, LlmToolCall};

/// What an agent remembers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Memory {
    /// What was said, the oldest first.
    pub messages: Vec<LlmMessage>,
    /// Messages of the user since the node was entered.
    pub turns: u32,
    /// What the model is told to do. They are filled once, when the node is entered: what tools write to variables does not change them.
    pub instructions: String,
    /// Calls of the last step that are still to be made.
    pub open: Vec<LlmToolCall>,
    /// What the user has said while a call waited for a person.
    pub said: Vec<String>,
}

impl Memory {
    /// The variable of a node.
    pub fn variable(node: &str) -> String {
        format!("_agent_memory_{node}")
    }

    /// Reads a stored memory; one that cannot be read is empty.
    pub fn of(stored: Option<&Value>) -> Memory {
        let member = |name: &str| stored.and_then(|it| it.get(name)).cloned().unwrap_or_default();
        let pending = member("pending");
        let of_pending = |name: &str| pending.get(name).cloned().unwrap_or_default();
        Memory {
            messages: serde_json::from_value(member("messages")).unwrap_or_default(),
            turns: member("turns").as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or_default(),
            instructions: member("instructions").as_str().unwrap_or_default().to_owned(),
            open: serde_json::from_value(of_pending("calls")).unwrap_or_default(),
            said: serde_json::from_value(of_pending("said")).unwrap_or_default(),
        }
    }

    /// As the session holds it.
    pub fn stored(&self) -> Value {
        let mut stored = json!({
            "v": 1, "messages": self.messages, "turns": self.turns, "summary": null, "instructions": self.instructions,
        });
        if let Some(stored) = stored.as_object_mut().filter(|_| !self.open.is_empty()) {
            stored.insert("pending".to_owned(), json!({"calls": self.open, "said": self.said}));
        }
        stored
    }

    /// Begins another stay: calls that nobody has answered are forgotten with what was said to them.
    pub fn begin(&mut self) {
        (self.turns, self.open, self.said) = (0, Vec::new(), Vec::new());
        let Some(last) = self.messages.iter().rposition(|it| !it.tool_calls.is_empty()) else { return };
        let (before, after) = self.messages.split_at(last);
        let answered: BTreeSet<&str> = after.iter().filter_map(|it| it.tool_call_id.as_deref()).collect();
        let whole = after.first().is_some_and(|it| it.tool_calls.iter().all(|it| answered.contains(it.id.as_str())));
        if !whole {
            self.messages = before.to_vec();
        }
    }

    /// Forgets the oldest exchanges until the rest fits; calls and their results go together.
    pub fn trim(&mut self, limits: &AgentMemory) {
        while self.exceeds(limits) && self.forget() {}
    }

    fn exceeds(&self, limits: &AgentMemory) -> bool {
        let of_calls = |it: &LlmMessage| it.tool_calls.iter().map(|it| it.arguments.to_string().chars().count()).sum::<usize>();
        let chars: usize = self.messages.iter().map(|it| it.content.chars().count() + of_calls(it)).sum();
        self.messages.len() > limits.max_messages || chars > limits.max_chars
    }

    /// Forgets the oldest exchange, or the oldest step of the only one; says whether there was any.
    fn forget(&mut self) -> bool {
        let next =
            |role: LlmRole, from: usize| (from..self.messages.len()).find(|it| self.messages.get(*it).is_some_and(|it| it.role == role));
        let oldest = match next(LlmRole::User, 1) {
            Some(second) => Some((0, second)),
            None => next(LlmRole::Assistant, 0).and_then(|first| Some((first, next(LlmRole::Assistant, first + 1)?))),
        };
        oldest.is_some_and(|(from, to)| {
            self.messages.drain(from..to);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::flow::document::MemoryReset;

    fn call(id: &str) -> LlmToolCall {
        LlmToolCall { id: id.to_owned(), name: "t".to_owned(), arguments: json!({}) }
    }

    fn memory(shape: &str) -> Memory {
        let message = |it: char| match it {
            'u' => LlmMessage::user("u"),
            'a' => LlmMessage::assistant("a", Vec::new()),
            'c' => LlmMessage::assistant("", vec![call("1"), call("2")]),
            other => LlmMessage::tool(&other.to_string(), "{}"),
        };
        Memory { messages: shape.chars().map(message).collect(), ..Memory::default() }
    }

    fn shape(memory: &Memory) -> String {
        let letter = |it: &LlmMessage| match (it.role, it.tool_call_id.as_deref()) {
            (LlmRole::User, _) => "u".to_owned(),
            (LlmRole::Assistant, _) if it.tool_calls.is_empty() => "a".to_owned(),
            (LlmRole::Assistant, _) => "c".to_owned(),
            (LlmRole::Tool, id) => id.unwrap_or_default().to_owned(),
        };
        memory.messages.iter().map(letter).collect()
    }

    #[test]
    fn the_oldest_exchange_goes_first_and_calls_keep_their_results() {
        let limits = |max_messages| AgentMemory { max_messages, max_chars: 24_000, reset: MemoryReset::Never };
        for (whole, most, kept) in [
            ("uauc12auc12a", 12, "uauc12auc12a"),
            ("uauc12auc12a", 11, "uc12auc12a"),
            ("uauc12auc12a", 9, "uc12a"),
            ("uc12c12c12", 7, "uc12c12"),
            ("uc12c12c12", 6, "uc12"),
            ("uc12c12c12", 1, "uc12"),
            ("uauu", 2, "uu"),
        ] {
            let mut memory = memory(whole);
            memory.trim(&limits(most));
            assert_eq!(shape(&memory), kept, "{whole} to {most}");
        }
        let mut memory = memory("uaua");
        memory.trim(&AgentMemory { max_messages: 40, max_chars: 3, reset: MemoryReset::Never });
        assert_eq!(shape(&memory), "ua");
    }

    #[test]
    fn calls_that_nobody_has_answered_are_forgotten() {
        for (before, after) in [("uc1", "u"), ("uc12", "uc12"), ("uc", "u"), ("uc12ua", "uc12ua"), ("uc12auc1", "uc12au")] {
            let mut memory = memory(before);
            (memory.turns, memory.open) = (3, vec![call("2")]);
            memory.begin();
            assert_eq!((shape(&memory).as_str(), memory.turns, memory.open.len()), (after, 0, 0), "{before}");
        }
    }

    #[test]
    fn a_memory_survives_as_json() {
        let mut memory = memory("uc1");
        (memory.turns, memory.instructions, memory.open, memory.said) = (2, "Be kind.".to_owned(), vec![call("2")], vec!["hm".to_owned()]);
        assert_eq!(Memory::of(Some(&memory.stored())), memory);
        assert_eq!(Memory::of(Some(&json!("broken"))), Memory::default());
        let plain = Memory::default().stored();
        assert_eq!(plain, json!({"v": 1, "messages": [], "turns": 0, "summary": null, "instructions": ""}));
    }
}
