//! The shape of workflow graphs. (docs/spec/flows.md#9)

use super::Shape::{AnyObject, Bounded, Const, Enum, Integer, List as Items, Map, Object, PatternText, Ref, Union};
use super::document::{DEFAULT_TIME_ZONE, VARIABLE};
use super::node::{AGENT, BRANCHING, COMMON, EDGE, KNOWLEDGE};
use super::parts::{ID, LOCALIZED, NON_EMPTY, OUTPUTS, PATH, STRING};
use super::{BoundedShape as Codes, Definition, List, MemberShape, Pattern, Role, TaggedUnion as Kinds, UniqueBy, optional, required};

/// A workflow graph.
pub(in crate::flow) static WORKFLOW: Definition = Definition::part(
    "WorkflowGraph",
    Object(&[
        required("schema_version", Const("1.0", "D006")),
        required("doc", Const("workflow_graph", "D001")),
        required("id", ID),
        required("name", PatternText(Pattern::Name)),
        DEFAULT_TIME_ZONE,
        optional("root", ID),
        optional("entries", Items(&List::new(ID))),
        optional("shared_state", Items(&List::new(Ref(&VARIABLE)))),
        optional("inputs", Items(&List::new(PATH))),
        optional("settings", SETTINGS),
        optional("meta", AnyObject),
        required("edges", Bounded(&Codes { shape: Items(&EDGES), below: "D001", above: "D005" })),
        required("nodes", Bounded(&Codes { shape: Items(&NODES), below: "D001", above: "D005" })),
    ]),
);

static NODES: List = List { item: Ref(&NODE), min: 1, max: 500, keys: UniqueBy::IdAndName };
static EDGES: List = List { item: Ref(&EDGE), min: 0, max: 2000, keys: UniqueBy::Id };

const SETTINGS: super::Shape = Object(&[
    optional("max_steps_per_turn", Bounded(&Codes { shape: Integer(1, 64), below: "D001", above: "B005" })).with_default("64"),
    optional("max_depth", Integer(1, 8)).with_default("8"),
    optional("error_message", LOCALIZED),
]);

static NODE: Definition = Definition {
    name: "WorkflowNode",
    role: Role::Node,
    shape: Union(&Kinds {
        tag: "type",
        common: COMMON,
        kinds: &[
            ("trigger", &[required("data", Object(&[optional("kind", Enum(&["manual", "channel", "api"]))]))]),
            ("instruction_agent", &[required("data", AGENT)]),
            ("flow-agent", &[required("data", Object(&[required("assistant_id", NON_EMPTY), VERSION, INPUTS, RETURNED]))]),
            ("agent", &[required("data", Object(&[required("agent_id", NON_EMPTY), VERSION, INPUTS]))]),
            ("knowledge", &[required("data", KNOWLEDGE)]),
            ("router", &[required("data", BRANCHING)]),
            ("decision", &[required("data", BRANCHING)]),
            (
                "tool",
                &[required(
                    "data",
                    Object(&[required("tool_name", ID), optional("args", AnyObject), optional("outputs", Items(&OUTPUTS))]),
                )],
            ),
            ("workflow", &[required("data", Object(&[required("workflow_id", NON_EMPTY), VERSION, INPUTS, RETURNED]))]),
            (
                "end",
                &[required("data", Object(&[optional("final_message", LOCALIZED), optional("exit", STRING).with_default(r#""out""#)]))],
            ),
            ("script", DRAFT_DATA),
            ("set", DRAFT_DATA),
            ("human", DRAFT_DATA),
            ("parallel", DRAFT_DATA),
            ("wait", DRAFT_DATA),
            ("datastore", DRAFT_DATA),
        ],
    }),
};

const VERSION: MemberShape = optional("version", NON_EMPTY).with_default(r#""latest""#);
const INPUTS: MemberShape = optional("inputs", AnyObject);
const RETURNED: MemberShape = optional("outputs", Map(&PATH));

/// Data of the types that only drafts may hold.
static DRAFT_DATA: &[MemberShape] = &[optional("data", AnyObject)];
