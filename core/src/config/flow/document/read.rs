//! Reads members of a document. Its form has been checked before: what is of another type here counts as absent.

use serde_json::Value;

use super::text::{Filling, LocalizedText, Template};
use crate::text::decimal;
use crate::text::path::Path;
use crate::turn::Map;

/// An object of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of<'v>(pub &'v Value);

impl<'v> Of<'v> {
    /// A member that is there and not null.
    pub fn value(self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    /// A member that is an object.
    pub fn object(self, name: &str) -> Option<Of<'v>> {
        self.value(name).filter(|it| it.is_object()).map(Of)
    }

    /// A member that is an object, or an empty one.
    pub fn part(self, name: &str) -> Of<'v> {
        const NOTHING: &Value = &Value::Null;
        self.object(name).unwrap_or(Of(NOTHING))
    }

    /// A text.
    pub fn text(self, name: &str) -> Option<&'v str> {
        self.value(name)?.as_str()
    }

    /// A text, or an empty one.
    pub fn string(self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    /// A text, or another one.
    pub fn string_or(self, name: &str, otherwise: &str) -> String {
        self.text(name).unwrap_or(otherwise).to_owned()
    }

    /// A text of its own.
    pub fn maybe(self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// A truth, or what it is otherwise.
    pub fn flag(self, name: &str, otherwise: bool) -> bool {
        self.value(name).and_then(Value::as_bool).unwrap_or(otherwise)
    }

    /// A number.
    pub fn real(self, name: &str) -> Option<f64> {
        self.value(name)?.as_f64()
    }

    /// A whole number; `2.0` is one.
    pub fn whole(self, name: &str) -> Option<i64> {
        let value = self.value(name)?;
        value.as_i64().or_else(|| decimal::tidy(value.as_f64()?)?.as_i64())
    }

    /// A whole number that is not below zero.
    pub fn count(self, name: &str) -> Option<u64> {
        self.whole(name).map(|it| u64::try_from(it).unwrap_or(0))
    }

    /// A small whole number.
    pub fn small(self, name: &str) -> Option<u32> {
        self.count(name).map(|it| u32::try_from(it).unwrap_or(u32::MAX))
    }

    /// The elements of a list, each read.
    pub fn list<T>(self, name: &str, read: impl Fn(Of<'v>) -> T) -> Vec<T> {
        self.value(name).and_then(Value::as_array).into_iter().flatten().map(|it| read(Of(it))).collect()
    }

    /// The texts of a list.
    pub fn strings(self, name: &str) -> Vec<String> {
        self.list(name, |it| it.0.as_str().unwrap_or_default().to_owned())
    }

    /// The members of an object.
    pub fn members(self, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
        self.value(name).and_then(Value::as_object).into_iter().flatten()
    }

    /// An object of its own.
    pub fn map(self, name: &str) -> Map {
        self.value(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// A path.
    pub fn path(self, name: &str) -> Option<Path> {
        self.text(name).map(path)
    }

    /// A template.
    pub fn template(self, name: &str) -> Option<Template> {
        self.text(name).map(|it| Template::from(it.to_owned()))
    }

    /// A JSON value whose texts are templates.
    pub fn filling(self, name: &str) -> Option<Filling> {
        self.value(name).map(|it| Filling::from(it.clone()))
    }

    /// A text in variants.
    pub fn localized(self, name: &str) -> Option<LocalizedText> {
        self.value(name).map(LocalizedText::from)
    }

    /// One of several words.
    pub fn word<T: Copy>(self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        words.iter().find(|it| it.0 == text).map(|it| it.1)
    }
}

/// A path; a text that is none is a name that nothing has.
pub(super) fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|_| Path::name(text))
}
