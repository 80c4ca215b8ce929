//! The ten built-in entity types.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::scanner::MAX_VALUES;
use super::{ExtractionContext, boolean, currency, date, duration, email, number, phone, text_list, url};

/// A built-in entity type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemEntity {
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

const ALL: [SystemEntity; 10] = [
    SystemEntity::String,
    SystemEntity::Number,
    SystemEntity::Email,
    SystemEntity::Phone,
    SystemEntity::Url,
    SystemEntity::Boolean,
    SystemEntity::Date,
    SystemEntity::Currency,
    SystemEntity::Duration,
    SystemEntity::List,
];

/// Returns the names of the built-in types, for the documentation.
pub fn system_entity_names() -> Vec<&'static str> {
    ALL.map(SystemEntity::name).to_vec()
}

impl SystemEntity {
    /// Returns the type with a name such as `@number`.
    pub fn from_name(name: &str) -> Option<SystemEntity> {
        ALL.into_iter().find(|it| it.name() == name)
    }

    /// The name, such as `@number`.
    pub fn name(self) -> &'static str {
        match self {
            SystemEntity::String => "@string",
            SystemEntity::Number => "@number",
            SystemEntity::Email => "@email",
            SystemEntity::Phone => "@phone",
            SystemEntity::Url => "@url",
            SystemEntity::Boolean => "@boolean",
            SystemEntity::Date => "@date",
            SystemEntity::Currency => "@currency",
            SystemEntity::Duration => "@duration",
            SystemEntity::List => "@list",
        }
    }

    /// Returns the first value of a trimmed text, and whether it is the whole text.
    pub(super) fn find(self, text: &str, context: ExtractionContext<'_>) -> Option<(Value, bool)> {
        let text = &*self.with_ascii_digits(text);
        let of_text = |found: Option<(String, bool)>| found.map(|it| (Value::String(it.0), it.1));
        match self {
            SystemEntity::String => (!text.is_empty()).then(|| (text.into(), true)),
            SystemEntity::Number => number::find(text, context.locale),
            SystemEntity::Email => of_text(email::find(text)),
            SystemEntity::Phone => of_text(phone::find(text, context.locale)),
            SystemEntity::Url => of_text(url::find(text)),
            SystemEntity::Boolean => boolean::find(text, context.locale).map(|it| (it.into(), true)),
            SystemEntity::Date => of_text(date::find(text, context)),
            SystemEntity::Currency => currency::find(text, context.locale),
            SystemEntity::Duration => of_text(duration::find(text, context.locale)),
            SystemEntity::List => text_list::find(text, context.locale).map(|it| (it, true)),
        }
    }

    /// Returns the values of a trimmed text with their places; none for types that read a text as a whole.
    pub(super) fn find_all(self, text: &str, context: ExtractionContext<'_>) -> Vec<(Value, Range<usize>)> {
        let ascii = self.with_ascii_digits(text);
        let mut found = self.find_all_ascii(&ascii, context);
        if ascii.len() != text.len() {
            found.iter_mut().for_each(|it| it.1 = source_position(text, it.1.start)..source_position(text, it.1.end));
        }
        found
    }

    fn find_all_ascii(self, text: &str, context: ExtractionContext<'_>) -> Vec<(Value, Range<usize>)> {
        let of_texts = |found: &mut dyn Iterator<Item = (String, Range<usize>)>| {
            found.take(MAX_VALUES).map(|it| (Value::String(it.0), it.1)).collect::<Vec<_>>()
        };
        match self {
            SystemEntity::String | SystemEntity::Boolean | SystemEntity::List => Vec::new(),
            SystemEntity::Number => number::find_all(text, context.locale),
            SystemEntity::Email => of_texts(&mut email::find_all(text)),
            SystemEntity::Phone => of_texts(&mut phone::find_all(text, context.locale)),
            SystemEntity::Url => of_texts(&mut url::find_all(text).into_iter()),
            SystemEntity::Date => of_texts(&mut date::find_all(text, context).into_iter()),
            SystemEntity::Currency => currency::find_all(text, context.locale),
            SystemEntity::Duration => of_texts(&mut duration::find_all(text, context.locale).into_iter()),
        }
    }

    /// Replaces the digits of Devanagari, for types that read digits.
    fn with_ascii_digits(self, text: &str) -> Cow<'_, str> {
        let reads_digits = match self {
            SystemEntity::Number
            | SystemEntity::Phone
            | SystemEntity::Boolean
            | SystemEntity::Date
            | SystemEntity::Currency
            | SystemEntity::Duration => true,
            SystemEntity::String | SystemEntity::Email | SystemEntity::Url | SystemEntity::List => false,
        };
        if !reads_digits || !text.contains(is_devanagari_digit) {
            return Cow::Borrowed(text);
        }
        text.chars().map(|it| if is_devanagari_digit(it) { char::from(b'0' + (u32::from(it) - 0x966) as u8) } else { it }).collect()
    }

    /// Normalizes a value that is neither text nor number.
    pub(super) fn accept(self, value: &Value) -> Option<Value> {
        match self {
            SystemEntity::Boolean => value.is_boolean().then(|| value.clone()),
            SystemEntity::Currency => currency::accept(value),
            SystemEntity::List => text_list::accept(value),
            SystemEntity::String
            | SystemEntity::Number
            | SystemEntity::Email
            | SystemEntity::Phone
            | SystemEntity::Url
            | SystemEntity::Date
            | SystemEntity::Duration => None,
        }
    }
}

fn is_devanagari_digit(character: char) -> bool {
    matches!(character, '\u{966}'..='\u{96f}')
}

/// The position in a text of a position in the same text with ASCII digits.
fn source_position(text: &str, at: usize) -> usize {
    let mut ascii = 0;
    let mut characters = text.char_indices();
    let found = characters.find(|it| {
        let is_reached = ascii >= at;
        ascii += if is_devanagari_digit(it.1) { 1 } else { it.1.len_utf8() };
        is_reached
    });
    found.map_or(text.len(), |it| it.0)
}

/// Normalizes a number: an integer if possible.
pub(super) fn normalize_number(value: &Value) -> Option<Value> {
    if value.is_f64() { number::to_exact_number(value.as_f64()?) } else { value.is_number().then(|| value.clone()) }
}
