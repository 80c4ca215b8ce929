//! `convengine import`: atomically replaces the tables and scripted answers that a pack contains.

mod apply;
pub mod documents;
mod knowledge;
mod modules;
mod pack_folder;
mod scripts;
mod settings_left_out;
mod workspace_tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use convengine_core::config::{Issue, TableShape, Tables, table_shape};
use convengine_core::pack::Pack;
use convengine_core::turn::Map;
use convengine_host_base::exit::Failure;
use convengine_host_base::pack_file;
use convengine_host_base::{print_error_line, print_line};
use convengine_settings::Settings;
use convengine_storage::import::{
    Column, advance_sequences, back_up_tool_queries, clear, columns, disable_foreign_keys, insert, restore_tool_queries,
};
use convengine_storage::{self as storage, Connection};
use serde_json::Value;

pub use apply::{ImportReport, ImportTarget, ParsedPack, apply};

use crate::config::compile;

/// Options of an import.
#[derive(Debug, Clone, Copy)]
pub struct ImportOptions {
    /// Refuse rows that do not compile and documents with errors.
    pub strict: bool,
    /// Print what would change, and change nothing.
    pub dry_run: bool,
    /// Print JSON.
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// Exit code 1 with a line for each problem that prevents storing the pack; nothing is changed then.
pub async fn run(settings: &Settings, file: &Path, how: ImportOptions) -> Result<(), Failure> {
    let parsed = read_with_scripts(file)?;
    let done = apply(&ImportTarget::from_settings(settings), &parsed, how.strict, how.dry_run).await?;
    if let Some(line) = &done.settings_left_out {
        print_error_line!("{line}");
    }
    if done.is_new_database {
        print_error_line!("database '{}' has no tables yet: compared with an empty one", settings.database.redacted_url());
    }
    if how.dry_run {
        done.difference.print(how.json);
        return if done.is_refused { Err(Failure::check_failed(done.errors())) } else { Ok(()) };
    }
    done.issues.iter().for_each(|it| print_error_line!("{it}"));
    done.document_issues.iter().for_each(|it| print_error_line!("{it}"));
    if done.is_refused {
        return Err(Failure::check_failed(vec!["nothing imported: correct the errors or omit --strict".to_owned()]));
    }
    let pack = &parsed.pack;
    let rows: usize = pack.tables.0.values().map(Vec::len).sum();
    let count = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let also = |number: usize, noun: &str| if number == 0 { String::new() } else { format!(" and {}", count(number, noun)) };
    let (drafts, tools) = (also(done.documents, "document"), also(done.tools, "tool"));
    let sources = also(pack.knowledge.len(), "knowledge source");
    print_line!("imported {} into {}{drafts}{tools}{sources}", count(rows, "row"), count(pack.tables.0.len(), "table"));
    Ok(())
}

/// Reads a pack file.
///
/// # Errors
/// Exit code 1 if the file cannot be read or is not a pack.
pub fn read(file: &Path) -> Result<Pack, Failure> {
    read_with_scripts(file).map(|it| it.pack)
}

/// Reads a pack file with the replies that its scripts give.
///
/// # Errors
/// Exit code 1 if the file cannot be read or is not a pack.
pub fn read_with_scripts(file: &Path) -> Result<ParsedPack, Failure> {
    let text = pack_file::read_text(file).map_err(|error| Failure::check_failed(vec![error.to_string()]))?;
    ParsedPack::parse(&text).map_err(|error| Failure::check_failed(vec![format!("{}: {error}", file.display())]))
}

/// Removes the columns that ConvEngine's tables do not have; returns their names.
///
/// # Errors
/// Exit code 3 if the in-memory database cannot be created.
pub async fn drop_foreign_columns(tables: &mut Tables) -> Result<BTreeSet<String>, Failure> {
    let mut connection = storage::in_memory().await.map_err(database_failure)?;
    let mut dropped = BTreeSet::new();
    for (table, rows) in &mut tables.0 {
        let columns = columns(&mut connection, table).await.map_err(database_failure)?;
        for row in rows {
            dropped.extend(row.keys().filter(|it| !columns.contains_key(*it)).map(|it| format!("{table}.{it}")));
            row.retain(|name, _| columns.contains_key(name));
        }
    }
    Ok(dropped)
}

fn database_failure(error: sqlx::Error) -> Failure {
    Failure::service_unavailable(format!("cannot use an in-memory database: {error}"))
}

/// Imports a pack's rows into a migrated database.
///
/// # Errors
/// The problems that prevent storing the rows, or the failure of the database.
pub async fn import_rows(connection: &mut Connection, pack: &Pack) -> anyhow::Result<()> {
    disable_foreign_keys(connection).await?;
    connection.begin().await?;
    let problems = replace(connection, &pack.tables).await?;
    if problems.is_empty() {
        advance_all_sequences(connection, &pack.tables).await?;
        return Ok(connection.commit().await?);
    }
    connection.rollback().await?;
    Err(anyhow::anyhow!(problems.join("; ")))
}

/// Imports a pack's rows into an empty in-memory database and lints them with the pack's settings.
///
/// # Errors
/// Exit code 1 with a line for each problem that prevents storing the pack.
pub async fn lint_pack(pack: &Pack, settings: &Value) -> Result<Vec<Issue>, Failure> {
    let mut connection = storage::in_memory().await.map_err(database_failure)?;
    let mut problems = replace(&mut connection, &pack.tables).await.map_err(database_failure)?;
    problems.extend(modules::store(&mut connection, pack).await.map_err(database_failure)?);
    if !problems.is_empty() {
        return Err(Failure::check_failed(problems));
    }
    compile::lint_database(&mut connection, settings, pack.known_replies()).await.map_err(database_failure)
}

/// Replaces the rows of tables in the caller's transaction; returns a line for each problem that prevents it.
///
/// # Errors
/// The failure of the database.
pub async fn replace(connection: &mut Connection, tables: &Tables) -> sqlx::Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut sorted: Vec<(&String, &Vec<Map>)> = tables.0.iter().collect();
    // Tools come before the queries that refer to them.
    sorted.sort_by_key(|it| it.0 == TOOL_QUERY_TABLE);
    let keep_rows = tables.0.contains_key(TOOL_TABLE) && !tables.0.contains_key(TOOL_QUERY_TABLE);
    if keep_rows {
        back_up_tool_queries(connection).await?;
    }
    for (table, rows) in sorted {
        problems.extend(replace_table(connection, table, rows).await?);
    }
    if keep_rows {
        restore_tool_queries(connection).await?;
    }
    Ok(problems)
}

