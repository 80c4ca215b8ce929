//! The traits of what is described by a Rust type, and the types that documents consist of.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use convengine_text::variable_path::VariablePath;
use convengine_turn::{EffectClass, Map};
use convengine_understanding::entity::{DayOptions, Grain};
use convengine_values::Direction;
use serde_json::Value;

use super::super::document::{FlowCondition, FlowFormula, FlowTemplate, LocalizedText, ValueTemplate};
use super::{
    EXPRESSION, Fields, Kind, LOCALIZED, List, Meaning, MemberShape, NO_MAX, NO_MIN, PATH, STRING, Shape, ShapeWithMeaning, TEMPLATE,
    TextUse,
};

/// A part of a document.
pub trait Described: Sized {
    /// What it allows.
    const SHAPE: Shape;
    /// What stands for a member of this type that is absent, as JSON; empty when the document must say.
    const DEFAULT: &'static str = "";
    /// What its words mean, in their order, if it is one of several words or a list of such.
    const WORD_HELP: &'static [&'static str] = &[];

    /// Reads a value whose form has been checked; `None` for one of another form.
    fn read(value: &Value) -> Option<Self>;
}

/// A part of a document that has a value where the document has none.
pub trait Absent: Described {
    /// Returns that value.
    fn absent() -> Self;
}

/// One of several words.
pub trait Keyword: Described {
    /// Its word in documents.
    fn keyword(&self) -> &'static str;

    /// Returns what a word stands for.
    fn from_keyword(text: &str) -> Option<Self>;
}

/// An object with members.
pub trait Members: Described {
    /// Its members, in the order in which they are checked.
    const LISTS: &'static [&'static [MemberShape]];

    /// Reads them; `None` for an object of an unknown kind.
    fn read_members(fields: Fields<'_>) -> Option<Self>;
}

/// The kinds of an object.
pub trait Kinds: Sized {
    /// The member that holds the kind.
    const TAG: &'static str;
    /// The kinds.
    const KINDS: &'static [Kind];

    /// Reads the kind and what only it has; `None` for an unknown kind.
    fn read_kind(fields: Fields<'_>) -> Option<Self>;
}

/// A member that documents hold for others: the engine checks and keeps it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unread<T>(PhantomData<T>);

/// Returns the members of a type that is flattened into another one.
///
/// # Panics
/// While compiling, when the type has several lists because it flattens another one itself.
#[expect(clippy::panic, reason = "it is evaluated by the compiler")]
pub(in crate::flow) const fn only_list(lists: &'static [&'static [MemberShape]]) -> &'static [MemberShape] {
    match lists {
        [list] => list,
        _ => panic!("a flattened type cannot flatten another one"),
    }
}

/// Reads a default that is a string.
pub(in crate::flow) fn read_text<T: Absent>(text: &str) -> T {
    T::read(&Value::from(text)).unwrap_or_else(T::absent)
}

/// Reads a default that is JSON.
pub(in crate::flow) fn read_json<T: Absent>(json: &str) -> T {
    serde_json::from_str(json).ok().as_ref().and_then(T::read).unwrap_or_else(T::absent)
}

/// Implements both traits for types with a default in Rust.
macro_rules! describe {
    ($($type:ty = $shape:expr, $default:literal, $read:expr;)*) => {
        $(impl Described for $type {
            const SHAPE: Shape = $shape;
            const DEFAULT: &'static str = $default;

            fn read(value: &Value) -> Option<Self> {
                let read: fn(&Value) -> Option<Self> = $read;
                read(value)
            }
        }

        impl Absent for $type {
            fn absent() -> Self {
                <$type>::default()
            }
        })*
    };
}

const ANY_INTEGER: Shape = Shape::Integer(NO_MIN, NO_MAX);
/// A value whose strings are templates.
const VALUE_TEMPLATE: Shape = Shape::WithMeaning(&ShapeWithMeaning { shape: Shape::Any, meaning: Meaning::Template(TextUse::Text) });

