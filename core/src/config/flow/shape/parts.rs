//! Shapes shared by nodes, tools and intents.

use super::Shape::{Any, AnyOf, Bool, Coded, Enum, Integer, Map, Named, Object, Spelt, Tagged, Text};
use super::{ANY_LENGTH, Coded as Codes, Definition, Field, LEAST, List, MOST, Pattern, Shape, Tagged as Kinds, may, must};

pub(super) const ID: Shape = Spelt(Pattern::Id);
pub(super) const PATH: Shape = Spelt(Pattern::Path);
pub(super) const STRING: Shape = Text(0, ANY_LENGTH);
pub(super) const FILLED: Shape = Text(1, ANY_LENGTH);
pub(super) const EXPRESSION: Shape = Text(1, 4096);
pub(super) const TYPE: Shape = Enum(&["string", "number", "boolean", "array", "object", "any"]);
pub(super) const EFFECT_CLASS: Shape = Enum(&["read", "write", "irreversible"]);

pub(super) const TEMPLATE: Shape = Named(&Definition::part("Template", Coded(&LENGTH)));
static LENGTH: Codes = Codes { shape: Text(0, 32768), below: "D001", above: "T006" };

pub(super) const LOCALIZED: Shape = Named(&LOCALIZED_TEXT);
static LOCALIZED_TEXT: Definition =
    Definition::part("LocalizedText", AnyOf(&[TEMPLATE, VARIANTS, Shape::Texts(&AnyOf(&[TEMPLATE, VARIANTS]))]));
const VARIANTS: Shape = Shape::List(&List::some(TEMPLATE));

pub(super) const BUTTONS: Shape = Shape::List(&List::of(BUTTON));
const BUTTON: Shape =
    Named(&Definition::part("Button", Object(&[must("id", ID), must("label", TEMPLATE), may("value", Any), may("url", TEMPLATE)])));

pub(super) static BLOCKS: List = List::some(Named(&BLOCK));
static BLOCK: Definition = Definition::part(
    "Block",
    Tagged(&Kinds {
        tag: "kind",
        common: &[],
        kinds: &[
            ("text", &[must("text", LOCALIZED)]),
            (
                "buttons",
                &[may("text", LOCALIZED), must("buttons", Shape::List(&List { item: BUTTON, min: 1, max: 20, keys: super::Keys::None }))],
            ),
            ("card", CARD),
            (
                "carousel",
                &[
                    may("items", Shape::List(&List { item: Object(CARD), min: 1, max: 10, keys: super::Keys::None })),
                    may("items_from", PATH),
                ],
            ),
            (
                "list",
                &[
                    may("title", TEMPLATE),
                    may("items", Shape::List(&List::of(Object(&[must("title", TEMPLATE), may("subtitle", TEMPLATE), may("value", Any)])))),
                    may("items_from", PATH),
                ],
            ),
            ("media", &[must("media", Enum(&["image", "audio", "video", "file"])), must("url", TEMPLATE), may("alt", TEMPLATE)]),
            ("custom", &[must("schema", STRING), must("payload", Any)]),
        ],
    }),
);
static CARD: &[Field] = &[must("title", TEMPLATE), may("subtitle", TEMPLATE), may("image_url", TEMPLATE), may("buttons", BUTTONS)];

pub(super) static VALIDATIONS: List = List::of(Named(&VALIDATION));
static VALIDATION: Definition = Definition::part(
    "Validation",
    Object(&[
        may("min", Any),
        may("max", Any),
        may("min_length", Integer(0, MOST)),
        may("max_length", Integer(1, MOST)),
        may("pattern", STRING),
        may("expr", EXPRESSION),
        may("message", LOCALIZED),
    ]),
);

pub(super) static HTTP_REQUEST: Definition = Definition::part(
    "HttpRequest",
    Object(&[
        must("method", Enum(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])),
        must("url", TEMPLATE),
        may("query", Map(&TEMPLATE)),
        may("headers", Map(&TEMPLATE)),
        may("body", Any),
        may("body_type", Enum(&["none", "json", "form", "text", "multipart"])),
    ]),
);

pub(super) static OUTPUTS: List = List::of(Named(&Definition::part(
    "OutputMap",
    Object(&[
        must("path", Spelt(Pattern::JsonPath)),
        must("variable", PATH),
        may("default", Any),
        may("required", Bool),
        may("type", TYPE),
    ]),
)));

pub(super) static RETRY: Definition = Definition::part(
    "Retry",
    Object(&[
        may("max_attempts", Coded(&Codes { shape: Integer(1, 10), below: "V006", above: "V006" })).or("1"),
        may("initial_ms", Coded(&Codes { shape: Integer(0, MOST), below: "V006", above: "V006" })).or("200"),
        may("multiplier", Coded(&Codes { shape: Shape::Number(1, MOST), below: "V006", above: "V006" })).or("2"),
        may("max_ms", Integer(LEAST, MOST)).or("2000"),
        may("on", Shape::List(&List::of(AnyOf(&[Integer(400, 599), Enum(&["network", "timeout"])]))))
            .or(r#"[429,502,503,504,"network","timeout"]"#),
    ]),
);

pub(super) static PARAMS: List = List::of(Named(&Definition::part(
    "Param",
    Object(&[must("name", PATH), may("type", TYPE), may("required", Bool), may("default", Any)]),
)));
