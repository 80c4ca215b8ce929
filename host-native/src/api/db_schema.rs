//! `GET /api/v1/db/inspect-schema`: inspects the database schema (docs/spec/data-and-api.md#9.4).

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use convengine_access::api_error::ApiError;
use convengine_core::matches_glob;
use convengine_core::text::regex::Regex;
use convengine_storage::inspect;
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::QueryParams;
use crate::api::host::Host;

/// Query parameters that select tables.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct InspectQuery {
    /// The schema; the default is `convengine.schema.active`.
    schema: Option<String>,
    /// A regular expression for table names, or a part of them.
    prefix: Option<String>,
    /// `EXACT` to select one table by name.
    match_mode: Option<String>,
}

/// Returns the tables of a schema with columns, joins, indexes, sequences and triggers.
#[utoipa::path(
    get,
    path = "/api/v1/db/inspect-schema",
    tag = "operations",
    params(InspectQuery),
    responses(
        (status = 200, description = "The selected tables", body = ref("#/components/schemas/Inspected")),
        (status = 400, description = "A parameter is invalid"),
        (status = 404, description = "Schema not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn inspect(State(host): State<Arc<Host>>, QueryParams(query): QueryParams<InspectQuery>) -> Result<Json<Value>, ApiError> {
    let filled = |it: &Option<String>| it.as_deref().map(|text| text.trim().replace('\0', "\u{fffd}")).filter(|it| !it.is_empty());
    let setting = |path: &str| host.content.config_manager.settings().pointer(path).and_then(Value::as_str).map(str::to_owned);
    let schema = filled(&query.schema).or_else(|| setting("/schema/active"));
    let found = inspect::read_schema(&host.content.readers, schema.as_deref()).await?;
    let Some(found) = found else {
        let message = "schema not found; send the name of an existing schema or omit it";
        return Err(ApiError::not_found(message));
    };
    let exact = filled(&query.match_mode).is_some_and(|it| it.eq_ignore_ascii_case("EXACT"));
    let prefix = filled(&query.prefix);
    let matcher = TableMatcher::new(prefix.as_deref(), exact);
    let allowed: Vec<String> = introspected_tables(host.content.config_manager.settings());
    let name = |row: &Value| row.get("table_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_selected = |table: &str| {
        matcher.matches(table)
            && (allowed.is_empty() || allowed.iter().any(|pattern| matches_glob(&pattern.to_lowercase(), &table.to_lowercase())))
    };
    let tables: BTreeSet<String> = found.tables.iter().map(name).filter(|it| is_selected(it)).collect();
    let of_tables = |rows: Vec<Value>| rows.into_iter().filter(|row| tables.contains(&name(row))).collect::<Vec<_>>();
    let source = |row: &Value| row.get("source_table").and_then(Value::as_str).is_some_and(|it| tables.contains(it));
    Ok(Json(json!({
        "schema": found.name,
        "prefix": prefix,
        "matchMode": if exact { "EXACT" } else { "REGEX" },
        "introspectTables": allowed,
        "tableCount": tables.len(),
        "tables": of_tables(found.tables),
        "columns": of_tables(found.columns),
        "joins": found.joins.into_iter().filter(source).collect::<Vec<_>>(),
        "indexes": of_tables(found.indexes),
        "sequences": of_tables(found.sequences),
        "triggers": of_tables(found.triggers),
    })))
}

/// Matches table names.
enum TableMatcher {
    All,
    Exact(String),
    Pattern(Regex),
    /// A part of the name; used for texts that are not a valid pattern.
    Substring(String),
}

impl TableMatcher {
    fn new(prefix: Option<&str>, exact: bool) -> TableMatcher {
        match prefix {
            None => TableMatcher::All,
            Some(prefix) if exact => TableMatcher::Exact(prefix.to_owned()),
            Some(prefix) => Regex::new(prefix).map_or_else(|_| TableMatcher::Substring(prefix.to_lowercase()), TableMatcher::Pattern),
        }
    }

    fn matches(&self, table: &str) -> bool {
        match self {
            TableMatcher::All => true,
            TableMatcher::Exact(name) => name.eq_ignore_ascii_case(table),
            TableMatcher::Pattern(pattern) => pattern.is_match(table).unwrap_or(false),
            TableMatcher::Substring(part) => table.to_lowercase().contains(part),
        }
    }
}

/// Reads `convengine.mcp.db.introspect-tables`.
fn introspected_tables(settings: &Value) -> Vec<String> {
    match settings.pointer("/mcp/db/introspect-tables") {
        Some(Value::Array(items)) => items.iter().filter_map(|item| Some(item.as_str()?.trim().to_owned())).collect(),
        Some(Value::String(text)) => text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_chosen_by_name_part_or_pattern() {
        let fits = |prefix, exact, table| TableMatcher::new(prefix, exact).matches(table);
        assert!(fits(None, false, "a") && fits(Some("CE_RULE"), true, "ce_rule") && !fits(Some("ce_"), true, "ce_rule"));
        assert!(fits(Some("^ce_r"), false, "ce_rule") && !fits(Some("^r"), false, "ce_rule") && fits(Some("[rule"), false, "a[rule]"));
    }
}
