//! Reading one setting after the other, and what is left over.

use std::collections::BTreeMap;

use serde_json::Value;

use super::choice::{DECISIONS, Decision};
use crate::config::acts::Act;
use crate::config::issue::Issue;
use crate::config::profile::Profile;
use crate::config::tables::ConfigRows;

/// Keys that the server reads by itself.
const HOST_KEYS: [&str; 21] = [
    "audit.persistence.mode",
    "audit.persist-meta",
    "config.follow",
    "privacy",
    "retention",
    "database.synchronous",
    "security",
    "transport",
    "stream",
    "container.url",
    "tables",
    "secrets",
    "network",
    "outbound",
    "assistants",
    "files",
    "tool-database",
    "llm",
    "turn",
    "logging",
    "telemetry",
];

/// Keys of ConvEngine that this version accepts without effect.
const WITHOUT_EFFECT: [&str; 13] = [
    "audit.rate-limit",
    "audit.dispatch",
    "audit.persistence",
    "mcp.planner-max-observation-chars",
    "mcp.db.query",
    "mcp.db.sql-guardrail-table",
    "mcp.db.introspect-tables",
    "mcp.db.semantic",
    "mcp.db.preflight",
    "schema",
    "experimental",
    "persistence",
    "demo",
];

/// Reads settings; a row of `ce_config` wins over the tree.
pub(super) struct Reader<'r> {
    /// What stands under `convengine`.
    pub tree: &'r Value,
    /// Rows of `ce_config`.
    pub rows: &'r ConfigRows,
    /// What is wrong.
    pub issues: &'r mut Vec<Issue>,
    /// Keys that were read.
    pub known: Vec<&'static str>,
}

impl<'r> Reader<'r> {
    /// The value of the row of `ce_config` when there is one that can be read, else of the tree.
    fn read<T>(&mut self, key: &'static str, step: &str, expected: &str, parse: impl Fn(&Value) -> Option<T>) -> Option<T> {
        self.known.push(key);
        if let Some((path, row)) = self.of_row(key, step) {
            let parsed = parse(&row);
            if parsed.is_some() {
                return parsed;
            }
            self.bad(path, &row, expected, "the settings count until it is corrected");
        }
        let value = self.of_tree(key)?;
        let parsed = parse(value);
        if parsed.is_none() {
            self.bad(format!("convengine.{key}"), value, expected, "correct the value");
        }
        parsed
    }

    /// The row's path and its value.
    fn of_row(&self, key: &str, step: &str) -> Option<(String, Value)> {
        let name = key.rsplit('.').next().unwrap_or(key).replace('-', "_").to_uppercase();
        let value = self.rows.value(step, &name)?;
        Some((format!("ce_config[{step}/{name}].config_value"), Value::from(value)))
    }

