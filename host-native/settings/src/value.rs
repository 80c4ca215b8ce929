//! Types of settings for serde: single values and lists in every form in which a source may write them.
//!
//! A settings file has numbers and Booleans, the environment and placeholders have text; so a single value is read from its text.

use std::fmt::Display;
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::Value;

use convengine_host_base::redact_url::redact_url;

/// A value that is read from its text.
pub(super) trait FromText: Sized {
    /// Reads the trimmed text.
    ///
    /// # Errors
    /// What is wrong and what to do, for the line of the problem.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// Deserializes a single value.
pub(super) fn scalar<'de, D: Deserializer<'de>, T: FromText>(deserializer: D) -> Result<T, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        value @ (Value::Bool(_) | Value::Number(_)) => value.to_string(),
        // The value is not shown: it may contain a secret.
        Value::Null | Value::Array(_) | Value::Object(_) => return Err(D::Error::custom("not a single value; set one")),
    };
    T::from_text(text.trim()).map_err(D::Error::custom)
}

/// Deserializes a whole number within bounds.
pub(super) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<T, D::Error> {
    let number: String = scalar(deserializer)?;
    let found = number.parse().ok().filter(|it| (MIN..=MAX).contains(it)).and_then(|number| T::try_from(number).ok());
    found.ok_or_else(|| D::Error::custom(format!("'{number}' is not a whole number; set one from {MIN} to {MAX}")))
}

/// Deserializes a list, or a text with commas.
pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Object(_) => Err(D::Error::custom("not a list; set a JSON array, or a string with commas")),
        value => Ok(as_list(&value)),
    }
}

/// The entries of a list, or of a text with commas.
pub(super) fn as_list(value: &Value) -> Vec<String> {
    let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let entries: Vec<String> = match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(as_text).collect(),
        other => as_text(other).split(',').map(str::to_owned).collect(),
    };
    entries.iter().map(|entry| entry.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// Deserializes a list that may be absent; an empty one is present.
pub(super) fn optional_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    list(deserializer).map(Some)
}

/// Returns the value of a name, which may be in any case and with hyphens.
pub(super) fn choose<T: Copy>(text: &str, names: &[(&str, T)]) -> Result<T, String> {
    let unified = text.replace('-', "_");
    let found = names.iter().find(|it| it.0.eq_ignore_ascii_case(&unified)).map(|it| it.1);
    let words: Vec<&str> = names.iter().map(|it| it.0).collect();
    found.ok_or_else(|| format!("unknown value '{text}'; use {}", words.join(" or ")))
}

/// An empty text is no value.
impl<T: FromText> FromText for Option<T> {
    fn from_text(text: &str) -> Result<Option<T>, String> {
        if text.is_empty() { Ok(None) } else { T::from_text(text).map(Some) }
    }
}

impl FromText for String {
    fn from_text(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}

impl FromText for bool {
    fn from_text(text: &str) -> Result<bool, String> {
        convengine_core::config::settings::parse_bool(&Value::from(text))
            .ok_or_else(|| format!("'{text}' is not a Boolean; use true or false"))
    }
}

impl FromText for Duration {
    fn from_text(text: &str) -> Result<Duration, String> {
        parse_duration(text).ok_or_else(|| not_a_duration(text))
    }
}

fn not_a_duration(text: &str) -> String {
    format!("'{text}' is not a duration; use milliseconds or a number with ms, s, m, h or d, such as 120s")
}

/// Deserializes a duration that may be zero.
pub(super) fn duration_or_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text: String = scalar(deserializer)?;
    parse_duration_or_zero(&text).ok_or_else(|| D::Error::custom(not_a_duration(&text)))
}

/// Parses a duration above zero: milliseconds, or a number with the unit `ms`, `s`, `m`, `h` or `d`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    parse_duration_or_zero(text).filter(|it| !it.is_zero())
}

fn parse_duration_or_zero(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Duration::from_millis(millis))
}

/// Deserializes a decimal number as millionths.
pub(super) fn millionths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text: String = scalar(deserializer)?;
    let millionths = text.parse::<f64>().ok().map(|number| (number * 1e6).round());
    // Far below the limit of exact integers in a float.
    let found = millionths.filter(|it| (0.0..=1e15).contains(it)).map(|it| it as u64);
    found.ok_or_else(|| D::Error::custom(format!("'{text}' is not an amount; set a number such as 20 or 0.5")))
}

/// A URL of HTTP.
#[derive(Debug, Clone)]
pub(super) struct HttpUrl(pub(super) String);

impl FromText for HttpUrl {
    fn from_text(text: &str) -> Result<HttpUrl, String> {
        let is_http = Url::parse(text).is_ok_and(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
        let message = || format!("'{}' is not an HTTP URL; set one that starts with http:// or https://", redact_url(text));
        if is_http { Ok(HttpUrl(text.to_owned())) } else { Err(message()) }
    }
}

/// Returns the URL of an HTTP server without a slash at its end.
///
/// # Errors
/// What is wrong and what to do.
pub fn parse_server_url(text: &str) -> Result<String, String> {
    HttpUrl::from_text(text).map(|HttpUrl(address)| address.trim_end_matches('/').to_owned())
}

/// The line of a problem with a setting.
pub(super) fn problem(name: impl Display, reason: impl Display) -> String {
    format!("convengine.{name}: {reason}")
}

/// A single value as text, for maps.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Text(#[serde(deserialize_with = "scalar")] pub(super) String);
