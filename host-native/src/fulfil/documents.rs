//! DOCUMENT_RETRIEVAL: documents of `cv_document` that fit a question, found by their words.

mod excerpt;

use convengine_core::turn::{EffectError, EffectErrorKind, ToolRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{argument, invalid, spec};
use super::words;
use crate::store::Pool;
use crate::store::document::{self, Found};

/// Documents of an answer.
const MOST: u32 = 50;

/// Arguments that may hold the question, when the tool does not say which.
const QUESTIONS: [&str; 4] = ["query", "q", "question", "text"];

/// How a tool is set up.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Spec {
    /// Only of this collection.
    collection: Option<String>,
    /// How many at most.
    limit: u32,
    /// The argument that holds the question.
    query: Option<String>,
}

impl Default for Spec {
    fn default() -> Self {
        Spec { collection: None, limit: 5, query: None }
    }
}

/// The documents that fit best, as JSON text.
///
/// # Errors
/// A tool that is not set up rightly, a question that is missing, or what the database says.
pub async fn search(pool: &Pool, request: &ToolRequest) -> Result<String, EffectError> {
    let spec: Spec = spec(request)?;
    if !(1..=MOST).contains(&spec.limit) {
        return Err(invalid(format!("the limit {} is not allowed: write a number from 1 to {MOST} into the spec of the tool", spec.limit)));
    }
    let names = spec.query.as_deref().map_or(QUESTIONS.to_vec(), |it| vec![it]);
    let question = names.iter().find_map(|it| argument(request, it));
    let question = question.ok_or_else(|| invalid(format!("there is no question: give the argument '{}'", names[0])))?;
    let words = words::of(&question);
    let found = match words.is_empty() {
        true => Vec::new(),
        false => document::search(pool, &words, spec.collection.as_deref(), spec.limit).await.map_err(|it| failed(&it))?,
    };
    let documents: Vec<Value> = found.iter().map(|it| shown(it, &words)).collect();
    Ok(json!({"query": question, "documents": documents}).to_string())
}

fn shown(found: &Found, words: &[String]) -> Value {
    let metadata = found.metadata.as_ref().map(|it| serde_json::from_str(it).unwrap_or_else(|_| Value::from(it.as_str())));
    json!({
        "id": found.id,
        "title": found.title,
        "text": excerpt::of(&found.body, words),
        "score": (found.score * 1e6).round() / 1e6,
        "metadata": metadata,
    })
}

fn failed(error: &sqlx::Error) -> EffectError {
    let reason = match error {
        sqlx::Error::Database(it) => it.message().to_owned(),
        other => other.to_string(),
    };
    EffectError::new(
        EffectErrorKind::Unavailable,
        format!("documents cannot be searched: {reason}: run convengine migrate if a table is missing"),
    )
}

#[cfg(test)]
mod tests;
