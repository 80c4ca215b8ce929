//! The DOCUMENT_RETRIEVAL tool group: full-text search in `cv_document`.

mod excerpt;

use convengine_core::turn::{EffectError, EffectErrorKind, ToolRequest};
use convengine_storage::Pool;
use convengine_storage::document::{self, DocumentHit};
use serde::Deserialize;
use serde_json::{Value, json};

use super::search_words;
use super::tool::{argument_text, invalid, parse_spec};

/// Upper bound of a tool's `limit`.
const MAX_LIMIT: u32 = 50;

/// Arguments that may hold the query if the tool does not name one.
const QUERY_ARGUMENTS: [&str; 4] = ["query", "q", "question", "text"];

/// The tool's configuration.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Spec {
    /// Restricts the search to this collection.
    collection: Option<String>,
    /// Maximum number of documents.
    limit: u32,
    /// The argument that holds the query.
    query: Option<String>,
}

impl Default for Spec {
    fn default() -> Self {
        Spec { collection: None, limit: 5, query: None }
    }
}

/// Returns the best matching documents as JSON text.
///
/// # Errors
/// `Invalid` for a wrong configuration or a missing query, `Unavailable` if the database fails.
pub async fn search(pool: &Pool, request: &ToolRequest) -> Result<String, EffectError> {
    let spec: Spec = parse_spec(request)?;
    if !(1..=MAX_LIMIT).contains(&spec.limit) {
        return Err(invalid(format!(
            "the limit {} is not allowed: write a number from 1 to {MAX_LIMIT} into the spec of the tool",
            spec.limit
        )));
    }
    let names = spec.query.as_deref().map_or(QUERY_ARGUMENTS.to_vec(), |it| vec![it]);
    let question = names.iter().find_map(|it| argument_text(request, it));
    let question = question.ok_or_else(|| invalid(format!("missing question: give the argument '{}'", names[0])))?;
    let words = search_words::tokenize(&question);
    let found = match words.is_empty() {
        true => Vec::new(),
        false => document::search(pool, &words, spec.collection.as_deref(), spec.limit).await.map_err(|it| search_failure(&it))?,
    };
    let documents: Vec<Value> = found.iter().map(|it| to_json(it, &words)).collect();
    Ok(json!({"query": question, "documents": documents}).to_string())
}

fn to_json(found: &DocumentHit, words: &[String]) -> Value {
    let metadata = found.metadata.as_ref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())));
    json!({
        "id": found.id,
        "title": found.title,
        "text": excerpt::extract(&found.body, words),
        "score": (found.score * 1e6).round() / 1e6,
        "metadata": metadata,
    })
}

fn search_failure(error: &sqlx::Error) -> EffectError {
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
