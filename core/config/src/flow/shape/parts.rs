//! Shapes shared by nodes, tools and intents.

use super::Shape::{Any, AnyOf, Bool, Bounded, Enum, Integer, Map, Object, PatternText, Ref, Text, Union};
use super::{
    BoundedShape as Codes, Definition, List, MemberShape, NO_MAX, NO_MAX_LENGTH, NO_MIN, Pattern, Shape, TaggedUnion as Kinds, optional,
    required,
};

pub(super) const ID: Shape = PatternText(Pattern::Id);
pub(super) const PATH: Shape = PatternText(Pattern::Path);
pub(super) const STRING: Shape = Text(0, NO_MAX_LENGTH);
pub(super) const NON_EMPTY: Shape = Text(1, NO_MAX_LENGTH);
pub(super) const EXPRESSION: Shape = Text(1, 4096);
pub(super) const TYPE: Shape = Enum(&["string", "number", "boolean", "array", "object", "any"]);
pub(super) const EFFECT_CLASS: Shape = Enum(&["read", "write", "irreversible"]);

pub(super) const TEMPLATE: Shape = Ref(&Definition::part("Template", Bounded(&TEMPLATE_LENGTH)));
static TEMPLATE_LENGTH: Codes = Codes { shape: Text(0, 32768), below: "D001", above: "T006" };

pub(super) const LOCALIZED: Shape = Ref(&LOCALIZED_TEXT);
static LOCALIZED_TEXT: Definition =
    Definition::part("LocalizedText", AnyOf(&[TEMPLATE, VARIANTS, Shape::LocalizedTexts(&AnyOf(&[TEMPLATE, VARIANTS]))]));
/// A text of the engine in the words of the document.
pub(super) const ENGINE_TEXT: Shape =
    Ref(&Definition::part("EngineText", AnyOf(&[TEMPLATE, VARIANTS, Shape::PartialTexts(&AnyOf(&[TEMPLATE, VARIANTS]))])));
const VARIANTS: Shape = Shape::List(&List::non_empty(TEMPLATE));

pub(super) const BUTTONS: Shape = Shape::List(&List::new(BUTTON));
const BUTTON: Shape = Ref(&Definition::part(
    "Button",
    Object(&[required("id", ID), required("label", LOCALIZED), optional("value", Any), optional("url", TEMPLATE)]),
));

pub(super) static BLOCKS: List = List::non_empty(Ref(&BLOCK));
static BLOCK: Definition = Definition::part(
    "Block",
    Union(&Kinds {
        tag: "kind",
        common: &[],
        kinds: &[
            ("text", &[required("text", LOCALIZED)]),
            (
                "buttons",
                &[
                    optional("text", LOCALIZED),
                    required("buttons", Shape::List(&List { item: BUTTON, min: 1, max: 20, keys: super::UniqueBy::None })),
                ],
            ),
            ("card", CARD),
            (
                "carousel",
                &[
                    optional("items", Shape::List(&List { item: Object(CARD), min: 1, max: 10, keys: super::UniqueBy::None })),
                    optional("items_from", PATH),
                ],
            ),
            (
                "list",
                &[
                    optional("title", TEMPLATE),
                    optional(
                        "items",
                        Shape::List(&List::new(Object(&[
                            required("title", TEMPLATE),
                            optional("subtitle", TEMPLATE),
                            optional("value", Any),
                        ]))),
                    ),
                    optional("items_from", PATH),
                ],
            ),
            (
                "media",
                &[required("media", Enum(&["image", "audio", "video", "file"])), required("url", TEMPLATE), optional("alt", TEMPLATE)],
            ),
            ("custom", &[required("schema", STRING), required("payload", Any)]),
        ],
    }),
);
static CARD: &[MemberShape] =
    &[required("title", TEMPLATE), optional("subtitle", TEMPLATE), optional("image_url", TEMPLATE), optional("buttons", BUTTONS)];

pub(super) static VALIDATIONS: List = List::new(Ref(&VALIDATION));
static VALIDATION: Definition = Definition::part(
    "Validation",
    Object(&[
        optional("min", Any),
        optional("max", Any),
        optional("min_length", Integer(0, NO_MAX)),
        optional("max_length", Integer(1, NO_MAX)),
        optional("pattern", STRING),
        optional("expr", EXPRESSION),
        optional("message", LOCALIZED),
    ]),
);

pub(super) static HTTP_REQUEST: Definition = Definition::part(
    "HttpRequest",
    Object(&[
        required("method", Enum(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])),
        required("url", TEMPLATE),
        optional("query", Map(&TEMPLATE)),
        optional("headers", Map(&TEMPLATE)),
        optional("body", Any),
        optional("body_type", Enum(&["none", "json", "form", "text", "multipart"])),
    ]),
);

pub(super) static OUTPUTS: List = List::new(Ref(&Definition::part(
    "OutputMap",
    Object(&[
        required("path", PatternText(Pattern::JsonPath)),
        required("variable", PATH),
        optional("default", Any),
        optional("required", Bool),
        optional("type", TYPE),
    ]),
)));

pub(super) static RETRY: Definition = Definition::part(
    "Retry",
    Object(&[
        optional("max_attempts", Bounded(&Codes { shape: Integer(1, 10), below: "V006", above: "V006" })).with_default("1"),
        optional("initial_ms", Bounded(&Codes { shape: Integer(0, NO_MAX), below: "V006", above: "V006" })).with_default("200"),
        optional("multiplier", Bounded(&Codes { shape: Shape::Number(1, NO_MAX), below: "V006", above: "V006" })).with_default("2"),
        optional("max_ms", Integer(NO_MIN, NO_MAX)).with_default("2000"),
        optional("on", Shape::List(&List::new(AnyOf(&[Integer(400, 599), Enum(&["network", "timeout"])]))))
            .with_default(r#"[429,502,503,504,"network","timeout"]"#),
    ]),
);

pub(super) static PARAMS: List = List::new(Ref(&Definition::part(
    "Param",
    Object(&[required("name", PATH), optional("type", TYPE), optional("required", Bool), optional("default", Any)]),
)));
