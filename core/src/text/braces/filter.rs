//! The filters of holes. A filter leaves a value alone that is of another kind than it works on.

use serde_json::Value;

use super::Wrong;
use super::number::Pattern;
use super::parse::bad;
use super::render::{encoded, printed};
use crate::text::date::Date;
use crate::text::decimal;
use crate::text::names::Names;
use crate::text::path::Path;
use crate::text::scan::Scan;

/// Bytes of a text that a filter makes; it leaves a value alone that would become longer.
const MOST_BYTES: usize = 1 << 20;

/// A filter with what it was given.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filter {
    /// Takes the place of what is not defined, null or empty.
    Default(Value),
    Upper,
    Lower,
    Trim,
    /// The first letter is made large.
    Capitalize,
    /// So many characters at most; an ellipsis in the place of the last one says that there was more.
    Truncate(usize),
    Number(Pattern),
    /// Of a date, of a date with its time, or of milliseconds since 1970.
    Date(String),
    /// The JSON text of the value.
    Json,
    UrlEncode,
    /// Says that a value goes into an address as it is.
    Raw,
    Join(String),
    First,
    Last,
    /// How many characters, elements or members there are.
    Length,
    /// A star for each character but so many at the end; for all of them when there are no more.
    Mask(usize),
    Replace(String, String),
    /// The text of the string table at a key, when there is one.
    Translate(Path),
}

/// What a filter is given.
const SHAPES: [(&str, &[&str]); 18] = [
    ("default", &["a value"]),
    ("upper", &[]),
    ("lower", &[]),
    ("trim", &[]),
    ("capitalize", &[]),
    ("truncate", &["a whole number"]),
    ("number", &["a text"]),
    ("date", &["a text"]),
    ("json", &[]),
    ("urlencode", &[]),
    ("raw", &[]),
    ("join", &["a text"]),
    ("first", &[]),
    ("last", &[]),
    ("length", &[]),
    ("mask", &["a whole number"]),
    ("replace", &["a text", "a text"]),
    ("t", &["a text"]),
];

impl Filter {
    /// Reads a name and what it is given.
    pub fn read(scan: &mut Scan<'_>) -> Result<Filter, Wrong> {
        let start = *scan;
        let name = scan.name();
        if name.is_empty() {
            return Err(bad(start.expected("the name of a filter")));
        }
        let Some((_, shape)) = SHAPES.iter().find(|it| it.0 == name) else {
            let known: Vec<&str> = SHAPES.iter().map(|it| it.0).collect();
            let message = start.wrong(&format!("there is no filter '{name}'")) + "; use one of " + &known.join(", ");
            return Err(Wrong { code: "T002", message });
        };
        let given = arguments(scan)?;
        let fits = given.len() == shape.len()
            && shape.iter().zip(&given).all(|(kind, value)| match *kind {
                "a text" => value.is_string(),
                "a whole number" => whole(value).is_some(),
                _ => true,
            });
        let made = if fits { Filter::of(name, given) } else { None };
        made.ok_or_else(|| {
            let wanted = match name {
                "number" => "a pattern as '0', '0.00', '#,##0.00' or '0%'".to_owned(),
                "t" => "the key of a text, as 'greeting.morning'".to_owned(),
                _ if shape.is_empty() => "nothing".to_owned(),
                _ => shape.join(" and "),
            };
            bad(start.wrong(&format!("the filter '{name}'")) + " was given something else; give it " + &wanted)
        })
    }

    fn of(name: &str, given: Vec<Value>) -> Option<Filter> {
        let mut given = given.into_iter();
        let value = given.next().unwrap_or_default();
        let text = || value.as_str().unwrap_or_default().to_owned();
        Some(match name {
            "upper" => Filter::Upper,
            "lower" => Filter::Lower,
            "trim" => Filter::Trim,
            "capitalize" => Filter::Capitalize,
            "truncate" => Filter::Truncate(whole(&value)?),
            "number" => Filter::Number(Pattern::read(&text())?),
            "date" => Filter::Date(text()),
            "json" => Filter::Json,
            "urlencode" => Filter::UrlEncode,
            "raw" => Filter::Raw,
            "join" => Filter::Join(text()),
            "first" => Filter::First,
            "last" => Filter::Last,
            "length" => Filter::Length,
            "mask" => Filter::Mask(whole(&value)?),
            "replace" => Filter::Replace(text(), given.next()?.as_str()?.to_owned()),
            "t" => Filter::Translate(Path::parse(&("strings.".to_owned() + &text())).ok()?),
            _ => Filter::Default(value),
        })
    }

