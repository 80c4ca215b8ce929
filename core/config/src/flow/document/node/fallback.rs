//! `fallback`: handles what no other node handles. (docs/spec/flows.md#4.10)

use convengine_derive::Described;

use super::traits::{NodeData, NodeTraits};

/// Data of `fallback`.
#[derive(Debug, Clone, Described)]
pub struct FallbackData {
    /// `no_edge`: nothing leads on; `error`: a failure without a wired port; `no_intent`: nothing matches; `any` (default): each of
    /// them.
    #[member(name = "match", title = "Handles")]
    pub on: FallbackOn,
}

/// The failures that a fallback handles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum FallbackOn {
    /// No edge matches.
    NoEdge,
    /// A node failed.
    Error,
    /// No intent matched.
    NoIntent,
    /// All failures.
    #[default]
    Any,
}

impl NodeData for FallbackData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits::PLAIN
    }
}
