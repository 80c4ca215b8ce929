//! The JSON Schemas of documents, for editors, forms, generators and the reference.

use convengine_text::json::into_members;
use serde_json::{Map, Value, json};

use super::document::chain::ChainDocument;
use super::document::{AgentDocument, Document, WorkflowDocument};
use super::shape::{
    Definition, Described, MAX_SAFE_INTEGER, Meaning, MemberShape, NO_MAX, NO_MAX_LENGTH, NO_MIN, Shape, TaggedUnion, Target, TextUse,
};

/// Returns the JSON Schema (2020-12) of flow documents. It accepts what the structure check accepts, except for what a schema cannot
/// express: unique ids, locale keys of texts, which time zones exist, and the size of the document.
///
/// Unknown members are allowed, because readers keep them.
pub fn json_schema() -> Value {
    without_links(flow_schema())
}

/// Returns the JSON Schema of AI agents.
pub fn agent_json_schema() -> Value {
    without_links(agent_schema())
}

/// Returns the JSON Schema of the documents that say `doc` of themselves, such as `workflow_chain`; `None` for another word.
pub fn document_schema(doc: &str) -> Option<Value> {
    document_schema_with_links(doc).map(without_links)
}

/// Returns the same with the links of descriptions, which begin at `docs/reference`.
pub fn document_schema_with_links(doc: &str) -> Option<Value> {
    match doc {
        "conversation_flow" => Some(flow_schema()),
        "workflow_graph" => Some(schema_of(&WorkflowDocument::SHAPE, "https://convengine.dev/schema/workflow-graph-1.0.json")),
        "ai_agent" => Some(agent_schema()),
        "workflow_chain" => Some(schema_of(&ChainDocument::SHAPE, "https://convengine.dev/schema/workflow-chain-1.0.json")),
        _ => None,
    }
}

fn flow_schema() -> Value {
    schema_of(&Document::SHAPE, "https://convengine.dev/schema/conversation-flow-1.0.json")
}

fn agent_schema() -> Value {
    schema_of(&AgentDocument::SHAPE, "https://convengine.dev/schema/ai-agent-1.0.json")
}

/// Replaces links in descriptions by their texts.
pub(crate) fn without_links(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let plain = |(name, value): (String, Value)| {
                let text = value.as_str().filter(|_| name == "description").map(text_of_links);
                (name, text.map_or_else(|| without_links(value), Value::String))
            };
            Value::Object(members.into_iter().map(plain).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_links).collect()),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
    }
}

/// Replaces `[text](address)` by `text`.
fn text_of_links(markdown: &str) -> String {
    let mut plain = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](").and_then(|(text, after)| Some((text, after.split_once(')')?.1)));
        let Some((text, after)) = parts else { break };
        plain.push_str(before);
        plain.push_str(text);
        rest = after;
    }
    plain + rest
}

/// Returns the schema of a part of documents, as a document of its own.
pub(super) fn schema_of(root: &Shape, id: &str) -> Value {
    let Shape::Ref(root) = root else { return Value::Null };
    let mut definitions = Map::new();
    definition_ref(root, &mut definitions);
    let Some(Value::Object(document)) = definitions.shift_remove(root.name) else { return Value::Null };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("$id".to_owned(), json!(id));
    schema.insert("title".to_owned(), json!(root.name));
    schema.extend(document);
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(schema)
}

/// Returns a reference to a definition, and adds the definition on first use.
fn definition_ref(definition: &Definition, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(definition.name) {
        // Inserted first, so that definitions are in order of first use.
        definitions.insert(definition.name.to_owned(), Value::Null);
        let schema = shape_schema(&definition.shape, definitions);
        let schema = if definition.help.is_empty() { schema } else { with_keyword(schema, "description", json!(definition.help)) };
        definitions.insert(definition.name.to_owned(), schema);
    }
    json!({"$ref": format!("#/$defs/{}", definition.name)})
}

