//! The ports by which nodes are left. (docs/spec/flows.md#4)

use super::{Node, NodeKind};

impl Node {
    /// Returns the port by which it is left normally.
    pub fn default_port(&self) -> &'static str {
        match self.kind {
            NodeKind::Service(_) => "success",
            NodeKind::InstructionAgent(_) => "done",
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Intent(_)
            | NodeKind::Message(_)
            | NodeKind::Entity(_)
            | NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Set(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::Knowledge(_)
            | NodeKind::Python(_)
            | NodeKind::Handoff(_)
            | NodeKind::Program(_)
            | NodeKind::Draft => "out",
        }
    }

    /// Returns the port by which it is left on failure; `None` for a node that cannot fail.
    pub fn failure_port(&self) -> Option<&'static str> {
        match &self.kind {
            NodeKind::Intent(_) | NodeKind::Entity(_) => Some("failed"),
            NodeKind::Service(_) => Some("failure"),
            NodeKind::Handoff(_) => Some("unavailable"),
            NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Set(_)
            | NodeKind::Subflow(_)
            | NodeKind::InstructionAgent(_)
            | NodeKind::Knowledge(_)
            | NodeKind::Python(_)
            | NodeKind::Program(_)
            | NodeKind::Draft => Some("error"),
            NodeKind::Start(_) | NodeKind::End(_) | NodeKind::Message(_) | NodeKind::Fallback(_) => None,
        }
    }
}
