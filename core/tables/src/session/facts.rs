//! The document for rule conditions, built lazily.

use convengine_text::json::path::JsonPath;
use convengine_turn::Map;
use serde_json::Value;

use super::Session;

/// The facts requested so far; discard them when the session changes.
#[derive(Debug)]
pub struct Facts {
    document: Value,
    is_complete: bool,
}

impl Default for Facts {
    fn default() -> Self {
        Facts { document: Value::Object(Map::new()), is_complete: false }
    }
}

impl Facts {
    /// Whether a path matches the session.
    pub fn matches(&mut self, session: &Session, path: &JsonPath) -> bool {
        self.add_facts(session, path.members());
        path.matches(&self.document)
    }

    /// The first value of the session that a path finds.
    pub fn first(&mut self, session: &Session, path: &JsonPath) -> Option<Value> {
        self.add_facts(session, path.members_of_values());
        path.first(&self.document)
    }

    /// Whether a path finds a value in the context.
    pub fn matches_context(&mut self, session: &Session, path: &JsonPath) -> bool {
        self.add_fact(session, "context");
        self.document.get("context").is_some_and(|context| path.has_value(context))
    }

    /// The values that a path read from the facts, or from the context.
    pub fn read_values(&self, path: &JsonPath, in_context: bool) -> Map {
        let document = if in_context { self.document.get("context").unwrap_or(&Value::Null) } else { &self.document };
        path.read_values(document)
    }

    /// Adds the facts with these names, or all.
    fn add_facts(&mut self, session: &Session, names: Option<&[String]>) {
        match names {
            Some(names) => names.iter().for_each(|it| self.add_fact(session, it)),
            None if self.is_complete => {}
            None => *self = Facts { document: session.facts(), is_complete: true },
        }
    }

    fn add_fact(&mut self, session: &Session, name: &str) {
        if self.is_complete || self.document.get(name).is_some() {
            return;
        }
        if let (Some(members), Some(value)) = (self.document.as_object_mut(), session.resolve_fact(name)) {
            members.insert(name.to_owned(), value);
        }
    }
}
