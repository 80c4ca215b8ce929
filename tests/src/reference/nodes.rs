//! `nodes.md`: everything that a flow document consists of.

use std::cell::RefCell;

use anyhow::{Context, Result};
use convengine_core::config::flow::document::NodeKind;
use convengine_core::config::flow::document_schema_with_links;
use convengine_core::config::flow::shape::{Fields, Kinds};
use serde_json::{Value, json};

use super::markdown::{anchor, code, codes, fence, table, value, wrap};
use super::{Page, prose};

/// A definition of the schema with its heading.
const PARTS: [(&str, &str); 17] = [
    ("Graph", "Graph"),
    ("Edge", "Edge"),
    ("Param", "Parameter of a graph"),
    ("Intent", "Intent"),
    ("EntityType", "Entity type"),
    ("VarDecl", "Variable"),
    ("Tool", "Tool"),
    ("HttpRequest", "HTTP request"),
    ("OutputMap", "Output"),
    ("Retry", "Retry"),
    ("SmallTalk", "Small talk"),
    ("Events", "Events"),
    ("Settings", "Settings"),
    ("EngineTexts", "Engine texts"),
    ("Repair", "Repair"),
    ("Validation", "Validation"),
    ("Button", "Button"),
];

/// Generates the page.
///
/// # Errors
/// If the examples cannot be parsed.
pub fn page() -> Result<Page> {
    let schema = document_schema_with_links("conversation_flow").context("flow documents have a schema")?;
    let examples: Value = serde_json::from_str(include_str!("data/node_examples.json"))?;
    let writer = Writer { schema: &schema, gaps: RefCell::default() };
    let mut body = prose(include_str!("data/nodes_intro.txt"));
    body.push_str(&format!("\n\n## Document\n\n{}\n\n{}", writer.about("Document", &schema), writer.members("Document", &schema)));
    for (name, heading) in PARTS.iter().take(3) {
        body.push_str(&writer.part(name, heading));
    }
    body.push_str("\n## Nodes\n\nEvery node has these members; `data` differs by type.\n\n");
    body.push_str(&writer.members("Node", &schema["$defs"]["Node"]));
    body.push_str("\n`data` of each type is below.\n\n");
    let kinds = schema["$defs"]["Node"]["oneOf"].as_array().context("nodes are a union")?;
    let types: Vec<(&str, &Value)> = kinds.iter().filter_map(|kind| Some((kind["properties"]["type"]["const"].as_str()?, kind))).collect();
    body.push_str(&writer.overview(&types)?);
    for (kind, definition) in &types {
        let example = examples.get(kind).with_context(|| format!("no example of the node type {kind}"))?;
        body.push_str(&writer.node(kind, definition, example)?);
    }
    body.push_str("\n## Block\n\nA part of a message, by `kind`.\n");
    body.push_str(&writer.union("Block", "kind"));
    for (name, heading) in PARTS.iter().skip(3) {
        body.push_str(&writer.part(name, heading));
    }
    let summary = "flow documents: every member, node type, port and setting";
    Ok(Page { file: "nodes.md", title: "Flow documents and nodes", summary, body, gaps: writer.gaps.into_inner() })
}

/// The ports of a type of nodes, and the one by which it fails.
fn ports(kind: &str) -> Result<(String, String)> {
    let node = json!({"type": kind});
    let fields = Fields::of_object(&node).context("a node is an object")?;
    let node = NodeKind::read_kind(fields).with_context(|| format!("unknown node type {kind}"))?;
    let traits = node.data().traits();
    let own = traits.ports.iter().filter(|port| Some(**port) != traits.failure_port && **port != "else");
    let last = traits.ports.iter().filter(|it| **it == "else");
    Ok((codes(own.chain(traits.own_ports).chain(last).copied()), codes(traits.failure_port)))
}

struct Writer<'p> {
    schema: &'p Value,
    /// What has no description.
    gaps: RefCell<Vec<String>>,
}

