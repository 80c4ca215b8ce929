//! What a part of a document is, declared once: by a Rust type with `#[derive(Described)]` and the doc comments of its fields. From that
//! come its reading, the check of its form, the published schema with its texts for forms, and the walk over what its strings are.

mod described;
mod fields;
mod pattern;
mod walk;

#[cfg(test)]
mod tests;

pub use described::{Absent, Described, Keyword, Kinds, Members, Unread};
pub(super) use described::{only_list, read_json, read_text};
pub use fields::Fields;
pub(super) use fields::parse_path;
pub use pattern::Pattern;
pub use walk::{Leaf, walk, walk_names, walk_without};

/// What the attributes of members may name.
pub(super) mod vocabulary {
    pub use super::Shape::{AnyObject, AnyOf, Const, Enum, Integer, List as Items, Number, PatternText};
    pub use super::{
        COUNT, EXPRESSION, ID, List, NAME, NO_MAX, NO_MAX_LENGTH, NON_EMPTY, PATH, POSITIVE, Pattern, SCHEMA_VERSION, SECRET, TEMPLATE,
        UniqueBy,
    };
}

use Shape::{AnyOf, Bounded, Const, List as Items, PatternText, Ref, Text};

/// The allowed values at a location.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Anything.
    Any,
    /// An object with arbitrary members.
    AnyObject,
    /// True or false.
    Bool,
    /// A string with a minimum and maximum length in characters.
    Text(u32, u32),
    /// A string that matches a pattern.
    PatternText(Pattern),
    /// Exactly this string, and the code reported for any other.
    Const(&'static str, &'static str),
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// An integer within these bounds.
    Integer(i32, i32),
    /// A number within these bounds.
    Number(i32, i32),
    /// An array.
    List(&'static List),
    /// An object with arbitrary keys.
    Map(&'static Shape),
    /// Texts by locale, channel and `default`, which is required.
    LocalizedTexts(&'static Shape),
    /// Texts by locale, channel and `default`; those that are missing are the engine's own.
    PartialTexts(&'static Shape),
    /// An object with these members, in several lists.
    Object(&'static [&'static [MemberShape]]),
    /// An object in which an unknown member is an error.
    ClosedObject(&'static [&'static [MemberShape]]),
    /// An object of one of several kinds.
    Union(&'static TaggedUnion),
    /// One of several shapes with different JSON types.
    AnyOf(&'static [Shape]),
    /// A shape whose bounds have their own codes.
    Bounded(&'static BoundedShape),
    /// A shape whose strings are something that the engine knows.
    WithMeaning(&'static ShapeWithMeaning),
    /// A shape that the schema defines once.
    Ref(&'static Definition),
}

/// No lower bound.
pub const NO_MIN: i32 = i32::MIN;
/// No upper bound.
pub const NO_MAX: i32 = i32::MAX;
/// The largest integer that every JSON parser reads exactly; larger ones are rejected.
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
/// No upper bound of a length.
pub const NO_MAX_LENGTH: u32 = u32::MAX;

/// An array with items of one shape.
#[derive(Debug)]
pub struct List {
    /// What its items allow.
    pub item: Shape,
    /// The minimum number of items.
    pub min: u32,
    /// The maximum number of items.
    pub max: u32,
    /// By what its items differ.
    pub keys: UniqueBy,
}

/// The members by which items of a list must be unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UniqueBy {
    /// By nothing.
    None,
    /// Their `id`.
    Id,
    /// Their `id`, and preferably their `name`.
    IdAndName,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct MemberShape {
    /// Its name in documents.
    pub name: &'static str,
    /// What it allows.
    pub shape: Shape,
    /// Whether it must be there.
    pub is_required: bool,
    /// Its default as JSON; empty when there is none.
    pub default: &'static str,
    /// Its label for people.
    pub title: &'static str,
    /// Its description.
    pub help: &'static str,
    /// An example as JSON; empty when there is none.
    pub example: &'static str,
    /// What its strings are; what its shape says without it.
    pub meaning: Option<Meaning>,
    /// The variables that its templates see beside those of the session.
    pub roots: &'static [&'static str],
    /// The member beside it without which they do not see them.
    pub roots_need: Option<&'static str>,
    /// The member beside it, and the value of that member as JSON, for which a form shows it.
    pub shown_if: Option<(&'static str, &'static str)>,
    /// Whether a form edits it in several lines.
    pub is_multiline: bool,
    /// What its words mean, in their order; empty where it is not one of several words.
    pub word_help: &'static [&'static str],
}

/// A tagged union of objects.
#[derive(Debug)]
pub struct TaggedUnion {
    /// The member that holds the kind.
    pub tag: &'static str,
    /// The description of that member.
    pub tag_help: &'static str,
    /// The members of every kind.
    pub common: &'static [&'static [MemberShape]],
    /// The kinds.
    pub kinds: &'static [Kind],
}

/// A kind of a tagged union.
#[derive(Debug)]
pub struct Kind {
    /// The value of the tag.
    pub name: &'static str,
    /// Its description.
    pub help: &'static str,
    /// Its members beside those of every kind.
    pub lists: &'static [&'static [MemberShape]],
}

/// A shape with what its strings are.
#[derive(Debug)]
pub struct ShapeWithMeaning {
    /// The shape.
    pub shape: Shape,
    /// What the strings are.
    pub meaning: Meaning,
}

/// What a string of a document is, where the engine does more with it than show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A template.
    Template(TextUse),
    /// A text for people that is shown as it is.
    Plain,
    /// A condition.
    Condition,
    /// A condition in the dialect of workflow graphs.
    WorkflowCondition,
    /// An expression that computes a value.
    Formula,
    /// The path of a variable that is read.
    Reads,
    /// The path of a variable that is written.
    Writes,
    /// The name of a secret.
    Secret,
    /// A regular expression.
    Regex,
    /// A pattern, in the form that a column beside it names.
    Pattern,
    /// A script in Python.
    Script,
    /// The name of something else.
    Names(Target),
}

/// Where a template is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextUse {
    /// In a text for people, or in a value.
    Text,
    /// As the URL of a request.
    Url,
    /// As a query parameter of a request.
    Query,
    /// As a header of a request.
    Header,
    /// In the body of a request.
    Body,
    /// In a prompt.
    Prompt,
}

