//! Which slots a request has filled: what an earlier one has left is no answer to this one (docs/spec/flows.md#4.4).
//!
//! An intent that is begun is a request. The frames above its own serve it, too. Variables that are local to a frame are new in each
//! call and not listed.

use convengine_config::flow::document::{EntityData, Node, NodeKind};
use convengine_text::variable_path::VariablePath;

use super::state::FilledSlot;
use super::view::SessionView;

impl<'c> SessionView<'_, 'c> {
    /// Whether the value of a slot was taken back.
    pub(super) fn is_emptied(&self, variable: &VariablePath) -> bool {
        let name = variable.to_string();
        self.state.filled_slots.iter().any(|slot| slot.is_emptied && slot.variable == name)
    }

    /// Whether another request has left a value in the variable of a slot that does not keep it.
    pub(super) fn is_left_over(&self, data: &EntityData) -> bool {
        !data.keep && self.is_filled_by_other_request(&data.variable)
    }

    /// Whether another request has filled a variable.
    pub(super) fn is_filled_by_other_request(&self, variable: &VariablePath) -> bool {
        let (request, name) = (self.state.current_request(), variable.to_string());
        !self.is_local(variable)
            && self.state.filled_slots.iter().any(|slot| slot.variable == name && ![0, request].contains(&slot.request))
    }

    /// Whether the current request has filled a variable, or it is local to the current frame.
    pub(super) fn is_filled_by_current_request(&self, variable: &VariablePath) -> bool {
        let (request, name) = (self.state.current_request(), variable.to_string());
        self.is_local(variable) || self.state.filled_slots.iter().any(|slot| slot.variable == name && slot.request == request)
    }

    /// The slots of the current graph that the current request has filled, in this order.
    pub(super) fn filled_slots_in_graph(&self) -> Vec<FilledSlot> {
        let request = self.state.current_request();
        let graph = self.state.frame().map(|it| format!("{}/", it.graph)).unwrap_or_default();
        self.state
            .filled_slots
            .iter()
            .filter(|slot| slot.request == request && !slot.is_emptied && slot.place.starts_with(&graph))
            .cloned()
            .collect()
    }

    /// The node of a slot of the current graph, by its place.
    pub(super) fn find_slot_node(&self, place: &str) -> Option<&'c Node> {
        let (graph, id) = place.split_once('/')?;
        let current = self.graph().filter(|it| it.definition.id == graph)?;
        current.node(id.split('#').next().unwrap_or(id))
    }

    /// The data of a filled slot.
    pub(super) fn find_slot_data(&self, slot: &FilledSlot) -> Option<EntityData> {
        let (graph, id) = slot.place.split_once('/')?;
        let node = self.flow.graph(graph)?.node(id.split('#').next().unwrap_or(id))?;
        if let NodeKind::Intent(data) = &node.kind {
            return self.parameter_data(&data.intent_id, &slot.variable);
        }
        if let NodeKind::Entity(data) = &node.kind { Some((**data).clone()) } else { None }
    }
}
