//! What documents may hold and the engine cannot run yet. (U001, U002; U003 stands with the tools)

use super::ground::{Ground, Place};
use crate::config::flow::DocumentIssue;

/// Types that cannot run, and what to do without them.
const TYPES: [(&str, &str); 3] = [
    ("knowledge", "ask a service of yours by a node of the type 'service'"),
    ("python", "calculate in a node of the type 'set', or ask a service"),
    ("handoff", "tell a service by a node of the type 'service', and end with a message"),
];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    if ground.flow.document.settings.knowledge_fallback {
        let place = Place { path: "/settings/knowledge_fallback".to_owned(), ..Place::default() };
        found.push(place.error("U002", "knowledge cannot be asked yet").fix("switch 'knowledge_fallback' off"));
    }
    // What is switched off is passed through, whatever it is.
    for (chart, at, node) in ground.nodes().filter(|it| !it.2.disabled) {
        if let Some((kind, fix)) = TYPES.iter().find(|it| it.0 == node.type_name) {
            let message = format!("this node type cannot run yet: '{kind}'");
            found.push(chart.place_of(at).at("/type").error("U001", message).fix(*fix));
        }
    }
}
