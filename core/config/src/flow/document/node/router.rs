//! `router`: branches on several conditions. (docs/spec/flows.md#4.5)

use convengine_derive::Described;

use super::super::super::shape::Unread;
use super::traits::{Branching, NodeData, NodeTraits};

/// Data of `router`.
#[derive(Debug, Clone, Described)]
pub struct RouterData {
    /// Text for authors; no effect.
    pub comment: Option<Unread<String>>,
}

impl NodeData for RouterData {
    /// It fails only where the failure is handled: a condition without a value is false otherwise.
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { failure_port: Some("error"), ports: &["out", "else", "error"], branching: Branching::Out, ..NodeTraits::PLAIN }
    }
}
