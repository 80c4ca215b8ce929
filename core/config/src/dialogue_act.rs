//! The dialogue act of a user message. (docs/spec/pipeline.md#2.6)

use serde::{Deserialize, Serialize};

/// The dialogue act of a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DialogueAct {
    /// Confirms.
    Affirm,
    /// Declines.
    Negate,
    /// Answers an open question.
    Answer,
    /// Corrects an earlier value.
    Edit,
    /// Restarts the conversation.
    Reset,
    /// Asks for information.
    Question,
    /// Makes a new request.
    NewRequest,
    /// Greets.
    Greeting,
}

/// The acts with their names in parameters and audits.
pub(super) const ACT_NAMES: [(&str, DialogueAct); 8] = [
    ("AFFIRM", DialogueAct::Affirm),
    ("NEGATE", DialogueAct::Negate),
    ("ANSWER", DialogueAct::Answer),
    ("EDIT", DialogueAct::Edit),
    ("RESET", DialogueAct::Reset),
    ("QUESTION", DialogueAct::Question),
    ("NEW_REQUEST", DialogueAct::NewRequest),
    ("GREETING", DialogueAct::Greeting),
];

impl DialogueAct {
    /// Parses the name of an act, ignoring case.
    pub fn parse(name: &str) -> Option<DialogueAct> {
        ACT_NAMES.iter().find(|(act_name, _)| act_name.eq_ignore_ascii_case(name.trim())).map(|it| it.1)
    }

    /// The name in parameters and audits.
    pub fn name(self) -> &'static str {
        ACT_NAMES.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}
