//! The methods of values and the `#…` utility functions.

use std::borrow::Cow;

use serde_json::Value;

use super::evaluate::MAX_TEXT_BYTES;
use super::java_format::{format_date, format_decimal};
use super::value::{Val, get_item, null};
use crate::capitalize;
use crate::value::decimal::{Decimal, whole_up_to};
use crate::value::{TEMPLATE, length, round_to_digits, type_name};

/// A method of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Size,
    IsEmpty,
    Length,
    Contains,
    ContainsKey,
    Get,
    GetOrDefault,
    ToUpperCase,
    ToLowerCase,
    Trim,
    EqualsIgnoreCase,
    Substring,
}

/// A function of one of the groups `#strings`, `#lists`, `#maps`, `#numbers`, `#dates` and `#temporals`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Utility {
    StringsIsEmpty,
    StringsToUpperCase,
    StringsToLowerCase,
    StringsDefaultString,
    StringsListJoin,
    StringsCapitalize,
    StringsReplace,
    ListsSize,
    ListsIsEmpty,
    MapsContainsKey,
    NumbersAbs,
    NumbersMax,
    NumbersMin,
    NumbersRound,
    NumbersFormatDecimal,
    DatesFormat,
}

/// Name, method, fewest and most arguments.
const METHODS: [(&str, Method, usize, usize); 12] = [
    ("size", Method::Size, 0, 0),
    ("isEmpty", Method::IsEmpty, 0, 0),
    ("length", Method::Length, 0, 0),
    ("contains", Method::Contains, 1, 1),
    ("containsKey", Method::ContainsKey, 1, 1),
    ("get", Method::Get, 1, 1),
    ("getOrDefault", Method::GetOrDefault, 2, 2),
    ("toUpperCase", Method::ToUpperCase, 0, 0),
    ("toLowerCase", Method::ToLowerCase, 0, 0),
    ("trim", Method::Trim, 0, 0),
    ("equalsIgnoreCase", Method::EqualsIgnoreCase, 1, 1),
    ("substring", Method::Substring, 1, 2),
];

/// Name, function, fewest and most arguments.
const UTILITIES: [(&str, Utility, usize, usize); 17] = [
    ("strings.isEmpty", Utility::StringsIsEmpty, 1, 1),
    ("strings.toUpperCase", Utility::StringsToUpperCase, 1, 1),
    ("strings.toLowerCase", Utility::StringsToLowerCase, 1, 1),
    ("strings.defaultString", Utility::StringsDefaultString, 2, 2),
    ("strings.listJoin", Utility::StringsListJoin, 2, 2),
    ("strings.capitalize", Utility::StringsCapitalize, 1, 1),
    ("strings.replace", Utility::StringsReplace, 3, 3),
    ("lists.size", Utility::ListsSize, 1, 1),
    ("lists.isEmpty", Utility::ListsIsEmpty, 1, 1),
    ("maps.containsKey", Utility::MapsContainsKey, 2, 2),
    ("numbers.abs", Utility::NumbersAbs, 1, 1),
    ("numbers.max", Utility::NumbersMax, 2, 2),
    ("numbers.min", Utility::NumbersMin, 2, 2),
    ("numbers.round", Utility::NumbersRound, 2, 2),
    ("numbers.formatDecimal", Utility::NumbersFormatDecimal, 3, 5),
    ("dates.format", Utility::DatesFormat, 2, 2),
    ("temporals.format", Utility::DatesFormat, 2, 2),
];

/// Returns the names of the methods and of the `#…` functions, for the documentation.
pub fn function_names() -> Vec<String> {
    let methods = METHODS.map(|(name, ..)| [name, "("].concat());
    methods.into_iter().chain(UTILITIES.map(|(name, ..)| ["#", name, "("].concat())).collect()
}

impl Method {
    /// Returns the method of a name.
    ///
    /// # Errors
    /// The method does not exist or does not take that many arguments.
    pub fn from_name(name: &str, arguments: usize) -> Result<Method, String> {
        let Some((_, method, least, most)) = METHODS.iter().find(|it| it.0 == name) else {
            return Err(format!("calls '{name}()', which templates do not have; use one of {}", METHODS.map(|it| it.0).join(", ")));
        };
        if (*least..=*most).contains(&arguments) { Ok(*method) } else { Err(argument_count_error(name, *least, *most, arguments)) }
    }

