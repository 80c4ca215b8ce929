//! The mutable state of a conversation during a turn.

mod facts;
mod params;
mod reset;
mod schema_facts;
mod step_info;
mod variables;
mod view;

use std::sync::Arc;

use convengine_config::{DialogueAct, UNKNOWN, is_same_code};
use convengine_turn::{
    ConversationRow, EffectError, EffectErrorKind, Exchange, Map, MemoryRow, Millis, Payload, SessionAfter, TurnInput, Write,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use facts::Facts;
pub use params::{RESERVED_KEYS, is_flag_set};
pub use schema_facts::SchemaFacts;
pub use step_info::{StepExit, StepInfo};

/// The answer when the outcome of a call is unknown and no row covers it.
pub const UNCONFIRMED: &str = "I could not confirm whether that was done. Please check before you ask for it again.";

/// An open question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clarification {
    /// The question.
    pub question: String,
    /// The reason for it.
    pub reason: Option<String>,
    /// The options of a multiple-choice question.
    pub options: Vec<ClarificationOption>,
    /// Whether it was repeated.
    pub is_repeated: bool,
}

/// An option that the user can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClarificationOption {
    /// The key of the option.
    pub key: String,
    /// The display text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How the answer of a turn came about: from a row, or as a text of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerSource {
    /// `output_format` of the row.
    pub format: String,
    /// `response_type` of the row, or the kind of the text.
    pub kind: String,
    /// The id of the row.
    pub response_id: Option<i64>,
}

/// The current rule pass, as rules and templates see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRun {
    /// Whether it is the pass after the model chose the intent.
    pub post_intent: bool,
    /// The source, such as `RulesStep`.
    pub source: &'static str,
    /// `RULES_STEP` or `AGENT_INTENT_RESOLVER`.
    pub origin: &'static str,
}

/// The state that steps read and write.
#[derive(Debug, Clone)]
pub struct Session {
    /// The conversation.
    pub conversation_id: String,
    /// The row as loaded, or as created.
    pub stored: ConversationRow,
    /// Whether this turn creates the conversation.
    pub is_new: bool,
    /// The message, unchanged.
    pub user_text: Option<String>,
    /// The message rewritten to stand without its history.
    pub standalone_query: Option<String>,
    /// The intent; `UNKNOWN` while nothing is resolved.
    pub intent: String,
    /// The state; `UNKNOWN` while nothing is resolved.
    pub state: String,
    /// `context_json`.
    pub context: Map,
    /// `inputParams`.
    pub params: Map,
    /// Reserved keys sent by the client, which were dropped.
    pub ignored_params: Vec<String>,
    /// Earlier exchanges, newest first.
    pub history: Vec<Exchange>,
    /// The open question.
    pub clarification: Option<Clarification>,
    /// The reason why the intent is locked; absent when it is not.
    pub lock: Option<String>,
    /// The answer.
    pub payload: Option<Payload>,
    /// The answer as stored, JSON text.
    pub last_assistant: Option<String>,
    /// The latest model output or response text, with its source.
    pub last_output: Option<(&'static str, String)>,
    /// How the answer came about, until it is audited.
    pub unaudited_answer: Option<AnswerSource>,
    /// The current rule pass.
    pub rule_run: Option<RuleRun>,
    /// The steps in the order in which they were entered.
    pub step_infos: Vec<StepInfo>,
    /// Whether the conversation was reset in this turn.
    pub was_reset: bool,
    /// The number of this turn since the conversation began or was reset, from 1.
    pub turn_number: u32,
    /// The stored memory at the start of the turn.
    pub memory: Option<MemoryRow>,
    /// The facts of the schema whose values are collected.
    pub schema: Option<SchemaFacts>,
    /// Data of this turn's containers, by parameter.
    pub containers: Option<Map>,
    /// Data of the last container.
    pub container_data: Option<Value>,
    /// Whether the open question was asked in this turn, which makes it the answer.
    pub is_question_new: bool,
    /// Whether the turn only asks a question: no model, tool or task runs, and intent and state stay.
    pub is_question_turn: bool,
    /// The state when the turn's last rule pass began, for the transition check.
    pub state_at_rules: Option<String>,
    /// Intent and state at which a write call got no answer: its outcome is unknown.
    pub unconfirmed_at: Option<(String, String)>,
    /// An earlier message that was approved in this turn; the turn works on it.
    pub approved_text: Option<String>,
    /// A tool call that was approved in this turn, as it waited in the context.
    pub approved_call: Option<Value>,
    /// The memory to store when the turn succeeds.
    pub new_memory: Option<MemoryRow>,
    /// Rows to commit.
    pub writes: Vec<Write>,
    /// How many of them are committed even when the turn fails; all when absent.
    pub writes_on_failure: Option<usize>,
    client_params: Map,
    rule_params: Vec<String>,
    loaded_pending_params: Vec<(String, Value)>,
    step_infos_start: usize,
}

impl Session {
    /// Opens the session at the start of a turn. (docs/spec/pipeline.md#1.2)
    pub fn from_input(input: TurnInput, history_max_turns: usize) -> Session {
        let created = input.session.conversation.is_none();
        let stored = input.session.conversation.unwrap_or_else(|| new_row(&input.conversation, input.at));
        let blank = |exchange: &Exchange| exchange.user.trim().is_empty() || exchange.assistant.trim().is_empty();
        let history = input.session.history.into_iter().filter(|it| !blank(it)).take(history_max_turns).collect();
        let mut session = Session {
            conversation_id: input.conversation,
            is_new: created,
            user_text: input.event.text,
            standalone_query: None,
            intent: code_or_unknown(&stored.intent_code),
            state: code_or_unknown(&stored.state_code),
            context: stored.context.as_ref().clone(),
            params: Map::new(),
            ignored_params: Vec::new(),
            history,
            clarification: None,
            lock: None,
            payload: None,
            last_assistant: stored.last_assistant.clone(),
            last_output: None,
            unaudited_answer: None,
            rule_run: None,
            step_infos: Vec::new(),
            was_reset: false,
            turn_number: input.session.turns_since_reset.saturating_add(1),
            memory: input.session.memory,
            schema: None,
            containers: None,
            container_data: None,
            is_question_new: false,
            is_question_turn: false,
            state_at_rules: None,
            unconfirmed_at: None,
            approved_text: None,
            approved_call: None,
            new_memory: None,
            writes: Vec::new(),
            writes_on_failure: None,
            client_params: Map::new(),
            rule_params: Vec::new(),
            loaded_pending_params: Vec::new(),
            step_infos_start: 0,
            stored,
        };
        session.read_context();
        session.load_params(input.event.params, input.event.reset);
        session
    }

