//! Which slots a request has filled: what an earlier one has left is no answer to this one (docs/spec/flows.md#4.4).
//!
//! An intent that is begun is a request. The frames above its own serve it, too. Variables that are local to a frame are new in each
//! call and not listed.

use convengine_config::flow::document::{EntityData, Node};
use convengine_text::variable_path::VariablePath;

use super::Walker;
use crate::state::FilledSlot;

impl<'c> Walker<'c> {
    /// The number of the request that the current frame serves; 0 outside of one.
    pub(super) fn current_request(&self) -> u32 {
        self.state.stack.iter().rev().map(|it| it.request).find(|it| *it > 0).unwrap_or_default()
    }

    /// Notes that the current request has filled a slot. What was filled outside of a request belongs to all.
    pub(super) fn note_filled(&mut self, variable: &VariablePath, place: &str) {
        let request = self.current_request();
        if self.is_local(variable) {
            return;
        }
        let filled = FilledSlot { variable: variable.to_string(), request, place: place.to_owned(), is_final: false, is_emptied: false };
        match self.state.filled_slots.iter_mut().find(|it| it.variable == filled.variable) {
            Some(known) if known.request == request && known.place == filled.place => *known = filled,
            _ => {
                self.state.filled_slots.retain(|it| it.variable != filled.variable);
                self.state.filled_slots.push(filled);
            }
        }
    }

    /// Removes the value of a slot, which is asked for again while those behind it keep theirs.
    pub(super) fn empty_slot(&mut self, variable: &VariablePath) {
        let name = variable.to_string();
        let known = self.state.filled_slots.iter().position(|it| it.variable == name);
        let slot = known.and_then(|at| Some((at, self.state.filled_slots.get(at)?.clone())));
        // A reserved name is no slot.
        let _ = self.remove_variable(variable);
        if let Some((at, slot)) = slot {
            self.state.filled_slots.insert(at.min(self.state.filled_slots.len()), FilledSlot { is_emptied: true, ..slot });
        }
    }

    /// Whether the value of a slot was taken back.
    pub(super) fn is_emptied(&self, variable: &VariablePath) -> bool {
        let name = variable.to_string();
        self.state.filled_slots.iter().any(|it| it.is_emptied && it.variable == name)
    }

    /// Notes where the slot is whose value was said before it was reached.
    pub(super) fn note_reached(&mut self, variable: &VariablePath, place: &str) {
        let (request, name) = (self.current_request(), variable.to_string());
        let filled = self.state.filled_slots.iter_mut().find(|it| it.variable == name && it.request == request);
        if let Some(filled) = filled.filter(|it| it.place.is_empty()) {
            place.clone_into(&mut filled.place);
        }
    }

    /// Forgets what filled a variable, because something else writes it.
    pub(super) fn forget_filled(&mut self, path: &VariablePath) {
        if self.state.filled_slots.is_empty() || self.is_local(path) {
            return;
        }
        let name = path.to_string();
        let is_part = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|it| it.starts_with(['.', '[']));
        self.state.filled_slots.retain(|it| it.variable != name && !is_part(&it.variable, &name) && !is_part(&name, &it.variable));
    }

    /// Whether another request has left a value in the variable of a slot that does not keep it.
    pub(super) fn is_left_over(&self, data: &EntityData) -> bool {
        !data.keep && self.is_of_other_request(&data.variable)
    }

    /// Whether another request has filled a variable.
    pub(super) fn is_of_other_request(&self, variable: &VariablePath) -> bool {
        let (request, name) = (self.current_request(), variable.to_string());
        !self.is_local(variable) && self.state.filled_slots.iter().any(|it| it.variable == name && ![0, request].contains(&it.request))
    }

    /// Whether the current request has filled a variable, or it is local to the current frame.
    pub(super) fn is_of_this_request(&self, variable: &VariablePath) -> bool {
        let (request, name) = (self.current_request(), variable.to_string());
        self.is_local(variable) || self.state.filled_slots.iter().any(|it| it.variable == name && it.request == request)
    }

    /// The slots of the current graph that the current request has filled, in this order.
    pub(super) fn filled_in_graph(&self) -> Vec<FilledSlot> {
        let request = self.current_request();
        let graph = self.frame().map(|it| format!("{}/", it.graph)).unwrap_or_default();
        self.state
            .filled_slots
            .iter()
            .filter(|it| it.request == request && !it.is_emptied && it.place.starts_with(&graph))
            .cloned()
            .collect()
    }

    /// Notes that what was filled until now has been used by something that cannot be taken back.
    pub(super) fn seal_filled_slots(&mut self) {
        let request = self.current_request();
        self.state.filled_slots.iter_mut().filter(|it| it.request == request).for_each(|it| it.is_final = true);
    }

    /// The node of a slot of the current graph, by its place.
    pub(super) fn node_at(&self, place: &str) -> Option<&'c Node> {
        let (graph, id) = place.split_once('/')?;
        let current = self.graph().filter(|it| it.definition.id == graph)?;
        current.node(id.split('#').next().unwrap_or(id))
    }

    fn is_local(&self, path: &VariablePath) -> bool {
        self.local_declaration(path.first_name()).is_some()
    }
}
