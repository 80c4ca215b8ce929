//! `convengine export`: writes the authors' rows, documents and scripted answers of a database as a pack.

use std::collections::BTreeMap;

use convengine_core::config::Tables;
use convengine_core::json::into_members;
use convengine_core::pack::{Fakes, PackSource, extension_from_row};
use convengine_core::turn::Map;
use convengine_host_base::exit::Failure;
use convengine_host_base::output::print_text;
use convengine_host_base::print_error_line;
use convengine_settings::Settings;
use convengine_storage::assistant::knowledge::source;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft, tool};
use convengine_storage::{self as storage, Connection};
use convengine_storage::{module, script};
use serde_json::{Value, json};

use crate::config::compile;
use crate::config::import;

/// The table of extension manifests.
const EXTENSION_TABLE: &str = "cv_extension";

/// Runs the command. Columns that ConvEngine does not define are omitted and named on standard error: other databases do not have them.
///
/// # Errors
/// Exit code 3 if the database cannot be read.
pub async fn run(settings: &Settings) -> Result<(), Failure> {
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let mut connection = storage::connect(&settings.database, false).await?;
    connection.begin_read().await.map_err(unusable)?;
    let mut tables = storage::config::load_tables(&mut connection).await.map_err(unusable)?;
    tables.0.extend(storage::config::load_other_tables(&mut connection).await.map_err(unusable)?.0);
    for column in import::drop_foreign_columns(&mut tables).await? {
        print_error_line!("{column}: unknown column; omitted");
    }
    let modules = match tables.0.contains_key(EXTENSION_TABLE) {
        true => module::load(&mut connection).await.map_err(unusable)?,
        false => BTreeMap::new(),
    };
    let extensions = take_extensions(&mut tables, &modules);
    let config = compile::compile_database(&mut connection, &settings.tree, None).await.map_err(unusable)?.config;
    let mut pack = vec![
        ("name", PackMember::Value(json!("export"))),
        ("about", PackMember::Value(json!(format!("The configuration {}.", config.hash_source())))),
        // Only settings that affect turns: the others may contain secrets.
        ("settings", PackMember::Value(config.source_settings().clone())),
        ("tables", PackMember::Tables(tables.0.into_iter().collect())),
    ];
    if !extensions.is_empty() {
        pack.push(("extensions", PackMember::Lines(extensions)));
    }
    let Fakes { tasks, tools, containers, http, .. } = script::load(&mut connection).await.map_err(unusable)?;
    for (name, replies) in [("tasks", tasks), ("tools", tools), ("containers", containers)] {
        if !replies.is_empty() {
            pack.push((name, PackMember::Lines(replies)));
        }
    }
    if !http.is_empty() {
        pack.push(("http", PackMember::Value(json!(http))));
    }
    let (documents, tools) = load_documents(&mut connection).await.map_err(unusable)?;
    for (name, rows) in [("documents", documents), ("workspace_tools", tools)] {
        if !rows.is_empty() {
            pack.push((name, PackMember::Rows(rows)));
        }
    }
    let knowledge = load_knowledge(&mut connection).await.map_err(unusable)?;
    if !knowledge.is_empty() {
        pack.push(("knowledge", PackMember::Rows(knowledge)));
    }
    print_text(format_args!("{}", render(&pack)));
    Ok(())
}

/// Returns the sources of all knowledge bases.
async fn load_knowledge(connection: &mut Connection) -> sqlx::Result<Vec<Map>> {
    if !source::has_table(connection).await? {
        return Ok(Vec::new());
    }
    let row = |(key, source): (String, _)| {
        let key = ProgramKey::parse(&key);
        let program = (key.kind() != DocumentKind::Assistant).then(|| key.kind().name().to_owned());
        into_members(json!(PackSource { assistant: Some(key.id().to_owned()), program, source }))
    };
    Ok(source::list_texts(connection).await?.into_iter().map(row).collect())
}

