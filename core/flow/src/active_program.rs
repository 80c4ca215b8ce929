//! Which document has the conversation: that of the session, or one that it runs (docs/spec/flows.md#9).

use std::iter::successors;

use convengine_config::flow::Flow;
use convengine_config::flow::document::{Node, NodeKind, ProgramData};
use convengine_turn::CHILDREN;
use serde::Deserialize;
use serde_json::Value;

use super::state::{FlowEvent, SESSION_TIMER, SHOWN_BUTTONS, Timer};
use super::view::SessionView;

/// Returns the state of the document that has the conversation of a stored session: its own, or that of the innermost one that it runs.
///
/// ```
/// use convengine_flow::active_state;
/// use serde_json::json;
///
/// let child = json!({"program": "agent", "stack": [], "vars": {}});
/// let state = json!({"program": "workflow", "stack": [{"node": "talk"}], "vars": {"_child": {"talk": child}}});
/// assert_eq!(active_state(&state)["program"], "agent");
/// assert_eq!(active_state(&child), &child, "it runs no other");
/// ```
pub fn active_state(mut state: &Value) -> &Value {
    while let Some((_, child)) = running_child(state) {
        state = child;
    }
    state
}

/// Returns the document that has the conversation of a stored session: its own, or the innermost one that it runs. Where the state names a
/// document that `root` is not bound to, the last one that it is bound to.
pub fn active_document<'c>(root: &'c Flow, mut state: &Value) -> &'c Flow {
    let mut flow = root;
    while let Some((node, child)) = running_child(state) {
        let Some(NodeKind::Program(data)) = flow.node(&flow.document.root, node).map(|it| &it.kind) else { break };
        let Some(bound) = root.find_bound(data) else { break };
        (flow, state) = (bound, child);
    }
    flow
}

/// Returns the options that a stored session offers, each with its `id`: those that it waits for, and those that its latest message has
/// shown; also of the documents that it runs. What a client sends as the id of a button is one of these, or stale.
///
/// ```
/// use convengine_flow::list_offered_options;
/// use serde_json::json;
///
/// let state = json!({"awaiting": {"kind": "button", "options": [{"id": "yes"}, {"id": "no"}]}, "stack": []});
/// let ids: Vec<_> = list_offered_options(&state).map(|option| &option["id"]).collect();
/// assert_eq!(ids, ["yes", "no"]);
/// ```
pub fn list_offered_options(state: &Value) -> impl Iterator<Item = &Value> {
    let states = successors(Some(state), |&state| Some(running_child(state)?.1));
    let lists = states.flat_map(|state| [state.pointer("/awaiting/options"), state.get("vars").and_then(|it| it.get(SHOWN_BUTTONS))]);
    lists.flatten().filter_map(Value::as_array).flatten()
}

/// The node of a stored state that runs another document, and the state of that.
fn running_child(state: &Value) -> Option<(&str, &Value)> {
    let node = state.get("stack")?.as_array()?.last()?.get("node")?.as_str()?;
    Some((node, state.get("vars")?.get(CHILDREN)?.get(node)?))
}

impl<'c> SessionView<'_, 'c> {
    /// The node whose document has the conversation, with what it runs; `None` if the program itself has it.
    pub(super) fn running_program(&self) -> Option<(&'c Node, &'c ProgramData)> {
        let node = self.current_node()?;
        let NodeKind::Program(data) = &node.kind else { return None };
        self.child_state(&node.id).is_some().then_some((node, &**data))
    }

    /// Whether an event is for the program itself, although another document has the conversation.
    pub(super) fn is_own_event(&self) -> bool {
        matches!(self.event, FlowEvent::End { .. }) || matches!(self.event, FlowEvent::Timer { timer_id } if timer_id == SESSION_TIMER)
    }

    /// The stored state of the program of a node.
    pub(super) fn child_state(&self, node: &str) -> Option<&Value> {
        self.state.vars.get(CHILDREN)?.get(node)
    }

    /// The timers of the document that has the conversation, without the one for an abandoned session.
    pub(super) fn child_timers(&self) -> Vec<Timer> {
        let Some((node, _)) = self.running_program() else { return Vec::new() };
        let timers = self.child_state(&node.id).and_then(|it| it.get("timers")).cloned().unwrap_or_default();
        Vec::deserialize(&timers).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_options_of_all_documents_are_offered() {
        let option = |id: &str| json!({"id": id, "label": id});
        let child = json!({"vars": {"_shown": [option("c")]}, "awaiting": {"options": [option("b")]}, "stack": []});
        let state = json!({"awaiting": {"kind": "button", "options": [option("a"), option("b")]}, "stack": [{"node": "run"}],
            "vars": {"_child": {"run": child, "other": {"awaiting": {"options": [option("d")]}}}}});
        let ids: Vec<&str> = list_offered_options(&state).filter_map(|choice| choice.get("id")?.as_str()).collect();
        assert_eq!(ids, ["a", "b", "b", "c"]);
        assert_eq!(list_offered_options(&json!({"awaiting": null})).count(), 0);
    }
}
