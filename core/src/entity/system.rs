//! The ten types that every assistant has.

use serde_json::Value;

use super::{Said, boolean, currency, date, duration, email, number, parts, phone, url};

/// A type that every assistant has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Any text that is not blank.
    String,
    /// A number.
    Number,
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// An address of the web.
    Url,
    /// Yes or no.
    Boolean,
    /// A day.
    Date,
    /// An amount of money.
    Currency,
    /// A span of time.
    Duration,
    /// Several texts.
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
    /// The type of a name, as `@number`.
    pub fn named(name: &str) -> Option<System> {
        ALL.into_iter().find(|it| it.name() == name)
    }

    /// Its name.
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

    /// The first value of a text without white space around it, and whether it is all of the text.
    pub(super) fn find(self, text: &str, said: Said<'_>) -> Option<(Value, bool)> {
        let of_text = |found: Option<(String, bool)>| found.map(|it| (Value::String(it.0), it.1));
        match self {
            System::String => (!text.is_empty()).then(|| (text.into(), true)),
            System::Number => number::find(text, said.locale),
            System::Email => of_text(email::find(text)),
            System::Phone => of_text(phone::find(text, said.locale)),
            System::Url => of_text(url::find(text)),
            System::Boolean => boolean::find(text, said.locale).map(|it| (it.into(), true)),
            System::Date => of_text(date::find(text, said)),
            System::Currency => currency::find(text, said.locale),
            System::Duration => of_text(duration::find(text, said.locale)),
            System::List => parts::find(text, said.locale).map(|it| (it, true)),
        }
    }

    /// A value that is neither text nor number as this type stores it.
    pub(super) fn accept(self, value: &Value) -> Option<Value> {
        match self {
            System::Boolean => value.is_boolean().then(|| value.clone()),
            System::Currency => currency::accept(value),
            System::List => parts::accept(value),
            System::String | System::Number | System::Email | System::Phone | System::Url | System::Date | System::Duration => None,
        }
    }
}

/// A number as it is stored: an integer where it is one.
pub(super) fn number(value: &Value) -> Option<Value> {
    if value.is_f64() { number::exact(value.as_f64()?) } else { value.is_number().then(|| value.clone()) }
}
