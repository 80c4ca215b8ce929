//! `ce_task.binding`: executors of tasks that the host does not run itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use serde_json::Value;

use super::http_call::{HttpCall, HttpCallSource};
use super::issue::Issue;
use super::row::TableRow;
use super::script::Script;
use super::settings::HttpPolicy;
use super::tables::Tables;
use super::task::TASK;

/// The rule of members that nothing reads.
const UNKNOWN_MEMBER: &str = "unknown-member";

/// The members of an HTTP call, by their short names.
const CALL_MEMBERS: &[&str] = &["method", "url", "headers", "query", "body", "auth", "policy", "response", "idempotent"];

/// The names of columns of `ce_http_tool` that stand for a member.
const CALL_COLUMNS: &[&str] = &["url_template", "body_template", "auth_ref", "response_mapping"];

/// The members of `auth`.
const AUTH_MEMBERS: &[&str] = &["type", "secret", "header", "prefix"];

/// Another name of `header`.
const AUTH_ALIASES: &[&str] = &["headerName"];

/// The members of `response`.
const RESPONSE_MEMBERS: &[&str] = &["mode", "path", "fields"];

/// The executor of a task.
#[derive(Debug, Clone)]
pub enum Binding {
    /// An HTTP call.
    Http(Arc<HttpCall>),
    /// An extension, by name.
    Extension(String),
    /// A script.
    Script(Arc<Script>),
}

/// Bindings by `bean:method`.
#[derive(Debug, Clone, Default)]
pub struct Bindings(BTreeMap<String, Binding>);

impl Bindings {
    pub(super) fn compile(tables: &Tables, defaults: &HttpPolicy, issues: &mut Vec<Issue>) -> Bindings {
        let mut bindings = Bindings::default();
        for row in tables.enabled_rows_of(&TASK) {
            let (Some(task), Some(text)) = (row.code("task"), row.code("binding")) else { continue };
            match compile(&text, defaults) {
                Ok(binding) => {
                    issues.extend(find_unknown_members(&row, &text));
                    bindings.add(&row, task, binding, issues);
                }
                Err(reason) => issues.push(row.error("binding", reason, "the binding is corrected")),
            }
        }
        bindings
    }

    /// The tasks that have a binding.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the binding of a task; `None` when the host runs it.
    pub fn find(&self, task: &str) -> Option<&Binding> {
        self.0.get(task)
    }

    fn add(&mut self, row: &TableRow<'_>, task: String, binding: Binding, issues: &mut Vec<Issue>) {
        match self.0.entry(task) {
            Entry::Vacant(entry) => {
                entry.insert(binding);
            }
            Entry::Occupied(entry) => {
                let reason = format!("'{}' is bound a second time", entry.key());
                issues.push(row.error("binding", reason, "the task has only one binding"));
            }
        }
    }
}

/// Parses `{"http": {…}}`, `{"extension": "name"}` or `{"script": {…}}`.
fn compile(text: &str, defaults: &HttpPolicy) -> Result<Binding, String> {
    let value: Value = serde_json::from_str(text).map_err(|it| format!("is not a JSON object: {it}"))?;
    let members: Vec<(&String, &Value)> = value.as_object().into_iter().flatten().collect();
    let [(kind, of_kind)] = members.as_slice() else {
        return Err("must be an object with exactly one member: http, extension or script".to_owned());
    };
    match (kind.as_str(), of_kind) {
        ("http", Value::Object(_)) => {
            let call = HttpCall::compile(&http_source(of_kind), defaults);
            call.map(|call| Binding::Http(Arc::new(call))).map_err(|(column, reason)| format!("has an HTTP call whose {column} {reason}"))
        }
        ("extension", Value::String(name)) if !name.trim().is_empty() => Ok(Binding::Extension(name.trim().to_owned())),
        ("script", Value::Object(_)) => Script::compile(of_kind).map(|script| Binding::Script(Arc::new(script))),
        _ => Err(format!("has an invalid member '{kind}'; use http, extension or script")),
    }
}

/// Reports the members of an HTTP call that nothing reads. The call is made without them, so they are warnings.
fn find_unknown_members(row: &TableRow<'_>, text: &str) -> Vec<Issue> {
    let binding: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(call) = binding.get("http") else { return Vec::new() };
    let member = |names: [&str; 2]| names.iter().find_map(|name| call.get(name));
    let mut issues = Vec::new();
    let mut check = |part: &str, value: Option<&Value>, members: &[&str], aliases: &[&str]| {
        // A secret or a mode may stand alone, as text.
        let names = value.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
        issues.extend(names.filter(|name| !members.contains(name) && !aliases.contains(name)).map(|name| {
            let reason = format!("{part} has the unknown member '{name}', which has no effect");
            Issue::warning(row.path("binding"), reason, format!("use {}", members.join(", "))).with_rule(UNKNOWN_MEMBER)
        }));
    };
    check("the HTTP call", Some(call), CALL_MEMBERS, CALL_COLUMNS);
    check("the auth of the HTTP call", member(["auth", "auth_ref"]), AUTH_MEMBERS, AUTH_ALIASES);
    check("the response of the HTTP call", member(["response", "response_mapping"]), RESPONSE_MEMBERS, &[]);
    issues
}

