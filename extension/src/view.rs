//! The session as rules see it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Facts of the session by name, such as `intent`, `state`, `userText`, `context` and `inputParams`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct View(pub Map<String, Value>);

impl View {
    /// A fact.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    /// A fact that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// A parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.get("inputParams")?.get(name).filter(|it| !it.is_null())
    }

    /// A member of the context.
    pub fn context(&self, name: &str) -> Option<&Value> {
        self.get("context")?.get(name).filter(|it| !it.is_null())
    }

    /// A value that was collected or given: a parameter, else a member of the context.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.param(name).or_else(|| self.context(name))
    }
}
