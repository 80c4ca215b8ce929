//! The shape of chains. (docs/spec/chains.md#1)

use super::Shape::{Any, AnyObject, Bool, Bounded, Const, Enum, Integer, List as Items, Map, Object, PatternText, Ref, Union};
use super::document::DEFAULT_TIME_ZONE;
use super::parts::{EXPRESSION, ID, NON_EMPTY, OUTPUTS, PARAMS, PATH, RETRY, STRING, TEMPLATE};
use super::{
    BoundedShape as Codes, Definition, List, MemberShape, NO_MAX, Pattern, Role, TaggedUnion as Kinds, UniqueBy, optional, required,
};

/// A chain.
pub(in crate::flow) static CHAIN: Definition = Definition::part(
    "Chain",
    Object(&[
        required("schema_version", Const("1.0", "D006")),
        required("doc", Const("workflow_chain", "D001")),
        required("slug", PatternText(Pattern::Slug)),
        required("name", PatternText(Pattern::Name)),
        DEFAULT_TIME_ZONE,
        optional("status", Enum(&["draft", "live", "paused"])).with_default(r#""draft""#),
        optional("summary", STRING),
        required("trigger", Ref(&TRIGGER)),
        required("steps", Bounded(&Codes { shape: Items(&STEPS), below: "D001", above: "D005" })),
        optional("branches", Items(&List { item: Ref(&BRANCH), min: 0, max: 100, keys: UniqueBy::None })),
        optional("max_run_ms", POSITIVE).with_default("2592000000"),
        optional("concurrency", Integer(1, NO_MAX)),
        optional("meta", AnyObject),
    ]),
);

static STEPS: List = List { item: Ref(&STEP), min: 0, max: 100, keys: UniqueBy::None };

const POSITIVE: super::Shape = Integer(1, NO_MAX);
const SECRET: super::Shape = PatternText(Pattern::Secret);
const MISFIRE: MemberShape = optional("misfire", Enum(&["run_once", "skip"])).with_default(r#""run_once""#);

static TRIGGER: Definition = Definition::part(
    "ChainTrigger",
    Object(&[
        required("kind", Enum(&["manual", "webhook", "schedule", "event"])),
        optional("label", STRING),
        optional("secret", SECRET),
        optional("cron", STRING),
        optional("timezone", STRING),
        MISFIRE,
        optional("overlap", Enum(&["skip", "queue", "allow"])).with_default(r#""skip""#),
    ]),
);

static BRANCH: Definition = Definition {
    name: "ChainBranch",
    role: Role::Graph,
    shape: Object(&[
        required("id", ID),
        required("name", PatternText(Pattern::Name)),
        required("steps", Bounded(&Codes { shape: Items(&STEPS), below: "D001", above: "D005" })),
        optional("then", Enum(&["rejoin", "stop"])).with_default(r#""rejoin""#),
    ]),
};

static STEP: Definition = Definition {
    name: "ChainStep",
    role: Role::Node,
    shape: Union(&Kinds {
        tag: "kind",
        common: &[
            required("id", ID),
            optional("label", STRING),
            optional("retry", Ref(&RETRY)),
            optional("on_error", Enum(&["fail", "continue", "branch"])).with_default(r#""fail""#),
            optional("error_branch", ID),
            optional("disabled", Bool),
        ],
        kinds: &[
            ("assistant", &[required("config", Object(&[required("assistant", NON_EMPTY), INPUT, MODE, OUTPUT]))]),
            ("agent", &[required("config", Object(&[required("agent", NON_EMPTY), INPUT, MODE, OUTPUT]))]),
            ("webhook", &[required("config", WEBHOOK)]),
            ("human", &[required("config", HUMAN)]),
            ("decide", &[required("config", DECIDE)]),
            ("notify", &[required("config", NOTIFY)]),
            (
                "schedule",
                &[required(
                    "config",
                    Object(&[
                        optional("after_ms", POSITIVE),
                        optional("at", TEMPLATE),
                        optional("cron", STRING),
                        optional("timezone", STRING),
                        MISFIRE,
                    ]),
                )],
            ),
        ],
    }),
};

const INPUT: MemberShape = optional("input", TEMPLATE);
const MODE: MemberShape = optional("mode", Enum(&["one_turn", "until_done"])).with_default(r#""one_turn""#);
const OUTPUT: MemberShape = optional("output", PATH);

const WEBHOOK: super::Shape = Object(&[
    required("direction", Enum(&["outbound", "inbound"])),
    optional("url", TEMPLATE),
    optional("method", Enum(&["POST", "PUT", "PATCH"])).with_default(r#""POST""#),
    optional("headers", Map(&TEMPLATE)),
    optional("body", Any),
    optional("secret", SECRET),
    optional("outputs", Items(&OUTPUTS)),
    optional("timeout_ms", Bounded(&Codes { shape: Integer(1, 60_000), below: "V006", above: "V006" })).with_default("10000"),
    optional("await_timeout_ms", POSITIVE).with_default("86400000"),
    OUTPUT,
]);

const HUMAN: super::Shape = Object(&[
    required("prompt", TEMPLATE),
    optional("assignees", Items(&List::new(NON_EMPTY))),
    optional("form", Items(&PARAMS)),
    optional("options", Items(&List::new(NON_EMPTY))),
    optional("expires_ms", POSITIVE),
    optional("on_expire", Enum(&["fail", "continue", "cancel"])).with_default(r#""fail""#),
    OUTPUT,
]);

const DECIDE: super::Shape = Object(&[
    optional("on", TEMPLATE),
    required(
        "cases",
        Items(&List::new(Object(&[optional("match", Items(&List::new(NON_EMPTY))), optional("expr", EXPRESSION), required("branch", ID)]))),
    ),
    optional("default", ID),
]);

const NOTIFY: super::Shape = Object(&[
    required("channel", Enum(&["email", "slack", "sms", "webhook", "log"])),
    optional("to", Items(&List::new(TEMPLATE))),
    optional("subject", TEMPLATE),
    required("text", TEMPLATE),
]);
