//! The input of a turn: what happened, when, and the conversation as it was stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::{ConversationRow, Exchange, MemoryRow, Write};
use super::{Map, Millis};

/// The program that a turn runs. It follows from the configuration; an input that names another one is refused, so that a journal is never
/// replayed by the wrong program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramRef {
    /// The table-driven pipeline, version 2.
    PipelineV2,
    /// The table-driven pipeline, version 1.
    PipelineV1,
    /// A flow document.
    Flow,
    /// A chain.
    Chain,
}

/// A user event. Pipelines read the first three members, flows and chains the last, and the text where that is invalid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserEvent {
    /// The message; absent when the client sent none.
    pub text: Option<String>,
    /// Whether to reset the conversation before answering.
    #[serde(default)]
    pub reset: bool,
    /// The client's `inputParams`, which rules and templates can read.
    #[serde(default)]
    pub params: Map,
    /// The event of a flow session, which replaces all of the above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Box<Value>>,
}

impl UserEvent {
    /// A flow event; its `version` is the published version to run on, if any.
    ///
    /// Its `type` says what happened: `session.start`, `user.message` with a `text`, and others. An invalid event is taken for a
    /// message with its `text`; a host that wants to refuse it checks first.
    ///
    /// ```
    /// use convengine_turn::UserEvent;
    /// use serde_json::json;
    ///
    /// let event = UserEvent::from_flow_event(json!({"type": "user.message", "text": "Where is my order?"}));
    /// assert_eq!(event.text.as_deref(), Some("Where is my order?"));
    /// ```
    pub fn from_flow_event(event: Value) -> UserEvent {
        let text = event.get("text").and_then(Value::as_str).map(str::to_owned);
        UserEvent { text, reset: false, params: Map::new(), flow: Some(Box::new(event)) }
    }
}

/// The stored state of a conversation, loaded by the host. The default is a conversation that does not exist yet.
///
/// A host without a database keeps it in memory and lets each turn's writes change it:
///
/// ```
/// use convengine_turn::{HistoryRow, LoadedSession, Write};
///
/// let said = |user: &str| {
///     let assistant_output = r#"{"text": "Hi."}"#.to_owned();
///     Write::History(HistoryRow { user_input: user.to_owned(), assistant_output, created_at: 0 })
/// };
/// let session = LoadedSession::default().with_writes(&[said("hello")]).with_writes(&[said("and now?")]);
/// assert_eq!((session.history[0].user.as_str(), session.history[0].assistant.as_str()), ("and now?", "Hi."));
/// assert_eq!((session.turns, session.turns_since_reset), (2, 2));
///
/// let session = session.with_writes(&[Write::Reset]);
/// assert!(session.history.is_empty());
/// assert_eq!((session.turns, session.turns_since_reset), (3, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadedSession {
    /// The stored row; absent for a new conversation.
    pub conversation: Option<ConversationRow>,
    /// Earlier exchanges since the last reset, newest first.
    #[serde(default)]
    pub history: Vec<Exchange>,
    /// Turns of the conversation so far.
    #[serde(default)]
    pub turns: u32,
    /// Turns since the last reset, including the one that reset; all of them when there was none.
    #[serde(default)]
    pub turns_since_reset: u32,
    /// The conversation's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryRow>,
    /// The flow session; absent for a new one and for conversations of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Arc<Value>>,
}

impl LoadedSession {
    /// Returns what the next turn will load once these rows are committed: the writes of one turn, in their order. Without writes it still
    /// counts the turn.
    pub fn with_writes(mut self, writes: &[Write]) -> LoadedSession {
        self.turns += 1;
        self.turns_since_reset += 1;
        for write in writes {
            match write {
                Write::Conversation(row) => self.conversation = Some(row.clone()),
                Write::History(row) => self.history.insert(0, row.to_exchange()),
                Write::Memory(row) => self.memory = Some(row.clone()),
                Write::Reset => {
                    self.history.clear();
                    self.memory = None;
                    self.turns_since_reset = 1;
                }
                Write::Session { state } => self.flow = Some(Arc::new(state.as_ref().clone())),
                Write::LlmCall(_) => {}
            }
        }
        self
    }
}

/// The input of a turn: together with the results of its effects, it determines everything else.
///
/// Nothing in it is checked: ids, time and session are the host's responsibility.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnInput {
    /// The turn's id, a UUID. The idempotency keys of its effects begin with it, so no other turn may have it.
    pub turn: String,
    /// The conversation's id, a UUID in lower case.
    pub conversation: String,
    /// The host's time when the message arrived: the first time of the turn's clock. Later than the conversation was last written, if rows
    /// are to be ordered by it.
    pub at: Millis,
    /// Seed of the turn's random generator, from which generated ids follow. A host draws it; a test fixes it.
    pub seed: u64,
    /// The program to run.
    pub program: ProgramRef,
    /// The user event.
    pub event: UserEvent,
    /// The conversation as stored.
    pub session: LoadedSession,
}
