//! The filters of placeholders. A filter returns values of unsupported types unchanged.

use serde_json::Value;

use super::error::{InterpolationError, syntax_error};
use super::number_format::NumberFormat;
use crate::capitalize;
use crate::date::Date;
use crate::names::NameResolver;
use crate::scanner::CharScanner;
use crate::url::percent_encode;
use crate::value::{EXPRESSION, length};
use crate::variable_path::VariablePath;

/// The most bytes that a filter produces; longer results are discarded and the value stays unchanged.
const MAX_BYTES: usize = 1 << 20;

/// A filter with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filter {
    /// Replaces a value that is not defined, null or empty.
    Default(Value),
    Upper,
    Lower,
    Trim,
    /// Converts the first letter to upper case.
    Capitalize,
    /// Truncates to at most so many characters; an ellipsis replaces the last one when something was cut off.
    Truncate(usize),
    Number(NumberFormat),
    /// Formats a date, a date with a time, or milliseconds since 1970, in the session's time zone and language.
    Date(String),
    /// The JSON text of the value.
    Json,
    UrlEncode,
    /// Inserts a value into a URL without encoding it.
    Raw,
    Join(String),
    First,
    Last,
    /// The name by which users know the value.
    Label,
    /// The number of characters, elements or members.
    Length,
    /// Replaces all but the last so many characters with stars, or all of them when there are no more than that.
    Mask(usize),
    Replace(String, String),
    /// The text of the string table at a key, if it exists.
    Translate(VariablePath),
}

/// The filters and the types of their arguments.
const SIGNATURES: [(&str, &[&str]); 19] = [
    ("default", &["a value"]),
    ("upper", &[]),
    ("lower", &[]),
    ("trim", &[]),
    ("capitalize", &[]),
    ("truncate", &["a whole number"]),
    ("number", &["a string"]),
    ("date", &["a string"]),
    ("json", &[]),
    ("urlencode", &[]),
    ("raw", &[]),
    ("join", &["a string"]),
    ("first", &[]),
    ("last", &[]),
    ("length", &[]),
    ("mask", &["a whole number"]),
    ("replace", &["a string", "a string"]),
    ("t", &["a string"]),
    ("label", &[]),
];

/// Returns the names of the filters, for the documentation.
pub fn filter_names() -> Vec<&'static str> {
    SIGNATURES.map(|it| it.0).to_vec()
}

impl Filter {
    /// Parses the name and the arguments of a filter.
    pub fn parse(scan: &mut CharScanner<'_>) -> Result<Filter, InterpolationError> {
        let start = *scan;
        let name = scan.take_name();
        if name.is_empty() {
            return Err(syntax_error(start.unexpected_error("a filter name")));
        }
        let Some((_, shape)) = SIGNATURES.iter().find(|it| it.0 == name) else {
            let known: Vec<&str> = SIGNATURES.iter().map(|it| it.0).collect();
            let message = start.error_at(&format!("unknown filter '{name}'")) + "; use one of " + &known.join(", ");
            return Err(InterpolationError { code: "T002", message });
        };
        let values = parse_arguments(scan)?;
        let fits = values.len() == shape.len()
            && shape.iter().zip(&values).all(|(kind, value)| match *kind {
                "a string" => value.is_string(),
                "a whole number" => to_whole_number(value).is_some(),
                _ => true,
            });
        let filter = if fits { Filter::from_arguments(name, values) } else { None };
        filter.ok_or_else(|| {
            let expected = match name {
                "number" => "a pattern such as '0', '0.00', '#,##0.00' or '0%'".to_owned(),
                "t" => "a string-table key such as 'greeting.morning'".to_owned(),
                _ if shape.is_empty() => "no arguments".to_owned(),
                _ => shape.join(" and "),
            };
            syntax_error(start.error_at(&format!("invalid arguments for filter '{name}'")) + "; expected " + &expected)
        })
    }

    fn from_arguments(name: &str, values: Vec<Value>) -> Option<Filter> {
        let mut values = values.into_iter();
        let value = values.next().unwrap_or_default();
        let text = || value.as_str().unwrap_or_default().to_owned();
        Some(match name {
            "upper" => Filter::Upper,
            "lower" => Filter::Lower,
            "trim" => Filter::Trim,
            "capitalize" => Filter::Capitalize,
            "truncate" => Filter::Truncate(to_whole_number(&value)?),
            "number" => Filter::Number(NumberFormat::parse(&text())?),
            "date" => Filter::Date(text()),
            "json" => Filter::Json,
            "urlencode" => Filter::UrlEncode,
            "raw" => Filter::Raw,
            "join" => Filter::Join(text()),
            "first" => Filter::First,
            "last" => Filter::Last,
            "length" => Filter::Length,
            "mask" => Filter::Mask(to_whole_number(&value)?),
            "replace" => Filter::Replace(text(), values.next()?.as_str()?.to_owned()),
            "label" => Filter::Label,
            "t" => Filter::Translate(VariablePath::parse(&("strings.".to_owned() + &text())).ok()?),
            _ => Filter::Default(value),
        })
    }

