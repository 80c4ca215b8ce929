//! Entities: extract typed values from user text by system types (the grammar of `convengine-values`, addresses and lists), value lists and patterns (docs/spec/flows.md#4.4).

mod email;
#[cfg(test)]
mod language_tests;
mod list;
mod money;
pub mod near_words;
mod negative_phrases;
mod parse_cache;
mod pattern;
mod phone;
mod phone_extension;
mod phone_plan;
mod scanner;
mod system;
#[cfg(test)]
mod tests;
mod text_list;
mod url;

pub use self::list::ListEntity;
pub use self::list::edit_distance;
use self::negative_phrases::NegativePhrases;
pub use self::parse_cache::ParseCache;
pub use self::pattern::PatternEntity;
pub use self::system::{SystemEntity, system_entity_names};
use std::ops::Range;
use std::sync::Arc;

use convengine_text::locale;
use convengine_values::Direction;
use serde_json::Value;

/// The locale, time and time zone used to interpret a text.
#[derive(Clone, Copy)]
pub struct ExtractionContext<'s> {
    /// The session's locale, as `en-US`.
    pub locale: &'s str,
    /// The turn's clock, in milliseconds since 1970.
    pub now: i64,
    /// The session's time zone, as `Europe/Berlin`.
    pub time_zone: &'s str,
    /// What was read before; without it each type reads a text anew.
    pub parses: Option<&'s ParseCache>,
}

/// How the days of a slot are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayOptions {
    /// Which day is meant where several fit.
    pub direction: Direction,
    /// Whether days in the other direction are not valid. Entities read them all the same, so that the slot can say so.
    pub is_direction_bound: bool,
    /// How precise a value is at most: a day is cut to its month or its year.
    pub min_grain: Grain,
    /// How precise a value is at least. With `Month`, `March 2027` is a value.
    pub max_grain: Grain,
}

/// How precisely a day is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// `YYYY-MM-DD`.
    #[default]
    Day,
    /// `YYYY-MM`.
    Month,
    /// `YYYY`.
    Year,
}

