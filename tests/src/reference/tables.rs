//! `tables.md`: every table and column.

use std::fs;

use anyhow::{Context, Result};
use convengine_core::config::flow::shape::{MemberShape, Shape};
use convengine_core::config::{TableShape, table_shape};

use super::markdown::{code, codes, table, wrap};
use super::{Meanings, Page, prose, read_source};
use crate::root;

/// A table of the migrations.
#[derive(Debug, Clone)]
struct Table {
    name: String,
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    kind: String,
    default: String,
    is_nullable: bool,
    is_key: bool,
}

/// The sections of the page with the tables of each.
const GROUPS: [(&str, &[&str]); 9] = [
    (
        "Configuration",
        &[
            "ce_config",
            "ce_intent",
            "ce_intent_classifier",
            "ce_policy",
            "ce_rule",
            "ce_pending_action",
            "ce_output_schema",
            "ce_prompt_template",
            "ce_response",
            "ce_container_config",
            "ce_verbose",
            "ce_state_graph",
        ],
    ),
    (
        "Tools, tasks and extensions",
        &[
            "ce_mcp_tool",
            "ce_mcp_db_tool",
            "ce_mcp_planner",
            "ce_http_tool",
            "cv_tool_spec",
            "ce_mcp_server",
            "cv_mcp_tool",
            "ce_tool",
            "ce_task",
            "cv_document",
            "cv_extension",
            "cv_module",
            "cv_script",
        ],
    ),
    ("Conversations", &["ce_conversation", "ce_audit", "ce_conversation_history", "ce_llm_call_log", "ce_memory"]),
    ("Feedback", &["ce_mcp_user_feedback", "ce_user_query_knowledge", "ce_semantic_query_failures"]),
    ("Journal and snapshots", &["ce_turn", "ce_turn_effect", "ce_config_snapshot", "cv_activation", "cv_classifier", "cv_phrase_vector"]),
    ("Access and cost", &["cv_api_key", "cv_security_log", "cv_conversation_owner", "cv_spend"]),
    (
        "Assistants",
        &[
            "cs_assistant",
            "cs_version",
            "cs_deployment",
            "cs_deployment_token",
            "cs_secret",
            "cs_tool",
            "cs_session",
            "cs_timer",
            "cs_handoff",
            "cs_usage_events",
            "cs_counter",
        ],
    ),
    ("Chains", &["cs_chain", "cs_run", "cs_run_key", "cs_resume_token"]),
    ("Knowledge bases", &["cs_knowledge_base", "cs_knowledge_source", "cs_knowledge_chunk", "cs_knowledge_vector"]),
];

/// Generates the page.
///
/// # Errors
/// If a migration or the meanings cannot be parsed.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("tables.txt", include_str!("data/tables.txt"))?;
    let tables = read_tables()?;
    let mut body = prose(include_str!("data/tables_intro.txt")) + "\n";
    for (group, names) in GROUPS {
        body.push_str(&format!("\n## {group}\n"));
        for name in names {
            let found = tables.iter().find(|it| it.name == *name).with_context(|| format!("the migrations create no table '{name}'"))?;
            body.push_str(&section(found, &meanings));
        }
    }
    let is_described = |name: &str| GROUPS.iter().any(|group| group.1.contains(&name));
    body.push_str("\n## Created and not used\n\n");
    body.push_str("The engine creates these tables of ConvEngine, so that its scripts find them, and neither reads nor writes them.\n\n");
    let unused: Vec<Vec<String>> = tables
        .iter()
        .filter(|it| !is_described(&it.name))
        .map(|table| vec![code(&table.name), codes(table.columns.iter().map(|column| column.name.as_str()))])
        .collect();
    body.push_str(&table(&["Table", "Columns"], &unused));
    let unexpected = tables.iter().filter(|table| !is_described(&table.name) && !is_kept_for_scripts(&table.name));
    let mut gaps = meanings.gaps();
    gaps.extend(tables.iter().filter_map(|table| Some(differences(table, table_shape(&table.name)?))).flatten());
    gaps.extend(unexpected.map(|it| format!("tables.rs: the table {} is in no group", it.name)));
    Ok(Page { file: "tables.md", title: "Tables", summary: "every table and column with type, default and meaning", body, gaps })
}

fn is_kept_for_scripts(name: &str) -> bool {
    name.starts_with("ce_semantic_") || name == "ce_mcp_user_query_knowledge"
}

/// Columns with a default of the database alone: snapshots are stored without it.
const DATABASE_DEFAULTS: [(&str, &str); 6] = [
    ("ce_prompt_template", "temperature"),
    ("ce_state_graph", "intent_code"),
    ("ce_tool", "intent_code"),
    ("ce_tool", "state_code"),
    ("ce_mcp_server", "transport"),
    ("ce_mcp_server", "protocol_mode"),
];