fn shape_schema(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Any => json!(true),
        Shape::AnyObject => json!({"type": "object"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Text(min, max) => with_lengths(json!({"type": "string"}), ["minLength", "maxLength"], *min, *max),
        Shape::PatternText(pattern) => json!({"type": "string", "pattern": pattern.source()}),
        Shape::Const(text, _) => json!({"const": text}),
        Shape::Enum(allowed) => json!({"enum": allowed}),
        Shape::Integer(min, max) => {
            let min = if *min == NO_MIN { -MAX_SAFE_INTEGER } else { i64::from(*min) };
            let max = if *max == NO_MAX { MAX_SAFE_INTEGER } else { i64::from(*max) };
            json!({"type": "integer", "minimum": min, "maximum": max})
        }
        Shape::Number(min, max) => {
            let schema = json!({"type": "number"});
            let schema = if *min == NO_MIN { schema } else { with_keyword(schema, "minimum", json!(min)) };
            if *max == NO_MAX { schema } else { with_keyword(schema, "maximum", json!(max)) }
        }
        Shape::List(list) => {
            let schema = json!({"type": "array", "items": shape_schema(&list.item, definitions)});
            with_lengths(schema, ["minItems", "maxItems"], list.min, list.max)
        }
        Shape::Map(member) => json!({"type": "object", "additionalProperties": shape_schema(member, definitions)}),
        Shape::LocalizedTexts(text) => json!({
            "type": "object", "description": "texts by locale, 'channel:NAME' or 'default'",
            "required": ["default"], "additionalProperties": shape_schema(text, definitions)
        }),
        Shape::PartialTexts(text) => json!({
            "type": "object", "description": "texts by locale, 'channel:NAME' or 'default'",
            "additionalProperties": shape_schema(text, definitions)
        }),
        Shape::ClosedObject(lists) => with_keyword(object_schema(None, lists, definitions), "additionalProperties", json!(false)),
        Shape::Object(lists) => object_schema(None, lists, definitions),
        Shape::Union(tagged) => union_schema(tagged, definitions),
        Shape::AnyOf(shapes) => json!({"anyOf": shapes.iter().map(|it| shape_schema(it, definitions)).collect::<Vec<_>>()}),
        Shape::Bounded(coded) => shape_schema(&coded.shape, definitions),
        Shape::WithMeaning(inner) => shape_schema(&inner.shape, definitions),
        Shape::Ref(definition) => definition_ref(definition, definitions),
    }
}

/// Adds a keyword to a schema.
fn with_keyword(schema: Value, keyword: &str, value: Value) -> Value {
    let mut schema = into_members(schema);
    schema.insert(keyword.to_owned(), value);
    Value::Object(schema)
}

fn with_lengths(schema: Value, [least, most]: [&str; 2], min: u32, max: u32) -> Value {
    let schema = if min == 0 { schema } else { with_keyword(schema, least, json!(min)) };
    if max == NO_MAX_LENGTH { schema } else { with_keyword(schema, most, json!(max)) }
}

/// Returns the schema of an object with fields, and optionally a tag.
fn object_schema(tag: Option<(&str, Value)>, lists: &[&[MemberShape]], definitions: &mut Map<String, Value>) -> Value {
    let fields = || lists.iter().flat_map(|list| list.iter());
    let required = fields().filter(|it| it.is_required).map(|it| it.name);
    let required: Vec<&str> = tag.as_ref().map(|it| it.0).into_iter().chain(required).collect();
    let mut properties: Map<String, Value> = tag.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    for field in fields() {
        properties.insert(field.name.to_owned(), member_schema(field, definitions));
    }
    let schema = json!({"type": "object", "properties": properties});
    if required.is_empty() { schema } else { with_keyword(schema, "required", json!(required)) }
}

/// Returns the schema of a member, with what a form shows of it.
pub(crate) fn member_schema(member: &MemberShape, definitions: &mut Map<String, Value>) -> Value {
    // The schema of a member that may be anything is `true`, which has no members.
    let mut schema = into_members(shape_schema(&member.shape, definitions));
    for (keyword, text) in [("title", member.title), ("description", member.help)] {
        if !text.is_empty() {
            schema.insert(keyword.to_owned(), json!(text));
        }
    }
    if let Ok(default) = serde_json::from_str(member.default) {
        schema.insert("default".to_owned(), default);
    }
    if let Ok(example) = serde_json::from_str::<Value>(member.example) {
        schema.insert("examples".to_owned(), json!([example]));
    }
    if let Some(meaning) = member.meaning.or_else(|| member.shape.meaning()) {
        schema.insert("x-meaning".to_owned(), json!(meaning_name(meaning)));
    }
    if let Some((beside, value)) = member.shown_if {
        let value: Value = serde_json::from_str(value).unwrap_or_default();
        schema.insert("x-shown-if".to_owned(), json!({beside: value}));
    }
    if member.is_multiline {
        schema.insert("x-multiline".to_owned(), json!(true));
    }
    if !member.word_help.is_empty() {
        let help = ("enumDescriptions".to_owned(), json!(member.word_help));
        if let Some(Value::Object(items)) = schema.get_mut("items") {
            items.extend([help]);
        } else {
            schema.extend([help]);
        }
    }
    Value::Object(schema)
}

/// The name of what the strings of a member are, by which a form chooses how they are edited.
fn meaning_name(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Template(TextUse::Text) => "template",
        Meaning::Template(TextUse::Url) => "url-template",
        Meaning::Template(TextUse::Query) => "query-template",
        Meaning::Template(TextUse::Header) => "header-template",
        Meaning::Template(TextUse::Body) => "body-template",
        Meaning::Template(TextUse::Prompt) => "prompt-template",
        Meaning::Plain => "text",
        Meaning::Condition => "condition",
        Meaning::WorkflowCondition => "workflow-condition",
        Meaning::Formula => "formula",
        Meaning::Reads => "variable-read",
        Meaning::Writes => "variable-written",
        Meaning::Secret => "secret",
        Meaning::Regex => "regex",
        Meaning::Pattern => "pattern",
        Meaning::Script => "script",
        Meaning::Names(target) => match target {
            Target::Graph => "graph",
            Target::Node => "node",
            Target::Port => "port",
            Target::Intent => "intent",
            Target::Entity => "entity",
            Target::Tool => "tool",
            Target::Server => "mcp-server",
            Target::Source => "knowledge-source",
            Target::Model => "model",
            Target::Assistant => "assistant",
            Target::Workflow => "workflow",
            Target::Agent => "agent",
            Target::Branch => "branch",
            Target::State => "state",
        },
    }
}

