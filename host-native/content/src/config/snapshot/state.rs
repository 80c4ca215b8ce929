//! The authors' rows in a comparable form.

use std::collections::BTreeMap;

use convengine_core::config::{Config, Issue, Tables};
use convengine_core::json::canonical;
use convengine_core::turn::Map;
use convengine_storage::run_blocking;
use convengine_storage::{self as storage, Connection, script};
use serde_json::{Value, json};

use crate::config::compile;

/// The creation time, which does not affect behavior.
const CREATED_AT: &str = "created_at";

/// The authors' rows at one point in time.
#[derive(Debug)]
pub struct ConfigState {
    /// Rows by table; each kind of fake is a table of its own.
    pub tables: BTreeMap<String, Vec<Map>>,
    /// The settings that affect turns.
    pub settings: Value,
    /// The hash of the snapshot.
    pub hash: String,
    /// SHA-256 of the rows without settings, in hexadecimal.
    pub rows_hash: String,
    /// The issues of the rows.
    pub issues: Vec<Issue>,
    /// The snapshot, as JSON.
    pub source: String,
}

impl ConfigState {
    /// Compiles rows with settings.
    pub fn compile(tables: &Tables, settings: &Value) -> ConfigState {
        let (config, issues) = Config::compile(tables, settings);
        ConfigState::from_config(&config, issues)
    }

    /// Loads a stored snapshot.
    pub fn from_snapshot(source: &Value) -> ConfigState {
        let (config, issues) = Config::from_source(source);
        ConfigState::from_config(&config, issues)
    }

    /// Reads all rows of the authors from a database.
    ///
    /// # Errors
    /// The failure of the database.
    pub async fn read(connection: &mut Connection, settings: &Value) -> sqlx::Result<ConfigState> {
        let raw = storage::config::load_tables(connection).await?;
        let (tables, tree, dialect) = (raw.clone(), settings.clone(), compile::dialect(connection, settings));
        let compile = move || {
            let compiled = compile::compile_tables(tables, &tree, dialect, None);
            ConfigState::from_config(&compiled.config, compiled.issues)
        };
        let mut state = run_blocking(compile).await?;
        // Tables that the pipeline's profile does not use are not part of the snapshot.
        let others = storage::config::load_other_tables(connection).await?;
        for (table, rows) in raw.0.into_iter().chain(others.0) {
            state.tables.entry(table).or_insert_with(|| rows.into_iter().map(without_created_at).collect());
        }
        let scripts = script::load(connection).await?;
        for (kind, replies) in [("tasks", scripts.tasks), ("tools", scripts.tools), ("containers", scripts.containers)] {
            if !replies.is_empty() {
                state.tables.insert(kind.to_owned(), replies.into_iter().map(|(name, reply)| reply_row(&name, reply)).collect());
            }
        }
        if !scripts.http.is_empty() {
            state.tables.insert("http".to_owned(), vec![reply_row("rules", json!(scripts.http))]);
        }
        Ok(state)
    }

    /// Returns whether there are no rows yet.
    pub fn is_blank(&self) -> bool {
        self.tables.values().all(Vec::is_empty)
    }

    /// Returns the rows that a configuration was compiled from.
    pub fn from_config(config: &Config, issues: Vec<Issue>) -> ConfigState {
        let rows_hash = if config.document.is_some() { hash_rows(&Value::Null) } else { config.hash_rows().to_owned() };
        ConfigState {
            tables: config.row_counts().map(|(table, _)| (table.to_owned(), config.source_rows(table))).collect(),
            settings: config.source_settings().clone(),
            hash: config.hash_source().to_owned(),
            rows_hash,
            issues,
            source: config.source_text(),
        }
    }
}

/// Returns the SHA-256 of the rows of a snapshot, in hexadecimal.
pub fn hash_rows(source: &Value) -> String {
    let mut hasher = canonical::Hasher::default();
    hasher.add_json(source.get("tables").unwrap_or(&Value::Null));
    hasher.finish()
}

fn reply_row(name: &str, reply: Value) -> Map {
    Map::from_iter([("name".to_owned(), name.into()), ("reply".to_owned(), reply)])
}

fn without_created_at(mut row: Map) -> Map {
    row.shift_remove(CREATED_AT);
    row
}
