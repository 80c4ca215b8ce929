//! `intent`: where the graph of an intent begins. (docs/spec/flows.md#4.2)

use convengine_derive::Described;

use super::traits::{Failing, NodeData, NodeGroup, NodeTraits, Waiting};

/// Data of `intent`.
#[derive(Debug, Clone, Described)]
pub struct IntentData {
    /// The intent.
    #[member(required, shape = ID, meaning = Names(Intent), title = "Intent")]
    pub intent_id: String,
}

impl NodeData for IntentData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits {
            failure_port: Some("failed"),
            ports: &["out", "failed"],
            waiting: Waiting::Parameters(&self.intent_id),
            failing: Failing::ByParameters(&self.intent_id),
            is_entry: true,
            group: NodeGroup::Boundary,
            ..NodeTraits::PLAIN
        }
    }
}
