//! Differences between two states of the authors' rows, printable as text and JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use convengine_core::config::{Issue, TableShape, table_shape};
use convengine_core::json::diff;
use convengine_core::turn::Map;
use convengine_host_base::output::print_text;
use convengine_host_base::print_line;
use serde::Serialize;
use serde_json::Value;

use super::part_changes::PartChanges;
use super::state::ConfigState;

/// The difference between two states.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The hash of the first state.
    pub before: String,
    /// The hash of the second state.
    pub after: String,
    /// The tables that differ.
    pub tables: BTreeMap<String, TableDifference>,
    /// The settings that differ; only snapshots have their own settings.
    pub settings: Vec<SettingChange>,
    /// The issues that differ.
    pub issues: IssueChanges,
    /// The changes of assistant drafts; only imports have some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drafts: Vec<DraftChange>,
}

/// The change of a draft.
#[derive(Debug, Serialize)]
pub struct DraftChange {
    /// The id of its document, or of a tool.
    pub id: String,
    /// The kind of what it is, if not an assistant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<&'static str>,
    /// How it changes.
    pub change: Change,
    /// Its parts that change, if it is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartChanges>,
}

/// How a draft changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The assistant has no draft yet.
    New,
    /// The assistant's draft is replaced.
    Replaced,
    /// The draft is already the same.
    Equal,
}

impl DraftChange {
    /// How a document changes that was stored as JSON text, if it was.
    pub fn between(id: String, program: Option<&'static str>, stored: Option<&str>, document: &Value) -> DraftChange {
        let Some(text) = stored else { return DraftChange { id, program, change: Change::New, parts: None } };
        match serde_json::from_str::<Value>(text) {
            Ok(stored) if stored == *document => DraftChange { id, program, change: Change::Equal, parts: None },
            Ok(stored) => DraftChange { id, program, change: Change::Replaced, parts: Some(PartChanges::between(&stored, document)) },
            Err(_) => DraftChange { id, program, change: Change::Replaced, parts: None },
        }
    }
}

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::New => "new",
            Change::Replaced => "replaced",
            Change::Equal => "equal",
        })
    }
}

/// The difference of a table.
#[derive(Debug, Default, Serialize)]
pub struct TableDifference {
    /// Rows only in the second state.
    pub added: Vec<KeyedRow>,
    /// Rows only in the first state.
    pub removed: Vec<KeyedRow>,
    /// Rows of both states whose columns differ.
    pub changed: Vec<ChangedRow>,
}

/// A row with its key.
#[derive(Debug, Serialize)]
pub struct KeyedRow {
    /// Its key.
    pub key: Value,
    /// The row.
    pub row: Map,
}

/// A changed row.
#[derive(Debug, Serialize)]
pub struct ChangedRow {
    /// Its key.
    pub key: Value,
    /// The columns that differ.
    pub columns: BTreeMap<String, ValueChange>,
}

/// A value before and after; null if absent.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ValueChange {
    /// The value in the first state.
    pub old: Value,
    /// The value in the second state.
    pub new: Value,
}

/// A setting that differs.
#[derive(Debug, Serialize)]
pub struct SettingChange {
    /// Its name, such as `convengine.flow.memory.enabled`.
    pub path: String,
    /// The values before and after.
    #[serde(flatten)]
    pub values: ValueChange,
}

/// Issues that only one of the states has.
#[derive(Debug, Serialize)]
pub struct IssueChanges {
    /// Those of the second state.
    pub new: Vec<Issue>,
    /// Those of the first state.
    pub gone: Vec<Issue>,
}

impl Difference {
    /// Compares two states.
    pub fn between(before: &ConfigState, after: &ConfigState) -> Difference {
        let none = Vec::new();
        let names = before.tables.keys().chain(after.tables.keys());
        let of_table = |name: &String| {
            let rows = |state: &'_ ConfigState| state.tables.get(name).unwrap_or(&none).clone();
            TableDifference::between(table_shape(name).map_or("name", TableShape::key), rows(before), rows(after))
        };
        let tables: BTreeMap<String, TableDifference> =
            names.map(|name| (name.clone(), of_table(name))).filter(|it| !it.1.is_empty()).collect();
        let only = |of: &ConfigState, other: &ConfigState| of.issues.iter().filter(|it| !other.issues.contains(it)).cloned().collect();
        Difference {
            before: before.hash.clone(),
            after: after.hash.clone(),
            tables,
            settings: diff_settings(&before.settings, &after.settings),
            issues: IssueChanges { new: only(after, before), gone: only(before, after) },
            drafts: Vec::new(),
        }
    }

    /// Adds the changes of drafts.
    #[must_use]
    pub fn with_drafts(self, drafts: Vec<DraftChange>) -> Difference {
        Difference { drafts, ..self }
    }

    /// Prints the difference on standard output, as text or JSON.
    pub fn print(&self, json: bool) {
        if json { print_line!("{}", serde_json::to_string(self).unwrap_or_default()) } else { print_text(format_args!("{self}")) }
    }

    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        let no_draft = self.drafts.iter().all(|it| it.change == Change::Equal);
        no_draft && self.tables.is_empty() && self.settings.is_empty() && self.issues.new.is_empty() && self.issues.gone.is_empty()
    }
}