/// What a name names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A graph of the document.
    Graph,
    /// A node of the graph.
    Node,
    /// A port of a node.
    Port,
    /// An intent of the document.
    Intent,
    /// A system entity, or an entity of the document.
    Entity,
    /// A tool of the document or the workspace.
    Tool,
    /// An MCP server of the workspace.
    Server,
    /// A source of knowledge.
    Source,
    /// A model, by its alias or name.
    Model,
    /// An assistant.
    Assistant,
    /// A workflow graph.
    Workflow,
    /// An AI agent.
    Agent,
    /// A branch of the chain.
    Branch,
    /// A state of the conversation.
    State,
}

/// A shape with codes for values below and above its bounds.
#[derive(Debug)]
pub struct BoundedShape {
    /// The shape.
    pub shape: Shape,
    /// The code of an issue below its bounds.
    pub below: &'static str,
    /// The code of an issue above its bounds.
    pub above: &'static str,
}

/// A named shape, which the schema defines once.
#[derive(Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What it allows.
    pub shape: Shape,
    /// What issues within it report as their owner.
    pub role: Role,
    /// Its description.
    pub help: &'static str,
}

/// What issues within a value report as their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The owner of the enclosing value.
    Part,
    /// The graph of the value.
    Graph,
    /// The node of the value.
    Node,
    /// The name of the value.
    Item,
}

impl Definition {
    const fn part(name: &'static str, shape: Shape) -> Definition {
        Definition { name, shape, role: Role::Part, help: "" }
    }
}

impl List {
    /// A list of any number of items.
    pub const fn new(item: Shape) -> List {
        List { item, min: 0, max: NO_MAX_LENGTH, keys: UniqueBy::None }
    }

    /// A list of at least one item.
    pub const fn non_empty(item: Shape) -> List {
        List { item, min: 1, max: NO_MAX_LENGTH, keys: UniqueBy::None }
    }
}

impl MemberShape {
    /// A member of which only the shape is known.
    pub const fn new(name: &'static str, shape: Shape) -> MemberShape {
        MemberShape {
            name,
            shape,
            is_required: false,
            default: "",
            title: "",
            help: "",
            example: "",
            meaning: None,
            roots: &[],
            roots_need: None,
            shown_if: None,
            is_multiline: false,
            word_help: &[],
        }
    }
}

/// An id.
pub const ID: Shape = PatternText(Pattern::Id);
/// The path of a variable.
pub const PATH: Shape = PatternText(Pattern::Path);
/// A display name.
pub const NAME: Shape = PatternText(Pattern::Name);
/// The name of a secret.
pub const SECRET: Shape = Shape::WithMeaning(&ShapeWithMeaning { shape: PatternText(Pattern::Secret), meaning: Meaning::Secret });
/// Any string.
pub const STRING: Shape = Text(0, NO_MAX_LENGTH);
/// A string that is not empty.
pub const NON_EMPTY: Shape = Text(1, NO_MAX_LENGTH);
/// An integer from 1.
pub const POSITIVE: Shape = Shape::Integer(1, NO_MAX);
/// An integer from 0.
pub const COUNT: Shape = Shape::Integer(0, NO_MAX);
/// The source of an expression.
pub const EXPRESSION: Shape = Text(1, 4096);
/// The version of the format.
pub const SCHEMA_VERSION: Shape = Const("1.0", "D006");

/// A template.
pub const TEMPLATE: Shape = Ref(&Definition::part("Template", Shape::WithMeaning(&TEMPLATE_TEXT)));
static TEMPLATE_TEXT: ShapeWithMeaning = ShapeWithMeaning { shape: Bounded(&TEMPLATE_LENGTH), meaning: Meaning::Template(TextUse::Text) };
static TEMPLATE_LENGTH: BoundedShape = BoundedShape { shape: Text(0, 32768), below: "D001", above: "T006" };

/// A text in the languages of the document.
pub const LOCALIZED: Shape =
    Ref(&Definition::part("LocalizedText", AnyOf(&[TEMPLATE, VARIANTS, Shape::LocalizedTexts(&AnyOf(&[TEMPLATE, VARIANTS]))])));
/// A text of the engine in the words of the document.
pub const ENGINE_TEXT: Shape =
    Ref(&Definition::part("EngineText", AnyOf(&[TEMPLATE, VARIANTS, Shape::PartialTexts(&AnyOf(&[TEMPLATE, VARIANTS]))])));
const VARIANTS: Shape = Items(&List::non_empty(TEMPLATE));
