//! What the engine knows of a node from its type and data: the walker, the migration of sessions and the publish checks read it.
//! (docs/spec/flows.md#4)

use convengine_text::variable_path::VariablePath;

use super::super::{Document, ValueType};
use super::{Assignment, Node};

/// What is known of a node from its type and data.
#[derive(Debug, Clone, Copy)]
pub struct NodeTraits<'d> {
    /// The port by which it is left normally.
    pub default_port: &'static str,
    /// The port by which it is left on failure; absent for a node that cannot fail.
    pub failure_port: Option<&'static str>,
    /// The ports that the type has. The data may add others.
    pub ports: &'static [&'static str],
    /// What else the data or the graph makes a port, as the reference writes it: `btn:ID`.
    pub own_ports: &'static [&'static str],
    /// From which of its ports several edges may leave.
    pub branching: Branching,
    /// What it waits for.
    pub waiting: Waiting<'d>,
    /// What makes it fail.
    pub failing: Failing<'d>,
    /// Whether it can change variables.
    pub changes_variables: bool,
    /// Whether it ends or leaves its graph.
    pub leaves_graph: bool,
    /// Whether it is the entry of a graph, to which no edge leads.
    pub is_entry: bool,
    /// Whether it does what workflow graphs are for; one such node must be reachable (`W003`).
    pub is_goal: bool,
    /// The graph that it calls or jumps to.
    pub called_graph: Option<&'d str>,
    /// Whether it may use the values of slots for what cannot be taken back, so that they are final from then on. A node of which only
    /// some calls do says it when it runs.
    pub finalizes_slots: bool,
    /// Whether it cannot do without a model.
    pub requires_model: bool,
    /// What it is for; pages color it by that.
    pub group: NodeGroup,
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
    /// What the graph or the document that it runs waits for.
    InCall,
    /// Always somebody.
    Always,
}

/// What makes a node fail.
#[derive(Debug, Clone, Copy)]
pub enum Failing<'d> {
    /// Nothing.
    Never,
    /// A required parameter of an intent that no other node asks for.
    ByParameters(&'d str),
    /// An assignment of a value of the wrong type, or of one that has to be computed.
    ByAssignments(&'d [Assignment]),
    /// A failure in a graph that nothing handles there.
    ByGraph(&'d str),
    /// What it calls.
    Always,
}

/// What a type of nodes is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeGroup {
    /// It does not run.
    None,
    /// It begins or ends a graph.
    Boundary,
    /// It talks with the user, or lets a person do so.
    Dialogue,
    /// It decides how the graph goes on, or changes variables.
    Logic,
    /// It calls a service, a script, a model or the knowledge base.
    Call,
    /// It runs another graph or document.
    Graph,
}

impl NodeTraits<'static> {
    /// A node that is left by `out`, and does nothing of interest.
    pub const PLAIN: NodeTraits<'static> = NodeTraits {
        default_port: "out",
        failure_port: None,
        ports: &["out"],
        own_ports: &[],
        branching: Branching::None,
        waiting: Waiting::Nothing,
        failing: Failing::Never,
        changes_variables: false,
        leaves_graph: false,
        is_entry: false,
        is_goal: false,
        called_graph: None,
        finalizes_slots: false,
        requires_model: false,
        group: NodeGroup::Logic,
    };

    /// A node that calls something and is left by `error` if that fails.
    pub const CALLING: NodeTraits<'static> = NodeTraits {
        failure_port: Some("error"),
        ports: &["out", "error"],
        failing: Failing::Always,
        changes_variables: true,
        group: NodeGroup::Call,
        ..NodeTraits::PLAIN
    };
}

/// The data of a type of nodes.
pub trait NodeData {
    /// What such a node is.
    fn traits(&self) -> NodeTraits<'_>;

    /// The ports that its data adds to those of its type.
    fn data_ports(&self) -> Vec<String> {
        Vec::new()
    }

    /// The variables that it writes; `None` where it may write any.
    fn writes(&self, _document: &Document) -> Option<Vec<VariableWrite>> {
        Some(Vec::new())
    }
}

/// A variable that a node writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableWrite {
    /// The variable.
    pub variable: VariablePath,
    /// The type of its values, if it is certain.
    pub kind: Option<ValueType>,
}

impl VariableWrite {
    /// A write of values of a type.
    pub fn new(variable: &VariablePath, kind: Option<ValueType>) -> VariableWrite {
        VariableWrite { variable: variable.clone(), kind }
    }

    /// Writes of values of which nothing is known.
    pub fn of_any<'p>(variables: impl IntoIterator<Item = &'p VariablePath>) -> Vec<VariableWrite> {
        variables.into_iter().map(|it| VariableWrite::new(it, None)).collect()
    }
}

impl Node {
    /// What the node is.
    pub fn traits(&self) -> NodeTraits<'_> {
        self.kind.data().traits()
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
