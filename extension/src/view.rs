//! The read-only view of the session, the same that rules have.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Facts of the session by name, such as `intent`, `state`, `userText`, `context` and `inputParams`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct View(pub Map<String, Value>);

impl View {
    /// Returns a fact; `None` if it is missing or null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    /// Returns a fact that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns an input parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.get("inputParams")?.get(name).filter(|it| !it.is_null())
    }

    /// Returns a member of the context.
    pub fn context(&self, name: &str) -> Option<&Value> {
        self.get("context")?.get(name).filter(|it| !it.is_null())
    }

    /// Returns an input parameter, or else the member of the context with this name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.param(name).or_else(|| self.context(name))
    }
}
