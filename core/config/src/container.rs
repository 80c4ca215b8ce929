//! `ce_container_config`: containers whose data is fetched before values are extracted. (docs/spec/pipeline.md#2.16)

use super::code::ANY;
use super::column::{CREATED_AT, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, text};
use super::issue::Issue;
use super::row::{TableRow, by_priority};
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub(crate) static CONTAINER: TableShape = TableShape {
    name: "ce_container_config",
    help: "Data that is fetched from the container service before values are collected.",
    columns: &[
        integer("id", "id of the row"),
        INTENT_CODE,
        STATE_CODE,
        integer("page_id", "sent to the container service"),
        integer("section_id", "sent to the container service"),
        integer("container_id", "sent to the container service"),
        text("input_param_name", "the parameter that is sent, and the name of the data below `context.container_data`"),
        PRIORITY.with_default("1"),
        ENABLED,
        CREATED_AT,
    ],
};

/// A container row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `page_id`.
    pub page_id: i64,
    /// `section_id`.
    pub section_id: i64,
    /// `container_id`.
    pub container_id: i64,
    /// `input_param_name`: the request parameter, and the name of the fetched data.
    pub param: String,
}

/// Containers by intent and state; each list by priority.
#[derive(Debug, Clone, Default)]
pub struct Containers(ScopeIndex<Container>);

impl Containers {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> Containers {
        let rows = by_priority(scopes.rows(tables, &CONTAINER, issues));
        Containers(ScopeIndex::compile(&rows, issues, |row, _| compile(row)))
    }

    /// Returns the rows of an intent and a state, else those of the state for any intent, else those of any intent and state.
    pub fn for_scope(&self, intent: &str, state: &str) -> &[Container] {
        let levels = [(intent, state), (ANY, state), (ANY, ANY)].map(|(intent, state)| self.0.rows_at(intent, state));
        levels.into_iter().find(|it| !it.is_empty()).unwrap_or_default()
    }
}

fn compile(row: &TableRow<'_>) -> Result<Container, Issue> {
    let number =
        |column: &str| row.integer(column).ok_or_else(|| row.error(column, "is not an integer", "it has the number of the container"));
    let param = row.required("input_param_name", "it names the parameter of the container")?;
    Ok(Container { page_id: number("page_id")?, section_id: number("section_id")?, container_id: number("container_id")?, param })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Config, Tables};

    #[test]
    fn numbers_may_be_texts_and_a_null_priority_is_last() {
        let row = |id: i64, container: serde_json::Value, priority: serde_json::Value| {
            json!({
                "id": id, "intent_code": "ANY", "state_code": "ANY", "page_id": "1", "section_id": " 2 ", "container_id": container,
                "input_param_name": "a", "priority": priority,
            })
        };
        let rows = [row(1, json!("10"), json!(null)), row(2, json!("main"), json!(1)), row(3, json!(30), json!(7))];
        let tables: Tables = serde_json::from_value(json!({"ce_container_config": rows})).unwrap();
        let (config, issues) = Config::compile(&tables, &json!({}));
        let numbers: Vec<_> = config
            .containers
            .for_scope("A", "B")
            .iter()
            .map(|container| (container.page_id, container.section_id, container.container_id))
            .collect();
        assert_eq!(numbers, [(1, 2, 30), (1, 2, 10)]);
        let paths: Vec<&str> = issues.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["ce_container_config[2].container_id"]);
    }
}
