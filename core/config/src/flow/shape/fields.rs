//! Typed access to the members of JSON objects in a document. The structure has been checked: a member of another type is absent.

use convengine_text::variable_path::VariablePath;
use serde_json::Value;

/// A JSON object of a document.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'v>(&'v Value);

impl<'v> Fields<'v> {
    /// No members.
    pub const EMPTY: Fields<'static> = Fields(&Value::Null);

    /// The members of an object; `None` for a value of another kind.
    pub fn of_object(value: &'v Value) -> Option<Fields<'v>> {
        value.is_object().then_some(Fields(value))
    }

    /// A member that is present.
    pub fn value_or_null(self, name: &str) -> Option<&'v Value> {
        self.0.get(name)
    }

    /// A member that is present and not null.
    pub fn value(self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    /// A member that is an object.
    pub fn object(self, name: &str) -> Option<Fields<'v>> {
        self.value(name).filter(|it| it.is_object()).map(Fields)
    }

    /// A string.
    pub fn text(self, name: &str) -> Option<&'v str> {
        self.value(name)?.as_str()
    }

    /// A string, else an empty one.
    pub fn string(self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    /// The items of an array.
    pub fn list(self, name: &str) -> impl Iterator<Item = Fields<'v>> + use<'v> {
        self.value(name).and_then(Value::as_array).into_iter().flatten().map(Fields)
    }

    /// One of several keywords.
    pub fn keyword<T: Copy>(self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        words.iter().find(|it| it.0 == text).map(|it| it.1)
    }
}

/// Parses a variable path; an invalid one becomes a single name, which no variable has.
pub(in crate::flow) fn parse_path(text: &str) -> VariablePath {
    VariablePath::parse(text).unwrap_or_else(|_| VariablePath::from_name(text))
}
