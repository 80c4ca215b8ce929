//! The shapes of nodes and edges. (docs/spec/flows.md#4)

use super::Shape::{Any, AnyObject, Bool, Bounded, Enum, Integer, List as Items, Map, Number, Object, PatternText, Ref, Text, Union};
use super::parts::{
    BLOCKS, BUTTONS, EFFECT_CLASS, EXPRESSION, HTTP_REQUEST, ID, LOCALIZED, NON_EMPTY, OUTPUTS, PATH, RETRY, STRING, TEMPLATE, VALIDATIONS,
};
use super::{
    BoundedShape as Codes, Definition, List, MemberShape, NO_MAX, NO_MIN, Pattern, Role, TaggedUnion as Kinds, optional, required,
};

pub(super) static NODE: Definition = Definition {
    name: "Node",
    role: Role::Node,
    shape: Union(&Kinds {
        tag: "type",
        common: COMMON,
        kinds: &[
            ("start", &[required("data", Object(&[optional("init", AnyObject)]))]),
            ("end", &[required("data", END)]),
            ("intent", &[required("data", Object(&[required("intent_id", ID)]))]),
            ("message", &[required("data", MESSAGE)]),
            ("entity", &[required("data", ENTITY)]),
            ("decision", &[required("data", BRANCHING)]),
            ("router", &[required("data", BRANCHING)]),
            ("service", &[required("data", SERVICE)]),
            ("python", &[required("data", PYTHON)]),
            ("set", &[required("data", Object(&[required("assign", Items(&List::non_empty(Object(ASSIGNMENT))))]))]),
            ("handoff", &[required("data", HANDOFF)]),
            ("fallback", &[required("data", Object(&[optional("match", Enum(&["no_edge", "error", "no_intent", "any"]))]))]),
            ("subflow", &[required("data", SUBFLOW)]),
            ("knowledge", &[required("data", KNOWLEDGE)]),
            ("instruction_agent", &[required("data", AGENT)]),
        ],
    }),
};

