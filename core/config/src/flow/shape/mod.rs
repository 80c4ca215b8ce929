//! The structure of flow documents as a table, from which both the check and the published JSON Schema are derived.

mod ai_agent;
mod chain;
mod document;
mod node;
mod parts;
mod pattern;
mod workflow;

pub(super) use ai_agent::AI_AGENT;
pub(super) use chain::CHAIN;
pub(super) use document::DOCUMENT;
pub(super) use pattern::Pattern;
pub(super) use workflow::WORKFLOW;

/// The allowed values at a location.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Anything.
    Any,
    /// An object with arbitrary members.
    AnyObject,
    Bool,
    /// A string with a minimum and maximum length in characters.
    Text(u32, u32),
    /// A string that matches a pattern.
    PatternText(Pattern),
    /// Exactly this string, and the code reported for any other.
    Const(&'static str, &'static str),
    Enum(&'static [&'static str]),
    /// An integer within these bounds.
    Integer(i32, i32),
    /// A number within these bounds.
    Number(i32, i32),
    List(&'static List),
    /// An object with arbitrary keys.
    Map(&'static Shape),
    /// Texts by locale, channel and `default`, which is required.
    LocalizedTexts(&'static Shape),
    /// Texts by locale, channel and `default`; those that are missing are the engine's own.
    PartialTexts(&'static Shape),
    Object(&'static [MemberShape]),
    /// An object in which an unknown member is an error.
    ClosedObject(&'static [MemberShape]),
    Union(&'static TaggedUnion),
    /// One of several shapes with different JSON types.
    AnyOf(&'static [Shape]),
    /// A shape whose bounds have their own codes.
    Bounded(&'static BoundedShape),
    Ref(&'static Definition),
}

/// No lower bound.
pub(super) const NO_MIN: i32 = i32::MIN;
/// No upper bound.
pub(super) const NO_MAX: i32 = i32::MAX;
/// The largest integer that every JSON parser reads exactly; larger ones are rejected.
pub(super) const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
/// No upper bound of a length.
pub(super) const NO_MAX_LENGTH: u32 = u32::MAX;

/// An array with items of one shape.
#[derive(Debug)]
pub(super) struct List {
    pub item: Shape,
    pub min: u32,
    pub max: u32,
    pub keys: UniqueBy,
}

/// The members by which items of a list must be unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UniqueBy {
    None,
    /// Their `id`.
    Id,
    /// Their `id`, and preferably their `name`.
    IdAndName,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct MemberShape {
    pub name: &'static str,
    pub shape: Shape,
    pub is_required: bool,
    /// Its default as JSON; empty when there is none.
    pub default: &'static str,
}

/// A tagged union of objects.
#[derive(Debug)]
pub(super) struct TaggedUnion {
    /// The member that holds the kind.
    pub tag: &'static str,
    /// The members of every kind.
    pub common: &'static [MemberShape],
    /// The other members by kind.
    pub kinds: &'static [(&'static str, &'static [MemberShape])],
}

/// A shape with codes for values below and above its bounds.
#[derive(Debug)]
pub(super) struct BoundedShape {
    pub shape: Shape,
    pub below: &'static str,
    pub above: &'static str,
}

/// A named shape, which the schema defines once.
#[derive(Debug)]
pub(super) struct Definition {
    pub name: &'static str,
    pub shape: Shape,
    pub role: Role,
}

/// What issues within a value report as their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The owner of the enclosing value.
    Part,
    Graph,
    Node,
    /// The name of the value.
    Item,
}

impl Definition {
    const fn part(name: &'static str, shape: Shape) -> Definition {
        Definition { name, shape, role: Role::Part }
    }

    const fn item(name: &'static str, shape: Shape) -> Definition {
        Definition { name, shape, role: Role::Item }
    }
}

impl List {
    const fn new(item: Shape) -> List {
        List { item, min: 0, max: NO_MAX_LENGTH, keys: UniqueBy::None }
    }

    const fn non_empty(item: Shape) -> List {
        List { item, min: 1, max: NO_MAX_LENGTH, keys: UniqueBy::None }
    }

    const fn unique_by_id(item: Shape) -> List {
        List { item, min: 0, max: NO_MAX_LENGTH, keys: UniqueBy::Id }
    }
}

const fn required(name: &'static str, shape: Shape) -> MemberShape {
    MemberShape { name, shape, is_required: true, default: "" }
}

const fn optional(name: &'static str, shape: Shape) -> MemberShape {
    MemberShape { name, shape, is_required: false, default: "" }
}

impl MemberShape {
    const fn with_default(self, default: &'static str) -> MemberShape {
        MemberShape { name: self.name, shape: self.shape, is_required: self.is_required, default }
    }
}
