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
                Ok(binding) => bindings.add(&row, task, binding, issues),
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
}
