//! `start`: where a graph begins. (docs/spec/flows.md#4.1)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;

use super::super::{Document, ValueType};
use super::traits::{NodeData, NodeGroup, NodeTraits, VariableWrite};

/// Data of `start`.
#[derive(Debug, Clone, Default, Described)]
pub struct StartData {
    /// Values for variables that are undefined; not templates.
    pub init: Map,
}

impl NodeData for StartData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { changes_variables: !self.init.is_empty(), is_entry: true, group: NodeGroup::Boundary, ..NodeTraits::PLAIN }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        let writes = self.init.iter().filter_map(|(name, value)| {
            let variable = VariablePath::parse(name).ok()?;
            Some(VariableWrite { variable, kind: Some(ValueType::of(value)) })
        });
        Some(writes.collect())
    }
}