/// Advances the key sequences of replaced tables beyond their keys. Sequences are not rolled back with a transaction, so this comes last.
///
/// # Errors
/// The failure of the database.
pub async fn advance_all_sequences(connection: &mut Connection, tables: &Tables) -> sqlx::Result<()> {
    for table in tables.0.keys() {
        let columns = columns(connection, table).await?;
        advance_sequences(connection, table, &columns).await?;
    }
    Ok(())
}

const TOOL_TABLE: &str = "ce_mcp_tool";
const TOOL_QUERY_TABLE: &str = "ce_mcp_db_tool";

async fn replace_table(connection: &mut Connection, table: &str, rows: &[Map]) -> sqlx::Result<Vec<String>> {
    let columns = columns(connection, table).await?;
    let Some(shape) = table_shape(table) else {
        let hint = if columns.is_empty() { "check its name" } else { "remove it from the pack" };
        return Ok(vec![format!("{table}: cannot be imported; {hint}")]);
    };
    if columns.is_empty() {
        return Ok(vec![format!("{table}: missing in this database; run convengine migrate")]);
    }
    let mut problems = Vec::new();
    clear(connection, table).await?;
    for (index, row) in rows.iter().enumerate() {
        let invalid = check_row(shape, &columns, row);
        if invalid.is_empty() {
            problems.extend(insert(connection, table, &columns, row).await?.map(|problem| format!("{table}[{}]: {problem}", index + 1)));
        }
        problems.extend(invalid.into_iter().map(|problem| format!("{table}[{}].{problem}", index + 1)));
    }
    Ok(problems)
}

/// Returns a line for each column of a row that does not fit its table.
fn check_row(shape: &TableShape, columns: &BTreeMap<String, Column>, row: &Map) -> Vec<String> {
    let missing = columns.iter().filter(|(name, column)| column.required && row.get(*name).is_none_or(Value::is_null));
    let mut problems: Vec<String> = missing.map(|(name, _)| format!("{name}: missing value; set it")).collect();
    for (name, value) in row {
        let Some(column) = columns.get(name) else {
            problems.push(format!("{name}: unknown column; check its name"));
            continue;
        };
        if !fits(shape, name, &column.sqlite_type, value) {
            problems.push(format!("{name}: {value} does not fit the column type '{}'", column.sqlite_type));
        }
    }
    problems
}

