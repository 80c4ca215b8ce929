//! Settings that are one of a few words.

/// When a model is asked for the dialogue act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogueActMode {
    /// Never.
    RegexOnly,
    /// When the words alone are not sure.
    RegexThenLlm,
    /// Always.
    LlmOnly,
}

pub(super) const MODES: [(&str, DialogueActMode); 3] =
    [("REGEX_ONLY", DialogueActMode::RegexOnly), ("REGEX_THEN_LLM", DialogueActMode::RegexThenLlm), ("LLM_ONLY", DialogueActMode::LlmOnly)];

impl DialogueActMode {
    /// The spelling in settings and audits.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// What the interaction policy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The intent is resolved from the message.
    ReclassifyIntent,
    /// The pending action is carried out.
    ExecutePendingAction,
    /// The pending action is dropped.
    RejectPendingAction,
    /// The message answers an open question.
    FillPendingSlot,
}

pub(super) const DECISIONS: [(&str, Decision); 4] = [
    ("RECLASSIFY_INTENT", Decision::ReclassifyIntent),
    ("EXECUTE_PENDING_ACTION", Decision::ExecutePendingAction),
    ("REJECT_PENDING_ACTION", Decision::RejectPendingAction),
    ("FILL_PENDING_SLOT", Decision::FillPendingSlot),
];

impl Decision {
    /// Reads a decision's name, ignoring case.
    pub fn parse(name: &str) -> Option<Decision> {
        DECISIONS.iter().find(|it| it.0.eq_ignore_ascii_case(name.trim())).map(|it| it.1)
    }

    /// The spelling in settings, parameters and audits.
    pub fn name(self) -> &'static str {
        DECISIONS.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// How much is audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLevel {
    /// Everything.
    All,
    /// Everything but the entering and leaving of steps.
    Standard,
    /// Stages that speak of an error, failure or rejection.
    ErrorOnly,
    /// Nothing.
    None,
}

pub(super) const LEVELS: [(&str, AuditLevel); 4] =
    [("ALL", AuditLevel::All), ("STANDARD", AuditLevel::Standard), ("ERROR_ONLY", AuditLevel::ErrorOnly), ("NONE", AuditLevel::None)];

/// Who writes the summary of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summarizer {
    /// A fixed formula.
    Deterministic,
    /// A language model.
    Llm,
}

pub(super) const SUMMARIZERS: [(&str, Summarizer); 2] = [("DETERMINISTIC", Summarizer::Deterministic), ("LLM", Summarizer::Llm)];