/// Returns the schema of a tagged union: the common members, then one alternative for each kind.
fn union_schema(tagged: &TaggedUnion, definitions: &mut Map<String, Value>) -> Value {
    let names: Vec<&str> = tagged.kinds.iter().map(|it| it.name).collect();
    let tag = json!({"enum": names});
    let tag = if tagged.tag_help.is_empty() { tag } else { with_keyword(tag, "description", json!(tagged.tag_help)) };
    let common = object_schema(Some((tagged.tag, tag)), tagged.common, definitions);
    let kinds = tagged.kinds.iter().map(|kind| {
        let schema = object_schema(Some((tagged.tag, json!({"const": kind.name}))), kind.lists, definitions);
        if kind.help.is_empty() { schema } else { with_keyword(schema, "description", json!(kind.help)) }
    });
    let kinds = kinds.collect();
    with_keyword(common, "oneOf", kinds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_text::json::schema::JsonSchema;

    const KINDS: [&str; 4] = ["conversation_flow", "workflow_graph", "ai_agent", "workflow_chain"];

    #[test]
    fn each_kind_of_documents_has_a_schema() {
        for doc in KINDS {
            assert_eq!(document_schema(doc).unwrap()["properties"]["doc"]["const"], doc);
        }
        assert_eq!((document_schema("conversation_flow"), document_schema("ai_agent")), (Some(json_schema()), Some(agent_json_schema())));
        assert_eq!(document_schema("pack"), None);
    }

    #[test]
    fn the_schema_is_deterministic_and_has_every_definition_once() {
        let schema = json_schema();
        assert_eq!(schema.to_string(), json_schema().to_string());
        let names: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(
            names.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
            [
                "Intent",
                "LocalizedText",
                "Template",
                "EntityType",
                "Tool",
                "HttpRequest",
                "OutputMap",
                "Retry",
                "SmallTalk",
                "Events",
                "Settings",
                "EngineTexts",
                "EngineText",
                "Repair",
                "VarDecl",
                "Graph",
                "Param",
                "Edge",
                "Node",
                "Block",
                "Button",
                "Validation"
            ]
        );
        assert_eq!(schema["properties"]["settings"]["$ref"], "#/$defs/Settings");
        let limit = &schema["$defs"]["Settings"]["properties"]["fallback_limit"];
        let bounds = ["type", "minimum", "maximum", "default"].map(|it| &limit[it]);
        assert_eq!(bounds, [&json!("integer"), &json!(1), &json!(MAX_SAFE_INTEGER), &json!(3)]);
        assert!(limit["title"] == "Fallback limit" && limit["description"].is_string());
    }

    #[test]
    fn links_are_for_the_reference_alone() {
        assert_eq!(text_of_links("an [expression](expressions.md) or [filter `t`](templates.md#t)."), "an expression or filter `t`.");
        for text in ["no link", "[one", "[one] (two)", "list[0]", ""] {
            assert_eq!(text_of_links(text), text);
        }
        assert!(document_schema_with_links("conversation_flow").unwrap().to_string().contains(".md"));
        for doc in KINDS {
            assert!(!document_schema(doc).unwrap().to_string().contains(".md"), "{doc}");
        }
    }

    /// Calls a function for the schema of each member.
    fn for_each_member(schema: &Value, take: &mut dyn FnMut(&str, &Value)) {
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            take(name, member);
        }
        schema.as_object().into_iter().flat_map(Map::values).for_each(|it| for_each_member(it, take));
        schema.as_array().into_iter().flatten().for_each(|it| for_each_member(it, take));
    }

    #[test]
    fn defaults_and_examples_are_what_their_members_allow() {
        let mut checked = 0;
        for schema in KINDS.map(|doc| document_schema(doc).unwrap()) {
            for_each_member(&schema, &mut |name, member| {
                let compiled = JsonSchema::compile(&json!({"$defs": schema["$defs"], "allOf": [member]})).unwrap();
                for value in member.get("default").into_iter().chain(member["examples"].as_array().into_iter().flatten()) {
                    assert_eq!(compiled.find_violation(value), None, "{name}: {value}");
                    checked += 1;
                }
            });
        }
        assert!(checked > 100, "{checked}");
        for shape in [Document::SHAPE, AgentDocument::SHAPE, ChainDocument::SHAPE, WorkflowDocument::SHAPE] {
            for_each_shape(&shape, &mut |member| {
                for json in [member.default, member.example, member.shown_if.map_or("", |it| it.1)].into_iter().filter(|it| !it.is_empty())
                {
                    assert!(serde_json::from_str::<Value>(json).is_ok(), "{}: {json}", member.name);
                }
            });
        }
    }

    fn for_each_shape(shape: &Shape, take: &mut dyn FnMut(&MemberShape)) {
        let mut members = |lists: &[&[MemberShape]]| {
            for member in lists.iter().flat_map(|list| list.iter()) {
                take(member);
                for_each_shape(&member.shape, take);
            }
        };
        match shape {
            Shape::Object(lists) | Shape::ClosedObject(lists) => members(lists),
            Shape::Union(union) => {
                members(union.common);
                union.kinds.iter().for_each(|it| members(it.lists));
            }
            Shape::List(list) => for_each_shape(&list.item, take),
            Shape::Map(of) | Shape::LocalizedTexts(of) | Shape::PartialTexts(of) => for_each_shape(of, take),
            Shape::AnyOf(shapes) => shapes.iter().for_each(|it| for_each_shape(it, take)),
            Shape::Bounded(bounded) => for_each_shape(&bounded.shape, take),
            Shape::WithMeaning(inner) => for_each_shape(&inner.shape, take),
            Shape::Ref(definition) => for_each_shape(&definition.shape, take),
            Shape::Any | Shape::AnyObject | Shape::Bool | Shape::Text(..) | Shape::PatternText(_) => {}
            Shape::Const(..) | Shape::Enum(_) | Shape::Integer(..) | Shape::Number(..) => {}
        }
    }

    #[test]
    fn the_schema_of_ai_agents_has_the_configuration_of_each_guardrail() {
        let schema = agent_json_schema();
        let names: Vec<&str> = schema["$defs"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["Template", "Tool", "HttpRequest", "OutputMap", "Retry", "Task", "Guardrail"]);
        let checked = JsonSchema::compile(&schema).unwrap();
        let with = |guardrail: Value| json!({"schema_version": "1.0", "doc": "ai_agent", "id": "a", "name": "A", "mission": "Help.", "guardrails": [guardrail]});
        for guardrail in [
            json!({"id": "g", "kind": "AUTH"}),
            json!({"id": "g", "kind": "LIMIT", "enabled": false, "config": {"max_calls": 1, "per": "conversation"}}),
            json!({"id": "g", "kind": "ESCALATE", "config": {"keywords": ["lawyer"], "on": ["limit"]}}),
        ] {
            assert_eq!(checked.find_violation(&with(guardrail.clone())), None, "{guardrail}");
        }
        for guardrail in [json!({"id": "g", "kind": "BUDGET"}), json!({"id": "g", "kind": "REDACT", "config": {"kinds": ["name"]}})] {
            assert!(checked.find_violation(&with(guardrail.clone())).is_some(), "{guardrail}");
        }
    }
}
