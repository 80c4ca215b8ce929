//! The memory of an agent between turns, stored in a reserved session variable (docs/spec/flows.md#4.13).

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::document::AgentMemory;
use convengine_turn::{LlmMessage, LlmRole, LlmToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The memory of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Memory {
    /// The dialogue, oldest first.
    pub messages: Vec<LlmMessage>,
    /// User messages since the node was entered.
    pub turns: u32,
    /// The rendered instructions. They are rendered once, when the node is entered, so that tool outputs cannot change them.
    pub instructions: String,
    /// Calls of the last step that have not been made yet.
    pub pending_calls: Vec<LlmToolCall>,
    /// User messages received while a call waited for approval.
    pub pending_inputs: Vec<String>,
    /// What the limits of an AI agent count.
    pub progress: AgentProgress,
}

/// What the limits of an AI agent count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AgentProgress {
    /// The task of the last message.
    pub task: Option<String>,
    /// Model calls of the conversation.
    pub steps: u32,
    /// Tool calls since the last message, by tool.
    pub turn_calls: BTreeMap<String, u32>,
    /// Tool calls of the conversation, by tool.
    pub calls: BTreeMap<String, u32>,
}

impl Memory {
    /// Parses a stored memory; an invalid one is empty.
    pub fn from_stored(stored: Option<&Value>) -> Memory {
        let member = |name: &str| stored.and_then(|it| it.get(name)).cloned().unwrap_or_default();
        let pending = member("pending");
        let pending_member = |name: &str| pending.get(name).cloned().unwrap_or_default();
        Memory {
            messages: Vec::deserialize(&member("messages")).unwrap_or_default(),
            turns: member("turns").as_u64().and_then(|turns| u32::try_from(turns).ok()).unwrap_or_default(),
            instructions: member("instructions").as_str().unwrap_or_default().to_owned(),
            pending_calls: Vec::deserialize(&pending_member("calls")).unwrap_or_default(),
            pending_inputs: Vec::deserialize(&pending_member("said")).unwrap_or_default(),
            progress: AgentProgress::deserialize(&member("progress")).unwrap_or_default(),
        }
    }

    /// Converts the memory to its stored form.
    pub fn to_stored(&self) -> Value {
        let mut stored = json!({
            "v": 1, "messages": self.messages, "turns": self.turns, "summary": null, "instructions": self.instructions,
        });
        if let Some(stored) = stored.as_object_mut().filter(|_| !self.pending_calls.is_empty()) {
            stored.insert("pending".to_owned(), json!({"calls": self.pending_calls, "said": self.pending_inputs}));
        }
        if let Some(stored) = stored.as_object_mut().filter(|_| self.progress != AgentProgress::default()) {
            stored.insert("progress".to_owned(), json!(self.progress));
        }
        stored
    }

    /// Starts another run: drops open calls and the last step if it has unanswered calls.
    pub fn start_run(&mut self) {
        (self.turns, self.pending_calls, self.pending_inputs) = (0, Vec::new(), Vec::new());
        let Some(last) = self.messages.iter().rposition(|it| !it.tool_calls.is_empty()) else { return };
        let (before, after) = self.messages.split_at(last);
        let answered: BTreeSet<&str> = after.iter().filter_map(|it| it.tool_call_id.as_deref()).collect();
        let is_complete = after.first().is_some_and(|step| step.tool_calls.iter().all(|call| answered.contains(call.id.as_str())));
        if !is_complete {
            self.messages = before.to_vec();
        }
    }

    /// Drops the oldest exchanges until the rest fits; calls are dropped with their results.
    pub fn trim(&mut self, limits: &AgentMemory) {
        while self.exceeds_limits(limits) && self.drop_oldest() {}
    }

    fn exceeds_limits(&self, limits: &AgentMemory) -> bool {
        let argument_chars =
            |message: &LlmMessage| message.tool_calls.iter().map(|call| call.arguments.to_string().chars().count()).sum::<usize>();
        let chars: usize = self.messages.iter().map(|message| message.content.chars().count() + argument_chars(message)).sum();
        self.messages.len() > limits.max_messages || chars > limits.max_chars
    }

    /// Drops the oldest exchange, or the oldest step when there is only one. Returns whether anything was dropped.
    fn drop_oldest(&mut self) -> bool {
        let next =
            |role: LlmRole, from: usize| (from..self.messages.len()).find(|at| self.messages.get(*at).is_some_and(|it| it.role == role));
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
    use convengine_config::flow::document::MemoryReset;

    use super::*;

    fn call(id: &str) -> LlmToolCall {
        LlmToolCall { id: id.to_owned(), name: "t".to_owned(), arguments: json!({}) }
    }

    fn memory(shape: &str) -> Memory {
        let message = |letter: char| match letter {
            'u' => LlmMessage::user("u"),
            'a' => LlmMessage::assistant("a", Vec::new()),
            'c' => LlmMessage::assistant("", vec![call("1"), call("2")]),
            other => LlmMessage::tool(&other.to_string(), "{}"),
        };
        Memory { messages: shape.chars().map(message).collect(), ..Memory::default() }
    }

    fn shape(memory: &Memory) -> String {
        let letter = |message: &LlmMessage| match (message.role, message.tool_call_id.as_deref()) {
            (LlmRole::User, _) => "u".to_owned(),
            (LlmRole::Assistant, _) if message.tool_calls.is_empty() => "a".to_owned(),
            (LlmRole::Assistant, _) => "c".to_owned(),
            (LlmRole::Tool, id) => id.unwrap_or_default().to_owned(),
        };
        memory.messages.iter().map(letter).collect()
    }

    #[test]
    fn the_oldest_exchange_is_dropped_first_and_calls_keep_their_results() {
        let limits = |max_messages| AgentMemory { max_messages, max_chars: 24_000, reset: MemoryReset::Never };
        for (whole, most, expected) in [
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
            assert_eq!(shape(&memory), expected, "{whole} to {most}");
        }
        let mut memory = memory("uaua");
        memory.trim(&AgentMemory { max_messages: 40, max_chars: 3, reset: MemoryReset::Never });
        assert_eq!(shape(&memory), "ua");
    }

    #[test]
    fn unanswered_calls_are_dropped() {
        for (before, after) in [("uc1", "u"), ("uc12", "uc12"), ("uc", "u"), ("uc12ua", "uc12ua"), ("uc12auc1", "uc12au")] {
            let mut memory = memory(before);
            (memory.turns, memory.pending_calls) = (3, vec![call("2")]);
            memory.start_run();
            assert_eq!((shape(&memory).as_str(), memory.turns, memory.pending_calls.len()), (after, 0, 0), "{before}");
        }
    }

    #[test]
    fn a_memory_survives_as_json() {
        let mut memory = memory("uc1");
        (memory.turns, memory.instructions, memory.pending_calls, memory.pending_inputs) =
            (2, "Be kind.".to_owned(), vec![call("2")], vec!["hm".to_owned()]);
        memory.progress = AgentProgress { task: Some("refund".to_owned()), steps: 3, ..AgentProgress::default() };
        memory.progress.calls.insert("t".to_owned(), 2);
        assert_eq!(Memory::from_stored(Some(&memory.to_stored())), memory);
        assert_eq!(Memory::from_stored(Some(&json!("broken"))), Memory::default());
        let plain = Memory::default().to_stored();
        assert_eq!(plain, json!({"v": 1, "messages": [], "turns": 0, "summary": null, "instructions": ""}));
    }
}
