//! What one adds to the engine is known by name in the files that CONTRIBUTING names, and nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use convengine_core::config::flow::document::{NodeGroup, NodeKind, WorkflowNodeKind};
use convengine_core::config::flow::shape::{Fields, Kinds};
use convengine_corpus::root;
use serde_json::json;

/// The sources of the engine and its hosts.
const FOLDERS: [&str; 4] = ["core", "host-native", "host-wasm", "player"];

/// The sources in which one of some texts stands, without tests.
fn sources_with(texts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    while let Some(path) = open.pop() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.ends_with("tests") {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests" {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            if texts.iter().any(|it| code.contains(it)) {
                found.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The group of each type of nodes, by its name in documents: of assistants, then of workflow graphs.
fn groups_of_types() -> Vec<(&'static str, NodeGroup)> {
    fn group_of<K: Kinds + Into<NodeKind>>(name: &str) -> NodeGroup {
        let node = json!({"type": name});
        let kind: NodeKind = Fields::of_object(&node).and_then(K::read_kind).unwrap().into();
        kind.data().traits().group
    }
    let of_assistants = NodeKind::KINDS.iter().map(|kind| (kind.name, group_of::<NodeKind>(kind.name)));
    let of_workflows = WorkflowNodeKind::KINDS.iter().map(|kind| (kind.name, group_of::<WorkflowNodeKind>(kind.name)));
    of_assistants.chain(of_workflows).collect()
}

#[test]
fn a_type_of_nodes_is_known_by_name_where_it_is_declared_and_where_it_runs() {
    assert_eq!(
        sources_with(&["RouterData", "NodeKind::Router", "\"router\""]),
        [
            "core/config/src/flow/document/node/mod.rs",
            "core/config/src/flow/document/node/router.rs",
            "core/flow/src/node/branch.rs",
            "core/flow/src/node/mod.rs",
        ]
    );
}

#[test]
fn a_rule_action_is_known_by_name_where_it_is_declared_where_it_runs_and_among_audit_stages() {
    for (name, variant) in [("\"SET_INTENT\"", "SetIntent"), ("\"SET_STATE\"", "SetState"), ("\"SET_TASK\"", "SetTask")] {
        assert_eq!(
            sources_with(&[name, &format!("::{variant}")]),
            ["core/config/src/rule/action.rs", "core/tables/src/audit/stage.rs", "core/tables/src/rules/action.rs"],
            "{name}"
        );
    }
}

#[test]
fn the_page_colors_nodes_as_their_types_are_grouped() {
    let mut types: BTreeMap<NodeGroup, Vec<String>> = BTreeMap::new();
    for (name, group) in groups_of_types() {
        let names = types.entry(group).or_default();
        let class = format!(".type-{name}");
        if !names.contains(&class) {
            names.push(class);
        }
    }
    let mut style =
        "/* The colors of the types of nodes, as their declarations group them: a test in tests/corpus compares them. */".to_owned();
    for (group, classes) in types {
        let color = match group {
            NodeGroup::None => continue,
            NodeGroup::Boundary => "good",
            NodeGroup::Dialogue => "accent",
            NodeGroup::Logic => "warn",
            NodeGroup::Call => "word",
            NodeGroup::Graph => "number",
        };
        style.push_str(&format!("\n.flow-node:is({}) {{\n  --type: var(--{color});\n}}\n", classes.join(", ")));
    }
    let file = Path::new("web-demo/src/style/flow-nodes.css");
    assert_eq!(fs::read_to_string(root().join(file)).unwrap(), style, "{} is to be:\n{style}", file.display());
}
