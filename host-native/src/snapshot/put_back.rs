//! Restores the rows of a snapshot to the authors' tables, and records each activation.

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::config::{Issue, Tables};
use convengine_core::turn::Map;
use serde_json::Value;

use super::difference::{Difference, Setting, settings as differing};
use super::state::State;
use crate::store::activation::{self, Activation};
use crate::store::{self, Connection, module, snapshot};
use crate::{clock, import};

/// Minimum number of digits of an abbreviated hash.
const SHORTEST: usize = 8;

/// The rows to restore.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Those of the snapshot whose hash has this prefix.
    Snapshot(String),
    /// Those that were active before.
    Before,
}

/// Restored rows, in a transaction that is not committed yet.
#[derive(Debug)]
pub struct PutBack {
    /// The tables whose rows changed.
    tables: Tables,
    /// The hash of the restored snapshot.
    pub hash: String,
    /// The difference to the rows before.
    pub difference: Difference,
    /// Settings that differ from those of the snapshot. They are not restored.
    pub settings: Vec<Setting>,
    /// The issues of the restored rows with the current settings.
    pub issues: Vec<Issue>,
}

/// Why rows were not restored.
#[derive(Debug)]
pub enum Refusal {
    /// No snapshot matches, or more than one.
    Unknown(String),
    /// There are no earlier rows.
    Nothing,
    /// The rows have new errors.
    Errors(Vec<Issue>),
    /// The tables cannot store the rows.
    Unfit(Vec<String>),
    /// The database failed.
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Refusal::Database(error)
    }
}

/// Restores rows in the caller's transaction. `known` are the issue texts to tolerate; by default those of the current rows.
///
/// # Errors
/// [`Refusal`]; the caller has to roll the transaction back.
pub async fn put_back(
    connection: &mut Connection,
    settings: &Value,
    target: &Wanted,
    known: Option<&BTreeSet<String>>,
) -> Result<PutBack, Refusal> {
    activation::lock(connection).await?;
    let before = State::read(connection, settings).await?;
    note(connection, &before, "found", None).await?;
    let (hash, how, restores) = match target {
        Wanted::Snapshot(digits) => (named(connection, digits).await?, "activate", None),
        Wanted::Before => {
            let newest = activation::newest(connection).await?.ok_or(Refusal::Nothing)?;
            // Repeated rollbacks go further back instead of undoing each other.
            let from = newest.restores.unwrap_or(newest.number);
            let earlier = activation::before(connection, from, &before.rows).await?.ok_or(Refusal::Nothing)?;
            (earlier.hash, "rollback", Some(earlier.number))
        }
    };
    let unreadable = || Refusal::Unknown(format!("snapshot {hash} cannot be read; choose another one"));
    let expected = State::of_snapshot(&snapshot::content(connection, &hash).await?.ok_or_else(unreadable)?);
    let tables = write(connection, &expected).await?;
    let actual = State::compiled(&store::config::tables(connection).await?, &expected.settings);
    if actual.hash != hash {
        let line = "the tables changed the rows of the snapshot: ".to_owned();
        let found = Difference::between(&expected, &actual).to_string();
        return Err(Refusal::Unfit(vec![line + &found.replace('\n', "; ")]));
    }
    let after = State::read(connection, settings).await?;
    let before_texts: BTreeSet<String> = before.issues.iter().map(ToString::to_string).collect();
    let known = known.unwrap_or(&before_texts);
    let new: Vec<Issue> = after.issues.iter().filter(|it| it.is_error() && !known.contains(&it.to_string())).cloned().collect();
    if !new.is_empty() {
        return Err(Refusal::Errors(new));
    }
    note(connection, &after, how, restores).await?;
    let (difference, settings) = (Difference::between(&before, &after), differing(&expected.settings, &after.settings));
    Ok(PutBack { tables, hash, difference, settings, issues: after.issues })
}

impl PutBack {
    /// Commits the transaction.
    ///
    /// # Errors
    /// The failure of the database.
    pub async fn keep(&self, connection: &mut Connection) -> sqlx::Result<()> {
        import::count_on_all(connection, &self.tables).await?;
        connection.commit().await
    }
}

/// Records the active rows with their snapshot, unless they are the last recorded ones.
///
/// # Errors
/// The failure of the database.
pub async fn note(connection: &mut Connection, state: &State, how: &str, restores: Option<i64>) -> sqlx::Result<()> {
    let newest = activation::newest(connection).await?;
    // Empty tables are not worth rolling back to.
    let is_known = newest.as_ref().is_some_and(|it| it.rows == state.rows) || (newest.is_none() && state.is_blank());
    if is_known && restores.is_none() {
        return Ok(());
    }
    store::config::keep_snapshot(connection, &state.hash, &state.source, clock::now()).await?;
    let (hash, rows) = (state.hash.clone(), state.rows.clone());
    let activation = Activation { number: 0, hash, rows, how: how.to_owned(), restores };
    activation::insert(connection, &activation, clock::now()).await
}

/// Finds the snapshot whose hash begins with these digits.
///
/// # Errors
/// [`Refusal::Unknown`] if there is none or more than one.
pub async fn named(connection: &mut Connection, digits: &str) -> Result<String, Refusal> {
    let digits = digits.trim().to_ascii_lowercase();
    if digits.len() < SHORTEST || !digits.chars().all(|it| it.is_ascii_hexdigit()) {
        return Err(Refusal::Unknown(format!("invalid snapshot hash '{digits}'; give at least {SHORTEST} hexadecimal digits")));
    }
    let mut found = snapshot::beginning(connection, &digits).await?;
    match (found.pop(), found.pop()) {
        (Some(hash), None) => Ok(hash),
        (None, _) => Err(Refusal::Unknown(format!("no snapshot begins with '{digits}'; see `convengine snapshot list`"))),
        (Some(_), Some(_)) => Err(Refusal::Unknown(format!("more than one snapshot begins with '{digits}'; give more digits"))),
    }
}

/// Replaces the tables that differ. Tables that the snapshot's profile does not use never differ.
async fn write(connection: &mut Connection, target: &State) -> Result<Tables, Refusal> {
    let current = State::compiled(&store::config::tables(connection).await?, &target.settings);
    let names: BTreeSet<&String> = current.tables.keys().chain(target.tables.keys()).collect();
    let rows = |of: &BTreeMap<String, Vec<Map>>, name: &str| of.get(name).cloned().unwrap_or_default();
    let differ = names.into_iter().filter(|it| rows(&current.tables, it) != rows(&target.tables, it));
    let tables = Tables(differ.map(|it| (it.clone(), rows(&target.tables, it))).collect());
    let mut problems = import::replace(connection, &tables).await?;
    if problems.is_empty() && module::has_tables(connection).await? {
        let missing = module::without(connection).await?;
        problems.extend(missing.iter().map(|it| format!("cv_extension.{it}: missing module; import the extension with its 'wasm'")));
    }
    if problems.is_empty() { Ok(tables) } else { Err(Refusal::Unfit(problems)) }
}
