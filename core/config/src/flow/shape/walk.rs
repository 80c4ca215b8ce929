//! The walk over what the strings of a document are: templates, expressions, variables, secrets and the names of other things.

use serde_json::Value;

use super::{Meaning, MemberShape, Shape, TaggedUnion};

/// A string of a document of which the engine knows what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf<'v> {
    /// The JSON Pointer to it, below the value that was walked.
    pub pointer: String,
    /// The string.
    pub text: &'v str,
    /// What it is.
    pub meaning: Meaning,
    /// Whether it is all of a member, and not a part of a JSON value.
    pub is_whole: bool,
    /// The variables that it sees beside those of the session.
    pub roots: &'static [&'static str],
}

/// Returns the strings of a value that mean something, in the order of its members; `pointer` is where the value is.
pub fn walk<'v>(shape: &Shape, value: &'v Value, pointer: &str) -> Vec<Leaf<'v>> {
    walk_without(&[], shape, value, pointer)
}

/// The same without some members of the value itself.
pub fn walk_without<'v>(skipped: &'static [&'static str], shape: &Shape, value: &'v Value, pointer: &str) -> Vec<Leaf<'v>> {
    walk_wanted(|_| true, skipped, shape, value, pointer)
}

/// Returns the strings of a value by which it names other things.
pub fn walk_names<'v>(shape: &Shape, value: &'v Value) -> Vec<Leaf<'v>> {
    walk_wanted(|meaning| matches!(meaning, Meaning::Names(_)), &[], shape, value, "")
}

fn walk_wanted<'v>(
    is_wanted: fn(Meaning) -> bool,
    skipped: &'static [&'static str],
    shape: &Shape,
    value: &'v Value,
    pointer: &str,
) -> Vec<Leaf<'v>> {
    let mut walker = Walker { pointer: pointer.to_owned(), leaves: Vec::new(), is_wanted, meaning: None, roots: &[], skipped };
    walker.visit(shape, value);
    walker.leaves
}

struct Walker<'v> {
    pointer: String,
    leaves: Vec<Leaf<'v>>,
    is_wanted: fn(Meaning) -> bool,
    /// What the strings are here, as said by the member or shape farthest out.
    meaning: Option<Meaning>,
    roots: &'static [&'static str],
    /// The members of the next object that are not visited.
    skipped: &'static [&'static str],
}