/// A type of value that can be extracted from text.
#[derive(Debug, Clone)]
pub enum Entity {
    /// A built-in type, and how its days are read.
    System(SystemEntity, DayOptions),
    /// A list of values with synonyms.
    List(Arc<ListEntity>),
    /// Regular expressions.
    Patterns(Arc<PatternEntity>),
    /// All values of a type, as a list.
    Several(Arc<Entity>),
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
        SystemEntity::from_name(name).map(|system| Entity::System(system, DayOptions::default()))
    }

    /// Creates a list of values with synonyms, whose words are inflected as in the language of a locale; `max_edits` is the allowed edit
    /// distance per match.
    pub fn from_entries(entries: &[(String, Vec<String>)], max_edits: u8, locale: &str) -> Entity {
        Entity::List(Arc::new(ListEntity::new(entries, max_edits, locale)))
    }

    /// Creates an entity from patterns, tried in order. The value is the capture of the group with this name or number.
    ///
    /// # Errors
    /// Returns why a pattern is invalid, on one line.
    pub fn from_patterns(patterns: &[String], group: Option<&str>, ignores_case: bool) -> Result<Entity, String> {
        Ok(Entity::Patterns(Arc::new(PatternEntity::new(patterns, group, ignores_case)?)))
    }

    /// The same type with phrases in which none of its values is meant, although a message has one there; built-in types have no phrases.
    #[must_use]
    pub fn with_negative_phrases(self, phrases: &[String]) -> Entity {
        match self {
            _ if phrases.is_empty() => self,
            Entity::List(list) => Entity::List(Arc::new(Arc::unwrap_or_clone(list).with_negative_phrases(phrases))),
            Entity::Patterns(patterns) => Entity::Patterns(Arc::new(Arc::unwrap_or_clone(patterns).with_negative_phrases(phrases))),
            Entity::Several(one) => Arc::unwrap_or_clone(one).with_negative_phrases(phrases).several(),
            Entity::System(..) => self,
        }
    }

    /// The same type with other options for days.
    pub fn with_day_options(self, options: DayOptions) -> Entity {
        match self {
            Entity::System(system, _) => Entity::System(system, options),
            Entity::List(_) | Entity::Patterns(_) | Entity::Several(_) => self,
        }
    }

    /// The type whose values are lists of this one.
    pub fn several(self) -> Entity {
        Entity::Several(Arc::new(self))
    }

    /// The kind for messages: a system type such as `@number`, `list` or `regex`.
    pub fn kind(&self) -> &'static str {
        match self {
            Entity::System(system, _) => system.name(),
            Entity::List(_) => "list",
            Entity::Patterns(_) => "regex",
            Entity::Several(one) => one.kind(),
        }
    }

    /// Spellings of a list that belong to several values, with these values (lint N003).
    pub fn synonym_clashes(&self) -> Vec<(String, Vec<String>)> {
        match self {
            Entity::List(list) => list.clashes(),
            Entity::Several(one) => one.synonym_clashes(),
            Entity::System(..) | Entity::Patterns(_) => Vec::new(),
        }
    }

    /// The first pattern without the configured group (lint N005).
    pub fn pattern_without_group(&self) -> Option<&str> {
        match self {
            Entity::Patterns(patterns) => patterns.pattern_without_group(),
            Entity::Several(one) => one.pattern_without_group(),
            Entity::System(..) | Entity::List(_) => None,
        }
    }

    fn negative_phrases(&self) -> Option<&NegativePhrases> {
        match self {
            Entity::List(list) => list.negative_phrases(),
            Entity::Patterns(patterns) => patterns.negative_phrases(),
            Entity::Several(one) => one.negative_phrases(),
            Entity::System(..) => None,
        }
    }

    /// Whether a text is a negative phrase as a whole.
    pub fn is_negative_phrase(&self, text: &str) -> bool {
        self.negative_phrases().is_some_and(|it| it.is_phrase(text))
    }

    /// Whether a text may have a value, were there no negative phrases (lint N017).
    pub fn may_have_value(&self, text: &str) -> bool {
        match self {
            Entity::List(list) => list.may_have_value(text),
            Entity::Patterns(patterns) => patterns.may_have_value(text),
            Entity::Several(one) => one.may_have_value(text),
            Entity::System(..) => true,
        }
    }

    /// Extracts the first value of a text.
    pub fn extract(&self, text: &str, context: ExtractionContext<'_>) -> Extraction {
        let one = |value: Option<Value>| value.map_or(Extraction::NotFound, Extraction::Value);
        match self {
            Entity::System(system, options) => one(system.find(text.trim(), context, *options)),
            Entity::List(list) => list.find(text),
            Entity::Patterns(patterns) => one(patterns.find(text).map(Value::String)),
            Entity::Several(entity) => match entity.find_list(text, context) {
                Some((list, _)) => Extraction::Value(list),
                None => match entity.extract(text, context) {
                    Extraction::Ambiguous(values) => Extraction::Ambiguous(values),
                    Extraction::Value(_) | Extraction::NotFound => Extraction::NotFound,
                },
            },
        }
    }

    /// Reads a text that is the whole answer to a question for this type, where [`Entity::extract`] finds nothing: "four" for a time.
    pub fn read_answer(&self, text: &str, context: ExtractionContext<'_>) -> Option<Value> {
        match self {
            Entity::System(system, options) => system.read_answer(text, context, *options),
            Entity::Several(one) => Some(Value::Array(vec![one.read_answer(text, context)?])),
            Entity::List(_) | Entity::Patterns(_) => None,
        }
    }

    /// Finds all values of a text that do not overlap, from left to right. Types that read a text as a whole (`@string`, `@list` and
    /// `@boolean`) find none.
    pub fn find_all(&self, text: &str, context: ExtractionContext<'_>) -> Vec<EntityMatch> {
        let offset = text.len() - text.trim_start().len();
        let found = |value: Value, range: Range<usize>| EntityMatch { range, value: Some(value) };
        match self {
            Entity::System(system, options) => {
                let all = system.find_all(text.trim(), context, *options).into_iter();
                all.map(|(value, range)| found(value, range.start + offset..range.end + offset)).collect()
            }
            Entity::List(list) => list.find_all(text),
            Entity::Patterns(patterns) => patterns.find_all(text).into_iter().map(|(value, range)| found(value.into(), range)).collect(),
            Entity::Several(entity) => entity.find_list(text, context).map(|(list, range)| found(list, range)).into_iter().collect(),
        }
    }

    /// Finds the values of a text of which a list is made; those of [`Entity::find_all`] for all other types.
    pub fn find_items(&self, text: &str, context: ExtractionContext<'_>) -> Vec<EntityMatch> {
        match self {
            Entity::Several(entity) => entity.find_all(text, context),
            Entity::System(..) | Entity::List(_) | Entity::Patterns(_) => self.find_all(text, context),
        }
    }

    /// Makes the values of this type of those that [`Entity::find_items`] has found: one list of all, or each of them.
    pub fn join_items(&self, items: Vec<EntityMatch>) -> Vec<EntityMatch> {
        match self {
            Entity::Several(_) => {
                let range = items.first().zip(items.last()).map(|(first, last)| first.range.start..last.range.end);
                range.zip(list_of(&items)).map(|(range, list)| EntityMatch { range, value: Some(list) }).into_iter().collect()
            }
            Entity::System(..) | Entity::List(_) | Entity::Patterns(_) => items,
        }
    }

    /// Normalizes a value from a button, a parameter or a model; `None` when it is not valid for this type.
    pub fn accept(&self, value: &Value, context: ExtractionContext<'_>) -> Option<Value> {
        match (self, value) {
            (Entity::Several(entity), Value::Array(items)) => {
                let accepted: Option<Vec<Value>> = items.iter().map(|it| entity.accept(it, context)).collect();
                accepted.filter(|it| !it.is_empty()).map(Value::Array)
            }
            (Entity::Several(entity), Value::String(text)) => {
                let exact = || self.parse_whole(text, context).filter(|_| entity.negative_phrases().is_some());
                entity.find_list(text, context).map(|it| it.0).or_else(exact)
            }
            (Entity::Several(entity), one) => Some(Value::Array(vec![entity.accept(one, context)?])),
            (Entity::System(system, _), Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => system.accept(value, context),
            (Entity::System(SystemEntity::Number | SystemEntity::Percent, _), Value::Number(_)) => system::normalize_number(value),
            (Entity::System(SystemEntity::Ordinal, _), Value::Number(number)) => number.as_u64().filter(|it| *it > 0).map(Value::from),
            (_, Value::Number(number)) => self.parse_whole(&number.to_string(), context),
            (_, Value::String(text)) => self.parse_whole(text, context),
            (Entity::List(_) | Entity::Patterns(_), Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
        }
    }

    /// All different values of a text and the place of all; `None` without any, and when one is not clear.
    fn find_list(&self, text: &str, context: ExtractionContext<'_>) -> Option<(Value, Range<usize>)> {
        let found = self.find_all(text, context);
        let range = found.first()?.range.start..found.last()?.range.end;
        Some((list_of(&found)?, range))
    }

    /// Parses a text that must be a value as a whole.
    fn parse_whole(&self, text: &str, context: ExtractionContext<'_>) -> Option<Value> {
        match self {
            Entity::System(system, options) => system.find_whole(text.trim(), context, *options),
            Entity::List(list) => list.find_whole(text).map(Value::String),
            Entity::Patterns(patterns) => patterns.find_whole(text.trim()).map(Value::String),
            Entity::Several(entity) => entity.parse_whole(text, context).map(|value| Value::Array(vec![value])),
        }
    }
}

/// The different values of several matches; `None` when one is not clear.
fn list_of(found: &[EntityMatch]) -> Option<Value> {
    let mut list: Vec<&Value> = Vec::new();
    for entity_match in found {
        let value = entity_match.value.as_ref()?;
        if !list.contains(&value) {
            list.push(value);
        }
    }
    Some(list.into_iter().cloned().collect())
}
