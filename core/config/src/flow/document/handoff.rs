//! Data of `handoff` nodes. (docs/spec/flows.md#4.9)

use convengine_text::variable_path::VariablePath;

use super::fields::Fields;
use super::text::{FlowTemplate, LocalizedText};

/// The number of turns in the transcript when the node does not say.
const DEFAULT_TRANSCRIPT_TURNS: u32 = 50;

/// Data of `handoff`.
#[derive(Debug, Clone)]
pub struct HandoffData {
    /// The queue.
    pub queue: Option<FlowTemplate>,
    /// The reason.
    pub reason: Option<FlowTemplate>,
    /// The message to the user.
    pub message: Option<LocalizedText>,
    /// The variables that the desk receives.
    pub context: Vec<VariablePath>,
    /// The number of turns in the transcript.
    pub transcript_turns: u32,
    /// What happens when the person is done.
    pub mode: HandoffMode,
    /// Milliseconds to wait for a person; for ever when absent.
    pub wait_ms: Option<u64>,
}

/// What happens when the person is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HandoffMode {
    /// The session ends.
    #[default]
    Transfer,
    /// The session returns to the node.
    Return,
}

impl HandoffData {
    pub(super) fn read(fields: Fields<'_>) -> HandoffData {
        HandoffData {
            queue: fields.template("queue"),
            reason: fields.template("reason"),
            message: fields.localized("message"),
            context: fields.strings("context").iter().filter_map(|it| VariablePath::parse(it).ok()).collect(),
            transcript_turns: fields.count_u32("transcript_turns").unwrap_or(DEFAULT_TRANSCRIPT_TURNS),
            mode: fields.keyword("mode", &[("return", HandoffMode::Return)]).unwrap_or_default(),
            wait_ms: fields.count("wait_ms"),
        }
    }
}
