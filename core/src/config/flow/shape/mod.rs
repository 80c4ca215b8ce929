//! The form of flow documents as a table: what is checked and what the published schema says are both read off it.

mod document;
mod node;
mod parts;
mod pattern;

pub(super) use document::DOCUMENT;
pub(super) use pattern::Pattern;

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Anything.
    Any,
    /// An object with members of its own.
    Free,
    Bool,
    /// A text of so many characters.
    Text(u32, u32),
    /// A text of a certain spelling.
    Spelt(Pattern),
    /// This text; another one breaks the rule of the code.
    Const(&'static str, &'static str),
    Enum(&'static [&'static str]),
    /// A whole number within these bounds; [`LEAST`] and [`MOST`] bound nothing.
    Integer(i32, i32),
    /// A number within these bounds.
    Number(i32, i32),
    List(&'static List),
    /// An object whose keys are free.
    Map(&'static Shape),
    /// A text by locale, channel, and `default`, which has to be there.
    Texts(&'static Shape),
    Object(&'static [Field]),
    Tagged(&'static Tagged),
    /// One of these, which the JSON type tells apart.
    AnyOf(&'static [Shape]),
    /// As the shape, but breaking its bounds has a code of its own.
    Coded(&'static Coded),
    Named(&'static Definition),
}

/// No lower bound.
pub(super) const LEAST: i32 = i32::MIN;
/// No upper bound.
pub(super) const MOST: i32 = i32::MAX;
/// The largest whole number that every reader of JSON reads as it is; no integer may be beyond it.
pub(super) const WHOLE: i64 = (1 << 53) - 1;
/// No upper bound of a length.
pub(super) const ANY_LENGTH: u32 = u32::MAX;

/// Items of one shape.
#[derive(Debug)]
pub(super) struct List {
    pub item: Shape,
    pub min: u32,
    pub max: u32,
    pub keys: Keys,
}

/// What tells the items of a list apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    None,
    /// Their `id`.
    Id,
    /// Their `id`; their `name` should.
    IdAndName,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub is_required: bool,
    /// What stands for it when it is missing, as JSON; empty when nothing does.
    pub default: &'static str,
}

/// Objects of several kinds.
#[derive(Debug)]
pub(super) struct Tagged {
    /// The member that names the kind.
    pub tag: &'static str,
    /// The members of every kind.
    pub common: &'static [Field],
    /// The other members by kind.
    pub kinds: &'static [(&'static str, &'static [Field])],
}

/// A shape whose bounds have codes.
#[derive(Debug)]
pub(super) struct Coded {
    pub shape: Shape,
    pub below: &'static str,
    pub above: &'static str,
}

/// A shape with a name, under which the schema has it once.
#[derive(Debug)]
pub(super) struct Definition {
    pub name: &'static str,
    pub shape: Shape,
    pub role: Role,
}

/// What an issue names when it is within such a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// What is around it.
    Part,
    Graph,
    Node,
    /// Its name.
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
    const fn of(item: Shape) -> List {
        List { item, min: 0, max: ANY_LENGTH, keys: Keys::None }
    }

    const fn some(item: Shape) -> List {
        List { item, min: 1, max: ANY_LENGTH, keys: Keys::None }
    }

    const fn by_id(item: Shape) -> List {
        List { item, min: 0, max: ANY_LENGTH, keys: Keys::Id }
    }
}

const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, is_required: true, default: "" }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, is_required: false, default: "" }
}

impl Field {
    const fn or(self, default: &'static str) -> Field {
        Field { name: self.name, shape: self.shape, is_required: self.is_required, default }
    }
}