impl<'v> Walker<'v> {
    fn visit(&mut self, shape: &Shape, value: &'v Value) {
        match shape {
            Shape::WithMeaning(inner) => self.within(Some(inner.meaning), &[], |walker| walker.visit(&inner.shape, value)),
            Shape::Ref(definition) => self.visit(&definition.shape, value),
            Shape::Bounded(bounded) => self.visit(&bounded.shape, value),
            Shape::AnyOf(shapes) => {
                if let Some(fitting) = shapes.iter().find(|it| it.has_type_of(value)) {
                    self.visit(fitting, value);
                }
            }
            Shape::List(list) => {
                for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.below(&at.to_string(), |walker| walker.visit(&list.item, item));
                }
            }
            Shape::Map(of) | Shape::LocalizedTexts(of) | Shape::PartialTexts(of) => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    self.below(name, |walker| walker.visit(of, member));
                }
            }
            Shape::Object(lists) | Shape::ClosedObject(lists) => self.visit_members(lists, value),
            Shape::Union(union) => self.visit_kind(union, value),
            Shape::Any | Shape::AnyObject if !value.is_string() => self.visit_strings(value),
            Shape::Any | Shape::AnyObject | Shape::Text(..) | Shape::PatternText(_) => self.add(value, true),
            Shape::Bool | Shape::Const(..) | Shape::Enum(_) | Shape::Integer(..) | Shape::Number(..) => {}
        }
    }

    fn visit_kind(&mut self, union: &TaggedUnion, value: &'v Value) {
        self.visit_members(union.common, value);
        let tag = value.get(union.tag).and_then(Value::as_str);
        if let Some(kind) = union.kinds.iter().find(|kind| Some(kind.name) == tag) {
            self.visit_members(kind.lists, value);
        }
    }

    fn visit_members(&mut self, lists: &[&'static [MemberShape]], value: &'v Value) {
        let skipped = std::mem::take(&mut self.skipped);
        for member in lists.iter().flat_map(|it| it.iter()).filter(|it| !skipped.contains(&it.name)) {
            if let Some(found) = value.get(member.name) {
                let sees_more = member.roots_need.is_none_or(|root| value.get(root).is_some());
                let roots = if sees_more { member.roots } else { &[] };
                self.below(member.name, |walker| walker.within(member.meaning, roots, |walker| walker.visit(&member.shape, found)));
            }
        }
    }

    /// The strings of a value that may be anything.
    fn visit_strings(&mut self, value: &'v Value) {
        match value {
            Value::String(_) => self.add(value, false),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.below(&at.to_string(), |walker| walker.visit_strings(item));
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.below(name, |walker| walker.visit_strings(member));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add(&mut self, value: &'v Value, is_whole: bool) {
        if let (Some(meaning), Some(text)) = (self.meaning.filter(|meaning| (self.is_wanted)(*meaning)), value.as_str()) {
            self.leaves.push(Leaf { pointer: self.pointer.clone(), text, meaning, is_whole, roots: self.roots });
        }
    }

    fn below(&mut self, segment: &str, visit: impl FnOnce(&mut Walker<'v>)) {
        let length = self.pointer.len();
        self.pointer.push('/');
        if segment.contains(['~', '/']) {
            self.pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        } else {
            self.pointer.push_str(segment);
        }
        visit(self);
        self.pointer.truncate(length);
    }

    /// Visits with a meaning, unless one is known already, and with more variables.
    fn within(&mut self, meaning: Option<Meaning>, roots: &'static [&'static str], visit: impl FnOnce(&mut Walker<'v>)) {
        let outside = (self.meaning, self.roots);
        self.meaning = self.meaning.or(meaning);
        if !roots.is_empty() {
            self.roots = roots;
        }
        visit(self);
        (self.meaning, self.roots) = outside;
    }
}

impl Shape {
    /// Whether a value has the JSON type of a shape.
    pub fn has_type_of(&self, value: &Value) -> bool {
        match self {
            Shape::Any => true,
            Shape::Bool => value.is_boolean(),
            Shape::Text(..) | Shape::PatternText(_) | Shape::Const(..) | Shape::Enum(_) => value.is_string(),
            Shape::Integer(..) | Shape::Number(..) => value.is_number(),
            Shape::List(_) => value.is_array(),
            Shape::AnyObject | Shape::Map(_) | Shape::LocalizedTexts(_) | Shape::PartialTexts(_) => value.is_object(),
            Shape::Object(_) | Shape::ClosedObject(_) | Shape::Union(_) => value.is_object(),
            Shape::AnyOf(shapes) => shapes.iter().any(|it| it.has_type_of(value)),
            Shape::Bounded(bounded) => bounded.shape.has_type_of(value),
            Shape::WithMeaning(inner) => inner.shape.has_type_of(value),
            Shape::Ref(definition) => definition.shape.has_type_of(value),
        }
    }

    /// What its strings are, if they are all the same.
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            Shape::WithMeaning(inner) => Some(inner.meaning),
            Shape::Ref(definition) => definition.shape.meaning(),
            Shape::Bounded(bounded) => bounded.shape.meaning(),
            Shape::List(list) => list.item.meaning(),
            Shape::Map(of) | Shape::LocalizedTexts(of) | Shape::PartialTexts(of) => of.meaning(),
            Shape::AnyOf(shapes) => shapes.first().and_then(Shape::meaning),
            Shape::Any
            | Shape::AnyObject
            | Shape::Bool
            | Shape::Text(..)
            | Shape::PatternText(_)
            | Shape::Const(..)
            | Shape::Enum(_)
            | Shape::Integer(..)
            | Shape::Number(..)
            | Shape::Object(_)
            | Shape::ClosedObject(_)
            | Shape::Union(_) => None,
        }
    }
}