    /// The trimmed message; empty when there is none.
    pub fn text(&self) -> &str {
        self.user_text.as_deref().unwrap_or_default().trim()
    }

    /// The locale that the client names in the parameter `locale`; English without one.
    pub fn locale(&self) -> &str {
        self.params.get("locale").and_then(Value::as_str).unwrap_or("en")
    }

    /// The locale that the client has named, if any.
    pub fn client_locale(&self) -> Option<&str> {
        self.params.get("locale").and_then(Value::as_str).filter(|locale| !locale.trim().is_empty())
    }

    /// The message that the turn works on: one approved in this turn, else the user's message.
    pub fn working_text(&self) -> Option<&str> {
        self.approved_text.as_deref().or(self.user_text.as_deref())
    }

    /// Asks the user a question, which is the turn's answer.
    pub fn ask(&mut self, question: impl Into<String>, reason: &str) {
        let reason = Some(reason.to_owned());
        self.clarification = Some(Clarification { question: question.into(), reason, options: Vec::new(), is_repeated: false });
        self.is_question_new = true;
    }

    /// Records a failed write call, for the answer when its outcome is unknown.
    pub fn record_failed_write(&mut self, error: &EffectError) {
        if error.kind == EffectErrorKind::Interrupted {
            self.unconfirmed_at = Some((self.intent.clone(), self.state.clone()));
        }
    }

    /// The standalone query if there is one, else the message.
    pub fn resolved_input(&self) -> Option<&str> {
        self.standalone_query.as_deref().filter(|query| !query.trim().is_empty()).or(self.working_text())
    }

    /// The current dialogue act.
    pub fn dialogue_act(&self) -> DialogueAct {
        self.params.get("dialogue_act").and_then(Value::as_str).and_then(DialogueAct::parse).unwrap_or(DialogueAct::NewRequest)
    }

    /// Whether both intent and state are resolved.
    pub fn is_resolved(&self) -> bool {
        let resolved = |code: &str| !code.trim().is_empty() && !is_same_code(code, UNKNOWN);
        resolved(&self.intent) && resolved(&self.state)
    }

