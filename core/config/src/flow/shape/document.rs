//! The shape of the document, its lists and its settings. (docs/spec/flows.md#3)

use convengine_text::locale::EngineText;

use super::Shape::{
    Any, AnyObject, AnyOf, Bool, Bounded, ClosedObject, Const, Enum, Integer, List as Items, Map, Number, Object, PatternText, Ref, Union,
};
use super::node::{EDGE, NODE};
use super::parts::{
    EFFECT_CLASS, ENGINE_TEXT, HTTP_REQUEST, ID, LOCALIZED, NON_EMPTY, OUTPUTS, PARAMS, PATH, RETRY, STRING, TEMPLATE, TYPE,
};
use super::{
    BoundedShape as Codes, Definition, List, MemberShape, NO_MAX, NO_MIN, Pattern, Role, TaggedUnion as Kinds, UniqueBy, optional, required,
};

/// A flow document. Issues are reported in this order, so graphs come last.
pub(in crate::flow) static DOCUMENT: Definition = Definition::part(
    "ConversationFlow",
    Object(&[
        required("schema_version", Const("1.0", "D006")),
        required("doc", Const("conversation_flow", "D001")),
        required("id", ID),
        required("name", PatternText(Pattern::Name)),
        optional("default_locale", PatternText(Pattern::Locale)),
        DEFAULT_TIME_ZONE,
        optional("time_zones", Map(&TIME_ZONE)),
        optional("locales", Items(&List::new(PatternText(Pattern::Locale)))),
        required("root", ID),
        optional("intents", Items(&List::unique_by_id(Ref(&INTENT)))),
        optional("entities", Items(&List::unique_by_id(Ref(&ENTITY_TYPE)))),
        optional("tools", Items(&List::unique_by_id(Ref(&TOOL)))),
        optional("small_talk", Items(&List::unique_by_id(Ref(&SMALL_TALK)))),
        optional("events", Ref(&EVENTS)),
        optional("settings", Ref(&SETTINGS)),
        optional("engine_texts", Ref(&ENGINE_TEXTS)),
        optional("repair", Ref(&REPAIR)),
        optional("variables", Items(&List::new(Ref(&VARIABLE)))),
        optional("inputs", Items(&List::new(PATH))),
        optional("strings", AnyObject),
        optional("meta", AnyObject),
        required("graphs", Bounded(&Codes { shape: Items(&GRAPHS), below: "D001", above: "D005" })),
    ]),
);

const TIME_ZONE: super::Shape = PatternText(Pattern::TimeZone);
pub(super) const DEFAULT_TIME_ZONE: MemberShape = optional("default_time_zone", TIME_ZONE);

static GRAPH: Definition = Definition {
    name: "Graph",
    role: Role::Graph,
    shape: Object(&[
        required("id", ID),
        required("kind", Enum(&["root", "intent", "subflow"])),
        optional("name", STRING),
        required("entry", ID),
        optional("params", Items(&PARAMS)),
        optional("returns", Items(&PARAMS)),
        optional("exits", Items(&List::new(ID))),
        required("edges", Bounded(&Codes { shape: Items(&EDGES), below: "D001", above: "D005" })),
        required("nodes", Bounded(&Codes { shape: Items(&NODES), below: "D001", above: "D005" })),
    ]),
};
static GRAPHS: List = List { item: Ref(&GRAPH), min: 1, max: 500, keys: UniqueBy::Id };
static NODES: List = List { item: Ref(&NODE), min: 1, max: 1000, keys: UniqueBy::IdAndName };
static EDGES: List = List { item: Ref(&EDGE), min: 0, max: 4000, keys: UniqueBy::Id };

static REPAIR: Definition = Definition::part(
    "Repair",
    ClosedObject(&[
        optional("correction", PATTERN),
        optional("cancel", COMMAND),
        optional("skip", COMMAND),
        optional("repeat", COMMAND),
        optional("help", COMMAND),
        optional("back", COMMAND),
        optional("start_over", COMMAND),
        optional("person", COMMAND),
        optional("digression", PATTERN),
        optional("no_understanding", PATTERN),
    ]),
);
const PATTERN: super::Shape = ClosedObject(&[optional("enabled", Bool).with_default("true")]);
const COMMAND: super::Shape = ClosedObject(&[
    optional("enabled", Bool).with_default("true"),
    optional("phrases", AnyOf(&[PHRASES, Map(&PHRASES)])),
    optional("graph", ID),
]);
const PHRASES: super::Shape = Items(&List::new(NON_EMPTY));