/// Returns in what the migrations and the declaration of a table differ.
fn differences(found: &Table, declared: &TableShape) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |column: &str, how: &str| differences.push(format!("{}.{column}: {how}", found.name));
    for column in &found.columns {
        let Some(shape) = declared.column(&column.name) else {
            differ(&column.name, "not declared");
            continue;
        };
        let kind = match column.kind.as_str() {
            "time" => "text",
            "id" => "integer",
            kind => kind,
        };
        if kind != kind_of(shape) {
            differ(&column.name, "of another kind than declared");
        }
        let is_filled_by_database = column.default == "now" || DATABASE_DEFAULTS.contains(&(found.name.as_str(), column.name.as_str()));
        if !is_filled_by_database && shape.default.trim_matches('"') != column.default {
            differ(&column.name, "has another default than declared");
        }
    }
    // The older name of a column is in older databases alone.
    let is_missing =
        |member: &&MemberShape| found.columns.iter().all(|column| column.name != member.name) && member.name != "response_type";
    declared.columns.iter().filter(is_missing).for_each(|it| differ(it.name, "declared, but no column"));
    differences
}

/// The type of a column in the migrations.
fn kind_of(column: &MemberShape) -> &'static str {
    let kinds = [(Shape::Bool, "boolean"), (Shape::Integer(0, 0), "integer"), (Shape::Number(0, 0), "numeric(3,2)")];
    let is_same = |shape: &Shape| std::mem::discriminant(shape) == std::mem::discriminant(&column.shape);
    kinds.iter().find(|it| is_same(&it.0)).map_or("text", |it| it.1)
}

fn section(found: &Table, meanings: &Meanings) -> String {
    let declared = table_shape(&found.name);
    let meaning = |column: &str| match declared.and_then(|shape| shape.column(column)) {
        Some(declared) => declared.description(),
        None => meanings.get(&found.name, column),
    };
    let rows: Vec<Vec<String>> = found
        .columns
        .iter()
        .map(|column| {
            let key = if column.is_key { " (key)" } else { "" };
            let kind = if column.is_nullable { format!("{}?", column.kind) } else { column.kind.clone() };
            vec![format!("`{}`{key}", column.name), kind, code(&column.default), meaning(&column.name)]
        })
        .collect();
    let about = wrap(&declared.map_or_else(|| meanings.section(&found.name), |it| it.help.to_owned()));
    format!("\n### {}\n\n{about}\n\n{}", found.name, table(&["Column", "Type", "Default", "Meaning"], &rows))
}

/// Reads the tables of the SQLite migrations, in order.
fn read_tables() -> Result<Vec<Table>> {
    let folder = root().join("migrations/sqlite");
    let mut files: Vec<String> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    files.sort();
    let mut tables: Vec<Table> = Vec::new();
    for file in files {
        let text = read_source(format!("migrations/sqlite/{file}"))?;
        let mut open: Option<Table> = None;
        for line in text.lines().map(str::trim).filter(|it| !it.starts_with("--")) {
            if let Some(rest) = line.strip_prefix("create table if not exists ") {
                let name = rest.split_whitespace().next().unwrap_or_default().to_owned();
                open = Some(Table { name, columns: Vec::new() });
            } else if let Some(rest) = line.strip_prefix("alter table ") {
                let (name, definition) = rest.split_once(" add column ").with_context(|| line.to_owned())?;
                let altered = tables.iter_mut().find(|it| it.name == name).with_context(|| line.to_owned())?;
                altered.columns.push(read_column(definition));
            } else if line == ");" {
                tables.extend(open.take());
            } else if let Some(table) = &mut open {
                add_line(table, line);
            }
        }
    }
    Ok(tables)
}

fn add_line(table: &mut Table, line: &str) {
    if let Some(keys) = line.strip_prefix("primary key (") {
        let keys: Vec<&str> = keys.trim_end_matches([')', ',']).split(", ").collect();
        table.columns.iter_mut().for_each(|column| column.is_key |= keys.contains(&column.name.as_str()));
    } else if !line.starts_with("constraint ") {
        table.columns.push(read_column(line));
    }
}

/// Reads the definition of a column.
fn read_column(line: &str) -> Column {
    let line = line.trim_end_matches([',', ';']);
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    let kind = words.next().unwrap_or_default().to_owned();
    let is_key = line.contains("primary key");
    let default = line.split_once(" default ").map(|it| it.1).unwrap_or_default();
    let default = match default.split(" references").next().unwrap_or_default().trim() {
        it if it.contains("strftime") => "now".to_owned(),
        it => it.trim_matches('\'').to_owned(),
    };
    let default = match (kind.as_str(), default.as_str()) {
        ("boolean", "1") => "true".to_owned(),
        ("boolean", "0") => "false".to_owned(),
        _ => default,
    };
    let kind = match kind.as_str() {
        "datetime" => "time".to_owned(),
        "integer" if line.contains("autoincrement") => "id".to_owned(),
        _ => kind,
    };
    Column { is_nullable: !line.contains("not null") && !is_key, name, kind, default, is_key }
}
