//! Entities: extract typed values from user text by system types, value lists and patterns (docs/spec/flows.md#4.4).

mod boolean;
mod currency;
mod date;
mod duration;
mod email;
#[cfg(test)]
mod language_tests;
mod list;
mod number;
mod number_words;
mod pattern;
mod phone;
mod scanner;
mod system;
#[cfg(test)]
mod tests;
mod text_list;
mod url;

pub use self::list::ListEntity;
pub(crate) use self::list::edit_distance;
pub use self::pattern::PatternEntity;
pub use self::system::{SystemEntity, system_entity_names};
use crate::locale;
use std::ops::Range;

use serde_json::Value;

/// The locale, time and time zone used to interpret a text.
#[derive(Debug, Clone, Copy)]
pub struct ExtractionContext<'s> {
    /// The session's locale, as `en-US`.
    pub locale: &'s str,
    /// The turn's clock, in milliseconds since 1970.
    pub now: i64,
    /// The session's time zone, as `Europe/Berlin`.
    pub time_zone: &'s str,
}

/// A type of value that can be extracted from text.
#[derive(Debug, Clone)]
pub enum Entity {
    /// A built-in type.
    System(SystemEntity),
    /// A list of values with synonyms.
    List(ListEntity),
    /// Regular expressions.
    Patterns(PatternEntity),
}

/// The result of an extraction.
#[derive(Debug, Clone, PartialEq)]
pub enum Extraction {
    /// No value.
    NotFound,
    /// A value.
    Value(Value),
    /// Several values of a list that match equally well.
    Ambiguous(Vec<String>),
}

/// A value in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityMatch {
    /// Its place in the text, in bytes.
    pub range: Range<usize>,
    /// The value; `None` when several values of a list match equally well.
    pub value: Option<Value>,
}

impl Entity {
    /// Returns the system type with a name such as `@number`.
    pub fn from_system_name(name: &str) -> Option<Entity> {
        SystemEntity::from_name(name).map(Entity::System)
    }

    /// Creates a list of values with synonyms; `max_edits` is the allowed edit distance per match.
    pub fn from_entries(entries: &[(String, Vec<String>)], max_edits: u8) -> Entity {
        Entity::List(ListEntity::new(entries, max_edits))
    }

    /// Creates an entity from patterns, tried in order. The value is the capture of the group with this name or number.
    ///
    /// # Errors
    /// Returns why a pattern is invalid, on one line.
    pub fn from_patterns(patterns: &[String], group: Option<&str>, ignores_case: bool) -> Result<Entity, String> {
        PatternEntity::new(patterns, group, ignores_case).map(Entity::Patterns)
    }

    /// The kind for messages: a system type such as `@number`, `list` or `regex`.
    pub fn kind(&self) -> &'static str {
        match self {
            Entity::System(system) => system.name(),
            Entity::List(_) => "list",
            Entity::Patterns(_) => "regex",
        }
    }

    /// Spellings of a list that belong to several values, with these values (lint N003).
    pub fn synonym_clashes(&self) -> Vec<(String, Vec<String>)> {
        match self {
            Entity::List(list) => list.clashes(),
            Entity::System(_) | Entity::Patterns(_) => Vec::new(),
        }
    }

    /// The first pattern without the configured group (lint N005).
    pub fn pattern_without_group(&self) -> Option<&str> {
        match self {
            Entity::Patterns(patterns) => patterns.pattern_without_group(),
            Entity::System(_) | Entity::List(_) => None,
        }
    }

    /// Extracts the first value of a text.
    pub fn extract(&self, text: &str, context: ExtractionContext<'_>) -> Extraction {
        let one = |value: Option<Value>| value.map_or(Extraction::NotFound, Extraction::Value);
        match self {
            Entity::System(system) => one(system.find(text.trim(), context).map(|it| it.0)),
            Entity::List(list) => list.find(text),
            Entity::Patterns(patterns) => one(patterns.find(text).map(Value::String)),
        }
    }

    /// Finds all values of a text that do not overlap, from left to right. Types that read a text as a whole (`@string`, `@list` and
    /// `@boolean`) find none.
    pub fn find_all(&self, text: &str, context: ExtractionContext<'_>) -> Vec<EntityMatch> {
        let offset = text.len() - text.trim_start().len();
        let found = |value: Value, range: Range<usize>| EntityMatch { range, value: Some(value) };
        match self {
            Entity::System(system) => {
                let all = system.find_all(text.trim(), context).into_iter();
                all.map(|(value, it)| found(value, it.start + offset..it.end + offset)).collect()
            }
            Entity::List(list) => list.find_all(text),
            Entity::Patterns(patterns) => patterns.find_all(text).into_iter().map(|it| found(it.0.into(), it.1)).collect(),
        }
    }

    /// Normalizes a value from a button, a parameter or a model; `None` when it is not valid for this type.
    pub fn accept(&self, value: &Value, context: ExtractionContext<'_>) -> Option<Value> {
        match (self, value) {
            (Entity::System(system), Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => system.accept(value),
            (Entity::System(SystemEntity::Number), Value::Number(_)) => system::normalize_number(value),
            (_, Value::Number(number)) => self.parse_whole(&number.to_string(), context),
            (_, Value::String(text)) => self.parse_whole(text, context),
            (Entity::List(_) | Entity::Patterns(_), Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
        }
    }

    /// Parses a text that must be a value as a whole.
    fn parse_whole(&self, text: &str, context: ExtractionContext<'_>) -> Option<Value> {
        match self {
            Entity::System(system) => system.find(text.trim(), context).filter(|it| it.1).map(|it| it.0),
            Entity::List(list) => list.find_whole(text).map(Value::String),
            Entity::Patterns(patterns) => patterns.find_whole(text.trim()).map(Value::String),
        }
    }
}
