//! The names of the texts that the engine itself says (docs/reference/engine-texts.md).

/// A text that the engine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineText {
    ConfirmValue,
    Yes,
    No,
    AskForValue,
    ChooseValue,
    ChooseIntent,
    NotUnderstood,
    Error,
}

impl EngineText {
    /// The name under which a document words it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            EngineText::ConfirmValue => "confirm_value",
            EngineText::Yes => "yes",
            EngineText::No => "no",
            EngineText::AskForValue => "ask_for_value",
            EngineText::ChooseValue => "choose_value",
            EngineText::ChooseIntent => "choose_intent",
            EngineText::NotUnderstood => "not_understood",
            EngineText::Error => "error",
        }
    }
}
