//! Imports the knowledge sources of a pack: each is added to the knowledge base of its assistant, or replaces a source there.

use convengine_core::knowledge::Source;
use convengine_core::pack::Pack;
use convengine_storage::Connection;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft};

use crate::knowledge::document::is_source_id;
use crate::knowledge::indexing::{StoredSource, default_locale, put_in_transaction};

/// Returns a line for each source that cannot be stored.
pub fn find_problems(pack: &Pack) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, it) in pack.knowledge.iter().enumerate() {
        let place = format!("knowledge[{}]", index + 1);
        if !is_source_id(&it.source.id) {
            problems.push(format!("{place}.id: '{}' is not a source id; use up to 128 characters without commas", it.source.id));
        }
        let texts = [("title", Some(&it.source.title)), ("url", it.source.url.as_ref()), ("locale", Some(&it.source.locale))];
        let nul = texts.iter().filter(|member| member.1.is_some_and(|it| it.contains('\0')));
        problems.extend(nul.map(|it| format!("{place}.{}: contains NUL; remove it", it.0)));
        let key = base_key(pack, index);
        if !key.kind().is_id(key.id()) {
            problems.push(format!("{place}.assistant: no document with a valid id; set the id of the assistant"));
        }
    }
    problems
}

/// Stores the sources in the caller's transaction, which has stored the documents. Returns them; they are indexed after it, so that turns need
/// not wait.
///
/// # Errors
/// The failure of the database.
pub async fn store(connection: &mut Connection, pack: &Pack) -> sqlx::Result<Vec<StoredSource>> {
    let mut stored = Vec::with_capacity(pack.knowledge.len());
    for (index, it) in pack.knowledge.iter().enumerate() {
        let key = base_key(pack, index);
        let mut source: Source = it.source.clone();
        if source.locale.is_empty() {
            let document = draft::find_document(connection, key.as_str()).await?;
            source.locale = document.map(|it| default_locale(&it)).unwrap_or_default();
        }
        stored.push(put_in_transaction(connection, key.as_str(), source).await?);
    }
    Ok(stored)
}

/// Returns the document of a source: the one that it names, else the first of the pack.
fn base_key(pack: &Pack, index: usize) -> ProgramKey {
    let source = pack.knowledge.get(index);
    let Some(id) = source.and_then(|it| it.assistant.as_deref()) else {
        return pack.documents.first().map_or_else(|| ProgramKey::parse(""), ProgramKey::of_document);
    };
    if let Some(kind) = source.and_then(|it| it.program.as_deref()).and_then(DocumentKind::from_name) {
        return ProgramKey::new(kind, id);
    }
    let keys = pack.documents.iter().map(ProgramKey::of_document);
    keys.into_iter().find(|key| key.id() == id).unwrap_or_else(|| ProgramKey::new(DocumentKind::Assistant, id))
}
