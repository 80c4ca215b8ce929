//! Cache of the documents of published versions: each is read, parsed and hashed once. An entry is found by the content hash of its version, so
//! that nothing expires.

use std::sync::Arc;

use convengine_core::config::Config;
use quick_cache::sync::Cache;
use serde_json::Value;

use convengine_storage::Pool;
use convengine_storage::assistant::{DocumentKind, ProgramKey, version};

/// The cache size.
const MAX_CACHED: usize = 128;

/// The document that a session starts on.
#[derive(Debug, Clone)]
pub struct SessionDocument {
    /// The document.
    pub document: Arc<Value>,
    /// Its version; absent for a draft.
    pub version: Option<VersionId>,
}

/// A published version with its content hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VersionId {
    key: ProgramKey,
    number: i64,
    snapshot: String,
}

#[derive(Debug, Clone)]
struct CachedVersion {
    document: Arc<Value>,
    /// The compiled bundle of a document that runs no others.
    config: Option<Arc<Config>>,
}

/// Documents of published versions, and what compiles from them alone.
#[derive(Debug)]
pub struct VersionCache(Cache<VersionId, CachedVersion>);

impl Default for VersionCache {
    fn default() -> VersionCache {
        VersionCache(Cache::new(MAX_CACHED))
    }
}

impl SessionDocument {
    /// Wraps a draft.
    pub fn from_draft(document: Value) -> SessionDocument {
        SessionDocument { document: Arc::new(document), version: None }
    }
}

impl VersionCache {
    /// Returns the document of a version; `None` when there is none.
    ///
    /// # Errors
    /// Returns any database error; [`sqlx::Error::Decode`] for a document that cannot be parsed.
    pub async fn load(&self, pool: &Pool, key: &ProgramKey, number: i64) -> sqlx::Result<Option<SessionDocument>> {
        let Some(snapshot) = version::find_snapshot(pool, key.as_str(), number).await? else { return Ok(None) };
        let id = VersionId { key: key.clone(), number, snapshot };
        if let Some(found) = self.0.get(&id) {
            return Ok(Some(SessionDocument { document: found.document, version: Some(id) }));
        }
        // The version may have been replaced since.
        let Some((snapshot, text)) = version::find_with_snapshot(pool, key.as_str(), number).await? else { return Ok(None) };
        let id = VersionId { snapshot, ..id };
        let document: Arc<Value> = serde_json::from_str(&text).map(Arc::new).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        self.0.insert(id.clone(), CachedVersion { document: Arc::clone(&document), config: None });
        Ok(Some(SessionDocument { document, version: Some(id) }))
    }

    /// Returns the compiled document of a version that runs no others.
    pub fn find_config(&self, id: &VersionId) -> Option<Arc<Config>> {
        self.0.get(id)?.config
    }

    /// Returns the compiled documents, on which sessions may start without looking at the database.
    pub fn list_configs(&self) -> Vec<Arc<Config>> {
        self.0.iter().filter_map(|it| it.1.config).collect()
    }

    /// Keeps the compiled document of a version, unless it depends on other documents and tools as they are live now.
    pub fn keep_config(&self, id: &VersionId, config: &Arc<Config>) {
        let is_independent = match id.key.kind() {
            DocumentKind::Assistant | DocumentKind::Agent => true,
            DocumentKind::Workflow | DocumentKind::Chain => false,
        };
        if let Some(cached) = self.0.get(id).filter(|_| is_independent) {
            self.0.insert(id.clone(), CachedVersion { config: Some(Arc::clone(config)), ..cached });
        }
    }
}

#[cfg(test)]
mod tests {
    use convengine_storage::assistant::draft;
    use convengine_storage::assistant::version::{NewVersion, publish};
    use convengine_storage::statement::{SqlValue, Statement};
    use convengine_storage::testing::each_database;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_full_cache_evicts_some_versions_and_keeps_the_rest() {
        let (cache, key) = (VersionCache::default(), ProgramKey::parse("desk"));
        let document = Arc::new(json!({}));
        for number in 0..2 * i64::try_from(MAX_CACHED).expect("a number") {
            let id = VersionId { key: key.clone(), number, snapshot: String::new() };
            cache.0.insert(id, CachedVersion { document: Arc::clone(&document), config: None });
        }
        assert!((MAX_CACHED / 2..=MAX_CACHED).contains(&cache.0.len()), "{:?}", cache.0);
    }

    #[tokio::test]
    async fn a_version_is_parsed_once_as_long_as_its_content_is_the_same() {
        for mut database in each_database().await {
            let (cache, key) = (VersionCache::default(), ProgramKey::parse("desk"));
            draft::save(&database.pool, "desk", "Desk", "{}", draft::Expected::Anything, 5).await.expect("saved");
            let version = |document, snapshot| NewVersion { assistant: "desk", revision: 1, snapshot, document };
            publish(&mut database.connection, &version(r#"{"a":1}"#, "sha256:a"), 6).await.expect("published");
            let load = async |number| cache.load(&database.pool, &key, number).await.expect("an answer");
            let (first, again) = (load(1).await.expect("a document"), load(1).await.expect("a document"));
            assert!(Arc::ptr_eq(&first.document, &again.document), "it is not parsed again");
            assert!(load(2).await.is_none());
            // Another document under the same key and number, as after a deletion.
            let sql = Statement::portable("update cs_version set document = $1, snapshot = $2");
            let values = [SqlValue::Text(r#"{"a":2}"#), SqlValue::Text("sha256:b")];
            database.pool.execute_for_test(&sql, &values).await.expect("changed");
            assert_eq!(*load(1).await.expect("a document").document, json!({"a": 2}));
        }
    }
}