/// Returns the settings that differ.
pub fn diff_settings(before: &Value, after: &Value) -> Vec<SettingChange> {
    let setting = |it: diff::Difference| SettingChange {
        path: format!("convengine.{}", it.field),
        values: ValueChange { old: it.left.unwrap_or_default(), new: it.right.unwrap_or_default() },
    };
    diff::diff_leaves(before, after).into_iter().map(setting).collect()
}

impl TableDifference {
    fn between(key: &str, before: Vec<Map>, after: Vec<Map>) -> TableDifference {
        // A row without its key is identified by its whole content.
        let key_of = |row: &Map| row.get(key).cloned().unwrap_or_else(|| Value::Object(row.clone()));
        let mut known: BTreeMap<String, Map> = before.iter().map(|row| (key_of(row).to_string(), row.clone())).collect();
        let mut found = TableDifference::default();
        for row in after {
            let key = key_of(&row);
            match known.remove(&key.to_string()) {
                None => found.added.push(KeyedRow { key, row }),
                Some(old) if old == row => {}
                Some(old) => found.changed.push(ChangedRow { key, columns: diff_columns(&old, &row) }),
            }
        }
        let gone = |row: Map| (key_of(&row), row);
        let gone = before.into_iter().map(gone).filter(|entry| known.contains_key(&entry.0.to_string()));
        found.removed = gone.map(|(key, row)| KeyedRow { key, row }).collect();
        found
    }

    /// Returns whether nothing differs in the table.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

fn diff_columns(old: &Map, new: &Map) -> BTreeMap<String, ValueChange> {
    let value = |row: &Map, column: &String| row.get(column).cloned().unwrap_or_default();
    let values = |column: &String| ValueChange { old: value(old, column), new: value(new, column) };
    old.keys().chain(new.keys()).map(|column| (column.clone(), values(column))).filter(|it| it.1.old != it.1.new).collect()
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "before {}\nafter  {}", self.before, self.after)?;
        for draft in &self.drafts {
            writeln!(f, "{} {}: {}", draft.program.unwrap_or("draft"), draft.id, draft.change)?;
            draft.parts.iter().try_for_each(|it| it.fmt(f))?;
        }
        if self.is_empty() {
            return writeln!(f, "no difference");
        }
        for (name, table) in &self.tables {
            let counts = [("added", table.added.len()), ("removed", table.removed.len()), ("changed", table.changed.len())];
            let counts: Vec<String> = counts.iter().filter(|it| it.1 > 0).map(|(word, count)| format!("{count} {word}")).collect();
            writeln!(f, "{name}: {}", counts.join(", "))?;
            table.fmt(f)?;
        }
        for SettingChange { path, values } in &self.settings {
            writeln!(f, "{path}: {} → {}", values.old, values.new)?;
        }
        self.issues.new.iter().try_for_each(|it| writeln!(f, "new issue: {it}"))?;
        self.issues.gone.iter().try_for_each(|it| writeln!(f, "resolved issue: {it}"))
    }
}

impl Display for TableDifference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (sign, rows) in [('-', &self.removed), ('+', &self.added)] {
            for KeyedRow { key, row } in rows {
                writeln!(f, "  {sign} {} {}", key_text(key), Value::Object(row.clone()))?;
            }
        }
        for ChangedRow { key, columns } in &self.changed {
            writeln!(f, "  ~ {}", key_text(key))?;
            columns.iter().try_for_each(|(column, values)| writeln!(f, "      {column}: {} → {}", values.old, values.new))?;
        }
        Ok(())
    }
}

fn key_text(key: &Value) -> String {
    key.as_str().map_or_else(|| key.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use convengine_core::config::Tables;
    use serde_json::json;

    use super::*;

    fn state(rows: Value, settings: Value) -> ConfigState {
        let tables: Tables = serde_json::from_value(json!({"ce_policy": rows})).expect("tables");
        ConfigState::compile(&tables, &settings)
    }

    #[test]
    fn rows_are_matched_by_key() {
        let row = |id: i64, pattern: &str| json!({"policy_id": id, "rule_type": "REGEX", "pattern": pattern, "response_text": "no"});
        let before = state(json!([row(1, "a"), row(2, "b"), row(3, "c")]), json!({"flow": {"query-rewrite": {"enabled": true}}}));
        let after = state(json!([row(2, "("), row(3, "c"), row(11, "d")]), json!({"flow": {"query-rewrite": {"enabled": false}}}));
        let found = Difference::between(&before, &after);
        let of_table = &found.tables["ce_policy"];
        let keys = |rows: &[KeyedRow]| rows.iter().map(|it| it.key.clone()).collect::<Vec<_>>();
        assert_eq!((keys(&of_table.removed), keys(&of_table.added)), (vec![json!(1)], vec![json!(11)]));
        assert_eq!(json!(of_table.changed), json!([{"key": 2, "columns": {"pattern": {"old": "b", "new": "("}}}]));
        assert_eq!(json!(found.settings), json!([{"path": "convengine.flow.query-rewrite.enabled", "old": true, "new": false}]));
        assert_eq!((found.issues.new.len(), found.issues.gone.len()), (1, 0));
        let text = found.to_string();
        for line in [
            "ce_policy: 1 added, 1 removed, 1 changed",
            "  ~ 2",
            "      pattern: \"b\" → \"(\"",
            "  - 1 {",
            "  + 11 {",
            "new issue: error ce_policy[2]",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let same = Difference::between(&before, &before);
        assert!(same.is_empty() && same.to_string().ends_with("no difference\n"));
    }
}
