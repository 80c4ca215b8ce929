//! `end`: where a graph is left. (docs/spec/flows.md#4.1)

use convengine_derive::Described;

use super::super::text::{LocalizedText, ValueTemplate};
use super::traits::{NodeData, NodeGroup, NodeTraits};

/// Data of `end`.
#[derive(Debug, Clone, Described)]
pub struct EndData {
    /// Port of the calling `subflow` node.
    #[member(default = "out")]
    pub exit: String,
    /// Text that is sent last.
    pub final_message: Option<LocalizedText>,
    /// True completes the session from any graph; false in the root graph keeps it open.
    pub end_session: Option<bool>,
    /// Return values of a subflow, as templates.
    #[member(shape = AnyObject, meaning = Template(Text))]
    pub outputs: Option<ValueTemplate>,
}

impl NodeData for EndData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { ports: &[], leaves_graph: true, is_goal: true, group: NodeGroup::Boundary, ..NodeTraits::PLAIN }
    }
}
