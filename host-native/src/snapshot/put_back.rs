//! Puts the rows of a snapshot back into the authors' tables, and notes which rows were taken when.

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::config::{Issue, Tables};
use convengine_core::turn::Map;
use serde_json::Value;

use super::difference::{Difference, Setting, settings as differing};
use super::state::State;
use crate::store::activation::{self, Activation};
use crate::store::{self, Connection, module, snapshot};
use crate::{clock, import};

/// Fewest digits of a hash.
const SHORTEST: usize = 8;

/// Which rows are wanted.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Those of the snapshot whose hash begins like this.
    Snapshot(String),
    /// Those that were there before.
    Before,
}

/// What becomes of the rows with the end of the transaction.
#[derive(Debug)]
pub struct PutBack {
    /// The tables whose rows are others.
    tables: Tables,
    /// The snapshot whose rows they are.
    pub hash: String,
    /// What was changed.
    pub difference: Difference,
    /// Settings with which the snapshot was made and that are others now. They are no rows, and stay.
    pub settings: Vec<Setting>,
    /// What of the rows is left out or fails, with the settings as they are.
    pub issues: Vec<Issue>,
}

/// Why the rows stay as they are.
#[derive(Debug)]
pub enum Refusal {
    /// No snapshot is meant, or more than one.
    Unknown(String),
    /// There were no other rows before.
    Nothing,
    /// The rows have errors that were not there before.
    Errors(Vec<Issue>),
    /// The tables cannot hold them.
    Unfit(Vec<String>),
    /// What the database says.
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Refusal::Database(error)
    }
}

/// Puts rows back, in a transaction that the caller holds. `known` are the errors that may stay; without them, those of the rows as they
/// are.
///
/// # Errors
/// Why nothing may be kept of the transaction.
pub async fn put_back(
    connection: &mut Connection,
    settings: &Value,
    wanted: &Wanted,
    known: Option<&BTreeSet<String>>,
) -> Result<PutBack, Refusal> {
    activation::lock(connection).await?;
    let before = State::read(connection, settings).await?;
    note(connection, &before, "found", None).await?;
    let (hash, how, restores) = match wanted {
        Wanted::Snapshot(digits) => (named(connection, digits).await?, "activate", None),
        Wanted::Before => {
            let newest = activation::newest(connection).await?.ok_or(Refusal::Nothing)?;
            // A way back that was taken is not taken again: the next one leads further back.
            let from = newest.restores.unwrap_or(newest.number);
            let earlier = activation::before(connection, from, &before.rows).await?.ok_or(Refusal::Nothing)?;
            (earlier.hash, "rollback", Some(earlier.number))
        }
    };
    let unreadable = || Refusal::Unknown(format!("the snapshot {hash} cannot be read: choose another one"));
    let target = State::of_snapshot(&snapshot::content(connection, &hash).await?.ok_or_else(unreadable)?);
    let tables = write(connection, &target).await?;
    let reached = State::compiled(&store::config::tables(connection).await?, &target.settings);
    if reached.hash != hash {
        let line = "the tables do not give the rows of the snapshot back as they were: ".to_owned();
        let found = Difference::between(&target, &reached).to_string();
        return Err(Refusal::Unfit(vec![line + &found.replace('\n', "; ")]));
    }
    let after = State::read(connection, settings).await?;
    let of_before: BTreeSet<String> = before.issues.iter().map(ToString::to_string).collect();
    let known = known.unwrap_or(&of_before);
    let new: Vec<Issue> = after.issues.iter().filter(|it| it.is_error() && !known.contains(&it.to_string())).cloned().collect();
    if !new.is_empty() {
        return Err(Refusal::Errors(new));
    }
    note(connection, &after, how, restores).await?;
    let (difference, settings) = (Difference::between(&before, &after), differing(&target.settings, &after.settings));
    Ok(PutBack { tables, hash, difference, settings, issues: after.issues })
}

impl PutBack {
    /// Ends the transaction and keeps what it has done.
    ///
    /// # Errors
    /// What the database says.
    pub async fn keep(&self, connection: &mut Connection) -> sqlx::Result<()> {
        import::count_on_all(connection, &self.tables).await?;
        connection.commit().await
    }
}

/// Notes which rows are there now, with their snapshot, unless they are those that were noted last.
///
/// # Errors
/// What the database says.
pub async fn note(connection: &mut Connection, state: &State, how: &str, restores: Option<i64>) -> sqlx::Result<()> {
    let newest = activation::newest(connection).await?;
    // That nothing was there is nothing to go back to.
    let is_known = newest.as_ref().is_some_and(|it| it.rows == state.rows) || (newest.is_none() && state.is_blank());
    if is_known && restores.is_none() {
        return Ok(());
    }
    store::config::keep_snapshot(connection, &state.hash, &state.source, clock::now()).await?;
    let (hash, rows) = (state.hash.clone(), state.rows.clone());
    let activation = Activation { number: 0, hash, rows, how: how.to_owned(), restores };
    activation::insert(connection, &activation, clock::now()).await
}

/// The snapshot whose hash begins with these digits.
///
/// # Errors
/// When there is none or there are several.
pub async fn named(connection: &mut Connection, digits: &str) -> Result<String, Refusal> {
    let digits = digits.trim().to_ascii_lowercase();
    if digits.len() < SHORTEST || !digits.chars().all(|it| it.is_ascii_hexdigit()) {
        return Err(Refusal::Unknown(format!("'{digits}' names no snapshot: give at least {SHORTEST} digits of its hash")));
    }
    let mut found = snapshot::beginning(connection, &digits).await?;
    match (found.pop(), found.pop()) {
        (Some(hash), None) => Ok(hash),
        (None, _) => Err(Refusal::Unknown(format!("there is no snapshot {digits}: see `convengine snapshot list`"))),
        (Some(_), Some(_)) => Err(Refusal::Unknown(format!("more than one snapshot begins with {digits}: give more digits"))),
    }
}

/// Replaces the tables that differ. Those that the profile of the snapshot does not read differ in nothing.
async fn write(connection: &mut Connection, target: &State) -> Result<Tables, Refusal> {
    let present = State::compiled(&store::config::tables(connection).await?, &target.settings);
    let names: BTreeSet<&String> = present.tables.keys().chain(target.tables.keys()).collect();
    let rows = |of: &BTreeMap<String, Vec<Map>>, name: &str| of.get(name).cloned().unwrap_or_default();
    let differ = names.into_iter().filter(|it| rows(&present.tables, it) != rows(&target.tables, it));
    let tables = Tables(differ.map(|it| (it.clone(), rows(&target.tables, it))).collect());
    let mut problems = import::replace(connection, &tables).await?;
    if problems.is_empty() && module::has_tables(connection).await? {
        let bare = module::without(connection).await?;
        problems.extend(bare.iter().map(|it| format!("cv_extension.{it}: its module is not there; import the extension with its 'wasm'")));
    }
    if problems.is_empty() { Ok(tables) } else { Err(Refusal::Unfit(problems)) }
}
