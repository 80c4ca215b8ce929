//! The values of slots in the arguments of calls that change something. (docs/decisions/0056-nothing-is-written-before-consent.md)

use convengine_config::flow::document::{EntityData, FlowTool, NodeKind};
use convengine_text::json::{argument_of, insert_collected, says_same};
use convengine_text::variable_path::PathPart;
use convengine_turn::{EffectClass, Map};
use serde_json::Value;

use super::super::super::turn::Turn;
use super::super::service_call::tool_effect_class;
use super::run::AgentRun;

/// Whether a call of a tool does more than read.
pub(super) fn changes_something(tool: &FlowTool) -> bool {
    tool.kind != "noop" && tool_effect_class(tool) != EffectClass::Read
}

fn properties_of(tool: &FlowTool) -> Option<&Map> {
    tool.input_schema.as_ref()?.source.get("properties")?.as_object()
}

impl<'c> Turn<'c> {
    /// Adds the values of slots that open calls lack. Values that are redacted follow when a call is made: open calls are shown and stored.
    pub(super) fn fill_open_calls(&self, run: &mut AgentRun<'c>) {
        let mut calls = std::mem::take(&mut run.memory.pending_calls);
        for call in &mut calls {
            let Some(tool) = run.find_offered(self.flow, &call.name).map(|it| it.1).filter(|it| changes_something(it)) else { continue };
            let Some(args) = call.arguments.as_object_mut() else { continue };
            for (name, value, _) in self.slot_values().filter(|(_, _, slot)| !self.view().is_slot_redacted(slot)) {
                if argument_of(args, None, name).is_none() {
                    insert_collected(args, properties_of(tool), name, Some(value));
                }
            }
        }
        run.memory.pending_calls = calls;
    }

    /// Why a call contradicts the value of a slot, for the model. It is refused: the user may have said something else since, and then the
    /// slot has to be filled anew.
    pub(super) fn find_contradiction(&self, tool: &FlowTool, args: &Map) -> Option<String> {
        if !changes_something(tool) {
            return None;
        }
        let differs = |(name, value, slot): &(&str, &Value, &EntityData)| {
            let argument = argument_of(args, None, name)?;
            let is_other = !self.view().is_slot_redacted(slot) && !args.get(&argument).is_some_and(|it| says_same(it, value));
            is_other.then(|| format!("'{argument}' is not the value that was collected: {value}"))
        };
        self.slot_values().find_map(|it| differs(&it))
    }

    /// The arguments with which a call is made: redacted values, which the model has not seen, are those of their slots.
    pub(super) fn with_redacted_values(&self, tool: &FlowTool, mut args: Value) -> Value {
        if let Some(args) = args.as_object_mut().filter(|_| changes_something(tool)) {
            for (name, value, _) in self.slot_values().filter(|(_, _, slot)| self.view().is_slot_redacted(slot)) {
                insert_collected(args, properties_of(tool), name, Some(value));
            }
        }
        args
    }

    /// The slots of the document that have a value, each with the name of its variable and the value.
    fn slot_values(&self) -> impl Iterator<Item = (&str, &Value, &'c EntityData)> {
        let nodes = self.flow.document.graphs.iter().flat_map(|it| &it.nodes);
        let slots = nodes.filter_map(|node| if let NodeKind::Entity(data) = &node.kind { Some(&**data) } else { None });
        slots.filter_map(|slot| {
            let [PathPart::Name(name)] = slot.variable.parts() else { return None };
            Some((name.as_str(), self.state.variable(&slot.variable).filter(|it| !it.is_null())?, slot))
        })
    }
}