    /// Applies the filter; `None` stands for a value that is not defined.
    pub fn apply(&self, value: Option<Value>, names: &dyn NameResolver) -> Option<Value> {
        if let Filter::Default(other) = self {
            return Some(value.filter(|value| !(value.is_null() || value == "")).unwrap_or_else(|| other.clone()));
        }
        if let Filter::Translate(path) = self {
            return names.value(path).map(|it| it.into_owned()).or(value);
        }
        value.map(|value| self.transform(&value, names).unwrap_or(value))
    }

    /// Returns the transformed value, or `None` when the filter leaves it unchanged.
    fn transform(&self, value: &Value, names: &dyn NameResolver) -> Option<Value> {
        let text = match self {
            Filter::Upper => value.as_str()?.to_uppercase(),
            Filter::Lower => value.as_str()?.to_lowercase(),
            Filter::Trim => value.as_str()?.trim().to_owned(),
            Filter::Capitalize => capitalize(value.as_str()?),
            Filter::Truncate(most) => truncate(value.as_str()?, *most)?,
            Filter::Number(pattern) => pattern.format(&EXPRESSION.number_of(value)?, names.locale()),
            Filter::Date(pattern) => match value {
                Value::String(text) => Date::parse_in_zone(text, names.time_zone())?.format(pattern, names.locale()),
                Value::Number(millis) => Date::in_zone(millis.as_i64()?, names.time_zone()).format(pattern, names.locale()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
            },
            Filter::Json => value.to_string(),
            Filter::UrlEncode => percent_encode(&EXPRESSION.print(value)),
            Filter::Join(between) => {
                let items = value.as_array().filter(|items| items.len().saturating_mul(between.len()) <= MAX_BYTES)?;
                items.iter().map(|it| EXPRESSION.print(it)).collect::<Vec<_>>().join(between)
            }
            Filter::First => return value.as_array().map(|items| items.first().cloned().unwrap_or_default()),
            Filter::Label => return Some(names.name_of(value)),
            Filter::Last => return value.as_array().map(|items| items.last().cloned().unwrap_or_default()),
            Filter::Length => return length(value).map(Value::from),
            Filter::Mask(keep) if !value.is_null() => mask(&EXPRESSION.print(value), *keep),
            Filter::Replace(old, new) if !old.is_empty() => {
                let fits = |text: &&str| text.matches(old).count().saturating_mul(new.len()) <= MAX_BYTES;
                value.as_str().filter(fits)?.replace(old, new)
            }
            Filter::Mask(_) | Filter::Replace(..) | Filter::Default(_) | Filter::Raw | Filter::Translate(_) => return None,
        };
        (text.len() <= MAX_BYTES).then_some(Value::String(text))
    }
}

/// Parses the parenthesised arguments after the name of a filter.
fn parse_arguments(scan: &mut CharScanner<'_>) -> Result<Vec<Value>, InterpolationError> {
    let mut values = Vec::new();
    let mut ahead = *scan;
    ahead.skip_space();
    if !ahead.eat("(") {
        return Ok(values);
    }
    *scan = ahead;
    scan.skip_space();
    if scan.eat(")") {
        return Ok(values);
    }
    loop {
        scan.skip_space();
        let value = scan.take_literal().map_err(syntax_error)?;
        values.push(value.ok_or_else(|| syntax_error(scan.unexpected_error("a quoted string, a number, true, false or null")))?);
        scan.skip_space();
        if scan.eat(")") {
            return Ok(values);
        }
        if !scan.eat(",") {
            return Err(syntax_error(scan.unexpected_error("',' or ')'")));
        }
    }
}

fn to_whole_number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}

fn truncate(text: &str, most: usize) -> Option<String> {
    text.chars().nth(most)?;
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    if most > 0 {
        short.push('…');
    }
    Some(short)
}

fn mask(text: &str, keep: usize) -> String {
    let length = text.chars().count();
    let stars = if length > keep { length - keep } else { length };
    std::iter::repeat_n('*', stars).chain(text.chars().skip(stars)).collect()
}
