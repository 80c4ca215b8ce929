//! The names of the texts that the engine itself says (docs/reference/engine-texts.md).

/// A text that the engine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineText {
    /// Asks whether a value is right.
    ConfirmValue,
    /// The label of the button that agrees.
    Yes,
    /// The label of the button that does not agree.
    No,
    /// Asks for a value.
    AskForValue,
    /// Asks which of several values is meant.
    ChooseValue,
    /// Asks which of several requests is meant.
    ChooseIntent,
    /// A message was not understood.
    NotUnderstood,
    /// A request was cancelled.
    Cancelled,
    /// There is nothing to cancel.
    NothingToCancel,
    /// A question has to be answered.
    AnswerNeeded,
    /// Why a question is asked.
    ReasonForQuestion,
    /// There is no earlier question to return to.
    FirstQuestion,
    /// A value cannot be changed.
    CannotChange,
    /// A value was changed.
    Corrected,
    /// The conversation begins again.
    StartedOver,
    /// No person can take over.
    NoPerson,
    /// A request goes on after an interruption.
    Returned,
    /// What can be asked for.
    CanHelpWith,
    /// Another message was not understood.
    NotUnderstoodAgain,
    /// A question is given up.
    GivenUp,
    /// A value is left as it was.
    LeftAlone,
    /// Something failed.
    Error,
}

impl EngineText {
    /// All of them.
    pub const ALL: [EngineText; 22] = [
        EngineText::ConfirmValue,
        EngineText::Yes,
        EngineText::No,
        EngineText::AskForValue,
        EngineText::ChooseValue,
        EngineText::ChooseIntent,
        EngineText::NotUnderstood,
        EngineText::Cancelled,
        EngineText::NothingToCancel,
        EngineText::AnswerNeeded,
        EngineText::ReasonForQuestion,
        EngineText::FirstQuestion,
        EngineText::CannotChange,
        EngineText::Corrected,
        EngineText::StartedOver,
        EngineText::NoPerson,
        EngineText::Returned,
        EngineText::CanHelpWith,
        EngineText::NotUnderstoodAgain,
        EngineText::GivenUp,
        EngineText::LeftAlone,
        EngineText::Error,
    ];

    /// What it does, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            EngineText::ConfirmValue => "Asks whether `{value}` is right.",
            EngineText::Yes => "Button of consent.",
            EngineText::No => "Button of refusal.",
            EngineText::AskForValue => "Asks for a slot without a prompt, by its `{name}`.",
            EngineText::ChooseValue => "Asks which of `{values}` is meant.",
            EngineText::ChooseIntent => "Asks whether `{first}` or `{second}` is meant.",
            EngineText::NotUnderstood => "Answers what nothing else answers.",
            EngineText::Cancelled => "Answers somebody who leaves what is being done.",
            EngineText::NothingToCancel => "The same while nothing is being done.",
            EngineText::AnswerNeeded => "Says that a question has to be answered.",
            EngineText::ReasonForQuestion => "Says for which intent a question is asked, by its `{name}`.",
            EngineText::FirstQuestion => "Says that no earlier question exists.",
            EngineText::CannotChange => "Says that a value has been used and cannot be changed.",
            EngineText::Corrected => "Says that a filled slot has another `{value}`.",
            EngineText::StartedOver => "Says that the conversation begins anew.",
            EngineText::NoPerson => "Says that nobody can take over.",
            EngineText::Returned => "Says to which intent the conversation returns, by its `{name}`.",
            EngineText::CanHelpWith => "Names the intents, as `{names}`.",
            EngineText::NotUnderstoodAgain => {
                "Answers what nothing else answers the second time, and precedes a question that is asked for the second time."
            }
            EngineText::GivenUp => "Answers what nothing else answers from the third time on.",
            EngineText::LeftAlone => "Answers somebody who does not want what an intent is for.",
            EngineText::Error => "Reports a failure that nothing handles.",
        }
    }

    /// The name under which a document words it.
    pub const fn name(self) -> &'static str {
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
