//! Sections of a page about documents, from a JSON Schema: tables of members, kinds of nodes and steps, unions.

use std::cell::RefCell;

use anyhow::{Context, Result};
use convengine_core::config::flow::document_schema_with_links;
use serde_json::Value;

use super::Page;
use super::markdown::{anchor, code, fence, table, value, wrap};

/// The page of flow documents, which has what other documents share with them.
pub const FLOWS: &str = "nodes.md";

/// A definition of the schema with its heading.
pub type Part = (&'static str, &'static str);

/// The parts of flow documents; other documents have some of them too.
pub const FLOW_PARTS: [Part; 17] = [
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

/// Definitions with another heading than their name in links: the definition, its name, and where it is.
const OTHERS: [(&str, &str, &str); 5] = [
    ("Node", "node", "nodes.md#nodes"),
    ("WorkflowNode", "node", "#nodes"),
    ("ChainStep", "step", "#steps"),
    ("Block", "block", "nodes.md#block"),
    ("Template", "template", "templates.md"),
];

/// The name of the pattern of a member, and where a schema has that member.
const PATTERNS: [(&str, &str); 10] = [
    ("id", "/properties/id"),
    ("id", "/$defs/ChainBranch/properties/id"),
    ("slug", "/properties/slug"),
    ("name", "/properties/name"),
    ("language tag", "/properties/default_locale"),
    ("time zone", "/properties/default_time_zone"),
    ("variable path", "/$defs/OutputMap/properties/variable"),
    ("JSONPath", "/$defs/OutputMap/properties/path"),
    ("secret name", "/$defs/Tool/properties/signing_secret"),
    ("secret name", "/$defs/ChainTrigger/properties/secret"),
];

/// The sections of a page about a kind of documents.
pub struct Sections {
    schema: Value,
    file: &'static str,
    parts: &'static [Part],
    /// An example of each kind of nodes or steps.
    examples: Value,
    /// What has no description.
    gaps: RefCell<Vec<String>>,
}

impl Sections {
    /// Creates the sections of a page; `examples` is a JSON object with an example of each kind of nodes or steps.
    ///
    /// # Errors
    /// If there are no such documents, or the examples are not JSON.
    pub fn new(file: &'static str, doc: &str, parts: &'static [Part], examples: &str) -> Result<Sections> {
        let schema = document_schema_with_links(doc).with_context(|| format!("unknown kind of documents {doc}"))?;
        Ok(Sections { schema, file, parts, examples: serde_json::from_str(examples)?, gaps: RefCell::default() })
    }

    /// Makes the page of its text.
    pub fn page(self, title: &'static str, summary: &'static str, body: String) -> Page {
        Page { file: self.file, title, summary, body, gaps: self.gaps.into_inner() }
    }

    /// The members of the document itself.
    pub fn document(&self) -> String {
        format!("\n\n## Document\n\n{}\n\n{}", self.about("Document", &self.schema), self.members("Document", &self.schema))
    }

    /// A part of the document: its members, and those of its kinds.
    pub fn part(&self, (name, heading): Part) -> String {
        let definition = &self.schema["$defs"][name];
        let about = wrap(&self.about(name, definition));
        let kinds = if definition.get("oneOf").is_some() { self.union(name, "kind") } else { String::new() };
        format!("\n## {heading}\n\n{about}\n\n{}{kinds}", self.members(name, definition))
    }

    /// What all nodes or steps have; `content` is the member that differs by kind.
    pub fn common(&self, heading: &str, name: &str, content: &str) -> String {
        let one = heading.to_lowercase();
        let one = one.trim_end_matches('s');
        let tag = if content == "data" { "type" } else { "kind" };
        let members = self.members(name, &self.schema["$defs"][name]);
        format!("\n## {heading}\n\nEvery {one} has these members; `{content}` differs by {tag}.\n\n{members}")
    }

    /// The kinds of a definition, with the schema of each.
    pub fn kinds(&self, name: &str, tag: &str) -> Vec<(&str, &Value)> {
        let kinds = self.schema["$defs"][name]["oneOf"].as_array().into_iter().flatten();
        kinds.filter_map(|kind| Some((kind["properties"][tag]["const"].as_str()?, kind))).collect()
    }

    /// The members of each alternative of a union.
    pub fn union(&self, name: &str, tag: &str) -> String {
        let of_kind = |(kind, variant): (&str, &Value)| {
            let section = format!("{name}.{kind}");
            let mut own = variant.clone();
            if let Some(properties) = own["properties"].as_object_mut() {
                properties.shift_remove(tag);
            }
            let about = if variant.get("description").is_some() { format!(": {}", self.about(&section, variant)) } else { String::new() };
            format!("\n**`{kind}`**{about}\n\n{}", self.members(&section, &own))
        };
        self.kinds(name, tag).into_iter().map(of_kind).collect()
    }

    /// A kind of nodes or steps, with what only it has in the member `content`; `ports` are those of a node, and the one by which it fails.
    ///
    /// # Errors
    /// If it has no example.
    pub fn kind(&self, kind: &str, definition: &Value, content: &str, ports: Option<&[String; 2]>) -> Result<String> {
        let or_none = |text: &String| if text.is_empty() { "none".to_owned() } else { text.clone() };
        let ports = ports.map(|[ports, failure]| {
            let failure = if failure.is_empty() { String::new() } else { format!("; failure port: {failure}") };
            format!("Ports: {}{failure}.\n\n", or_none(ports))
        });
        let members = self.members(kind, &definition["properties"][content]);
        let members = if members.is_empty() { format!("`{content}` has no members.\n") } else { members };
        let about = wrap(&self.about(kind, definition));
        let example = self.examples.get(kind).with_context(|| format!("no example of the kind {kind}"))?;
        let example = fence("json", &serde_json::to_string_pretty(example)?);
        Ok(format!("\n### {kind}\n\n{about}\n\n{}{members}\n{example}", ports.unwrap_or_default()))
    }

    /// The table of the members of an object, with those of the objects in it.
    pub fn members(&self, section: &str, object: &Value) -> String {
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
            // A member that only holds those of a kind has nothing of its own.
            if ["title", "description", "enum"].iter().any(|keyword| member.get(keyword).is_some()) {
                rows.push(vec![code(&path), self.describe(member), default, self.meaning(&format!("{section}.{path}"), member)]);
            }
            if member.get("properties").is_some() && member.get("oneOf").is_none() {
                self.collect(section, &format!("{path}."), member, rows);
            } else if member["items"].get("properties").is_some() {
                self.collect(section, &format!("{path}[]."), &member["items"], rows);
            }
        }
    }

    /// The description of a part of the schema; a missing one is a gap.
    fn about(&self, name: &str, schema: &Value) -> String {
        let text = schema["description"].as_str();
        if text.is_none() {
            self.gaps.borrow_mut().push(format!("{name} of {} has no description", self.file));
        }
        let text = text.unwrap_or_default();
        // Links to a section are written for the page of flow documents.
        if self.file == FLOWS { text.to_owned() } else { text.replace("](#", &format!("]({FLOWS}#")) }
    }

    /// The description of a member, with what its words mean unless it says that, or they say it themselves.
    fn meaning(&self, name: &str, member: &Value) -> String {
        let about = self.about(name, member);
        let words = if member.get("items").is_some() { &member["items"] } else { member };
        let texts = |keyword: &str| words[keyword].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
        let (names, help) = (texts("enum"), texts("enumDescriptions"));
        let says_more = |help: &&str| help.split(' ').count() > 2;
        if names.iter().any(|word| about.contains(&code(word))) || !help.iter().any(says_more) {
            return about;
        }
        let clauses = names.iter().zip(help).map(|(word, help)| (word, as_clause(help)));
        let explained =
            clauses.filter(|(word, clause)| !clause.eq_ignore_ascii_case(word)).map(|(word, clause)| format!("`{word}`: {clause}"));
        format!("{about} {}.", explained.collect::<Vec<_>>().join("; "))
    }

    /// The type of a value in words, with links to definitions.
    fn describe(&self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            return self.link(name);
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

    /// A link to the section of a definition.
    fn link(&self, name: &str) -> String {
        let of_part = |parts: &[Part], file: &str| {
            let heading = parts.iter().find(|part| part.0 == name)?.1;
            Some((heading.to_lowercase(), format!("{file}#{}", anchor(heading))))
        };
        let other = || OTHERS.iter().find(|it| it.0 == name).map(|row| (row.1.to_owned(), row.2.to_owned()));
        let found = of_part(self.parts, "").or_else(|| of_part(&FLOW_PARTS, FLOWS)).or_else(other);
        let (text, target) = found.unwrap_or_else(|| ("text".to_owned(), format!("{FLOWS}#texts")));
        format!("[{text}]({})", target.strip_prefix(self.file).unwrap_or(&target))
    }

    /// The name of a pattern, found by a member that has it.
    fn pattern(&self, source: &str) -> String {
        let has = |pointer: &str| self.schema.pointer(pointer).is_some_and(|member| member["pattern"] == source);
        PATTERNS.iter().find(|it| has(it.1)).map_or_else(|| code(source), |it| it.0.to_owned())
    }
}

/// A sentence as a part of another one.
fn as_clause(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
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
