//! The shape of the document, its lists and its settings. (docs/spec/flows.md#3)

use super::Shape::{Any, Bool, Coded, Const, Enum, Free, Integer, List as Items, Map, Named, Number, Object, Spelt, Tagged};
use super::node::{EDGE, NODE};
use super::parts::{EFFECT_CLASS, FILLED, HTTP_REQUEST, ID, LOCALIZED, OUTPUTS, PARAMS, PATH, RETRY, STRING, TEMPLATE, TYPE};
use super::{Coded as Codes, Definition, Field, Keys, LEAST, List, MOST, Pattern, Role, Tagged as Kinds, may, must};

/// A flow document. Issues are reported in this order, so graphs come last.
pub(in crate::config::flow) static DOCUMENT: Definition = Definition::part(
    "ConversationFlow",
    Object(&[
        must("schema_version", Const("1.0", "D006")),
        must("doc", Const("conversation_flow", "D001")),
        must("id", ID),
        must("name", Spelt(Pattern::Name)),
        may("default_locale", Spelt(Pattern::Locale)),
        may("locales", Items(&List::of(Spelt(Pattern::Locale)))),
        must("root", ID),
        may("intents", Items(&List::by_id(Named(&INTENT)))),
        may("entities", Items(&List::by_id(Named(&ENTITY_TYPE)))),
        may("tools", Items(&List::by_id(Named(&TOOL)))),
        may("small_talk", Items(&List::by_id(Named(&SMALL_TALK)))),
        may("events", Named(&EVENTS)),
        may("settings", Named(&SETTINGS)),
        may("variables", Items(&List::of(Named(&VARIABLE)))),
        may("meta", Free),
        must("graphs", Coded(&Codes { shape: Items(&GRAPHS), below: "D001", above: "D005" })),
    ]),
);

static GRAPH: Definition = Definition {
    name: "Graph",
    role: Role::Graph,
    shape: Object(&[
        must("id", ID),
        must("kind", Enum(&["root", "intent", "subflow"])),
        may("name", STRING),
        must("entry", ID),
        may("params", Items(&PARAMS)),
        may("returns", Items(&PARAMS)),
        may("exits", Items(&List::of(ID))),
        must("edges", Coded(&Codes { shape: Items(&EDGES), below: "D001", above: "D005" })),
        must("nodes", Coded(&Codes { shape: Items(&NODES), below: "D001", above: "D005" })),
    ]),
};
static GRAPHS: List = List { item: Named(&GRAPH), min: 1, max: 500, keys: Keys::Id };
static NODES: List = List { item: Named(&NODE), min: 1, max: 1000, keys: Keys::IdAndName };
static EDGES: List = List { item: Named(&EDGE), min: 0, max: 4000, keys: Keys::Id };

static INTENT: Definition = Definition::item(
    "Intent",
    Object(&[
        must("id", ID),
        must("name", Spelt(Pattern::Name)),
        may("description", STRING),
        may("phrases", Items(&List::of(FILLED))),
        may("negative_phrases", Items(&List::of(FILLED))),
        may("priority", Integer(LEAST, MOST)).or("100"),
        must("graph", ID),
        may("parameters", Items(&List::of(Object(PARAMETER)))),
        may("is_fallback", Bool).or("false"),
        may("interrupts", Bool).or("true"),
        may("knowledge_sources", Items(&List::of(FILLED))),
        may("enabled", Bool).or("true"),
    ]),
);

static PARAMETER: &[Field] = &[
    must("variable", PATH),
    must("entity", FILLED),
    may("required", Bool),
    may("prompt", LOCALIZED),
    may("reprompt", Items(&List::of(LOCALIZED))),
];

