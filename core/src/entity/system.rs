//! The ten built-in entity types.

use serde_json::Value;

use super::{Said, boolean, currency, date, duration, email, number, parts, phone, url};

/// A built-in entity type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Any text that is not blank.
    String,
    /// A number.
    Number,
    /// An email address.
    Email,
    /// A phone number.
    Phone,
    /// A web address.
    Url,
    /// Yes or no.
    Boolean,
    /// A day.
    Date,
    /// An amount of money.
    Currency,
    /// A duration.
    Duration,
    /// A list of texts.
    List,
}

const ALL: [System; 10] = [
    System::String,
    System::Number,
    System::Email,
    System::Phone,
    System::Url,
    System::Boolean,
    System::Date,
    System::Currency,
    System::Duration,
    System::List,
];

impl System {
    /// Returns the type with a name such as `@number`.
    pub fn named(name: &str) -> Option<System> {
        ALL.into_iter().find(|it| it.name() == name)
    }

    /// The name, such as `@number`.
    pub fn name(self) -> &'static str {
        match self {
            System::String => "@string",
            System::Number => "@number",
            System::Email => "@email",
            System::Phone => "@phone",
            System::Url => "@url",
            System::Boolean => "@boolean",
            System::Date => "@date",
            System::Currency => "@currency",
            System::Duration => "@duration",
            System::List => "@list",
        }
    }

    /// Returns the first value of a trimmed text, and whether it is the whole text.
    pub(super) fn find(self, text: &str, context: Said<'_>) -> Option<(Value, bool)> {
        let of_text = |found: Option<(String, bool)>| found.map(|it| (Value::String(it.0), it.1));
        match self {
            System::String => (!text.is_empty()).then(|| (text.into(), true)),
            System::Number => number::find(text, context.locale),
            System::Email => of_text(email::find(text)),
            System::Phone => of_text(phone::find(text, context.locale)),
            System::Url => of_text(url::find(text)),
            System::Boolean => boolean::find(text, context.locale).map(|it| (it.into(), true)),
            System::Date => of_text(date::find(text, context)),
            System::Currency => currency::find(text, context.locale),
            System::Duration => of_text(duration::find(text, context.locale)),
            System::List => parts::find(text, context.locale).map(|it| (it, true)),
        }
    }

    /// Normalizes a value that is neither text nor number.
    pub(super) fn accept(self, value: &Value) -> Option<Value> {
        match self {
            System::Boolean => value.is_boolean().then(|| value.clone()),
            System::Currency => currency::accept(value),
            System::List => parts::accept(value),
            System::String | System::Number | System::Email | System::Phone | System::Url | System::Date | System::Duration => None,
        }
    }
}

/// Normalizes a number: an integer if possible.
pub(super) fn number(value: &Value) -> Option<Value> {
    if value.is_f64() { number::exact(value.as_f64()?) } else { value.is_number().then(|| value.clone()) }
}
