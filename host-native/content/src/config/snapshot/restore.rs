//! Restores the rows of a snapshot to the authors' tables, and records each activation.

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::config::{Config, Issue, Tables};
use convengine_core::turn::Map;
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_settings::Settings;
use convengine_storage::activation::{self, Activation};
use convengine_storage::run_blocking;
use convengine_storage::{self as storage, Connection, module, snapshot};
use serde_json::Value;

use super::difference::{Difference, SettingChange, diff_settings as differing};
use super::state::ConfigState;
use crate::config::import;

/// Minimum number of digits of an abbreviated hash.
const MIN_DIGITS: usize = 8;

/// The rows to restore.
#[derive(Debug, Clone)]
pub enum RestoreTarget {
    /// Those of the snapshot whose hash has this prefix.
    Snapshot(String),
    /// Those that were active before.
    Previous,
}

/// Restored rows, in a transaction that is not committed yet.
#[derive(Debug)]
pub struct RestoredRows {
    /// The tables whose rows changed.
    tables: Tables,
    /// The hash of the restored snapshot.
    pub hash: String,
    /// The difference to the rows before.
    pub difference: Difference,
    /// Settings that differ from those of the snapshot. They are not restored.
    pub settings: Vec<SettingChange>,
    /// The issues of the restored rows with the current settings.
    pub issues: Vec<Issue>,
}

/// Why rows were not restored.
#[derive(Debug)]
pub enum RestoreError {
    /// No snapshot matches, or more than one.
    UnknownSnapshot(String),
    /// There are no earlier rows.
    NothingEarlier,
    /// The rows have new errors.
    NewErrors(Vec<Issue>),
    /// The tables cannot store the rows.
    NotStorable(Vec<String>),
    /// The database failed.
    Database(sqlx::Error),
}

impl From<sqlx::Error> for RestoreError {
    fn from(error: sqlx::Error) -> Self {
        RestoreError::Database(error)
    }
}

/// Restores rows in the caller's transaction. `known` are the issue texts to tolerate; by default those of the current rows.
///
/// # Errors
/// [`RestoreError`]; the caller has to roll the transaction back.
pub async fn restore_rows(
    connection: &mut Connection,
    settings: &Value,
    target: &RestoreTarget,
    known: Option<&BTreeSet<String>>,
) -> Result<RestoredRows, RestoreError> {
    activation::lock_configuration(connection).await?;
    let before = ConfigState::read(connection, settings).await?;
    record_activation(connection, &before, "found", None).await?;
    let (hash, how, restores) = match target {
        RestoreTarget::Snapshot(digits) => (find_snapshot(connection, digits).await?, "activate", None),
        RestoreTarget::Previous => {
            let newest = activation::find_newest(connection).await?.ok_or(RestoreError::NothingEarlier)?;
            // Repeated rollbacks go further back instead of undoing each other.
            let from = newest.restores.unwrap_or(newest.number);
            let earlier = activation::find_previous(connection, from, &before.rows_hash).await?.ok_or(RestoreError::NothingEarlier)?;
            (earlier.hash, "rollback", Some(earlier.number))
        }
    };
    let unreadable = || RestoreError::UnknownSnapshot(format!("snapshot {hash} cannot be read; choose another one"));
    let content = snapshot::find_content(connection, &hash).await?.ok_or_else(unreadable)?;
    let expected = run_blocking(move || ConfigState::from_snapshot(&content)).await?;
    let tables = write_tables(connection, &expected).await?;
    let actual = compile_stored(connection, &expected.settings).await?;
    if actual.hash != hash {
        let line = "the database stores the rows of the snapshot differently: ".to_owned();
        let found = Difference::between(&expected, &actual).to_string();
        return Err(RestoreError::NotStorable(vec![line + &found.replace('\n', "; ")]));
    }
    let after = ConfigState::read(connection, settings).await?;
    let before_texts: BTreeSet<String> = before.issues.iter().map(ToString::to_string).collect();
    let known = known.unwrap_or(&before_texts);
    let new: Vec<Issue> = after.issues.iter().filter(|issue| issue.is_error() && !known.contains(&issue.to_string())).cloned().collect();
    if !new.is_empty() {
        return Err(RestoreError::NewErrors(new));
    }
    record_activation(connection, &after, how, restores).await?;
    let (difference, settings) = (Difference::between(&before, &after), differing(&expected.settings, &after.settings));
    Ok(RestoredRows { tables, hash, difference, settings, issues: after.issues })
}

impl RestoredRows {
    /// Commits the transaction.
    ///
    /// # Errors
    /// The failure of the database.
    pub async fn commit(&self, connection: &mut Connection) -> sqlx::Result<()> {
        import::advance_all_sequences(connection, &self.tables).await?;
        connection.commit().await
    }
}

