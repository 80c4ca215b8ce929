//! Resets a conversation. (docs/spec/pipeline.md#1.9, docs/decisions/0028-reset.md)

use std::sync::Arc;

use convengine_config::UNKNOWN;
use convengine_turn::{ConversationRow, Map, Millis, Write};
use serde_json::Value;

use super::Session;
use super::params::{RESET_KEYS, is_flag_set};

/// Messages that reset the conversation.
const COMMANDS: [&str; 4] = ["reset", "restart", "/reset", "/restart"];

impl Session {
    /// The reason for a reset, if a parameter or the message requests one.
    pub fn reset_reason(&self) -> Option<String> {
        if let Some(key) = RESET_KEYS.iter().find(|key| is_reset_flag(self.params.get(**key))) {
            let name = if *key == "_reset" { "reset" } else { key };
            return Some(format!("INPUT_PARAM:{name}"));
        }
        let command = COMMANDS.contains(&self.text().to_lowercase().as_str());
        command.then(|| "USER_TEXT_COMMAND".to_owned())
    }

    /// Resets the session; the message and the client's parameters stay, and the turn continues.
    pub fn reset(&mut self, now: Millis) {
        self.intent = UNKNOWN.to_owned();
        self.state = UNKNOWN.to_owned();
        self.context = Map::new();
        self.standalone_query = None;
        self.history.clear();
        self.clarification = None;
        self.lock = None;
        self.is_question_new = false;
        self.approved_text = None;
        self.approved_call = None;
        self.memory = None;
        self.turn_number = 1;
        self.schema = None;
        self.containers = None;
        self.container_data = None;
        self.payload = None;
        self.last_assistant = None;
        self.last_output = None;
        self.unaudited_answer = None;
        self.rule_run = None;
        // The resetting step continues; the timings of the steps before it are still needed.
        self.step_infos_start = self.step_infos.len().saturating_sub(1);
        self.rule_params.clear();
        self.restore_client_params();
        self.was_reset = true;
        self.writes.push(Write::Reset);
        self.writes.push(Write::Conversation(ConversationRow {
            status: "RUNNING".to_owned(),
            intent_code: UNKNOWN.to_owned(),
            state_code: UNKNOWN.to_owned(),
            context: Arc::default(),
            last_assistant: None,
            params: Arc::default(),
            updated_at: now,
            ..self.stored.clone()
        }));
    }
}

/// True, the number 1, or one of `true`, `1`, `yes`: narrower than other flags, because a reset loses much.
fn is_reset_flag(value: Option<&Value>) -> bool {
    let on = matches!(value, Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("on"));
    is_flag_set(value) && !on
}