/// The HTTP call of a task: the columns of `ce_http_tool` as members, also by the short names that packs use.
fn http_source(call: &Value) -> HttpCallSource {
    let text = |names: [&str; 2]| {
        let value = names.iter().find_map(|name| call.get(name)).filter(|value| !value.is_null())?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    HttpCallSource {
        method: text(["method", "method"]).or_else(|| Some("POST".to_owned())),
        url: text(["url", "url_template"]),
        headers: text(["headers", "headers"]),
        query: text(["query", "query"]),
        body: text(["body", "body_template"]),
        auth: text(["auth", "auth_ref"]),
        policy: text(["policy", "policy"]),
        mapping: text(["response", "response_mapping"]),
        idempotent: call.get("idempotent").and_then(Value::as_bool).unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Config;

    #[test]
    fn a_second_binding_of_a_task_and_an_invalid_one_are_errors() {
        let row = |id: u32, task: &str, binding: Value| json!({"task_id": id, "kind": "TASK", "task": task, "binding": binding});
        let tables = json!({"ce_task": [
            row(1, "desk:open", json!({"extension": "first"})),
            row(2, " desk:open ", json!({"extension": "second"})),
            row(3, "desk:close", json!({"extension": " "})),
            row(4, "desk:close", json!({"extension": "a", "script": {}})),
            row(5, "desk:close", json!({"extension": "valid"})),
        ]});
        let (config, issues) = Config::compile(&serde_json::from_value(tables).unwrap(), &json!({}));
        let bound = |task: &str| match config.bindings.find(task) {
            Some(Binding::Extension(name)) => name.clone(),
            other => format!("{other:?}"),
        };
        assert_eq!([bound("desk:open"), bound("desk:close"), bound("desk:none")], ["first", "valid", "None"]);
        let found: Vec<(&str, bool)> = issues.iter().map(|issue| (issue.path.as_str(), issue.is_error())).collect();
        assert_eq!(found, [("ce_task[2].binding", true), ("ce_task[3].binding", true), ("ce_task[4].binding", true)]);
        assert_eq!(issues[0].reason, "'desk:open' is bound a second time");
    }

    #[test]
    fn an_unknown_member_of_a_call_is_a_warning_and_the_call_is_made() {
        let binding_issues = |call: Value| {
            let tables = json!({"ce_task": [{"task_id": 1, "kind": "TASK", "task": "desk:open", "binding": {"http": call}}]});
            let (config, issues) = Config::compile(&serde_json::from_value(tables).unwrap(), &json!({}));
            assert!(matches!(config.bindings.find("desk:open"), Some(Binding::Http(_))), "{issues:?}");
            issues
        };
        let found = binding_issues(json!({
            "url": "https://a.example/", "metod": "PUT", "auth": {"secret": "KEY", "headr": "X-Key"},
            "response": {"mode": "JSON_PATH", "path": "$.a", "pth": "$.b"},
        }));
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = [
            ("the HTTP call has the unknown member 'metod'", "use method, url, headers, query, body, auth, policy, response, idempotent"),
            ("the auth of the HTTP call has the unknown member 'headr'", "use type, secret, header, prefix"),
            ("the response of the HTTP call has the unknown member 'pth'", "use mode, path, fields"),
        ];
        let expected =
            expected.map(|(reason, hint)| format!("warning ce_task[1].binding: {reason}, which has no effect; {hint} (unknown-member)"));
        assert_eq!(lines, expected);
        let of_columns = json!({
            "url_template": "https://a.example/", "method": "PUT", "headers": {}, "query": {}, "body_template": {}, "idempotent": true,
            "auth_ref": {"type": "API_KEY", "secret": "KEY", "headerName": "X-Key", "prefix": ""}, "policy": {},
            "response_mapping": {"mode": "FIELD_TEMPLATE", "fields": {}},
        });
        assert_eq!(binding_issues(of_columns), []);
        assert_eq!(binding_issues(json!({"url": "https://a.example/", "auth": "KEY", "response": "TEXT"})), []);
    }
}