impl Writer<'_> {
    fn part(&self, name: &str, heading: &str) -> String {
        let definition = &self.schema["$defs"][name];
        let about = wrap(&self.about(name, definition));
        let kinds = if definition.get("oneOf").is_some() { self.union(name, "kind") } else { String::new() };
        format!("\n## {heading}\n\n{about}\n\n{}{kinds}", self.members(name, definition))
    }

    /// The members of each alternative of a union.
    fn union(&self, name: &str, tag: &str) -> String {
        let kinds = self.schema["$defs"][name]["oneOf"].as_array().into_iter().flatten();
        let of_kind = |variant: &Value| {
            let kind = variant["properties"][tag]["const"].as_str().unwrap_or_default().to_owned();
            let section = format!("{name}.{kind}");
            let mut own = variant.clone();
            if let Some(properties) = own["properties"].as_object_mut() {
                properties.shift_remove(tag);
            }
            let about = if variant.get("description").is_some() { format!(": {}", self.about(&section, variant)) } else { String::new() };
            format!("\n**`{kind}`**{about}\n\n{}", self.members(&section, &own))
        };
        kinds.map(of_kind).collect()
    }

    fn overview(&self, types: &[(&str, &Value)]) -> Result<String> {
        let rows: Vec<Vec<String>> = types
            .iter()
            .map(|(kind, _)| {
                let (ports, failure) = ports(kind)?;
                Ok(vec![format!("[`{kind}`](#{})", anchor(kind)), ports, failure])
            })
            .collect::<Result<_>>()?;
        Ok(table(&["Type", "Output ports", "Failure port"], &rows))
    }

    fn node(&self, kind: &str, definition: &Value, example: &Value) -> Result<String> {
        let (ports, failure) = ports(kind)?;
        let ports = if ports.is_empty() { "none".to_owned() } else { ports };
        let failure = if failure.is_empty() { String::new() } else { format!("; failure port: {failure}") };
        let members = self.members(kind, &definition["properties"]["data"]);
        let members = if members.is_empty() { "`data` has no members.\n".to_owned() } else { members };
        let example = fence("json", &serde_json::to_string_pretty(example).unwrap_or_default());
        let about = wrap(&self.about(kind, definition));
        Ok(format!("\n### {kind}\n\n{about}\n\nPorts: {ports}{failure}.\n\n{members}\n{example}"))
    }

    /// The description of a part of the schema; a missing one is a gap.
    fn about(&self, name: &str, schema: &Value) -> String {
        let text = schema["description"].as_str();
        if text.is_none() {
            self.gaps.borrow_mut().push(format!("{name} of the flow documents has no description"));
        }
        text.unwrap_or_default().to_owned()
    }

    /// The table of the members of an object, with those of the objects in it.
    fn members(&self, section: &str, object: &Value) -> String {
        let mut rows = Vec::new();
        self.collect(section, "", object, &mut rows);
        if rows.is_empty() { String::new() } else { table(&["Member", "Type", "Default", "Meaning"], &rows) }
    }

    fn collect(&self, section: &str, prefix: &str, object: &Value, rows: &mut Vec<Vec<String>>) {
        let required: Vec<&str> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, member) in object["properties"].as_object().into_iter().flatten() {
            let path = format!("{prefix}{name}");
            let default = member.get("default").map(|default| value(&default.to_string()));
            let default = if required.contains(&name.as_str()) { "required".to_owned() } else { default.unwrap_or_default() };
            rows.push(vec![code(&path), self.describe(member), default, self.about(&format!("{section}.{path}"), member)]);
            if member.get("properties").is_some() && member.get("oneOf").is_none() {
                self.collect(section, &format!("{path}."), member, rows);
            } else if member["items"].get("properties").is_some() {
                self.collect(section, &format!("{path}[]."), &member["items"], rows);
            }
        }
    }

    /// The type of a value in words, with links to definitions.
    fn describe(&self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            return match (name, PARTS.iter().find(|it| it.0 == name)) {
                (_, Some((_, heading))) => format!("[{}](#{})", heading.to_lowercase(), anchor(heading)),
                ("Node", _) => "[node](#nodes)".to_owned(),
                ("Block", _) => "[block](#block)".to_owned(),
                ("LocalizedText" | "EngineText", _) => "[text](#texts)".to_owned(),
                _ => "[template](templates.md)".to_owned(),
            };
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().filter_map(Value::as_str).map(code).collect::<Vec<_>>().join(", ");
        }
        if let Some(word) = schema["const"].as_str() {
            return code(word);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            return choices.iter().map(|it| self.describe(it)).collect::<Vec<_>>().join(" or ");
        }
        let range = |least: &str, most: &str, what: &str| describe_range(schema, least, most, what);
        match schema["type"].as_str() {
            Some("string") => {
                schema["pattern"].as_str().map_or_else(|| range("minLength", "maxLength", "characters"), |it| self.pattern(it))
            }
            Some("integer" | "number") => range("minimum", "maximum", ""),
            Some("array") => {
                let size = describe_size(schema);
                format!("list of {}{size}", self.describe(&schema["items"]))
            }
            Some("object") if schema["additionalProperties"].is_object() => {
                format!("object of {}", self.describe(&schema["additionalProperties"]))
            }
            Some(other) => other.to_owned(),
            None => "any".to_owned(),
        }
    }

    /// The name of a pattern, found by a member that has it.
    fn pattern(&self, source: &str) -> String {
        let known = [
            ("id", "/properties/id"),
            ("name", "/properties/name"),
            ("language tag", "/properties/default_locale"),
            ("time zone", "/properties/default_time_zone"),
            ("variable path", "/$defs/VarDecl/properties/name"),
            ("JSONPath", "/$defs/OutputMap/properties/path"),
            ("secret name", "/$defs/Tool/properties/signing_secret"),
        ];
        let has = |pointer: &str| self.schema.pointer(pointer).is_some_and(|member| member["pattern"] == source);
        known.iter().find(|it| has(it.1)).map_or_else(|| code(source), |it| it.0.to_owned())
    }
}

/// The largest integer that every JSON parser reads exactly; a bound of it is none.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

fn describe_range(schema: &Value, least: &str, most: &str, what: &str) -> String {
    let kind = schema["type"].as_str().unwrap_or_default();
    let bound = |name: &str| schema.get(name).filter(|limit| limit.as_i64().is_none_or(|number| number.abs() != MAX_SAFE_INTEGER));
    let unit = if what.is_empty() { String::new() } else { format!(" {what}") };
    match (bound(least), bound(most)) {
        (None, None) => kind.to_owned(),
        (Some(least), None) if what.is_empty() => format!("{kind} from {least}"),
        (Some(_), None) => format!("non-empty {kind}"),
        (None, Some(most)) => format!("{kind} of at most {most}{unit}"),
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}{unit}"),
    }
}

fn describe_size(schema: &Value) -> String {
    match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
        (None, None) => String::new(),
        (Some(_), None) => ", not empty".to_owned(),
        (None, Some(most)) => format!(", at most {most}"),
        (Some(least), Some(most)) => format!(", {least} to {most}"),
    }
}