static ENTITY_TYPE: Definition = Definition::item(
    "EntityType",
    Tagged(&Kinds {
        tag: "kind",
        common: &[must("id", ID), may("redact", Bool)],
        kinds: &[
            (
                "list",
                &[
                    must("entries", Coded(&Codes { shape: Items(&List::some(ENTRY)), below: "N002", above: "D001" })),
                    may("fuzzy", Object(&[may("max_edits", Integer(0, 2))])),
                ],
            ),
            ("regex", &[must("patterns", Items(&List::some(FILLED))), may("group", STRING)]),
        ],
    }),
);
const ENTRY: super::Shape = Object(&[must("value", FILLED), may("synonyms", Items(&List::of(FILLED)))]);

static TOOL: Definition = Definition::item(
    "Tool",
    Object(&[
        must("id", ID),
        must("name", Spelt(Pattern::Name)),
        may("description", STRING),
        may("scope", Enum(&["assistant", "workspace", "builtin"])),
        must("kind", Enum(&["http", "webhook", "function", "mcp", "noop"])),
        may("input_schema", Free),
        may("output_schema", Free),
        may("request", Named(&HTTP_REQUEST)),
        may("outputs", Items(&OUTPUTS)),
        may("timeout_ms", Integer(LEAST, MOST)),
        may("retry", Named(&RETRY)),
        may("effect_class", EFFECT_CLASS),
        may("secrets", Items(&List::of(Spelt(Pattern::Secret)))),
        may("signing_secret", Spelt(Pattern::Secret)),
        may("server", FILLED),
        may("remote_name", FILLED),
        may("sensitive", Bool).or("false"),
    ]),
);

static SMALL_TALK: Definition = Definition::item(
    "SmallTalk",
    Object(&[
        must("id", ID),
        must("patterns", Items(&List::some(FILLED))),
        must("responses", Items(&List::some(LOCALIZED))),
        may("min_score", Number(0, 1)).or("0.8"),
        may("after", Enum(&["continue", "end_session"])),
    ]),
);

const IS_ENABLED: Field = may("enabled", Bool);
const SAYS: Field = may("message", LOCALIZED);
const RUNS: Field = may("graph", ID);

static EVENTS: Definition = Definition::part(
    "Events",
    Object(&[
        may("welcome", Object(&[IS_ENABLED, SAYS, RUNS])),
        may("fallback", Object(&[IS_ENABLED, SAYS, RUNS])),
        may(
            "no_input",
            Object(&[
                IS_ENABLED,
                SAYS,
                RUNS,
                may("max_times", Integer(LEAST, MOST)).or("2"),
                may("then", Enum(&["end_session", "continue"])),
            ]),
        ),
    ]),
);

static SETTINGS: Definition = Definition::part(
    "Settings",
    Object(&[
        may("no_input_timeout_s", Integer(0, MOST)).or("0"),
        may("session_timeout_s", Integer(60, MOST)).or("1800"),
        may("retention_days", Integer(LEAST, MOST)),
        may("monthly_llm_spend_cap_cents", Integer(0, MOST)),
        may("intent_min_confidence", Number(0, 1)).or("0.6"),
        may("llm_verify", Bool).or("true"),
        may("llm_match", Bool).or("true"),
        may("knowledge_fallback", Bool).or("false"),
        may("knowledge_fallback_min_score", Number(0, 1)).or("0.5"),
        may("fallback_limit", Integer(1, MOST)).or("3"),
        may("fallback_limit_graph", ID),
        may("error_message", LOCALIZED),
        may("handoff_webhook_url", TEMPLATE),
        may("max_steps_per_turn", Coded(&Codes { shape: Integer(1, 64), below: "D001", above: "B005" })).or("64"),
        may("max_call_depth", Integer(1, 32)).or("16"),
        may("version_policy", Enum(&["pin", "migrate_at_root", "migrate_eager"])).or(r#""pin""#),
        may("models", Map(&FILLED)),
    ]),
);

static VARIABLE: Definition = Definition::part(
    "VarDecl",
    Object(&[
        must("name", PATH),
        must("type", TYPE),
        may("default", Any),
        may("redact", Bool),
        may("scope", Enum(&["session", "user"])).or(r#""session""#),
    ]),
);
