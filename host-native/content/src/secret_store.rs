//! Loads the secrets of the database into memory, where they are resolved and redacted, and seals those that it stores.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use convengine_core::turn::Millis;
use tokio::sync::Mutex;

use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use convengine_settings::secrets::Secrets;
use convengine_settings::secrets::key_source::{KeySource, create_key_file};
use convengine_settings::secrets::sealing::{KeyRing, SealedPlace};
use convengine_storage::assistant::secret::{self, Secret, StoredValue};
use convengine_storage::{self as storage, Pool};

/// Keeps the in-memory secrets in sync with the database.
#[derive(Debug, Default)]
pub struct SecretStore {
    /// Where the keys are; absent on PostgreSQL without a setting.
    source: Option<KeySource>,
    /// The workspace of the database, to which its values are bound.
    workspace: String,
    /// The state of the last read. Locked while values are read, so that a stale read cannot overwrite a newer one.
    state: Mutex<StoreState>,
    /// A hash of what was seen last.
    revision: AtomicU64,
}

#[derive(Debug, Default)]
struct StoreState {
    keys: KeyRing,
    /// The names and times seen last.
    last_seen: Vec<Secret>,
}

/// Why a secret cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no key to seal it.
    #[error("{0}")]
    NoKey(String),
    /// The database is unavailable.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// What `convengine secret rotate` has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resealed {
    /// The id of the current key.
    pub key_id: String,
    /// The number of values that were sealed with it now.
    pub changed: usize,
    /// The number of values that it had sealed before.
    pub unchanged: usize,
    /// The names of secrets whose value cannot be opened with the keys that were given.
    pub unopened: Vec<String>,
}

impl SecretStore {
    /// Reads the keys, and seals values that were stored before there was a key.
    ///
    /// # Errors
    /// Exit code 2 if the given keys cannot be read, 3 if the database is unavailable.
    pub async fn open(settings: &Settings, pool: &Pool) -> Result<SecretStore, Failure> {
        let database = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
        let (source, workspace) = (settings.secrets_key.clone(), settings.workspace().to_owned());
        let store = SecretStore { source, workspace, ..SecretStore::default() };
        secret::clear_prefixes(pool).await.map_err(database)?;
        let values = secret::list_values(pool).await.map_err(database)?;
        let (plain, sealed): (Vec<StoredValue>, Vec<_>) = values.into_iter().partition(|it| it.key_id.is_none());
        // Beside sealed values, a new key would hide that theirs is lost.
        let keys = match store.read_keys(!plain.is_empty() && sealed.is_empty()).await {
            Ok(keys) => keys,
            Err(reason) => return Err(Failure::invalid_usage(format!("convengine.secrets-key: {reason}"))),
        };
        if let Some(source) = store.source.as_ref().filter(|it| it.is_readable_by_others()) {
            tracing::warn!("the secrets key in {source} is readable by others on this machine; run chmod 600 on it");
        }
        if !plain.is_empty() {
            store.seal_plain(pool, &keys, plain).await.map_err(database)?;
        }
        store.state.lock().await.keys = keys;
        Ok(store)
    }

    /// Seals plain values, if there is a key.
    async fn seal_plain(&self, pool: &Pool, keys: &KeyRing, plain: Vec<StoredValue>) -> sqlx::Result<()> {
        let Some(key) = keys.current() else {
            tracing::warn!(
                "{} stored secrets are not sealed; set convengine.secrets-key to file:PATH, env:VARIABLE or command:PROGRAM, and restart",
                plain.len()
            );
            return Ok(());
        };
        for stored in &plain {
            let Some(sealed) = key.seal(self.place(&stored.name), &stored.value) else { continue };
            secret::reseal(pool, stored, &sealed, key.id()).await?;
        }
        tracing::info!("sealed {} stored secrets with key {}", plain.len(), key.id());
        if let Err(error) = secret::purge_replaced_rows(pool).await {
            tracing::warn!(%error, "cannot remove earlier versions of sealed secrets from the files of the database");
        }
        Ok(())
    }

    /// Reloads the secrets if they have changed.
    pub async fn refresh_if_changed(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut state = self.state.lock().await;
        let now = secret::list(pool).await?;
        if now != state.last_seen {
            self.load(pool, secrets, &mut state).await?;
            self.note_seen(&mut state, now);
        }
        Ok(())
    }

