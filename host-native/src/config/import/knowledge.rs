//! Imports the knowledge sources of a pack: each is added to the knowledge base of its assistant, or replaces a source there.

use convengine_core::knowledge::Source;
use convengine_core::pack::Pack;
use serde_json::Value;

use crate::runtime::assistant::check::is_assistant_id;
use crate::runtime::assistant::knowledge::document::is_source_id;
use crate::runtime::assistant::knowledge::indexing::{default_locale, put_in_transaction};
use crate::storage::Connection;
use crate::storage::assistant::draft;

/// Returns a line for each source that cannot be stored.
pub fn find_problems(pack: &Pack) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, it) in pack.knowledge.iter().enumerate() {
        let place = format!("knowledge[{}]", index + 1);
        if !is_source_id(&it.source.id) {
            problems.push(format!("{place}.id: '{}' is not a source id; use up to 128 characters without commas", it.source.id));
        }
        let texts = [("title", Some(&it.source.title)), ("url", it.source.url.as_ref()), ("locale", Some(&it.source.locale))];
        let nul = texts.iter().filter(|it| it.1.is_some_and(|it| it.contains('\0')));
        problems.extend(nul.map(|it| format!("{place}.{}: contains NUL; remove it", it.0)));
        if !is_assistant_id(assistant(pack, index)) {
            problems.push(format!("{place}.assistant: no document with a valid id; set the id of the assistant"));
        }
    }
    problems
}

/// Stores the sources in the caller's transaction, which has stored the documents.
///
/// # Errors
/// The failure of the database.
pub async fn store(connection: &mut Connection, pack: &Pack) -> sqlx::Result<()> {
    for (index, it) in pack.knowledge.iter().enumerate() {
        let assistant = assistant(pack, index);
        let mut source: Source = it.source.clone();
        if source.locale.is_empty() {
            let document = draft::find_document(connection, assistant).await?;
            source.locale = document.map(|it| default_locale(&it)).unwrap_or_default();
        }
        put_in_transaction(connection, assistant, &source).await?;
    }
    Ok(())
}

/// Returns the assistant of a source: the one that it names, else the first document.
fn assistant(pack: &Pack, index: usize) -> &str {
    let named = pack.knowledge.get(index).and_then(|it| it.assistant.as_deref());
    let first = || pack.documents.first().and_then(|it| it.get("id")).and_then(Value::as_str);
    named.or_else(first).unwrap_or_default()
}