    /// Changes the intent and removes what belonged to the old one. (docs/decisions/0004-engine-parameters-last-one-turn.md)
    pub fn set_intent(&mut self, intent: &str) {
        if !is_same_code(&self.intent, intent) {
            if let Some(id) = self.params.get_mut("schema_id") {
                *id = Value::Null;
            }
            for (key, _) in std::mem::take(&mut self.loaded_pending_params) {
                if !self.was_set_by_rule(&key) && !self.client_params.contains_key(&key) {
                    self.params.shift_remove(&key);
                }
            }
        }
        intent.clone_into(&mut self.intent);
    }

    /// Writes the open question and the lock into the context, for the next turn.
    pub fn write_context(&mut self) {
        let question = self.clarification.as_ref();
        let mut written = Map::new();
        written.insert("question".to_owned(), json!(question.map(|it| &it.question)));
        written.insert("reason".to_owned(), json!(question.and_then(|question| question.reason.as_ref())));
        if let Some(choice) = question.filter(|question| !question.options.is_empty()) {
            written.insert("options".to_owned(), json!(choice.options));
            written.insert("asked_again".to_owned(), json!(choice.is_repeated));
        }
        self.context.insert("pending_clarification".to_owned(), Value::Object(written));
        self.context.insert("intent_lock".to_owned(), json!({"locked": self.lock.is_some(), "reason": self.lock}));
    }

    /// The row as stored, or as reset in this turn.
    pub fn current_row(&self) -> ConversationRow {
        let written = self.writes.iter().rev().find_map(|write| match write {
            Write::Conversation(row) => Some(row),
            Write::History(_) | Write::LlmCall(_) | Write::Memory(_) | Write::Session { .. } | Write::Reset => None,
        });
        written.unwrap_or(&self.stored).clone()
    }

    /// The row of a completed turn.
    pub fn completed_row(&self, now: Millis) -> ConversationRow {
        ConversationRow {
            conversation_id: self.stored.conversation_id.clone(),
            status: "RUNNING".to_owned(),
            intent_code: self.intent.clone(),
            state_code: self.state.clone(),
            context: Arc::new(self.context.clone()),
            params: Arc::new(self.stored_params()),
            last_user_text: self.user_text.clone(),
            last_assistant: self.last_assistant.clone(),
            created_at: self.stored.created_at,
            updated_at: now,
        }
    }

    /// Commits a member of the context even when the turn fails, and takes away what names a pending action for the next turn.
    pub fn commit_action(&mut self, (key, value): (String, Value), now: Millis) {
        let mut row = self.current_row();
        Arc::make_mut(&mut row.context).insert(key, value);
        params::remove_action_keys(Arc::make_mut(&mut row.params));
        row.updated_at = now;
        self.writes.push(Write::Conversation(row));
    }

    /// The session as stored after the turn, even when it failed or was blocked.
    pub fn session_after(&self) -> SessionAfter {
        let row = self.current_row();
        SessionAfter { intent: row.intent_code, state: row.state_code, context: row.context, params: row.params }
    }

    fn read_context(&mut self) {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let stored = self.context.get("pending_clarification");
        self.clarification = text(stored.and_then(|it| it.get("question"))).map(|question| Clarification {
            question,
            reason: text(stored.and_then(|stored| stored.get("reason"))),
            options: stored.and_then(|stored| Vec::deserialize(stored.get("options")?).ok()).unwrap_or_default(),
            is_repeated: stored.and_then(|stored| stored.get("asked_again")?.as_bool()).unwrap_or_default(),
        });
        let lock = self.context.get("intent_lock");
        let locked = lock.and_then(|it| it.get("locked")).and_then(Value::as_bool) == Some(true);
        self.lock = locked.then(|| text(lock.and_then(|lock| lock.get("reason"))).unwrap_or_else(|| UNKNOWN.to_owned()));
    }
}

fn new_row(conversation_id: &str, at: Millis) -> ConversationRow {
    ConversationRow {
        conversation_id: conversation_id.to_owned(),
        status: "RUNNING".to_owned(),
        intent_code: UNKNOWN.to_owned(),
        state_code: UNKNOWN.to_owned(),
        context: Arc::default(),
        last_user_text: None,
        last_assistant: None,
        params: Arc::default(),
        created_at: at,
        updated_at: at,
    }
}

fn code_or_unknown(code: &str) -> String {
    if code.trim().is_empty() { UNKNOWN.to_owned() } else { code.to_owned() }
}
