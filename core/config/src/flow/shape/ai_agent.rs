//! The shape of AI agents. (docs/spec/flows.md#10.6)

use super::Shape::{AnyObject, Bool, Const, Enum, Integer, List as Items, Number, Object, PatternText, Ref, Union};
use super::document::{DEFAULT_TIME_ZONE, TOOL};
use super::parts::{EXPRESSION, ID, NON_EMPTY, PATH, STRING, TEMPLATE};
use super::{Definition, List, MemberShape, NO_MAX, Pattern, Shape, TaggedUnion as Kinds, optional, required};

/// An AI agent.
pub(in crate::flow) static AI_AGENT: Definition = Definition::part(
    "AiAgent",
    Object(&[
        required("schema_version", Const("1.0", "D006")),
        required("doc", Const("ai_agent", "D001")),
        required("id", ID),
        required("name", PatternText(Pattern::Name)),
        DEFAULT_TIME_ZONE,
        required("mission", TEMPLATE),
        optional(
            "persona",
            Object(&[
                optional("title", STRING),
                optional("tone", Items(&List::new(STRING))),
                optional("voice", STRING),
                optional("boundaries", Items(&List::new(STRING))),
            ]),
        ),
        optional("model", NON_EMPTY),
        optional("temperature", Number(0, 2)),
        optional("tools", Items(&List::unique_by_id(Ref(&TOOL)))),
        optional("tool_names", Items(&List::new(ID))),
        optional("tasks", Items(&List::unique_by_id(Ref(&TASK)))),
        optional("guardrails", Items(&List::unique_by_id(Ref(&GUARDRAIL)))),
        optional("memory", MEMORY),
        optional("knowledge", TEXTS),
        optional("channels", TEXTS),
        optional("max_llm_steps_per_conv", Integer(0, NO_MAX)),
        optional("max_tool_calls_per_turn", Integer(0, NO_MAX)),
        optional("daily_spend_cap_cents", Integer(0, NO_MAX)),
        optional("evals", Items(&List::new(EVAL))),
        optional("meta", AnyObject),
    ]),
);

const TEXTS: Shape = Items(&List::new(NON_EMPTY));

static TASK: Definition = Definition::item(
    "Task",
    Object(&[
        required("id", ID),
        optional("examples", TEXTS),
        optional("needs", TEXTS),
        optional("tool_names", Items(&List::new(ID))),
        optional("flag", Enum(&["NONE", "SENSITIVE", "FALLBACK"])).with_default(r#""NONE""#),
    ]),
);

static GUARDRAIL: Definition = Definition::item(
    "Guardrail",
    Union(&Kinds {
        tag: "kind",
        common: &[required("id", ID), optional("enabled", Bool).with_default("true")],
        kinds: &[
            (
                "AUTH",
                &[optional(
                    "config",
                    Object(&[optional("variable", PATH).with_default(r#""user.verified""#), optional("expr", EXPRESSION)]),
                )],
            ),
            (
                "LIMIT",
                &[required(
                    "config",
                    Object(&[
                        required("max_calls", Integer(0, NO_MAX)),
                        optional("per", Enum(&["turn", "conversation"])).with_default(r#""turn""#),
                        optional("tools", Items(&List::new(ID))),
                    ]),
                )],
            ),
            ("BUDGET", &[required("config", Object(&[required("max_cents", Integer(0, NO_MAX))]))]),
            (
                "REDACT",
                &[optional(
                    "config",
                    Object(&[optional("kinds", Items(&List::new(Enum(&["email", "phone", "card", "iban"])))), optional("patterns", TEXTS)]),
                )],
            ),
            (
                "ESCALATE",
                &[required(
                    "config",
                    Object(&[optional("keywords", TEXTS), optional("on", Items(&List::new(Enum(&["auth_required", "limit", "budget"]))))]),
                )],
            ),
        ],
    }),
);

const MEMORY: Shape = Object(&[
    optional("enabled", Bool).with_default("true"),
    optional("slots", Items(&List::new(Object(SLOT)))),
    optional("guidance", STRING),
]);

const SLOT: &[MemberShape] = &[required("key", ID), optional("label", STRING)];

const EVAL: Shape = Object(&[required("name", NON_EMPTY), required("prompt", NON_EMPTY), required("expected", NON_EMPTY)]);
