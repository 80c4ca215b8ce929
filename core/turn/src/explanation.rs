//! Explanations of decisions, for observers.
//!
//! The deciding code records them as it decides; nothing is inferred afterwards. A turn without observers has none, and computes nothing
//! for them. `Turn::start_observed` in `convengine-core` shows one.

use std::borrow::Cow;

use convengine_text as text;
use serde::Serialize;
use serde_json::Value;

use super::Map;

/// Maximum characters of a row's name.
const MAX_NAME_CHARS: usize = 80;

/// The reason when a pattern could not be evaluated.
pub const TOO_MANY_STEPS: &str = "the pattern takes too many steps on this message";

/// A decision and its candidates: why this intent, this response row, this edge, and not another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The number of the next notice at the time.
    pub seq: u32,
    /// The step that decided; of a flow, `graph/node`, or `dispatch` or `match` before the first node.
    pub step: Cow<'static, str>,
    /// The kind of decision, such as `classifier`, `rules` or `response`.
    pub topic: &'static str,
    /// The facts that it was about.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub about: Map,
    /// The decision, in one sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verdict: String,
    /// The candidates, in evaluation order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Candidate>,
}

/// A row, or another option, that a decision considered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The table; empty if it is not a row.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub table: &'static str,
    /// The row's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Its pattern or code, shortened.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The verdict on it.
    pub verdict: Verdict,
    /// The reason; for a candidate that lost, what would make it win.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The score that it was ranked by; null if it was not ranked.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub score: Value,
    /// The values that it was evaluated with.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub facts: Map,
}

/// The verdict on a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Chosen.
    Won,
    /// Matched, but another one was chosen.
    Lost,
    /// Matched, along with others.
    Matched,
    /// Did not match.
    NotMatched,
    /// Belongs to another intent or state.
    OutOfScope,
    /// Not evaluated, because the decision was made before.
    NotReached,
    /// Could not be evaluated.
    Failed,
}

impl Candidate {
    /// A table row.
    pub fn for_row(table: &'static str, id: i64, name: &str, verdict: Verdict) -> Candidate {
        Candidate { id: Some(id), ..Candidate::for_choice(table, name, verdict) }
    }

    /// A candidate that is not a row, or a row of a table without keys, by name.
    pub fn for_choice(table: &'static str, name: &str, verdict: Verdict) -> Candidate {
        let (reason, score, facts) = (String::new(), Value::Null, Map::new());
        Candidate { table, id: None, name: text::truncate_with_ellipsis(name, MAX_NAME_CHARS), verdict, reason, score, facts }
    }

    /// Returns the candidate with a reason.
    pub fn with_reason(self, reason: impl Into<String>) -> Candidate {
        Candidate { reason: reason.into(), ..self }
    }
}

impl Explanation {
    /// Returns the explanation with the facts that it is about: the members of an object.
    pub fn with_subject(self, about: Value) -> Explanation {
        let about = if let Value::Object(about) = about { about } else { self.about };
        Explanation { about, ..self }
    }

    /// Returns the explanation with its candidates.
    pub fn with_candidates(self, rows: Vec<Candidate>) -> Explanation {
        Explanation { rows, ..self }
    }

    /// Marks the chosen row.
    pub fn mark_selected(&mut self, id: i64) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.id == Some(id)) {
            row.verdict = Verdict::Won;
        }
    }
}