/// Returns the drafts of all documents and the tools of the workspace.
async fn load_documents(connection: &mut Connection) -> sqlx::Result<(Vec<Map>, Vec<Map>)> {
    let parse = |all: Vec<String>| all.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let drafts = if draft::has_table(connection).await? { draft::list_documents(connection).await? } else { Vec::new() };
    let tools = if tool::has_table(connection).await? { tool::list(connection).await? } else { Vec::new() };
    Ok((parse(drafts), parse(tools)))
}

/// Removes the extension rows with a stored module from the tables and returns them with their modules, as a pack combines both.
pub fn take_extensions(tables: &mut Tables, modules: &BTreeMap<String, Vec<u8>>) -> Map {
    let mut extensions = Map::new();
    let mut remaining = Vec::new();
    for row in tables.0.remove(EXTENSION_TABLE).unwrap_or_default() {
        let text = |column: &str| row.get(column).and_then(Value::as_str).unwrap_or_default();
        match modules.get(text("module")) {
            Some(module) => {
                extensions.insert(text("name").to_owned(), extension_from_row(&row, module));
            }
            None => remaining.push(row),
        }
    }
    if !remaining.is_empty() {
        tables.0.insert(EXTENSION_TABLE.to_owned(), remaining);
    }
    extensions
}

/// A member of a pack with its layout.
pub enum PackMember {
    /// On one line.
    Value(Value),
    /// Each member on its own line.
    Lines(Map),
    /// Each item on its own line.
    Rows(Vec<Map>),
    /// Each row on its own line.
    Tables(Vec<(String, Vec<Map>)>),
}

/// Renders a pack with one row per line, so that exports can be compared line by line.
pub fn render(pack: &[(&str, PackMember)]) -> String {
    let members: Vec<String> = pack.iter().map(|(name, member)| format!("  {}: {}", json!(name), render_member(member))).collect();
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

fn render_member(member: &PackMember) -> String {
    match member {
        PackMember::Value(value) => value.to_string(),
        PackMember::Lines(members) => {
            let lines: Vec<String> = members.iter().map(|(name, value)| format!("    {}: {value}", json!(name))).collect();
            render_block('{', &lines, "  ", '}')
        }
        PackMember::Rows(rows) => {
            let lines: Vec<String> = rows.iter().map(|row| format!("    {}", json!(row))).collect();
            render_block('[', &lines, "  ", ']')
        }
        PackMember::Tables(tables) => {
            let lines: Vec<String> = tables.iter().map(|(name, rows)| format!("    {}: {}", json!(name), render_rows(rows))).collect();
            render_block('{', &lines, "  ", '}')
        }
    }
}

fn render_rows(rows: &[Map]) -> String {
    let lines: Vec<String> = rows.iter().map(|row| format!("      {}", json!(row))).collect();
    render_block('[', &lines, "    ", ']')
}

fn render_block(open: char, lines: &[String], indent: &str, close: char) -> String {
    if lines.is_empty() { format!("{open}{close}") } else { format!("{open}\n{}\n{indent}{close}", lines.join(",\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line() {
        let row = |id: i64| Map::from_iter([("id".to_owned(), json!(id)), ("text".to_owned(), json!("a\n\"b\""))]);
        let pack = [
            ("name", PackMember::Value(json!("export"))),
            ("tables", PackMember::Tables(vec![("ce_a".to_owned(), vec![row(1), row(2)])])),
            ("tasks", PackMember::Lines(Map::from_iter([("a:b".to_owned(), json!({"result": 1}))]))),
        ];
        let text = render(&pack);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "{",
                "  \"name\": \"export\",",
                "  \"tables\": {",
                "    \"ce_a\": [",
                "      {\"id\":1,\"text\":\"a\\n\\\"b\\\"\"},",
                "      {\"id\":2,\"text\":\"a\\n\\\"b\\\"\"}",
                "    ]",
                "  },",
                "  \"tasks\": {",
                "    \"a:b\": {\"result\":1}",
                "  }",
                "}",
            ]
        );
        let empty = render(&[("tables", PackMember::Tables(Vec::new()))]);
        assert_eq!(serde_json::from_str::<Value>(&empty).expect("JSON"), json!({"tables": {}}));
    }
}