    fn name(self) -> &'static str {
        METHODS.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }

    /// Calls the method on a value.
    pub fn call<'s>(self, target: Val<'s>, arguments: Vec<Val<'s>>) -> Result<Val<'s>, String> {
        let mut arguments = arguments.into_iter();
        let first = arguments.next().unwrap_or_else(null);
        match self {
            Method::Get => return Ok(get_item(self.expect_collection(target)?, &first)),
            Method::GetOrDefault => {
                let found = get_item(self.expect_collection(target)?, &first);
                return Ok(if found.is_null() { arguments.next().unwrap_or_else(null) } else { found });
            }
            Method::Size | Method::IsEmpty | Method::Length => self.count(&target),
            Method::Contains => self.contains(&target, &first),
            Method::ContainsKey => target.as_object().map(|members| Value::from(members.contains_key(&*TEMPLATE.print(&first)))),
            Method::ToUpperCase => target.as_str().map(|text| Value::from(text.to_uppercase())),
            Method::ToLowerCase => target.as_str().map(|text| Value::from(text.to_lowercase())),
            Method::Trim => target.as_str().map(|text| Value::from(text.trim_matches(|c| c <= ' '))),
            Method::EqualsIgnoreCase => {
                target.as_str().map(|text| Value::from(first.as_str().is_some_and(|other| eq_ignore_case(text, other))))
            }
            Method::Substring => match target.as_str() {
                Some(text) => Some(take_substring(text, &first, arguments.next())?),
                None => None,
            },
        }
        .map(Cow::Owned)
        .ok_or_else(|| self.unsupported_error(&target))
    }

    fn count(self, target: &Value) -> Option<Value> {
        let is_other = if target.is_string() { Method::Size } else { Method::Length };
        let length = length(target).filter(|_| self != is_other)?;
        Some(if self == Method::IsEmpty { Value::from(length == 0) } else { Value::from(length) })
    }

    fn contains(self, target: &Value, item: &Value) -> Option<Value> {
        match target {
            Value::Array(items) => Some(Value::from(items.iter().any(|it| TEMPLATE.are_equal(it, item)))),
            Value::String(text) => Some(Value::from(!item.is_null() && text.contains(&*TEMPLATE.print(item)))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }

    fn expect_collection<'s>(self, target: Val<'s>) -> Result<Val<'s>, String> {
        if target.is_array() || target.is_object() { Ok(target) } else { Err(self.unsupported_error(&target)) }
    }

    fn unsupported_error(self, target: &Value) -> String {
        if target.is_null() {
            return format!("cannot call '{}()' on a missing value; write ?. before it", self.name());
        }
        format!("'{}()' does not fit {}", self.name(), type_name(Some(target)))
    }
}

impl Utility {
    /// Returns the utility function of a group and a name.
    ///
    /// # Errors
    /// The function does not exist or does not take that many arguments.
    pub fn from_name(group: &str, name: &str, arguments: usize) -> Result<Utility, String> {
        let full = format!("{group}.{name}");
        let Some((_, utility, least, most)) = UTILITIES.iter().find(|it| it.0 == full) else {
            let known = UTILITIES.map(|it| format!("#{}", it.0)).join(", ");
            return Err(format!("calls '#{full}', which templates do not have; use one of {known}"));
        };
        if (*least..=*most).contains(&arguments) { Ok(*utility) } else { Err(argument_count_error(&full, *least, *most, arguments)) }
    }

    /// Calls the utility function.
    pub fn call<'s>(self, arguments: Vec<Val<'s>>) -> Result<Val<'s>, String> {
        if self == Utility::NumbersFormatDecimal {
            return format_decimal_of(&arguments).map(Cow::Owned);
        }
        let mut arguments = arguments.into_iter();
        let first = arguments.next().unwrap_or_else(null);
        let second = arguments.next();
        let text = |convert: fn(&str) -> String| if first.is_null() { Value::Null } else { Value::from(convert(&TEMPLATE.print(&first))) };
        let value = match self {
            Utility::StringsIsEmpty => Value::from(TEMPLATE.print(&first).trim().is_empty()),
            Utility::StringsToUpperCase => text(str::to_uppercase),
            Utility::StringsToLowerCase => text(str::to_lowercase),
            Utility::StringsDefaultString => {
                return Ok(if TEMPLATE.print(&first).trim().is_empty() { second.unwrap_or_else(null) } else { first });
            }
            Utility::StringsListJoin => join_list(&first, &second.unwrap_or_else(null))?,
            Utility::StringsCapitalize => text(capitalize),
            Utility::StringsReplace => replace(&first, &second.unwrap_or_else(null), &arguments.next().unwrap_or_else(null))?,
            Utility::ListsIsEmpty if first.is_null() => Value::from(true),
            Utility::ListsIsEmpty if first.is_array() => return Method::IsEmpty.call(first, Vec::new()),
            Utility::ListsIsEmpty => return Err(format!("'#lists.isEmpty' needs a list, found {}", type_name(Some(&*first)))),
            Utility::DatesFormat => format_date(&first, &second.unwrap_or_else(null))?,
            Utility::NumbersFormatDecimal => Value::Null,
            Utility::ListsSize => return Method::Size.call(first, Vec::new()),
            Utility::MapsContainsKey => return Method::ContainsKey.call(first, second.into_iter().collect()),
            Utility::NumbersAbs => number_result(expect_number(&first)?.abs())?,
            Utility::NumbersMax | Utility::NumbersMin => {
                let second = second.unwrap_or_else(null);
                let is_greater = expect_number(&first)? > expect_number(&second)?;
                return Ok(if is_greater == (self == Utility::NumbersMax) { first } else { second });
            }
            Utility::NumbersRound => round(&first, &second.unwrap_or_else(null))?,
        };
        Ok(Cow::Owned(value))
    }
}

