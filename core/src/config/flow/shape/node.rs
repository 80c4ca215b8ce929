//! The shapes of nodes and edges. (docs/spec/flows.md#4)

use super::Shape::{Any, Bool, Coded, Enum, Free, Integer, List as Items, Map, Named, Number, Object, Spelt, Tagged, Text};
use super::parts::{
    BLOCKS, BUTTONS, EFFECT_CLASS, EXPRESSION, FILLED, HTTP_REQUEST, ID, LOCALIZED, OUTPUTS, PATH, RETRY, STRING, TEMPLATE, VALIDATIONS,
};
use super::{Coded as Codes, Definition, Field, LEAST, List, MOST, Pattern, Role, Tagged as Kinds, may, must};

pub(super) static NODE: Definition = Definition {
    name: "Node",
    role: Role::Node,
    shape: Tagged(&Kinds {
        tag: "type",
        common: &[
            must("id", ID),
            must("name", Spelt(Pattern::Name)),
            may("position", Object(&[must("x", Number(LEAST, MOST)), must("y", Number(LEAST, MOST))])),
            may("notes", STRING),
            may("disabled", Bool).or("false"),
            may("on_error", Enum(&["port", "continue", "stop"])).or(r#""port""#),
        ],
        kinds: &[
            ("start", &[must("data", Object(&[may("init", Free)]))]),
            ("end", &[must("data", END)]),
            ("intent", &[must("data", Object(&[must("intent_id", ID)]))]),
            ("message", &[must("data", MESSAGE)]),
            ("entity", &[must("data", ENTITY)]),
            ("decision", &[must("data", BRANCHING)]),
            ("router", &[must("data", BRANCHING)]),
            ("service", &[must("data", SERVICE)]),
            ("python", &[must("data", PYTHON)]),
            ("set", &[must("data", Object(&[must("assign", Items(&List::some(Object(ASSIGNMENT))))]))]),
            ("handoff", &[must("data", HANDOFF)]),
            ("fallback", &[must("data", Object(&[may("match", Enum(&["no_edge", "error", "no_intent", "any"]))]))]),
            ("subflow", &[must("data", SUBFLOW)]),
            ("knowledge", &[must("data", KNOWLEDGE)]),
            ("instruction_agent", &[must("data", AGENT)]),
        ],
    }),
};

const END: super::Shape =
    Object(&[may("exit", STRING).or(r#""out""#), may("final_message", LOCALIZED), may("end_session", Bool), may("outputs", Free)]);

const MESSAGE: super::Shape = Object(&[
    must("blocks", Items(&BLOCKS)),
    may("selection", Enum(&["first", "sequence", "seeded_random"])),
    may("await", Enum(&["none", "button", "any"])).or(r#""none""#),
    may("typing_ms", Integer(LEAST, MOST)),
]);

const ENTITY: super::Shape = Object(&[
    must("variable", PATH),
    must("entity", FILLED),
    must("prompt", LOCALIZED),
    may("reprompt", Items(&List::of(LOCALIZED))),
    may("max_attempts", Coded(&Codes { shape: Integer(1, 10), below: "N006", above: "D001" })).or("3"),
    may("required", Bool).or("true"),
    may("default", Any),
    may("ask", Enum(&["if_empty", "always"])).or(r#""if_empty""#),
    may("prefill_from_trigger", Bool).or("true"),
    may("validation", Items(&VALIDATIONS)),
    may("buttons", BUTTONS),
    may("llm_extract", Bool).or("false"),
    may("interruptible", Bool).or("true"),
    may("confirm", Bool).or("false"),
    may("redact", Bool),
    may("no_input_ms", Integer(LEAST, MOST)),
]);

const BRANCHING: super::Shape = Object(&[may("comment", STRING)]);

const SERVICE: super::Shape = Object(&[
    may("tool_id", ID),
    may("request", Named(&HTTP_REQUEST)),
    may("args", Free),
    may("outputs", Items(&OUTPUTS)),
    may("timeout_ms", Coded(&Codes { shape: Integer(100, 60_000), below: "V006", above: "V006" })).or("10000"),
    may("retry", Named(&RETRY)),
    may("success", Items(&List::of(Integer(100, 599)))),
    may("idempotency_key", TEMPLATE),
    may("max_response_bytes", Integer(LEAST, MOST)).or("262144"),
    may("effect_class", EFFECT_CLASS),
]);

const PYTHON: super::Shape = Object(&[
    must("code", Text(0, 32768)),
    may("inputs", Items(&List::of(PATH))),
    may("outputs", Items(&List::of(PATH))),
    may("timeout_ms", Integer(10, 30_000)),
    may("branches", Items(&List::of(ID))),
]);

const ASSIGNMENT: &[Field] = &[
    must("variable", PATH),
    may("op", Enum(&["set", "unset", "increment", "append", "merge"])),
    may("value", Any),
    may("expr", EXPRESSION),
];

const HANDOFF: super::Shape = Object(&[
    may("queue", TEMPLATE),
    may("reason", TEMPLATE),
    may("message", LOCALIZED),
    may("context", Items(&List::of(PATH))),
    may("transcript_turns", Integer(0, MOST)).or("50"),
    may("mode", Enum(&["transfer", "return"])),
    may("wait_ms", Integer(0, MOST)),
]);

const SUBFLOW: super::Shape =
    Object(&[must("graph", ID), may("mode", Enum(&["call", "goto"])).or(r#""call""#), may("inputs", Free), may("outputs", Map(&PATH))]);

const KNOWLEDGE: super::Shape = Object(&[
    may("sources", Items(&List::of(FILLED))),
    must("query", Object(&[must("from", Items(&List::some(Enum(&["template", "last_user", "summary"])))), may("template", TEMPLATE)])),
    may("top_k", Integer(1, 50)).or("5"),
    may("vector_weight", Number(0, 1)).or("0.5"),
    may("min_score", Coded(&Codes { shape: Number(0, 1), below: "K004", above: "K004" })),
    may("synthesize", Bool).or("true"),
    may("instructions", TEMPLATE),
    may("variable", PATH).or(r#""knowledge""#),
    may("reply", Bool).or("true"),
    may("citations", Enum(&["none", "inline", "list"])).or(r#""inline""#),
]);

const AGENT: super::Shape = Object(&[
    must("instructions", TEMPLATE),
    may("tools", Items(&List::of(Object(&[must("tool", ID), may("approval", Enum(&["never", "always", "write"]))])))),
    may("model", FILLED),
    may("temperature", Number(0, 2)),
    may("max_steps", Coded(&Codes { shape: Integer(1, 50), below: "A004", above: "A004" })).or("8"),
    may("greeting", LOCALIZED),
    may("exit_when", EXPRESSION),
    may("max_turns", Integer(1, MOST)).or("20"),
    may(
        "memory",
        Object(&[
            may("max_messages", Integer(LEAST, MOST)).or("40"),
            may("max_chars", Integer(LEAST, MOST)).or("24000"),
            may("reset", Enum(&["never", "on_enter", "on_exit"])).or(r#""on_enter""#),
        ]),
    ),
    may("output", Object(&[must("variable", PATH), may("schema", Free)])),
]);

pub(super) static EDGE: Definition = Definition {
    name: "Edge",
    role: Role::Item,
    shape: Object(&[
        must("id", ID),
        must("source", ID),
        may("source_port", STRING).or(r#""out""#),
        must("target", ID),
        may("target_port", Enum(&["in"])).or(r#""in""#),
        may("label", STRING),
        may("priority", Integer(LEAST, MOST)).or("100"),
        may("condition", Object(&[must("expr", EXPRESSION)])),
    ]),
};
