//! Reads individual settings and warns about those that nothing reads.

use std::collections::BTreeMap;

use serde_json::Value;

use super::choice::{DECISIONS, InteractionDecision};
use crate::dialogue_act::DialogueAct;
use crate::issue::Issue;
use crate::profile::Profile;
use crate::tables::ConfigRows;

/// Keys that the server reads itself.
pub const HOST_KEYS: [&str; 31] = [
    "audit.persistence.mode",
    "audit.persist-meta",
    "config.follow",
    "privacy",
    "restate",
    "retention",
    "database",
    "share",
    "http",
    "security",
    "transport",
    "stream",
    "container.url",
    "tables",
    "secrets",
    "secrets-key",
    "network",
    "outbound",
    "chains",
    "notify",
    "assistants",
    "files",
    "tool-database",
    "llm",
    "turn",
    "tools",
    "logging",
    "telemetry",
    "mcp.db.introspect-tables",
    "mcp.servers",
    "schema.active",
];

/// Keys of the original ConvEngine that are accepted without effect.
pub const IGNORED_KEYS: [&str; 12] = [
    "audit.rate-limit",
    "audit.dispatch",
    "audit.persistence",
    "mcp.planner-max-observation-chars",
    "mcp.db.query",
    "mcp.db.sql-guardrail-table",
    "mcp.db.semantic",
    "mcp.db.preflight",
    "schema",
    "experimental",
    "persistence",
    "demo",
];

/// Older names of settings, each with the name to write instead.
const RENAMED_KEYS: [(&str, &str); 1] = [("outbound.allow", "network.allow-private")];

/// A setting that the core reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingKey {
    /// The key below `convengine`.
    pub name: &'static str,
    /// The `config_type` of the `ce_config` row that overrides it; empty if none does.
    pub step: String,
    /// The valid values, in words.
    pub expected: String,
}

/// Reads settings; a row of `ce_config` overrides the tree.
pub(super) struct SettingsReader<'r> {
    /// The value under `convengine`.
    pub tree: &'r Value,
    /// Rows of `ce_config`.
    pub rows: &'r ConfigRows,
    /// Receives an issue for each invalid value.
    pub issues: &'r mut Vec<Issue>,
    /// Keys read so far.
    pub known_keys: Vec<SettingKey>,
}

impl<'r> SettingsReader<'r> {
    /// Returns the value of the `ce_config` row if it is valid, else of the tree.
    fn read<T>(&mut self, key: &'static str, step: &str, expected: &str, parse: impl Fn(&Value) -> Option<T>) -> Option<T> {
        self.known_keys.push(SettingKey { name: key, step: step.to_owned(), expected: expected.to_owned() });
        if let Some((path, row)) = self.row_value(key, step) {
            let parsed = parse(&row);
            if parsed.is_some() {
                return parsed;
            }
            self.report_invalid(path, &row, expected, "the settings apply until the row is corrected");
        }
        let value = self.tree_value(key)?;
        let parsed = parse(value);
        if parsed.is_none() {
            self.report_invalid(format!("convengine.{key}"), value, expected, "correct the value");
        }
        parsed
    }

    /// The issue path and value of the `ce_config` row.
    fn row_value(&self, key: &str, step: &str) -> Option<(String, Value)> {
        let name = key.rsplit('.').next().unwrap_or(key).replace('-', "_").to_uppercase();
        let value = self.rows.value(step, &name)?;
        Some((format!("ce_config[{step}/{name}].config_value"), Value::from(value)))
    }