fn fits(shape: &TableShape, name: &str, kind: &str, value: &Value) -> bool {
    let is_one_of = |kinds: &[&str]| kinds.iter().any(|it| kind.starts_with(it));
    match value {
        Value::Null => true,
        Value::Bool(_) => kind.starts_with("bool"),
        Value::Number(number) if kind.starts_with("bool") => matches!(number.as_i64(), Some(0 | 1)),
        // A timestamp may be a number of milliseconds, because the Java original stores some that way.
        Value::Number(number) => (is_one_of(&["int", "date", "time"]) && number.is_i64()) || is_one_of(&["numeric"]),
        Value::String(_) => is_one_of(&["text", "varchar", "date", "time"]),
        // SQLite has no type for JSON.
        Value::Array(_) | Value::Object(_) => shape.holds_json(name),
    }
}

#[cfg(test)]
mod stored_rows_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn problems(tables: Value) -> Vec<String> {
        let tables: Tables = serde_json::from_value(tables).expect("tables");
        let mut connection = storage::in_memory().await.expect("a database");
        replace(&mut connection, &tables).await.expect("a working database")
    }

    #[tokio::test]
    async fn every_problem_has_its_line() {
        let intent = json!({"intent_code": "A", "description": "d"});
        let found = problems(json!({
            "ce_audit": [{"stage": "x"}],
            "ce_intent": [intent, intent, {"intent_code": "B", "description": 1, "enabled": "yes", "nope": 1}, {"description": "d"}],
            "ce_response": [{"intent_code": " ", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "priority": 1}]
        }))
        .await;
        let ends: Vec<&str> = found.iter().map(|problem| problem.split(';').next().unwrap_or_default()).collect();
        assert_eq!(
            ends,
            [
                "ce_audit: cannot be imported",
                "ce_intent[2]: duplicate key (ce_intent.intent_code)",
                "ce_intent[3].description: 1 does not fit the column type 'text'",
                "ce_intent[3].enabled: \"yes\" does not fit the column type 'boolean'",
                "ce_intent[3].nope: unknown column",
                "ce_intent[4].intent_code: missing value",
                "ce_response[1]: violates a constraint (ce_response_intent_not_blank)",
            ]
        );
    }

    #[tokio::test]
    async fn defaults_and_json_are_stored() {
        let tables: Tables = serde_json::from_value(json!({
            "ce_output_schema": [{"intent_code": "A", "state_code": "ANY", "json_schema": {"type": "object"}, "priority": 1, "enabled": 0}]
        }))
        .expect("tables");
        let mut connection = storage::in_memory().await.expect("a database");
        assert!(replace(&mut connection, &tables).await.expect("stored").is_empty());
        let stored = storage::config::load_tables(&mut connection).await.expect("tables");
        let row = json!({"schema_id": 1, "intent_code": "A", "state_code": "ANY", "schema_type": "SCHEMA_JSON",
            "json_schema": "{\"type\":\"object\"}", "enabled": false, "priority": 1});
        assert_eq!(json!(stored), json!({"ce_output_schema": [row]}));
    }

    #[tokio::test]
    async fn documents_are_imported_and_exported() {
        let row = json!({"document_id": 7, "collection": "faq", "title": "Refunds", "body": "A week.", "metadata": "{\"page\":3}"});
        let tables: Tables = serde_json::from_value(json!({"cv_document": [row]})).expect("tables");
        let mut connection = storage::in_memory().await.expect("a database");
        assert!(replace(&mut connection, &tables).await.expect("stored").is_empty());
        let mut exported = storage::config::load_other_tables(&mut connection).await.expect("tables");
        assert_eq!(exported, tables);
        assert!(drop_foreign_columns(&mut exported).await.expect("columns").is_empty());
        assert_eq!(exported, tables);
        let as_json = json!({"cv_document": [{"collection": "faq", "body": "x", "metadata": {"page": 3}}, {"body": "y"}]});
        let found = problems(as_json).await;
        assert_eq!(found, ["cv_document[2].collection: missing value; set it"]);
    }
}