fn argument_count_error(name: &str, least: usize, most: usize, arguments: usize) -> String {
    let most = if most > least { format!(" to {most}") } else { String::new() };
    format!("calls '{name}' with {arguments} arguments; it takes {least}{most}")
}

fn expect_number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("expected a number, found {}", type_name(Some(value))))
}

fn number_result(number: f64) -> Result<Value, String> {
    round_to_digits(number).map(Value::from).ok_or_else(|| "the result is too large".to_owned())
}

/// Rounds to the given digits after the point; halves of the number as it is written round away from zero.
fn round(value: &Value, digits: &Value) -> Result<Value, String> {
    let Value::Number(number) = value else { return expect_number(value).map(Value::from) };
    let Some(digits) = digits.as_f64().and_then(|digits| whole_up_to(digits, 12)) else {
        return Err("'#numbers.round' needs a whole number of digits from 0 to 12".to_owned());
    };
    let rounded = Decimal::new(number, 0).round(digits).to_number();
    number_result(rounded.and_then(|it| it.as_f64()).unwrap_or(f64::INFINITY))
}

/// Formats a decimal by the arguments of `#numbers.formatDecimal`: the mark of thousands comes before the digits behind the point, and the
/// mark of the point after them.
fn format_decimal_of(arguments: &[Val<'_>]) -> Result<Value, String> {
    let (none, point) = (Value::from("NONE"), Value::from("POINT"));
    match arguments.iter().map(|it| &**it).collect::<Vec<&Value>>().as_slice() {
        [value, least, places] => format_decimal(value, least, places, [&none, &point]),
        [value, least, places, point] => format_decimal(value, least, places, [&none, point]),
        [value, least, group, places, point] => format_decimal(value, least, places, [group, point]),
        _ => Ok(Value::Null),
    }
}

/// Replaces all occurrences of a text; null stays null.
fn replace(value: &Value, from: &Value, to: &Value) -> Result<Value, String> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let [text, from, to] = [value, from, to].map(|it| TEMPLATE.print(it));
    if from.is_empty() {
        return Err("'#strings.replace' needs a string to look for".to_owned());
    }
    limit_text(text.len().saturating_add(text.matches(&*from).count().saturating_mul(to.len())))?;
    Ok(Value::from(text.replace(&*from, &to)))
}

/// Refuses a text before it is made.
fn limit_text(bytes: usize) -> Result<(), String> {
    if bytes > MAX_TEXT_BYTES { Err(format!("the text is longer than {MAX_TEXT_BYTES} bytes")) } else { Ok(()) }
}

fn eq_ignore_case(left: &str, right: &str) -> bool {
    left.chars().flat_map(char::to_lowercase).eq(right.chars().flat_map(char::to_lowercase))
}

/// Returns part of a string by character positions.
fn take_substring(text: &str, from: &Value, to: Option<Val<'_>>) -> Result<Value, String> {
    let length = text.chars().count();
    let position = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|position| *position <= length);
    let range = match &to {
        None => position(from).map(|from| (from, length)),
        Some(to) => position(from).zip(position(to)).filter(|(from, to)| from <= to),
    };
    let (from, to) = range.ok_or("'substring()' reaches beyond the end of the text")?;
    Ok(Value::from(text.chars().skip(from).take(to - from).collect::<String>()))
}

fn join_list(list: &Value, between: &Value) -> Result<Value, String> {
    match list {
        Value::Null => Ok(Value::Null),
        Value::Array(items) => {
            let (parts, between): (Vec<Cow<'_, str>>, _) = (items.iter().map(|it| TEMPLATE.print(it)).collect(), TEMPLATE.print(between));
            limit_text(parts.iter().map(|part| part.len().saturating_add(between.len())).fold(0, usize::saturating_add))?;
            Ok(Value::from(parts.join(&*between)))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(format!("'#strings.listJoin' needs a list, found {}", type_name(Some(list))))
        }
    }
}