static INTENT: Definition = Definition::item(
    "Intent",
    Object(&[
        required("id", ID),
        required("name", PatternText(Pattern::Name)),
        optional("label", LOCALIZED),
        optional("description", STRING),
        optional("phrases", Items(&List::new(NON_EMPTY))),
        optional("negative_phrases", Items(&List::new(NON_EMPTY))),
        optional("priority", Integer(NO_MIN, NO_MAX)).with_default("100"),
        required("graph", ID),
        optional("parameters", Items(&List::new(Object(PARAMETER)))),
        optional("is_fallback", Bool).with_default("false"),
        optional("interrupts", Bool).with_default("true"),
        optional("knowledge_sources", Items(&List::new(NON_EMPTY))),
        optional("enabled", Bool).with_default("true"),
    ]),
);

static PARAMETER: &[MemberShape] = &[
    required("variable", PATH),
    required("entity", NON_EMPTY),
    optional("required", Bool),
    optional("prompt", LOCALIZED),
    optional("keep", Bool).with_default("false"),
    optional("take", Enum(&["answers", "anything"])).with_default(r#""answers""#),
    optional("help", LOCALIZED),
    optional("reprompt", Items(&List::new(LOCALIZED))),
];

static ENTITY_TYPE: Definition = Definition::item(
    "EntityType",
    Union(&Kinds {
        tag: "kind",
        common: &[required("id", ID), optional("negative_phrases", Items(&List::new(NON_EMPTY))), optional("redact", Bool)],
        kinds: &[
            (
                "list",
                &[
                    required("entries", Bounded(&Codes { shape: Items(&List::non_empty(ENTRY)), below: "N002", above: "D001" })),
                    optional("fuzzy", Object(&[optional("max_edits", Integer(0, 2))])),
                ],
            ),
            (
                "regex",
                &[
                    required("patterns", Items(&List::non_empty(NON_EMPTY))),
                    optional("group", STRING),
                    optional("ignore_case", Bool).with_default("false"),
                ],
            ),
        ],
    }),
);
const ENTRY: super::Shape =
    Object(&[required("value", NON_EMPTY), optional("synonyms", Items(&List::new(NON_EMPTY))), optional("label", LOCALIZED)]);

pub(super) static TOOL: Definition = Definition::item(
    "Tool",
    Object(&[
        required("id", ID),
        required("name", PatternText(Pattern::Name)),
        optional("description", STRING),
        optional("scope", Enum(&["assistant", "workspace", "builtin"])),
        required("kind", Enum(&["http", "http_post", "webhook", "function", "mcp", "noop"])),
        optional("input_schema", AnyObject),
        optional("output_schema", AnyObject),
        optional("request", Ref(&HTTP_REQUEST)),
        optional("outputs", Items(&OUTPUTS)),
        optional("timeout_ms", Integer(NO_MIN, NO_MAX)),
        optional("retry", Ref(&RETRY)),
        optional("effect_class", EFFECT_CLASS),
        optional("secrets", Items(&List::new(PatternText(Pattern::Secret)))),
        optional("signing_secret", PatternText(Pattern::Secret)),
        optional("server", NON_EMPTY),
        optional("remote_name", NON_EMPTY),
        optional("sensitive", Bool).with_default("false"),
        optional("approval", Enum(&["never", "always", "write"])),
    ]),
);

static SMALL_TALK: Definition = Definition::item(
    "SmallTalk",
    Object(&[
        required("id", ID),
        required("patterns", Items(&List::non_empty(NON_EMPTY))),
        required("responses", Items(&List::non_empty(LOCALIZED))),
        optional("min_score", Number(0, 1)).with_default("0.8"),
        optional("after", Enum(&["continue", "end_session"])),
    ]),
);

const IS_ENABLED: MemberShape = optional("enabled", Bool);
const MESSAGE: MemberShape = optional("message", LOCALIZED);
const GRAPH_ID: MemberShape = optional("graph", ID);

static EVENTS: Definition = Definition::part(
    "Events",
    Object(&[
        optional("welcome", Object(&[IS_ENABLED, MESSAGE, GRAPH_ID])),
        optional("fallback", Object(&[IS_ENABLED, MESSAGE, GRAPH_ID])),
        optional(
            "no_input",
            Object(&[
                IS_ENABLED,
                MESSAGE,
                GRAPH_ID,
                optional("max_times", Integer(NO_MIN, NO_MAX)).with_default("2"),
                optional("then", Enum(&["end_session", "continue"])),
            ]),
        ),
    ]),
);

static SETTINGS: Definition = Definition::part(
    "Settings",
    Object(&[
        optional("no_input_timeout_s", Integer(0, NO_MAX)).with_default("0"),
        optional("session_timeout_s", Integer(60, NO_MAX)).with_default("1800"),
        optional("retention_days", Integer(NO_MIN, NO_MAX)),
        optional("monthly_llm_spend_cap_cents", Integer(0, NO_MAX)),
        optional("intent_min_confidence", Number(0, 1)).with_default("0.6"),
        optional("llm_verify", Bool).with_default("true"),
        optional("llm_match", Bool).with_default("true"),
        optional(
            "lexical_match",
            Object(&[
                optional("enabled", Bool).with_default("true"),
                optional("accept_above", Number(0, 1)),
                optional("ask_below_margin", Number(0, 1)).with_default("0.03"),
            ]),
        ),
        optional("knowledge_fallback", Bool).with_default("false"),
        optional("knowledge_fallback_min_score", Number(0, 1)).with_default("0.5"),
        optional("fallback_limit", Integer(1, NO_MAX)).with_default("3"),
        optional("fallback_limit_graph", ID),
        optional("error_message", LOCALIZED),
        optional("handoff_webhook_url", TEMPLATE),
        optional("max_steps_per_turn", Bounded(&Codes { shape: Integer(1, 64), below: "D001", above: "B005" })).with_default("64"),
        optional("max_call_depth", Integer(1, 32)).with_default("16"),
        optional("version_policy", Enum(&["pin", "migrate_at_root", "migrate_eager"])).with_default(r#""pin""#),
        optional("models", Map(&NON_EMPTY)),
    ]),
);

static ENGINE_TEXTS: Definition = Definition::part(
    "EngineTexts",
    ClosedObject(&[
        optional(EngineText::ConfirmValue.name(), ENGINE_TEXT),
        optional(EngineText::Yes.name(), ENGINE_TEXT),
        optional(EngineText::No.name(), ENGINE_TEXT),
        optional(EngineText::AskForValue.name(), ENGINE_TEXT),
        optional(EngineText::ChooseValue.name(), ENGINE_TEXT),
        optional(EngineText::ChooseIntent.name(), ENGINE_TEXT),
        optional(EngineText::NotUnderstood.name(), ENGINE_TEXT),
        optional(EngineText::Cancelled.name(), ENGINE_TEXT),
        optional(EngineText::NothingToCancel.name(), ENGINE_TEXT),
        optional(EngineText::AnswerNeeded.name(), ENGINE_TEXT),
        optional(EngineText::ReasonForQuestion.name(), ENGINE_TEXT),
        optional(EngineText::FirstQuestion.name(), ENGINE_TEXT),
        optional(EngineText::CannotChange.name(), ENGINE_TEXT),
        optional(EngineText::Corrected.name(), ENGINE_TEXT),
        optional(EngineText::StartedOver.name(), ENGINE_TEXT),
        optional(EngineText::NoPerson.name(), ENGINE_TEXT),
        optional(EngineText::Returned.name(), ENGINE_TEXT),
        optional(EngineText::CanHelpWith.name(), ENGINE_TEXT),
        optional(EngineText::NotUnderstoodAgain.name(), ENGINE_TEXT),
        optional(EngineText::GivenUp.name(), ENGINE_TEXT),
        optional(EngineText::LeftAlone.name(), ENGINE_TEXT),
        optional(EngineText::Error.name(), ENGINE_TEXT),
    ]),
);

pub(super) static VARIABLE: Definition = Definition::part(
    "VarDecl",
    Object(&[
        required("name", PATH),
        required("type", TYPE),
        optional("default", Any),
        optional("redact", Bool),
        optional("input", Bool),
        optional("scope", Enum(&["session", "user"])).with_default(r#""session""#),
    ]),
);
