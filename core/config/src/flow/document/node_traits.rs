//! What each type of nodes is, declared once: the walker, the migration of sessions and the publish checks read it.
//! (docs/spec/flows.md#4)

use super::{CallMode, Node, NodeKind};

/// What is known of a node from its type and data.
#[derive(Debug, Clone, Copy)]
pub struct NodeTraits<'d> {
    /// The port by which it is left normally.
    pub default_port: &'static str,
    /// The port by which it is left on failure; absent for a node that cannot fail.
    pub failure_port: Option<&'static str>,
    /// The ports that the type has. The data may add others.
    pub ports: &'static [&'static str],
    /// From which of its ports several edges may leave.
    pub branching: Branching,
    /// What it waits for.
    pub waiting: Waiting<'d>,
    /// What makes it fail.
    pub failing: Failing,
    /// Whether it can change variables.
    pub changes_variables: bool,
    /// Whether it ends or leaves its graph.
    pub leaves_graph: bool,
    /// The graph that it calls or jumps to.
    pub called_graph: Option<&'d str>,
}

/// From which ports of a node several edges may leave; the first one whose condition is true is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branching {
    /// From none.
    None,
    /// From `out`; the port `else` follows if no condition is true.
    Out,
    /// From all but `error`.
    AllButError,
}

/// What a node waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting<'d> {
    /// Nothing.
    Nothing,
    /// An answer, if its message asks for one.
    AnswerToMessage,
    /// The parameters of an intent that no other node asks for.
    Parameters(&'d str),
    /// Always somebody.
    Always,
}

/// What makes a node fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// Nothing.
    Never,
    /// Its data decides.
    ByData,
    /// What it calls.
    Always,
}

/// A node that is left by `out`, and does nothing of interest.
const PLAIN: NodeTraits<'static> = NodeTraits {
    default_port: "out",
    failure_port: None,
    ports: &["out"],
    branching: Branching::None,
    waiting: Waiting::Nothing,
    failing: Failing::Never,
    changes_variables: false,
    leaves_graph: false,
    called_graph: None,
};

/// A node that calls something and is left by `error` if that fails.
const CALLING: NodeTraits<'static> =
    NodeTraits { failure_port: Some("error"), ports: &["out", "error"], failing: Failing::Always, changes_variables: true, ..PLAIN };

impl Node {
    /// What the node is.
    pub fn traits(&self) -> NodeTraits<'_> {
        match &self.kind {
            NodeKind::Start(data) => NodeTraits { changes_variables: !data.init.is_empty(), ..PLAIN },
            NodeKind::End(_) => NodeTraits { ports: &[], leaves_graph: true, ..PLAIN },
            NodeKind::Intent(data) => NodeTraits {
                failure_port: Some("failed"),
                ports: &["out", "failed"],
                waiting: Waiting::Parameters(&data.intent_id),
                failing: Failing::ByData,
                ..PLAIN
            },
            NodeKind::Message(_) => NodeTraits { waiting: Waiting::AnswerToMessage, ..PLAIN },
            NodeKind::Entity(data) => NodeTraits {
                failure_port: Some("failed"),
                ports: &["out", "no_input", "failed"],
                waiting: Waiting::Always,
                failing: if data.required { Failing::Always } else { Failing::Never },
                changes_variables: true,
                ..PLAIN
            },
            // They fail only where the failure is handled: a condition without a value is false otherwise.
            NodeKind::Decision | NodeKind::Router => {
                NodeTraits { failure_port: Some("error"), ports: &["out", "else", "error"], branching: Branching::Out, ..PLAIN }
            }
            NodeKind::Service(_) => {
                NodeTraits { default_port: "success", failure_port: Some("failure"), ports: &["success", "failure"], ..CALLING }
            }
            NodeKind::Set(_) => NodeTraits { failing: Failing::ByData, ..CALLING },
            NodeKind::Fallback(_) => PLAIN,
            NodeKind::Subflow(data) => NodeTraits {
                ports: if data.mode == CallMode::Goto { &[] } else { &["out", "error"] },
                failing: Failing::ByData,
                // Inputs and outputs write variables.
                changes_variables: !data.outputs.is_empty() || data.inputs.is_some(),
                leaves_graph: data.mode == CallMode::Goto,
                called_graph: Some(&data.graph),
                ..CALLING
            },
            NodeKind::InstructionAgent(_) => {
                NodeTraits { default_port: "done", ports: &["done", "max_turns", "handoff", "error"], waiting: Waiting::Always, ..CALLING }
            }
            NodeKind::Knowledge(_) => NodeTraits { ports: &["out", "no_result", "error"], ..CALLING },
            NodeKind::Python(data) => {
                let branching = if data.branches.is_some() { Branching::AllButError } else { Branching::None };
                NodeTraits { branching, ..CALLING }
            }
            NodeKind::Handoff(_) => NodeTraits {
                failure_port: Some("unavailable"),
                ports: &["out", "timeout", "unavailable"],
                waiting: Waiting::Always,
                ..CALLING
            },
            NodeKind::Program(_) | NodeKind::Draft => CALLING,
        }
    }

    /// Returns the port by which it is left normally.
    pub fn default_port(&self) -> &'static str {
        self.traits().default_port
    }

    /// Returns the port by which it is left on failure; `None` for a node that cannot fail.
    pub fn failure_port(&self) -> Option<&'static str> {
        self.traits().failure_port
    }
}

impl Branching {
    /// Whether several edges may leave a port.
    pub fn allows(self, port: &str) -> bool {
        match self {
            Branching::None => false,
            Branching::Out => port == "out",
            Branching::AllButError => port != "error",
        }
    }
}