    fn of_tree(&self, key: &str) -> Option<&'r Value> {
        key.split('.').try_fold(self.tree, |node, part| node.get(part)).filter(|it| !it.is_null())
    }

    fn bad(&mut self, path: String, value: &Value, expected: &str, hint: &str) {
        self.issues.push(Issue::error(path, format!("{value} is not {expected}"), hint));
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, key: &'static str, step: &str, names: &[(&str, T)], default: T) -> T {
        let words: Vec<&str> = names.iter().map(|it| it.0).collect();
        let parse = |value: &Value| {
            let text = value.as_str()?.trim();
            names.iter().find(|it| it.0.eq_ignore_ascii_case(text)).map(|it| it.1)
        };
        self.read(key, step, &format!("one of {}", words.join(", ")), parse).unwrap_or(default)
    }

    /// True or false.
    pub fn boolean(&mut self, key: &'static str, step: &str, default: bool) -> bool {
        self.read(key, step, "true or false", super::boolean).unwrap_or(default)
    }

    /// A number.
    pub fn number(&mut self, key: &'static str, step: &str, default: f64) -> f64 {
        let parse = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|it| it.is_finite());
        self.read(key, step, "a number", parse).unwrap_or(default)
    }

    /// A whole number from 0.
    pub fn count(&mut self, key: &'static str, step: &str, default: usize) -> usize {
        let whole = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let parse = |value: &Value| whole(value).and_then(|it| usize::try_from(it).ok());
        self.read(key, step, "a whole number from 0", parse).unwrap_or(default)
    }

    /// A whole number that may stand below zero, where it means that there is no limit.
    pub fn limit(&mut self, key: &'static str, step: &str, default: i64) -> i64 {
        let parse = |value: &Value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
        self.read(key, step, "a whole number", parse).unwrap_or(default)
    }

    /// The value of a row of `ce_config` that has another name than the setting.
    pub fn row(&mut self, step: &str, name: &str, default: usize) -> usize {
        let Some(text) = self.rows.value(step, name) else { return default };
        let path = format!("ce_config[{step}/{name}].config_value");
        let hint = "the settings count until it is corrected";
        text.trim().parse().unwrap_or_else(|_| {
            self.issues.push(Issue::error(path, format!("\"{text}\" is not a whole number from 0"), hint));
            default
        })
    }

    /// Names in upper case.
    pub fn names(&mut self, key: &'static str) -> Vec<String> {
        self.texts(key, "").into_iter().map(|it| it.to_uppercase()).collect()
    }

    /// A list, or texts separated by commas; of a row of `ce_config` also a JSON list.
    pub fn texts(&mut self, key: &'static str, step: &str) -> Vec<String> {
        let texts = self.read(key, step, "a list of texts", texts).unwrap_or_default();
        texts.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
    }

    /// Lists by name, both in upper case.
    pub fn lists(&mut self, key: &'static str, step: &str) -> BTreeMap<String, Vec<String>> {
        let parse = |value: &Value| -> Option<BTreeMap<String, Vec<String>>> {
            let of_text = value.as_str().and_then(|it| serde_json::from_str::<Value>(it).ok());
            let members = of_text.as_ref().unwrap_or(value).as_object()?;
            let name = |it: &str| it.trim_matches(['[', ']']).trim().to_uppercase();
            let mut lists = BTreeMap::new();
            for (from, to) in members {
                lists.insert(name(from), texts(to)?.iter().map(|it| it.trim().to_uppercase()).collect());
            }
            Some(lists)
        };
        self.read(key, step, "a map of lists such as {\"DRAFT\": [\"SENT\"]}", parse).unwrap_or_default()
    }

    /// The matrix of the interaction policy.
    pub fn matrix(&mut self, key: &'static str, step: &str) -> BTreeMap<String, Decision> {
        let parse = |value: &Value| -> Option<BTreeMap<String, Decision>> {
            let of_text = value.as_str().and_then(|it| serde_json::from_str::<Value>(it).ok());
            let members = of_text.as_ref().unwrap_or(value).as_object()?;
            let mut matrix = BTreeMap::new();
            for (name, decision) in members {
                let (name, decision) = cell(name, decision)?;
                matrix.insert(name, decision);
            }
            Some(matrix)
        };
        let expected = "a map such as {\"PENDING_ACTION:AFFIRM\": \"EXECUTE_PENDING_ACTION\"}";
        self.read(key, step, expected, parse).unwrap_or_default()
    }

    /// Warns of settings that nobody reads, or no step of this profile.
    pub fn unknown(&mut self, profile: &Profile) {
        let mut leaves = Vec::new();
        collect(self.tree, String::new(), &mut leaves);
        let within = |leaf: &str, prefix: &str| leaf.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        for leaf in leaves {
            let path = format!("convengine.{leaf}");
            if profile.unread_settings().any(|it| within(&leaf, it)) {
                let reason = format!("has no effect: the profile {} has no step that reads it", profile.name);
                self.issues.push(Issue::warning(path, reason, profile.hint("remove it")));
                continue;
            }
            if self.known.iter().chain(&HOST_KEYS).any(|it| within(&leaf, it)) {
                continue;
            }
            if WITHOUT_EFFECT.iter().any(|it| within(&leaf, it)) {
                self.issues.push(Issue::warning(path, "has no effect in this version", "remove it or leave it for later"));
            } else {
                self.issues.push(Issue::warning(path, "is no known setting", "correct its name or remove it"));
            }
        }
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |it: &Value| it.as_str().map(str::to_owned).or_else(|| it.as_number().map(ToString::to_string));
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str(text).ok(),
        Value::String(text) => Some(text.split(',').map(str::to_owned).collect()),
        // Lists of the older properties format come as a map from position to text.
        Value::Object(members) if members.keys().all(|it| it.parse::<usize>().is_ok()) => members.values().map(text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// One cell of the matrix: `SUBJECT:ACT`, with or without brackets, and a decision.
fn cell(name: &str, decision: &Value) -> Option<(String, Decision)> {
    let name = name.trim_matches(['[', ']']).trim().to_uppercase();
    let (subject, act) = name.split_once(':')?;
    let known = matches!(subject, "PENDING_ACTION" | "PENDING_SLOT" | "NONE") && Act::parse(act).is_some();
    let word = decision.as_str()?.trim();
    let (_, decision) = DECISIONS.iter().find(|it| it.0.eq_ignore_ascii_case(word)).filter(|_| known)?;
    Some((name, *decision))
}

fn collect(node: &Value, path: String, leaves: &mut Vec<String>) {
    let dot = if path.is_empty() { "" } else { "." };
    match node {
        Value::Object(members) => members.iter().for_each(|(key, value)| collect(value, format!("{path}{dot}{key}"), leaves)),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => leaves.push(path),
    }
}