/// Records the active rows with their snapshot, unless they are the last recorded ones.
///
/// # Errors
/// The failure of the database.
pub async fn record_activation(connection: &mut Connection, state: &ConfigState, how: &str, restores: Option<i64>) -> sqlx::Result<()> {
    if is_recorded(connection, &state.rows_hash, state.is_blank()).await? && restores.is_none() {
        return Ok(());
    }
    storage::config::store_snapshot_text(connection, &state.hash, || state.source.clone(), clock::now()).await?;
    let (hash, rows) = (state.hash.clone(), state.rows_hash.clone());
    let activation = Activation { number: 0, hash, rows_hash: rows, cause: how.to_owned(), restores };
    activation::insert(connection, &activation, clock::now()).await
}

/// Records the rows of a configuration whose snapshot is stored, unless they are the last recorded ones.
///
/// # Errors
/// The failure of the database.
pub async fn record_config(connection: &mut Connection, config: &Config, how: &str) -> sqlx::Result<()> {
    if is_recorded(connection, config.hash_rows(), config.row_counts().all(|it| it.1 == 0)).await? {
        return Ok(());
    }
    let (hash, rows) = (config.hash_source().to_owned(), config.hash_rows().to_owned());
    let activation = Activation { number: 0, hash, rows_hash: rows, cause: how.to_owned(), restores: None };
    activation::insert(connection, &activation, clock::now()).await
}

/// Whether rows are the last recorded ones. Empty tables are not worth rolling back to.
async fn is_recorded(connection: &mut Connection, rows_hash: &str, is_blank: bool) -> sqlx::Result<bool> {
    let newest = activation::find_newest(connection).await?;
    Ok(newest.as_ref().is_some_and(|it| it.rows_hash == rows_hash) || (newest.is_none() && is_blank))
}

/// Finds the snapshot whose hash begins with these digits.
///
/// # Errors
/// [`RestoreError::UnknownSnapshot`] if there is none or more than one.
pub async fn find_snapshot(connection: &mut Connection, digits: &str) -> Result<String, RestoreError> {
    let digits = digits.trim().to_ascii_lowercase();
    if digits.len() < MIN_DIGITS || !digits.chars().all(|it| it.is_ascii_hexdigit()) {
        return Err(RestoreError::UnknownSnapshot(format!(
            "invalid snapshot hash '{digits}'; give at least {MIN_DIGITS} hexadecimal digits"
        )));
    }
    let mut found = snapshot::find_by_prefix(connection, &digits).await?;
    match (found.pop(), found.pop()) {
        (Some(hash), None) => Ok(hash),
        (None, _) => Err(RestoreError::UnknownSnapshot(format!("no snapshot begins with '{digits}'; see `convengine snapshot list`"))),
        (Some(_), Some(_)) => {
            Err(RestoreError::UnknownSnapshot(format!("more than one snapshot begins with '{digits}'; give more digits")))
        }
    }
}

/// Compiles the stored rows with other settings, outside the threads that run turns.
async fn compile_stored(connection: &mut Connection, settings: &Value) -> sqlx::Result<ConfigState> {
    let (tables, settings) = (storage::config::load_tables(connection).await?, settings.clone());
    run_blocking(move || ConfigState::compile(&tables, &settings)).await
}

/// Replaces the tables that differ. Tables that the snapshot's profile does not use never differ.
async fn write_tables(connection: &mut Connection, target: &ConfigState) -> Result<Tables, RestoreError> {
    let current = compile_stored(connection, &target.settings).await?;
    let names: BTreeSet<&String> = current.tables.keys().chain(target.tables.keys()).collect();
    let rows = |of: &BTreeMap<String, Vec<Map>>, name: &str| of.get(name).cloned().unwrap_or_default();
    let differ = names.into_iter().filter(|name| rows(&current.tables, name) != rows(&target.tables, name));
    let tables = Tables(differ.map(|name| (name.clone(), rows(&target.tables, name))).collect());
    let mut problems = import::replace(connection, &tables).await?;
    if problems.is_empty() && module::has_tables(connection).await? {
        let missing = module::list_missing(connection).await?;
        problems.extend(missing.iter().map(|it| format!("cv_extension.{it}: missing module; import the extension with its 'wasm'")));
    }
    if problems.is_empty() { Ok(tables) } else { Err(RestoreError::NotStorable(problems)) }
}

impl RestoreError {
    /// Returns the failure of a command.
    pub fn into_failure(self, settings: &Settings) -> Failure {
        Failure::check_failed(match self {
            RestoreError::Database(error) => return storage::database_failure(&settings.database, &error),
            RestoreError::UnknownSnapshot(line) => vec![line],
            RestoreError::NothingEarlier => vec!["no earlier rows to roll back to; see `convengine snapshot list`".to_owned()],
            RestoreError::NotStorable(lines) => lines,
            RestoreError::NewErrors(issues) => {
                let last = "nothing changed: the rows would introduce new errors".to_owned();
                issues.iter().map(ToString::to_string).chain([last]).collect()
            }
        })
    }
}
