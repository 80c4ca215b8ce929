//! Why decisions fell as they did, for people who look at how a turn came about.
//!
//! The code that decides writes these down while it decides; nothing is concluded afterwards. A turn that nobody watches has none.

use serde::Serialize;
use serde_json::Value;

use super::{Door, Map, Watch};
use crate::text;

/// Characters of a row's name that are shown.
const NAME: usize = 80;

/// Why a pattern could not be judged.
pub const TOO_MANY_STEPS: &str = "the pattern takes too many steps on this message";

/// A decision and what spoke for and against each choice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The number of the notice that came next.
    pub seq: u32,
    /// The step that decided.
    pub step: &'static str,
    /// What kind of decision it is.
    pub topic: &'static str,
    /// What it was about.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub about: Map,
    /// What was decided, in one sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verdict: String,
    /// The choices, in the order in which they were looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Considered>,
}

/// A row, or another choice, that a decision looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Considered {
    /// The table; empty for what is no row.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub table: &'static str,
    /// The row's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Its pattern or code in short.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What became of it.
    pub verdict: Fate,
    /// Why; of one that lost, what would make it win.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// By what it was compared with the others.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub score: Value,
    /// The values that it was judged by.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub facts: Map,
}

/// What became of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was chosen.
    Won,
    /// It fitted, and another one was chosen.
    Lost,
    /// It fitted; it is not alone in that.
    Matched,
    /// It did not fit.
    NotMatched,
    /// It is for another intent or state.
    OutOfScope,
    /// The decision fell before it.
    NotReached,
    /// It could not be judged.
    Failed,
}

impl Considered {
    /// A row of a table.
    pub fn row(table: &'static str, id: i64, name: &str, verdict: Fate) -> Considered {
        Considered { id: Some(id), ..Considered::choice(table, name, verdict) }
    }

    /// A choice that is no row; of a table that has no keys, with its name.
    pub fn choice(table: &'static str, name: &str, verdict: Fate) -> Considered {
        let (reason, score, facts) = (String::new(), Value::Null, Map::new());
        Considered { table, id: None, name: text::shortened(name, NAME), verdict, reason, score, facts }
    }

    /// The same, with the reason.
    pub fn because(self, reason: impl Into<String>) -> Considered {
        Considered { reason: reason.into(), ..self }
    }
}

impl Why {
    /// The same, with what the decision is about: the members of an object.
    pub fn about(self, about: Value) -> Why {
        let about = if let Value::Object(about) = about { about } else { self.about };
        Why { about, ..self }
    }

    /// The same, with the choices.
    pub fn of(self, rows: Vec<Considered>) -> Why {
        Why { rows, ..self }
    }

    /// Says which row was chosen.
    pub fn wins(&mut self, id: i64) {
        if let Some(row) = self.rows.iter_mut().find(|it| it.id == Some(id)) {
            row.verdict = Fate::Won;
        }
    }

    /// Notes what was decided, and with that the whole.
    pub fn decided(mut self, door: &Door, verdict: impl Into<String>) {
        self.verdict = verdict.into();
        door.explain(self);
    }
}

impl Door {
    /// Begins to explain a decision; nothing unless somebody watches.
    pub fn why(&self, topic: &'static str) -> Option<Why> {
        if self.watch != Watch::Steps {
            return None;
        }
        let (seq, step) = self.place();
        Some(Why { seq, step, topic, about: Map::new(), verdict: String::new(), rows: Vec::new() })
    }
}
