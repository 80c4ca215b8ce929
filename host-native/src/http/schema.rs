//! `GET /api/v1/db/inspect-schema`: inspects the database schema (docs/spec/data-and-api.md#9.4).

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use convengine_core::glob;
use convengine_core::text::regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::query::Asks;
use crate::drive::Host;
use crate::store::inspect;

/// Query parameters that select tables.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct Asked {
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
    params(Asked),
    responses(
        (status = 200, description = "The selected tables", body = ref("#/components/schemas/Inspected")),
        (status = 400, description = "A parameter is invalid"),
        (status = 404, description = "Schema not found"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn inspect(State(host): State<Arc<Host>>, uri: Uri, Asks(query): Asks<Asked>) -> Result<Json<Value>, ApiError> {
    let filled = |it: &Option<String>| it.as_deref().map(|it| it.trim().replace('\0', "\u{fffd}")).filter(|it| !it.is_empty());
    let setting = |path: &str| host.current.settings().pointer(path).and_then(Value::as_str).map(str::to_owned);
    let schema = filled(&query.schema).or_else(|| setting("/schema/active"));
    let found = inspect::schema(&host.readers, schema.as_deref()).await.map_err(|it| ApiError::of_database(&it, &uri))?;
    let Some(found) = found else {
        let message = "schema not found; send the name of an existing schema or omit it";
        return Err(ApiError::new(StatusCode::NOT_FOUND, &uri, message));
    };
    let exact = filled(&query.match_mode).is_some_and(|it| it.eq_ignore_ascii_case("EXACT"));
    let prefix = filled(&query.prefix);
    let matcher = Named::of(prefix.as_deref(), exact);
    let allowed: Vec<String> = patterns(host.current.settings());
    let name = |row: &Value| row.get("table_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_selected =
        |table: &str| matcher.fits(table) && (allowed.is_empty() || allowed.iter().any(|it| glob(&it.to_lowercase(), &table.to_lowercase())));
    let tables: BTreeSet<String> = found.tables.iter().map(name).filter(|it| is_selected(it)).collect();
    let of_tables = |rows: Vec<Value>| rows.into_iter().filter(|it| tables.contains(&name(it))).collect::<Vec<_>>();
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
enum Named {
    All,
    Exact(String),
    Pattern(Regex),
    /// A part of the name; used for texts that are not a valid pattern.
    Part(String),
}

impl Named {
    fn of(prefix: Option<&str>, exact: bool) -> Named {
        match prefix {
            None => Named::All,
            Some(prefix) if exact => Named::Exact(prefix.to_owned()),
            Some(prefix) => Regex::new(prefix).map_or_else(|_| Named::Part(prefix.to_lowercase()), Named::Pattern),
        }
    }

    fn fits(&self, table: &str) -> bool {
        match self {
            Named::All => true,
            Named::Exact(name) => name.eq_ignore_ascii_case(table),
            Named::Pattern(pattern) => pattern.find(table).unwrap_or(false),
            Named::Part(part) => table.to_lowercase().contains(part),
        }
    }
}

/// Reads `convengine.mcp.db.introspect-tables`.
fn patterns(settings: &Value) -> Vec<String> {
    match settings.pointer("/mcp/db/introspect-tables") {
        Some(Value::Array(items)) => items.iter().filter_map(|it| Some(it.as_str()?.trim().to_owned())).collect(),
        Some(Value::String(text)) => text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_chosen_by_name_part_or_pattern() {
        let fits = |prefix, exact, table| Named::of(prefix, exact).fits(table);
        assert!(fits(None, false, "a") && fits(Some("CE_RULE"), true, "ce_rule") && !fits(Some("ce_"), true, "ce_rule"));
        assert!(fits(Some("^ce_r"), false, "ce_rule") && !fits(Some("^r"), false, "ce_rule") && fits(Some("[rule"), false, "a[rule]"));
    }
}
