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
    Cancelled,
    NothingToCancel,
    AnswerNeeded,
    ReasonForQuestion,
    FirstQuestion,
    CannotChange,
    Corrected,
    StartedOver,
    NoPerson,
    Returned,
    CanHelpWith,
    NotUnderstoodAgain,
    GivenUp,
    LeftAlone,
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
            EngineText::Cancelled => "cancelled",
            EngineText::NothingToCancel => "nothing_to_cancel",
            EngineText::AnswerNeeded => "answer_needed",
            EngineText::ReasonForQuestion => "reason_for_question",
            EngineText::FirstQuestion => "first_question",
            EngineText::CannotChange => "cannot_change",
            EngineText::Corrected => "corrected",
            EngineText::StartedOver => "started_over",
            EngineText::NoPerson => "no_person",
            EngineText::Returned => "returned",
            EngineText::CanHelpWith => "can_help_with",
            EngineText::NotUnderstoodAgain => "not_understood_again",
            EngineText::GivenUp => "given_up",
            EngineText::LeftAlone => "left_alone",
            EngineText::Error => "error",
        }
    }
}
