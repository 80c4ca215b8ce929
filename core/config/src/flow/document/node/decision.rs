//! `decision`: branches on a condition. (docs/spec/flows.md#4.5)

use convengine_derive::Described;

use super::super::super::shape::Unread;
use super::traits::{Branching, NodeData, NodeTraits};

/// Data of `decision`.
#[derive(Debug, Clone, Described)]
pub struct DecisionData {
    /// Text for authors; no effect.
    pub comment: Option<Unread<String>>,
}

impl NodeData for DecisionData {
    /// It fails only where the failure is handled: a condition without a value is false otherwise.
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits {
            failure_port: Some("error"),
            ports: &["out", "else", "error"],
            own_ports: &["yes", "no"],
            branching: Branching::Out,
            ..NodeTraits::PLAIN
        }
    }
}