    fn tree_value(&self, key: &str) -> Option<&'r Value> {
        key.split('.').try_fold(self.tree, |node, part| node.get(part)).filter(|it| !it.is_null())
    }

    fn report_invalid(&mut self, path: String, value: &Value, expected: &str, hint: &str) {
        self.issues.push(Issue::error(path, format!("{value} is not {expected}"), hint));
    }

    /// Reads one of several names, ignoring case.
    pub fn choice<T: Copy>(&mut self, key: &'static str, step: &str, names: &[(&str, T)], default: T) -> T {
        let words: Vec<&str> = names.iter().map(|it| it.0).collect();
        let parse = |value: &Value| {
            let text = value.as_str()?.trim();
            names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, value)| value)
        };
        self.read(key, step, &format!("one of {}", words.join(", ")), parse).unwrap_or(default)
    }

    /// Reads a boolean.
    pub fn boolean(&mut self, key: &'static str, step: &str, default: bool) -> bool {
        self.read(key, step, "true or false", super::parse_bool).unwrap_or(default)
    }

    /// Reads a number.
    pub fn number(&mut self, key: &'static str, step: &str, default: f64) -> f64 {
        let parse = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number| number.is_finite());
        self.read(key, step, "a number", parse).unwrap_or(default)
    }

    /// Reads a non-negative integer.
    pub fn count(&mut self, key: &'static str, step: &str, default: usize) -> usize {
        let whole = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let parse = |value: &Value| whole(value).and_then(|number| usize::try_from(number).ok());
        self.read(key, step, "a non-negative integer", parse).unwrap_or(default)
    }

    /// Reads an integer; callers treat a negative one as no limit.
    pub fn limit(&mut self, key: &'static str, step: &str, default: i64) -> i64 {
        let parse = |value: &Value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
        self.read(key, step, "an integer", parse).unwrap_or(default)
    }

    /// Reads a non-negative integer from a `ce_config` row whose name differs from that of the setting.
    pub fn row_count(&mut self, step: &str, name: &str, default: usize) -> usize {
        let Some(text) = self.rows.value(step, name) else { return default };
        let path = format!("ce_config[{step}/{name}].config_value");
        let hint = "the settings apply until the row is corrected";
        text.trim().parse().unwrap_or_else(|_| {
            self.issues.push(Issue::error(path, format!("\"{text}\" is not a non-negative integer"), hint));
            default
        })
    }

    /// Reads a list of names, in upper case.
    pub fn names(&mut self, key: &'static str) -> Vec<String> {
        self.parse_texts(key, "").into_iter().map(|it| it.to_uppercase()).collect()
    }

    /// Reads a list, or a comma-separated string; a `ce_config` row may also hold a JSON array.
    pub fn parse_texts(&mut self, key: &'static str, step: &str) -> Vec<String> {
        let texts = self.read(key, step, "a list of strings", parse_texts).unwrap_or_default();
        texts.into_iter().map(|text| text.trim().to_owned()).filter(|it| !it.is_empty()).collect()
    }

    /// Reads lists by name, both in upper case.
    pub fn lists(&mut self, key: &'static str, step: &str) -> BTreeMap<String, Vec<String>> {
        let parse = |value: &Value| -> Option<BTreeMap<String, Vec<String>>> {
            let of_text = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let members = of_text.as_ref().unwrap_or(value).as_object()?;
            let name = |text: &str| text.trim_matches(['[', ']']).trim().to_uppercase();
            let mut lists = BTreeMap::new();
            for (from, to) in members {
                lists.insert(name(from), parse_texts(to)?.iter().map(|text| text.trim().to_uppercase()).collect());
            }
            Some(lists)
        };
        self.read(key, step, "a map of lists such as {\"DRAFT\": [\"SENT\"]}", parse).unwrap_or_default()
    }

    /// Reads the matrix of the interaction policy.
    pub fn matrix(&mut self, key: &'static str, step: &str) -> BTreeMap<String, InteractionDecision> {
        let parse = |value: &Value| -> Option<BTreeMap<String, InteractionDecision>> {
            let of_text = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let members = of_text.as_ref().unwrap_or(value).as_object()?;
            let mut matrix = BTreeMap::new();
            for (name, decision) in members {
                let (name, decision) = parse_cell(name, decision)?;
                matrix.insert(name, decision);
            }
            Some(matrix)
        };
        let expected = "a map such as {\"PENDING_ACTION:AFFIRM\": \"EXECUTE_PENDING_ACTION\"}";
        self.read(key, step, expected, parse).unwrap_or_default()
    }

    /// Warns about settings that nothing reads, or no step of the profile.
    pub fn warn_unknown(&mut self, profile: &Profile) {
        let mut leaves = Vec::new();
        collect_leaves(self.tree, String::new(), &mut leaves);
        let within = |leaf: &str, prefix: &str| leaf.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        for leaf in leaves {
            let path = format!("convengine.{leaf}");
            if profile.unread_settings().any(|it| within(&leaf, it)) {
                let reason = format!("has no effect: no step of the profile '{}' reads it", profile.name);
                self.issues.push(Issue::warning(path, reason, profile.hint("remove it")));
                continue;
            }
            if let Some((_, name)) = RENAMED_KEYS.iter().find(|it| within(&leaf, it.0)) {
                let hint = format!("write convengine.{name} instead");
                self.issues.push(Issue::warning(path, "is an older name", hint));
                continue;
            }
            if self.known_keys.iter().map(|it| it.name).chain(HOST_KEYS).any(|it| within(&leaf, it)) {
                continue;
            }
            if IGNORED_KEYS.iter().any(|it| within(&leaf, it)) {
                self.issues.push(Issue::warning(path, "has no effect in this version", "remove it"));
            } else {
                self.issues.push(Issue::warning(path, "is not a known setting", "correct its name or remove it"));
            }
        }
    }
}

fn parse_texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned).or_else(|| value.as_number().map(ToString::to_string));
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str(text).ok(),
        Value::String(text) => Some(text.split(',').map(str::to_owned).collect()),
        // Lists of the older properties format arrive as a map from position to value.
        Value::Object(members) if members.keys().all(|position| position.parse::<usize>().is_ok()) => members.values().map(text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Parses a cell of the matrix: `SUBJECT:ACT`, with or without brackets, and a decision.
fn parse_cell(name: &str, decision: &Value) -> Option<(String, InteractionDecision)> {
    let name = name.trim_matches(['[', ']']).trim().to_uppercase();
    let (subject, act) = name.split_once(':')?;
    let known = matches!(subject, "PENDING_ACTION" | "PENDING_SLOT" | "NONE") && DialogueAct::parse(act).is_some();
    let word = decision.as_str()?.trim();
    let (_, decision) = DECISIONS.iter().find(|it| it.0.eq_ignore_ascii_case(word)).filter(|_| known)?;
    Some((name, *decision))
}

fn collect_leaves(node: &Value, path: String, leaves: &mut Vec<String>) {
    let dot = if path.is_empty() { "" } else { "." };
    match node {
        Value::Object(members) => members.iter().for_each(|(key, value)| collect_leaves(value, format!("{path}{dot}{key}"), leaves)),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => leaves.push(path),
    }
}
