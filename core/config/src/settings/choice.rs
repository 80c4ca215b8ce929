//! Enumerated settings.

/// When a model classifies the dialogue act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogueActMode {
    /// Never.
    RegexOnly,
    /// When the patterns are not confident enough.
    RegexThenLlm,
    /// Always.
    LlmOnly,
}

pub(super) const MODES: [(&str, DialogueActMode); 3] =
    [("REGEX_ONLY", DialogueActMode::RegexOnly), ("REGEX_THEN_LLM", DialogueActMode::RegexThenLlm), ("LLM_ONLY", DialogueActMode::LlmOnly)];

impl DialogueActMode {
    /// The name in settings and audits.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// The decision of the interaction policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InteractionDecision {
    /// Resolve the intent from the message.
    ReclassifyIntent,
    /// Run the pending action.
    ExecutePendingAction,
    /// Drop the pending action.
    RejectPendingAction,
    /// Take the message as the answer to an open question.
    FillPendingSlot,
}

pub(super) const DECISIONS: [(&str, InteractionDecision); 4] = [
    ("RECLASSIFY_INTENT", InteractionDecision::ReclassifyIntent),
    ("EXECUTE_PENDING_ACTION", InteractionDecision::ExecutePendingAction),
    ("REJECT_PENDING_ACTION", InteractionDecision::RejectPendingAction),
    ("FILL_PENDING_SLOT", InteractionDecision::FillPendingSlot),
];

impl InteractionDecision {
    /// Parses the name of a decision, ignoring case.
    pub fn parse(name: &str) -> Option<InteractionDecision> {
        DECISIONS.iter().find(|(own_name, _)| own_name.eq_ignore_ascii_case(name.trim())).map(|it| it.1)
    }

    /// The name in settings, parameters and audits.
    pub fn name(self) -> &'static str {
        DECISIONS.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// Which audit events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLevel {
    /// Everything.
    All,
    /// Everything except step entry and exit.
    Standard,
    /// Stages of errors, failures and rejections.
    ErrorOnly,
    /// Nothing.
    None,
}

pub(super) const LEVELS: [(&str, AuditLevel); 4] =
    [("ALL", AuditLevel::All), ("STANDARD", AuditLevel::Standard), ("ERROR_ONLY", AuditLevel::ErrorOnly), ("NONE", AuditLevel::None)];

/// How the summary of a conversation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summarizer {
    /// From the session, without a model.
    Deterministic,
    /// By a language model.
    Llm,
}

pub(super) const SUMMARIZERS: [(&str, Summarizer); 2] = [("DETERMINISTIC", Summarizer::Deterministic), ("LLM", Summarizer::Llm)];