    /// Reloads the secrets after a change by this process.
    pub async fn refresh(&self, pool: &Pool, secrets: &Secrets) -> sqlx::Result<()> {
        let mut state = self.state.lock().await;
        let now = secret::list(pool).await?;
        self.load(pool, secrets, &mut state).await?;
        self.note_seen(&mut state, now);
        Ok(())
    }

    /// A number that is the same in all processes that have loaded the same secrets.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    fn note_seen(&self, state: &mut StoreState, now: Vec<Secret>) {
        let mut hasher = DefaultHasher::new();
        now.hash(&mut hasher);
        self.revision.store(hasher.finish(), Ordering::Relaxed);
        state.last_seen = now;
    }

    async fn load(&self, pool: &Pool, secrets: &Secrets, state: &mut StoreState) -> sqlx::Result<()> {
        let stored = secret::list_values(pool).await?;
        // Another process may have rotated the keys.
        if stored.iter().filter_map(|it| it.key_id.as_ref()).any(|id| state.keys.find(id).is_none()) {
            match self.read_keys(false).await {
                Ok(keys) => state.keys = keys,
                Err(reason) => tracing::error!("cannot read convengine.secrets-key: {reason}"),
            }
        }
        let mut values = BTreeMap::new();
        for it in stored {
            match self.open_value(&state.keys, &it) {
                Ok(value) => drop(values.insert(it.name, value)),
                Err(reason) => tracing::error!("the secret '{}' cannot be used: {reason}", it.name),
            }
        }
        secrets.replace_stored(values);
        Ok(())
    }

    /// Stores a secret. Returns whether it replaced one of the same name.
    ///
    /// # Errors
    /// [`StoreError::NoKey`] if there is no key to seal it, or any database error.
    pub async fn put(&self, pool: &Pool, name: &str, value: &str, at: Millis) -> Result<bool, StoreError> {
        // Read again, because another process may have rotated the keys.
        let mut keys = self.read_keys(false).await.map_err(StoreError::NoKey)?;
        if keys.current().is_none() && self.source.is_some() {
            // A new key beside secrets that are sealed with a lost one would hide the loss.
            if secret::list_values(pool).await?.iter().any(|it| it.key_id.is_some()) {
                return Err(StoreError::NoKey(self.lost_key_message()));
            }
            keys = self.read_keys(true).await.map_err(StoreError::NoKey)?;
        }
        let Some(key) = keys.current() else {
            let message = "no key to seal secrets; set convengine.secrets-key to file:PATH, env:VARIABLE or command:PROGRAM, and restart";
            return Err(StoreError::NoKey(message.to_owned()));
        };
        let value = key.seal(self.place(name), value).ok_or_else(|| StoreError::NoKey("the system gives no random numbers".to_owned()))?;
        let sealed = StoredValue { name: name.to_owned(), value, key_id: Some(key.id().to_owned()) };
        self.state.lock().await.keys = keys;
        if secret::replace(pool, &sealed, at).await? {
            return Ok(true);
        }
        // Another request may just have created a secret with this name.
        Ok(!secret::insert(pool, &sealed, at).await? && secret::replace(pool, &sealed, at).await?)
    }

    /// Seals all values with the current key. Can be interrupted and repeated: each row names its key.
    ///
    /// # Errors
    /// Exit code 2 if there is no key, 3 if the database is unavailable.
    pub async fn reseal_all(&self, settings: &Settings, pool: &Pool) -> Result<Resealed, Failure> {
        let database = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
        let keys = self.read_keys(false).await.map_err(|error| Failure::invalid_usage(format!("convengine.secrets-key: {error}")))?;
        let missing =
            || Failure::invalid_usage("no key to seal secrets; set convengine.secrets-key to file:PATH, env:VARIABLE or command:PROGRAM");
        let key = keys.current().ok_or_else(missing)?;
        let mut report = Resealed { key_id: key.id().to_owned(), changed: 0, unchanged: 0, unopened: Vec::new() };
        for stored in secret::list_values(pool).await.map_err(database)? {
            if stored.key_id.as_deref() == Some(key.id()) {
                report.unchanged += 1;
                continue;
            }
            let value = self.open_value(&keys, &stored).ok();
            let Some(sealed) = value.and_then(|value| key.seal(self.place(&stored.name), &value)) else {
                report.unopened.push(stored.name);
                continue;
            };
            // A value that was replaced meanwhile is sealed already.
            report.changed += usize::from(secret::reseal(pool, &stored, &sealed, key.id()).await.map_err(database)?);
        }
        if report.changed > 0 {
            secret::purge_replaced_rows(pool).await.map_err(database)?;
        }
        Ok(report)
    }

    /// Returns the names of the secrets that the keys cannot open.
    ///
    /// # Errors
    /// Exit code 2 if the keys cannot be read, 3 if the database is unavailable.
    pub async fn list_unopened(&self, settings: &Settings, pool: &Pool) -> Result<Vec<String>, Failure> {
        let keys = self.read_keys(false).await.map_err(|error| Failure::invalid_usage(format!("convengine.secrets-key: {error}")))?;
        let values = secret::list_values(pool).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
        Ok(values.into_iter().filter(|value| self.open_value(&keys, value).is_err()).map(|it| it.name).collect())
    }

    fn open_value(&self, keys: &KeyRing, stored: &StoredValue) -> Result<String, String> {
        let Some(id) = &stored.key_id else { return Ok(stored.value.clone()) };
        let key = keys.find(id).ok_or_else(|| {
            let source = self.source.as_ref().map_or_else(|| "convengine.secrets-key".to_owned(), ToString::to_string);
            format!("it is sealed with key {id}, which is not in {source}; restore that key, or delete the secret and store it again")
        })?;
        let changed = "its row was changed, or copied from another name or workspace; delete the secret and store it again";
        key.open(self.place(&stored.name), &stored.value).ok_or_else(|| changed.to_owned())
    }

    fn lost_key_message(&self) -> String {
        let source = self.source.as_ref().map_or_else(String::new, ToString::to_string);
        format!("the key that sealed the stored secrets is missing; restore {source}, or delete those secrets first")
    }

    fn place<'a>(&'a self, name: &'a str) -> SealedPlace<'a> {
        SealedPlace { workspace: &self.workspace, name }
    }

    /// Reads the keys of the source. Makes one beside an SQLite file if needed.
    async fn read_keys(&self, make: bool) -> Result<KeyRing, String> {
        let Some(source) = self.source.clone() else { return Ok(KeyRing::default()) };
        // Commands and files block.
        let read = tokio::task::spawn_blocking(move || {
            if let KeySource::BesideDatabase(path) = &source
                && make
                && create_key_file(path).map_err(|it| format!("cannot make {source}: {it}"))?
            {
                tracing::warn!("made the key of stored secrets in {source}; keep a copy of it apart from backups of the database");
            }
            source.read()
        });
        read.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// Returns whether a text is a valid secret name.
pub fn is_secret_name(text: &str) -> bool {
    let rest = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
    text.len() <= 64 && text.starts_with(|it: char| it.is_ascii_uppercase()) && text.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use convengine_storage::testing::{Database, each_database, sqlite};

    use super::*;

    fn store(folder: &Path, workspace: &str) -> SecretStore {
        let source = Some(KeySource::BesideDatabase(folder.join("test.db.key")));
        SecretStore { source, workspace: workspace.to_owned(), ..SecretStore::default() }
    }

    #[test]
    fn names_are_capital_letters() {
        assert!(is_secret_name("A") && is_secret_name("CRM_KEY_2") && is_secret_name(&"A".repeat(64)));
        for name in ["", "crm", "Crm", "2A", "_A", "A-B", "A B", "\u{c4}", "A\0", &"A".repeat(65)] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[tokio::test]
    async fn secrets_changed_by_another_process_are_reloaded() {
        let folder = tempfile::tempdir().expect("a folder");
        for database in each_database().await {
            let (pool, secrets) = (&database.pool, Arc::new(Secrets::default()));
            let (ours, other) = (store(folder.path(), "default"), store(folder.path(), "default"));
            assert!(!other.put(pool, "CRM", "first-value", 1).await.expect("stored"));
            ours.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("first-value"));
            assert!(other.put(pool, "CRM", "second-value", 2).await.expect("replaced"));
            ours.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("second-value"));
            // A change with the same timestamp is not detected; the process that made it refreshes.
            other.put(pool, "CRM", "third-value", 2).await.expect("replaced");
            ours.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("second-value"));
            let running = secrets.begin_use();
            ours.refresh(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM").as_deref(), Some("third-value"));
            secret::delete(pool, "CRM", 3).await.expect("gone");
            ours.refresh_if_changed(pool, &secrets).await.expect("read");
            assert_eq!(secrets.get("CRM"), None);
            assert_eq!(secrets.scrub("second-value third-value"), "[secret:CRM] [secret:CRM]");
            drop(running);
            assert_eq!(secrets.scrub("second-value third-value"), "second-value third-value");
        }
    }

    #[tokio::test]
    async fn a_swapped_row_does_not_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = sqlite().await;
        let (pool, store) = (&database.pool, store(folder.path(), "default"));
        for name in ["CRM", "ERP"] {
            store.put(pool, name, &format!("value-of-{name}"), 1).await.expect("stored");
        }
        let loaded = async |store: &SecretStore| {
            let secrets = Secrets::default();
            store.refresh(pool, &secrets).await.expect("read");
            [secrets.get("CRM"), secrets.get("ERP")]
        };
        assert_eq!(loaded(&store).await, ["value-of-CRM", "value-of-ERP"].map(|value| Some(value.to_owned())));
        let values = secret::list_values(pool).await.expect("values");
        let of = |name: &str| values.iter().find(|it| it.name == name).expect("a value").value.clone();
        let moved = StoredValue { name: "CRM".to_owned(), value: of("ERP"), key_id: values[0].key_id.clone() };
        secret::replace(pool, &moved, 2).await.expect("swapped");
        assert_eq!(loaded(&store).await, [None, Some("value-of-ERP".to_owned())]);
        let neighbour = SecretStore { workspace: "acme".to_owned(), ..self::store(folder.path(), "") };
        assert_eq!(loaded(&neighbour).await, [None, None], "the database of another workspace");
    }

    #[tokio::test]
    async fn an_interrupted_rotation_is_finished_by_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let Database { pool, config, .. } = &sqlite().await;
        let settings =
            Settings::load(&convengine_settings::Options { database: Some(config.url.clone()), ..Default::default() }).expect("settings");
        let store = store(folder.path(), "default");
        for name in ["A", "B", "C"] {
            store.put(pool, name, &format!("value-of-{name}"), 1).await.expect("stored");
        }
        let path = folder.path().join("test.db.key");
        convengine_settings::secrets::key_source::add_key(&path).expect("a new key");
        // A process died after the first row.
        let keys = store.read_keys(false).await.expect("keys");
        let all = secret::list_values(pool).await.expect("values");
        let value = store.open_value(&keys, &all[0]).expect("opened with the old key");
        let key = keys.current().expect("a key");
        let sealed = key.seal(store.place(&all[0].name), &value).expect("sealed");
        assert!(secret::reseal(pool, &all[0], &sealed, key.id()).await.expect("an answer"));
        let secrets = Secrets::default();
        store.refresh(pool, &secrets).await.expect("read");
        assert_eq!(secrets.names().len(), 3, "values of both keys are open");
        let report = store.reseal_all(&settings, pool).await.expect("rotated");
        assert_eq!(report, Resealed { key_id: key.id().to_owned(), changed: 2, unchanged: 1, unopened: Vec::new() });
        convengine_settings::secrets::key_source::keep_keys(&path, 1).expect("the new key");
        store.refresh(pool, &secrets).await.expect("read");
        assert_eq!(secrets.get("C").as_deref(), Some("value-of-C"));
        // Without the key nothing opens, and nothing is lost silently.
        std::fs::remove_file(&path).expect("removed");
        let refused = store.put(pool, "D", "value-of-D", 1).await.expect_err("a new key would hide the loss");
        assert!(matches!(&refused, StoreError::NoKey(it) if it.contains("is missing; restore")), "{refused}");
        create_key_file(&path).expect("another key");
        let report = store.reseal_all(&settings, pool).await.expect("an answer");
        assert_eq!((report.changed, report.unopened.len()), (0, 3));
    }
}