describe! {
    bool = Shape::Bool, "false", Value::as_bool;
    String = STRING, "", |value| value.as_str().map(str::to_owned);
    f64 = Shape::Number(NO_MIN, NO_MAX), "", Value::as_f64;
    i64 = ANY_INTEGER, "", read_integer;
    u64 = ANY_INTEGER, "", read_count;
    u32 = ANY_INTEGER, "", |value| Some(u32::try_from(read_count(value)?).unwrap_or(u32::MAX));
    u16 = ANY_INTEGER, "", |value| Some(u16::try_from(read_count(value)?).unwrap_or(u16::MAX));
    u8 = ANY_INTEGER, "", |value| Some(u8::try_from(read_count(value)?).unwrap_or(u8::MAX));
    usize = ANY_INTEGER, "", |value| Some(usize::try_from(read_count(value)?).unwrap_or(usize::MAX));
    Value = Shape::Any, "", |value| Some(value.clone());
    Map = Shape::AnyObject, "", |value| value.as_object().cloned();
    FlowTemplate = TEMPLATE, "", |value| Some(FlowTemplate::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    ValueTemplate = VALUE_TEMPLATE, "", |value| Some(ValueTemplate::from(value.clone()));
    LocalizedText = LOCALIZED, "", |value| Some(LocalizedText::from(value));
}

impl Described for VariablePath {
    const SHAPE: Shape = PATH;

    fn read(value: &Value) -> Option<VariablePath> {
        value.as_str().map(super::parse_path)
    }
}

impl Absent for VariablePath {
    fn absent() -> VariablePath {
        super::parse_path("")
    }
}

impl Described for FlowCondition {
    const SHAPE: Shape = Shape::WithMeaning(&ShapeWithMeaning { shape: EXPRESSION, meaning: Meaning::Condition });

    fn read(value: &Value) -> Option<FlowCondition> {
        value.as_str().map(FlowCondition::from)
    }
}

impl Absent for FlowCondition {
    fn absent() -> FlowCondition {
        FlowCondition::from("")
    }
}

impl Described for FlowFormula {
    const SHAPE: Shape = Shape::WithMeaning(&ShapeWithMeaning { shape: EXPRESSION, meaning: Meaning::Formula });

    fn read(value: &Value) -> Option<FlowFormula> {
        value.as_str().map(FlowFormula::from)
    }
}

impl Described for EffectClass {
    const SHAPE: Shape = Shape::Enum(&["read", "write", "irreversible"]);

    fn read(value: &Value) -> Option<EffectClass> {
        match value.as_str()? {
            "read" => Some(EffectClass::Read),
            "write" => Some(EffectClass::Write),
            "irreversible" => Some(EffectClass::Irreversible),
            _ => None,
        }
    }
}

impl Described for DayOptions {
    const SHAPE: Shape = Shape::Object(<DayOptions as Members>::LISTS);

    fn read(value: &Value) -> Option<DayOptions> {
        DayOptions::read_members(Fields::of_object(value)?)
    }
}

impl Members for DayOptions {
    const LISTS: &'static [&'static [MemberShape]] = &[&[
        MemberShape {
            title: "Direction",
            help: "Which day is meant where several fit: \"5 May\" is a birthday in the past. `future` and `past` also refuse days on the other \
                   side of today. Without it, the next day is meant, and none is refused.",
            ..MemberShape::new("direction", Shape::Enum(&["future", "past", "nearest"]))
        },
        MemberShape {
            default: r#""day""#,
            title: "Finest grain",
            help: "How precise a `@date` is at most: with `month`, 5 March 2027 is stored as `2027-03`.",
            ..MemberShape::new("min_grain", GRAINS)
        },
        MemberShape {
            default: r#""day""#,
            title: "Coarsest grain",
            help: "How precise a `@date` is at least: with `month`, \"March 2027\" is an answer; below `min_grain` it counts as that.",
            ..MemberShape::new("max_grain", GRAINS)
        },
    ]];

    fn read_members(fields: Fields<'_>) -> Option<DayOptions> {
        let grain = |name: &str| fields.keyword(name, &[("month", Grain::Month), ("year", Grain::Year)]).unwrap_or_default();
        let min_grain = grain("min_grain");
        Some(DayOptions {
            direction: fields.keyword("direction", &[("past", Direction::Past), ("nearest", Direction::Nearest)]).unwrap_or_default(),
            is_direction_bound: fields.keyword("direction", &[("future", true), ("past", true)]).unwrap_or_default(),
            min_grain,
            max_grain: grain("max_grain").max(min_grain),
        })
    }
}

impl Absent for DayOptions {
    fn absent() -> DayOptions {
        DayOptions::default()
    }
}

const GRAINS: Shape = Shape::Enum(&["day", "month", "year"]);

impl<T: Described> Described for Vec<T> {
    const SHAPE: Shape = Shape::List(&List::new(T::SHAPE));
    const WORD_HELP: &'static [&'static str] = T::WORD_HELP;

    fn read(value: &Value) -> Option<Vec<T>> {
        Some(value.as_array()?.iter().filter_map(T::read).collect())
    }
}

impl<T: Described> Absent for Vec<T> {
    fn absent() -> Vec<T> {
        Vec::new()
    }
}

/// Members in document order.
impl<T: Described> Described for Vec<(String, T)> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);

    fn read(value: &Value) -> Option<Vec<(String, T)>> {
        Some(value.as_object()?.iter().filter_map(|(name, member)| Some((name.clone(), T::read(member)?))).collect())
    }
}

impl<T: Described> Absent for Vec<(String, T)> {
    fn absent() -> Vec<(String, T)> {
        Vec::new()
    }
}

impl<T: Described> Described for BTreeMap<String, T> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);

    fn read(value: &Value) -> Option<BTreeMap<String, T>> {
        Some(value.as_object()?.iter().filter_map(|(name, member)| Some((name.clone(), T::read(member)?))).collect())
    }
}

impl<T: Described> Absent for BTreeMap<String, T> {
    fn absent() -> BTreeMap<String, T> {
        BTreeMap::new()
    }
}

impl<T: Described> Described for Unread<T> {
    const SHAPE: Shape = T::SHAPE;
    const DEFAULT: &'static str = T::DEFAULT;
    const WORD_HELP: &'static [&'static str] = T::WORD_HELP;

    fn read(_: &Value) -> Option<Unread<T>> {
        Some(Unread(PhantomData))
    }
}

impl<T: Described> Absent for Unread<T> {
    fn absent() -> Unread<T> {
        Unread(PhantomData)
    }
}

/// An integer; `2.0` counts as one.
fn read_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| convengine_text::value::decimal::number_from_f64(value.as_f64()?)?.as_i64())
}

/// An integer; a negative one becomes 0.
fn read_count(value: &Value) -> Option<u64> {
    read_integer(value).map(|number| u64::try_from(number).unwrap_or(0))
}
