//! Values in what users say: the ten system types, lists with synonyms, patterns. (`convoship.md` 4.4)

use serde_json::Value;

/// Where and when something is said.
#[derive(Debug, Clone, Copy)]
pub struct Said<'s> {
    /// The session's locale, as `en-US`.
    pub locale: &'s str,
    /// The turn's clock, in milliseconds since 1970.
    pub now: i64,
}

/// A type of values.
#[derive(Debug, Clone)]
pub enum Entity {}

/// What was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A value.
    One(Value),
    /// Several values of a list that fit equally well.
    Several(Vec<String>),
}

impl Entity {
    /// One of the system types by its name, as `@number`; nothing for another name.
    pub fn system(_name: &str) -> Option<Entity> {
        None
    }

    /// The first value in a text.
    pub fn extract(&self, _text: &str, _said: Said<'_>) -> Found {
        Found::Nothing
    }

    /// A given value (of a button, a parameter, a model) as this type stores it; nothing when it is none.
    pub fn accept(&self, _value: &Value, _said: Said<'_>) -> Option<Value> {
        None
    }
}
