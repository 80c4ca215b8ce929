//! A type of nodes that exists here alone: one declaration, and everything that the engine derives from it.

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use serde_json::{Value, json};

use super::super::document::{FlowTemplate, NodeData, NodeOf, NodeTraits, NodeTypes};
use super::super::json_schema::schema_of;
use super::super::structure::check_shape;
use super::*;

/// The types of nodes of the documents here.
#[derive(Debug, Clone, Described)]
#[described(tag = "type", content = "data", data = NodeData)]
enum TestNodeKind {
    /// Draws lots.
    Lottery(LotteryData),
}

/// Data of `lottery`.
#[derive(Debug, Clone, Described)]
struct LotteryData {
    /// Who takes part.
    #[member(required, items(2, 5), example = r#"["Ann", "Bob"]"#)]
    participants: Vec<FlowTemplate>,
    /// How many win.
    #[member(shape = Integer(1, 3), codes("Z001", "Z002"), default = 1)]
    winners: u32,
    /// How it is drawn.
    method: Method,
    /// How it was drawn before.
    earlier: Vec<Method>,
    /// What is said before the draw.
    #[member(multiline)]
    speech: Option<FlowTemplate>,
    /// How long the suspense lasts.
    suspense_ms: Option<u32>,
    /// The wheel that is turned.
    #[member(shape = ID, meaning = Names(Tool), shown_if("method", "wheel"))]
    wheel: Option<String>,
    /// The variable that stores who wins.
    #[member(required, meaning = Writes)]
    variable: VariablePath,
}

/// How lots are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
enum Method {
    /// From a hat.
    #[default]
    Hat,
    /// By a wheel of fortune.
    Wheel,
}

impl NodeTypes for TestNodeKind {
    const DEFINITION: &'static str = "TestNode";
}

impl NodeData for LotteryData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { ports: &["won", "lost"], ..NodeTraits::CALLING }
    }
}

const SHAPE: Shape = NodeOf::<TestNodeKind>::SHAPE;

fn node(data: Value) -> Value {
    json!({"id": "draw", "name": "Draw", "type": "lottery", "data": data})
}

#[test]
fn a_new_type_of_nodes_is_read_with_its_defaults_and_known_by_its_ports() {
    let source = node(json!({"participants": ["Ann", "{{ friend }}"], "wheel": null, "variable": "winner"}));
    let read = NodeOf::<TestNodeKind>::read(&source).unwrap();
    let TestNodeKind::Lottery(data) = &read.kind;
    assert_eq!((data.winners, data.method, data.wheel.as_deref(), data.participants.len()), (1, Method::Hat, None, 2));
    assert!(data.earlier.is_empty() && data.speech.is_none() && data.suspense_ms.is_none());
    assert_eq!((read.type_name.as_str(), data.variable.to_string().as_str()), ("lottery", "winner"));
    assert_eq!(read.kind.data().traits().ports, ["won", "lost"]);
}

#[test]
fn a_new_type_of_nodes_is_checked_with_paths_and_codes() {
    let check = |data: Value| -> Vec<(&str, String)> {
        check_shape(&node(data), &SHAPE).into_iter().map(|issue| (issue.code, issue.path)).collect()
    };
    assert_eq!(check(json!({"participants": ["Ann", "Bob"], "variable": "winner"})), []);
    assert_eq!(
        check(json!({"participants": ["Ann", 5, ""], "winners": 4, "method": "coin", "variable": "1", "prize": 1})),
        [
            ("D003", "/data/prize".to_owned()),
            ("D001", "/data/participants/1".to_owned()),
            ("Z002", "/data/winners".to_owned()),
            ("D002", "/data/method".to_owned()),
            ("D001", "/data/variable".to_owned()),
        ]
    );
    assert_eq!(
        check(json!({"participants": ["Ann"], "winners": 0})),
        [("D001", "/data/participants".to_owned()), ("Z001", "/data/winners".to_owned()), ("D001", "/data".to_owned())]
    );
}

#[test]
fn a_new_type_of_nodes_has_a_schema_with_texts_for_forms() {
    let schema = schema_of(&SHAPE, "https://example.org/test.json");
    let of_kind = &schema["oneOf"][0];
    assert_eq!((&of_kind["description"], &of_kind["properties"]["type"]), (&json!("Draws lots."), &json!({"const": "lottery"})));
    let data = &of_kind["properties"]["data"];
    assert_eq!(data["required"], json!(["participants", "variable"]));
    let members = &data["properties"];
    assert_eq!(members["participants"]["examples"], json!([["Ann", "Bob"]]));
    assert_eq!(members["participants"]["x-meaning"], "template", "what its type says");
    assert_eq!(
        members["winners"],
        json!({"type": "integer", "minimum": 1, "maximum": 3, "title": "Winners", "description": "How many win.", "default": 1})
    );
    assert_eq!((&members["method"]["enum"], &members["method"]["default"]), (&json!(["hat", "wheel"]), &json!("hat")));
    let offered = json!(["From a hat.", "By a wheel of fortune."]);
    assert_eq!([&members["method"]["enumDescriptions"], &members["earlier"]["items"]["enumDescriptions"]], [&offered, &offered]);
    assert_eq!((&members["speech"]["x-multiline"], &members["suspense_ms"]["title"]), (&json!(true), &json!("Suspense in ms")));
    assert_eq!((&members["wheel"]["x-meaning"], &members["wheel"]["x-shown-if"]), (&json!("tool"), &json!({"method": "wheel"})));
}

#[test]
fn a_new_type_of_nodes_is_walked() {
    let source = node(json!({"participants": ["Ann", "{{ friend }}"], "wheel": "big", "variable": "winner", "winners": 2}));
    let leaves = walk(&SHAPE, &source, "/nodes/3");
    let found: Vec<_> = leaves.iter().map(|leaf| (leaf.pointer.as_str(), leaf.text, leaf.meaning)).collect();
    assert_eq!(
        found,
        [
            ("/nodes/3/data/participants/0", "Ann", Meaning::Template(TextUse::Text)),
            ("/nodes/3/data/participants/1", "{{ friend }}", Meaning::Template(TextUse::Text)),
            ("/nodes/3/data/wheel", "big", Meaning::Names(Target::Tool)),
            ("/nodes/3/data/variable", "winner", Meaning::Writes),
        ]
    );
}
