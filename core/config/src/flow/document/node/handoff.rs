//! `handoff`: transfers the conversation to a person. (docs/spec/flows.md#4.9)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;

use super::super::text::{FlowTemplate, LocalizedText};
use super::traits::{NodeData, NodeGroup, NodeTraits, Waiting};

/// Data of `handoff`.
#[derive(Debug, Clone, Described)]
pub struct HandoffData {
    /// Text that is sent to the user.
    #[member(title = "Message to the user")]
    pub message: Option<LocalizedText>,
    /// Where people wait.
    pub queue: Option<FlowTemplate>,
    /// Reason for the transfer.
    pub reason: Option<FlowTemplate>,
    /// `transfer`: the session ends with the person, unless the person returns it; `return`: it continues at `out`.
    #[member(title = "Afterwards")]
    pub mode: HandoffMode,
    /// Variables that the desk receives.
    #[member(meaning = Reads, title = "Variables for the desk")]
    pub context: Vec<VariablePath>,
    /// Number of recent turns sent to the desk.
    #[member(shape = COUNT, default = 50, title = "Turns of the transcript")]
    pub transcript_turns: u32,
    /// Time until the node is left by `timeout` because nobody has accepted; no limit when absent.
    #[member(shape = COUNT, title = "Wait for a person in ms")]
    pub wait_ms: Option<u64>,
}

/// What happens when the person is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum HandoffMode {
    /// The session ends.
    #[default]
    Transfer,
    /// The assistant continues.
    Return,
}

impl NodeData for HandoffData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits {
            failure_port: Some("unavailable"),
            ports: &["out", "timeout", "unavailable"],
            waiting: Waiting::Always,
            finalizes_slots: true,
            group: NodeGroup::Dialogue,
            ..NodeTraits::CALLING
        }
    }
}