    /// The value behind the filter; nothing where it is not defined.
    pub fn apply(&self, value: Option<Value>, names: &dyn Names) -> Option<Value> {
        if let Filter::Default(other) = self {
            return Some(value.filter(|it| !(it.is_null() || it == "")).unwrap_or_else(|| other.clone()));
        }
        if let Filter::Translate(path) = self {
            return names.value(path).map(|it| it.into_owned()).or(value);
        }
        value.map(|it| self.changed(&it, names).unwrap_or(it))
    }

    /// The changed value; nothing when the filter leaves it alone.
    fn changed(&self, value: &Value, names: &dyn Names) -> Option<Value> {
        let made = match self {
            Filter::Upper => value.as_str()?.to_uppercase(),
            Filter::Lower => value.as_str()?.to_lowercase(),
            Filter::Trim => value.as_str()?.trim().to_owned(),
            Filter::Capitalize => {
                let mut rest = value.as_str()?.chars();
                let first = rest.next()?.to_uppercase();
                first.chain(rest).collect()
            }
            Filter::Truncate(most) => shortened(value.as_str()?, *most)?,
            Filter::Number(pattern) => pattern.write(&decimal::number_of(value)?, names.locale()),
            Filter::Date(pattern) => match value {
                Value::String(text) => Date::read(text)?.written(pattern),
                Value::Number(millis) => Date::of_millis(millis.as_i64()?).written(pattern),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
            },
            Filter::Json => value.to_string(),
            Filter::UrlEncode => encoded(&printed(value)),
            Filter::Join(between) => {
                let items = value.as_array().filter(|it| it.len().saturating_mul(between.len()) <= MOST_BYTES)?;
                items.iter().map(printed).collect::<Vec<_>>().join(between)
            }
            Filter::First => return value.as_array().map(|it| it.first().cloned().unwrap_or_default()),
            Filter::Last => return value.as_array().map(|it| it.last().cloned().unwrap_or_default()),
            Filter::Length => return length(value).map(Value::from),
            Filter::Mask(keep) if !value.is_null() => masked(&printed(value), *keep),
            Filter::Replace(old, new) if !old.is_empty() => {
                let fits = |it: &&str| it.matches(old).count().saturating_mul(new.len()) <= MOST_BYTES;
                value.as_str().filter(fits)?.replace(old, new)
            }
            Filter::Mask(_) | Filter::Replace(..) | Filter::Default(_) | Filter::Raw | Filter::Translate(_) => return None,
        };
        (made.len() <= MOST_BYTES).then_some(Value::String(made))
    }
}

/// What stands between the parentheses behind a filter's name.
fn arguments(scan: &mut Scan<'_>) -> Result<Vec<Value>, Wrong> {
    let mut given = Vec::new();
    let mut ahead = *scan;
    ahead.space();
    if !ahead.eat("(") {
        return Ok(given);
    }
    *scan = ahead;
    scan.space();
    if scan.eat(")") {
        return Ok(given);
    }
    loop {
        scan.space();
        let value = scan.literal().map_err(bad)?;
        given.push(value.ok_or_else(|| bad(scan.expected("a text between quotes, a number, true, false or null")))?);
        scan.space();
        if scan.eat(")") {
            return Ok(given);
        }
        if !scan.eat(",") {
            return Err(bad(scan.expected("',' or ')'")));
        }
    }
}

fn whole(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|it| usize::try_from(it).ok())
}

/// How many characters, elements or members there are.
pub(crate) fn length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => Some(members.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn shortened(text: &str, most: usize) -> Option<String> {
    text.chars().nth(most)?;
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    if most > 0 {
        short.push('…');
    }
    Some(short)
}

fn masked(text: &str, keep: usize) -> String {
    let length = text.chars().count();
    let stars = if length > keep { length - keep } else { length };
    std::iter::repeat_n('*', stars).chain(text.chars().skip(stars)).collect()
}
