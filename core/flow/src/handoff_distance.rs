//! How far a graph is from a person: which of several that hand over is meant by "person, please" (docs/reference/repair.md).

use std::collections::VecDeque;

use convengine_config::flow::document::{Await, Node, NodeKind, Waiting};
use convengine_config::flow::{Flow, GraphRef};

/// How many questions a graph asks at least before it hands over to a person; `None` when it never does.
pub(super) fn questions_before_handoff(flow: &Flow, graph: &str) -> Option<usize> {
    fewest_questions(flow, graph, &mut Vec::new())
}

/// `callers` are the graphs that call this one. One that it calls and that does not hand over counts as a question.
fn fewest_questions<'f>(flow: &'f Flow, graph: &str, callers: &mut Vec<&'f str>) -> Option<usize> {
    let graph = flow.graph(graph)?;
    let definition = graph.definition;
    if callers.contains(&definition.id.as_str()) {
        return None;
    }
    callers.push(&definition.id);
    // Nodes and the questions before them, fewest first.
    let mut pending = VecDeque::from([(0, definition.entry.as_str())]);
    let mut visited: Vec<&str> = Vec::new();
    let mut fewest: Option<usize> = None;
    while let Some((questions, id)) = pending.pop_front() {
        let Some(node) = definition.nodes.iter().find(|node| node.id == id && !visited.contains(&node.id.as_str())) else { continue };
        visited.push(id);
        let questions_after = questions_to_handoff(flow, node, callers);
        fewest = questions_after.map(|it| questions + it).into_iter().chain(fewest).min();
        let is_asking = !node.disabled && can_wait(flow, graph, node);
        for edge in definition.edges.iter().filter(|it| it.source == id) {
            if is_asking {
                pending.push_back((questions + 1, &edge.target));
            } else {
                pending.push_front((questions, &edge.target));
            }
        }
    }
    callers.pop();
    fewest
}

/// How many questions a node asks before it hands over itself; `None` when it does not.
fn questions_to_handoff<'f>(flow: &'f Flow, node: &'f Node, callers: &mut Vec<&'f str>) -> Option<usize> {
    if node.disabled {
        return None;
    }
    if let NodeKind::Subflow(data) = &node.kind {
        return fewest_questions(flow, &data.graph, callers);
    }
    matches!(node.kind, NodeKind::Handoff(_)).then_some(0)
}

/// Whether a node may wait for an answer.
fn can_wait(flow: &Flow, graph: GraphRef<'_>, node: &Node) -> bool {
    match node.traits().waiting {
        Waiting::Always => true,
        Waiting::AnswerToMessage => graph.await_mode(node) != Await::None,
        Waiting::Parameters(intent) => flow.intent(intent).is_some_and(|it| !it.parameters.is_empty()),
        Waiting::InCall => true,
        Waiting::Nothing => false,
    }
}
