//! Typed access to the members of JSON objects in a document. The structure has been checked: a member of another type is absent.

use convengine_text::value::decimal;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::Value;

use super::text::{FlowTemplate, LocalizedText, ValueTemplate};

/// A JSON object of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'v>(pub &'v Value);

impl<'v> Fields<'v> {
    /// A member that is present and not null.
    pub fn value(self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    /// A member that is an object.
    pub fn object(self, name: &str) -> Option<Fields<'v>> {
        self.value(name).filter(|it| it.is_object()).map(Fields)
    }

    /// A member that is an object, else an empty object.
    pub fn object_or_empty(self, name: &str) -> Fields<'v> {
        const EMPTY: &Value = &Value::Null;
        self.object(name).unwrap_or(Fields(EMPTY))
    }

    /// A string.
    pub fn text(self, name: &str) -> Option<&'v str> {
        self.value(name)?.as_str()
    }

    /// A string, else an empty one.
    pub fn string(self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    /// A string, else a default.
    pub fn string_or(self, name: &str, default: &str) -> String {
        self.text(name).unwrap_or(default).to_owned()
    }

    /// An optional string, owned.
    pub fn optional_string(self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// A boolean, else a default.
    pub fn flag(self, name: &str, default: bool) -> bool {
        self.value(name).and_then(Value::as_bool).unwrap_or(default)
    }

    /// A number.
    pub fn float(self, name: &str) -> Option<f64> {
        self.value(name)?.as_f64()
    }

    /// An integer; `2.0` counts as one.
    pub fn integer(self, name: &str) -> Option<i64> {
        let value = self.value(name)?;
        value.as_i64().or_else(|| decimal::number_from_f64(value.as_f64()?)?.as_i64())
    }

    /// An integer; a negative one becomes 0.
    pub fn count(self, name: &str) -> Option<u64> {
        self.integer(name).map(|it| u64::try_from(it).unwrap_or(0))
    }

    /// An integer, clamped to 32 bits.
    pub fn count_u32(self, name: &str) -> Option<u32> {
        self.count(name).map(|it| u32::try_from(it).unwrap_or(u32::MAX))
    }

    /// The items of an array, each converted by `read`.
    pub fn list<T>(self, name: &str, read: impl Fn(Fields<'v>) -> T) -> Vec<T> {
        self.value(name).and_then(Value::as_array).into_iter().flatten().map(|it| read(Fields(it))).collect()
    }

    /// The strings of an array.
    pub fn strings(self, name: &str) -> Vec<String> {
        self.list(name, |it| it.0.as_str().unwrap_or_default().to_owned())
    }

    /// The members of an object.
    pub fn members(self, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
        self.value(name).and_then(Value::as_object).into_iter().flatten()
    }

    /// An object, owned; empty when absent.
    pub fn map(self, name: &str) -> Map {
        self.value(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// A variable path.
    pub fn parse_path(self, name: &str) -> Option<VariablePath> {
        self.text(name).map(parse_path)
    }

    /// A template.
    pub fn template(self, name: &str) -> Option<FlowTemplate> {
        self.text(name).map(|it| FlowTemplate::from(it.to_owned()))
    }

    /// A JSON value whose strings are templates.
    pub fn json_template(self, name: &str) -> Option<ValueTemplate> {
        self.value(name).map(|it| ValueTemplate::from(it.clone()))
    }

    /// A localized text.
    pub fn localized(self, name: &str) -> Option<LocalizedText> {
        self.value(name).map(LocalizedText::from)
    }

    /// One of several keywords.
    pub fn keyword<T: Copy>(self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        words.iter().find(|it| it.0 == text).map(|it| it.1)
    }
}

/// Parses a variable path; an invalid one becomes a single name, which no variable has.
pub(super) fn parse_path(text: &str) -> VariablePath {
    VariablePath::parse(text).unwrap_or_else(|_| VariablePath::from_name(text))
}
