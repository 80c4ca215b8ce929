//! Collects the variables whose values are redacted in logs. (docs/spec/flows.md#3, docs/spec/flows.md#4.4)

use convengine_text::variable_path::VariablePath;

use super::document::{Document, EntityData, NodeKind};

/// Returns the variables to redact: by their declaration, by the node that collects them, or by their entity.
pub(super) fn redacted_variables(document: &Document) -> Vec<VariablePath> {
    let of_entity = |id: &str| document.entities.iter().any(|entity| entity.id == id && entity.redact);
    let declared = document.variables.iter().filter(|it| it.redact).map(|it| &it.name);
    let nodes = document.graphs.iter().flat_map(|it| &it.nodes);
    let slots = nodes.filter_map(|node| if let NodeKind::Entity(data) = &node.kind { Some(&**data) } else { None });
    let redacts = |data: &&EntityData| data.redact || of_entity(&data.entity);
    let parameters = document.intents.iter().flat_map(|it| &it.parameters).filter(|it| of_entity(&it.entity));
    declared.chain(slots.filter(redacts).map(|it| &it.variable)).chain(parameters.map(|it| &it.variable)).cloned().collect()
}
