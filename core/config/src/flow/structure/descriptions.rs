//! Descriptions of shapes and values for messages.

use convengine_understanding::entity::edit_distance;
use serde_json::Value;

use super::super::shape::{NO_MAX, NO_MAX_LENGTH, NO_MIN, Shape};

/// The maximum characters of a text that a message quotes.
const MAX_QUOTED_CHARS: usize = 40;

/// Describes what a shape allows.
pub(super) fn describe_shape(shape: &Shape) -> String {
    match shape {
        Shape::Any => "a value".to_owned(),
        Shape::AnyObject | Shape::Map(_) | Shape::Object(_) | Shape::ClosedObject(_) | Shape::Union(_) => "an object".to_owned(),
        Shape::LocalizedTexts(_) | Shape::PartialTexts(_) => "an object of texts by locale".to_owned(),
        Shape::Bool => "true or false".to_owned(),
        Shape::Text(0, NO_MAX_LENGTH) => "a string".to_owned(),
        Shape::Text(0, max) => format!("a string of at most {max} characters"),
        Shape::Text(_, NO_MAX_LENGTH) => "a non-empty string".to_owned(),
        Shape::Text(min, max) => format!("a string of {min} to {max} characters"),
        Shape::PatternText(pattern) => pattern.description().to_owned(),
        Shape::Const(text, _) => format!("'{text}'"),
        Shape::Enum(allowed) => one_of(allowed.iter().copied()),
        Shape::Integer(min, max) => describe_range("an integer", *min, *max),
        Shape::Number(min, max) => describe_range("a number", *min, *max),
        Shape::List(list) => match (list.min, list.max) {
            (0, NO_MAX_LENGTH) => "an array".to_owned(),
            (0, max) => format!("an array of at most {max} items"),
            (_, NO_MAX_LENGTH) => "a non-empty array".to_owned(),
            (min, max) => format!("an array of {min} to {max} items"),
        },
        Shape::AnyOf(shapes) => shapes.iter().map(describe_shape).collect::<Vec<_>>().join(" or "),
        Shape::Bounded(coded) => describe_shape(&coded.shape),
        Shape::WithMeaning(inner) => describe_shape(&inner.shape),
        Shape::Ref(definition) => describe_shape(&definition.shape),
    }
}

fn describe_range(what: &str, min: i32, max: i32) -> String {
    match (min, max) {
        (NO_MIN, NO_MAX) => what.to_owned(),
        (_, NO_MAX) => format!("{what} from {min}"),
        (NO_MIN, _) => format!("{what} up to {max}"),
        _ => format!("{what} from {min} to {max}"),
    }
}

/// Formats names as `one of 'a', 'b'`.
pub(super) fn one_of<'n>(allowed: impl Iterator<Item = &'n str>) -> String {
    let names = join_quoted(allowed);
    if names.contains(", ") { format!("one of {names}") } else { names }
}

/// Formats names as `'a', 'b'`.
pub(super) fn join_quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|it| format!("'{it}'")).collect::<Vec<_>>().join(", ")
}

/// Describes a value.
pub(super) fn describe_value(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quote(text),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Array(items) => format!("an array of length {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Quotes a text, truncated if it is long.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("'{}…', a string of {} characters", text.get(..end).unwrap_or_default(), text.chars().count()),
        None => format!("'{text}'"),
    }
}

/// Returns the known name that a name is probably a typo of.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Two differing letters make a short name a different one.
    let most = if name.len() > 5 { 2 } else { 1 };
    let letters: Vec<char> = name.chars().take(MAX_QUOTED_CHARS).collect();
    let near = known.filter(|other| other.len().abs_diff(name.len()) <= most).map(|other| {
        let candidate: Vec<char> = other.chars().collect();
        (edit_distance(&letters, &candidate), other)
    });
    near.filter(|it| it.0 <= most).min_by_key(|it| it.0).map(|it| it.1)
}