/// The members of every node.
pub(super) static COMMON: &[MemberShape] = &[
    required("id", ID),
    required("name", PatternText(Pattern::Name)),
    optional("position", Object(&[required("x", Number(NO_MIN, NO_MAX)), required("y", Number(NO_MIN, NO_MAX))])),
    optional("notes", STRING),
    optional("disabled", Bool).with_default("false"),
    optional("on_error", Enum(&["port", "continue", "stop"])).with_default(r#""port""#),
];

const END: super::Shape = Object(&[
    optional("exit", STRING).with_default(r#""out""#),
    optional("final_message", LOCALIZED),
    optional("end_session", Bool),
    optional("outputs", AnyObject),
]);

const MESSAGE: super::Shape = Object(&[
    required("blocks", Items(&BLOCKS)),
    optional("selection", Enum(&["first", "sequence", "seeded_random"])),
    optional("await", Enum(&["none", "button", "any"])).with_default(r#""none""#),
    optional("typing_ms", Integer(NO_MIN, NO_MAX)),
]);

const ENTITY: super::Shape = Object(&[
    required("variable", PATH),
    required("entity", NON_EMPTY),
    optional("direction", Enum(&["future", "past", "nearest"])).with_default(r#""future""#),
    optional("min_grain", Enum(&["day", "month", "year"])).with_default(r#""day""#),
    optional("max_grain", Enum(&["day", "month", "year"])).with_default(r#""day""#),
    optional("multiple", Bool).with_default("false"),
    required("prompt", LOCALIZED),
    optional("reprompt", Items(&List::new(LOCALIZED))),
    optional("max_attempts", Bounded(&Codes { shape: Integer(1, 10), below: "N006", above: "D001" })).with_default("3"),
    optional("required", Bool).with_default("true"),
    optional("default", Any),
    optional("ask", Enum(&["if_empty", "always"])).with_default(r#""if_empty""#),
    optional("keep", Bool).with_default("false"),
    optional("take", Enum(&["answers", "anything"])).with_default(r#""answers""#),
    optional("help", LOCALIZED),
    optional("prefill", Bool).with_default("true"),
    optional("prefill_from_trigger", Bool).with_default("true"),
    optional("validation", Items(&VALIDATIONS)),
    optional("buttons", BUTTONS),
    optional("llm_extract", Bool).with_default("false"),
    optional("interruptible", Bool).with_default("true"),
    optional("confirm", Bool).with_default("false"),
    optional("redact", Bool),
    optional("no_input_ms", Integer(NO_MIN, NO_MAX)),
]);

pub(super) const BRANCHING: super::Shape = Object(&[optional("comment", STRING)]);

const SERVICE: super::Shape = Object(&[
    optional("tool_id", ID),
    optional("request", Ref(&HTTP_REQUEST)),
    optional("args", AnyObject),
    optional("outputs", Items(&OUTPUTS)),
    optional("timeout_ms", Bounded(&Codes { shape: Integer(100, 60_000), below: "V006", above: "V006" })).with_default("10000"),
    optional("retry", Ref(&RETRY)),
    optional("success", Items(&List::new(Integer(100, 599)))),
    optional("idempotency_key", TEMPLATE),
    optional("max_response_bytes", Integer(NO_MIN, NO_MAX)).with_default("262144"),
    optional("effect_class", EFFECT_CLASS),
]);

const PYTHON: super::Shape = Object(&[
    required("code", Text(0, 32768)),
    optional("inputs", Items(&List::new(PATH))),
    optional("outputs", Items(&List::new(PATH))),
    optional("timeout_ms", Integer(10, 30_000)),
    optional("branches", Items(&List::new(ID))),
]);

const ASSIGNMENT: &[MemberShape] = &[
    required("variable", PATH),
    optional("op", Enum(&["set", "unset", "increment", "append", "merge"])),
    optional("value", Any),
    optional("expr", EXPRESSION),
];

const HANDOFF: super::Shape = Object(&[
    optional("queue", TEMPLATE),
    optional("reason", TEMPLATE),
    optional("message", LOCALIZED),
    optional("context", Items(&List::new(PATH))),
    optional("transcript_turns", Integer(0, NO_MAX)).with_default("50"),
    optional("mode", Enum(&["transfer", "return"])),
    optional("wait_ms", Integer(0, NO_MAX)),
]);

const SUBFLOW: super::Shape = Object(&[
    required("graph", ID),
    optional("mode", Enum(&["call", "goto"])).with_default(r#""call""#),
    optional("inputs", AnyObject),
    optional("outputs", Map(&PATH)),
]);

pub(super) const KNOWLEDGE: super::Shape = Object(&[
    optional("sources", Items(&List::new(NON_EMPTY))),
    required(
        "query",
        Object(&[required("from", Items(&List::non_empty(Enum(&["template", "last_user", "summary"])))), optional("template", TEMPLATE)]),
    ),
    optional("top_k", Integer(1, 50)).with_default("5"),
    optional("vector_weight", Number(0, 1)).with_default("0.5"),
    optional("min_score", Bounded(&Codes { shape: Number(0, 1), below: "K004", above: "K004" })),
    optional("synthesize", Bool).with_default("true"),
    optional("instructions", TEMPLATE),
    optional("variable", PATH).with_default(r#""knowledge""#),
    optional("reply", Bool).with_default("true"),
    optional("citations", Enum(&["none", "inline", "list"])).with_default(r#""inline""#),
]);

pub(super) const AGENT: super::Shape = Object(&[
    required("instructions", TEMPLATE),
    optional("tools", Items(&List::new(Object(&[required("tool", ID), optional("approval", Enum(&["never", "always", "write"]))])))),
    optional("model", NON_EMPTY),
    optional("temperature", Number(0, 2)),
    optional("max_steps", Bounded(&Codes { shape: Integer(1, 50), below: "A004", above: "A004" })).with_default("8"),
    optional("greeting", LOCALIZED),
    optional("exit_when", EXPRESSION),
    optional("max_turns", Integer(1, NO_MAX)).with_default("20"),
    optional(
        "memory",
        Object(&[
            optional("max_messages", Integer(NO_MIN, NO_MAX)).with_default("40"),
            optional("max_chars", Integer(NO_MIN, NO_MAX)).with_default("24000"),
            optional("reset", Enum(&["never", "on_enter", "on_exit"])).with_default(r#""on_enter""#),
        ]),
    ),
    optional("output", Object(&[required("variable", PATH), optional("schema", AnyObject)])),
]);

pub(super) static EDGE: Definition = Definition {
    name: "Edge",
    role: Role::Item,
    shape: Object(&[
        required("id", ID),
        required("source", ID),
        optional("source_port", STRING).with_default(r#""out""#),
        required("target", ID),
        optional("target_port", Enum(&["in"])).with_default(r#""in""#),
        optional("label", STRING),
        optional("priority", Integer(NO_MIN, NO_MAX)).with_default("100"),
        optional("condition", Object(&[required("expr", EXPRESSION)])),
    ]),
};
