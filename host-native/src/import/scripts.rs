//! The scripted answers that a pack brings along, and whether they have the form of an answer.

use convengine_core::config::TASK_MEMBERS;
use convengine_core::pack::{HttpRule, Pack};
use convengine_core::turn::Map;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::store::{Connection, script};

/// The members of a pack that hold scripted answers; an absent one leaves what is stored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Scripts {
    tasks: Option<Map>,
    tools: Option<Map>,
    containers: Option<Map>,
    http: Option<Vec<HttpRule>>,
}

/// Where the text of a tool may come from; a tool has one of them.
const TOOL: [&str; 5] = ["text", "texts", "expression", "request", "error"];

impl Scripts {
    /// The scripted answers of a pack. A tool that the pack sets up has become a row of it, and is no script any more.
    ///
    /// # Errors
    /// What does not have the form of scripted answers.
    pub fn of(text: &str, pack: &Pack) -> serde_json::Result<Scripts> {
        let mut scripts: Scripts = serde_json::from_str(text)?;
        if let Some(tools) = &mut scripts.tools {
            tools.retain(|code, _| pack.tools.contains_key(code));
        }
        Ok(scripts)
    }

    /// What does not have the form of an answer, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, reply) in self.tasks.iter().flatten() {
            problems.extend(task(reply).err().map(|it| format!("tasks.{name}: {it}")));
        }
        for (name, reply) in self.tools.iter().flatten() {
            let misplaced = ["request", "expression"].iter().any(|it| reply.get(it).is_some());
            let misplaced = misplaced.then(|| "sets up a tool that ce_mcp_tool of the pack does not have; add its row".to_owned());
            problems.extend(tool(reply).err().or(misplaced).map(|it| format!("tools.{name}: {it}")));
        }
        problems
    }

    /// Replaces the stored answers of each kind that the pack has.
    ///
    /// # Errors
    /// What the database says.
    pub async fn store(&self, connection: &mut Connection) -> sqlx::Result<()> {
        for (kind, replies) in [("task", &self.tasks), ("tool", &self.tools), ("container", &self.containers)] {
            if let Some(replies) = replies {
                script::replace(connection, kind, replies).await?;
            }
        }
        match &self.http {
            Some(rules) => script::replace(connection, "http", &Map::from_iter([("rules".to_owned(), json!(rules))])).await,
            None => Ok(()),
        }
    }
}

fn task(reply: &Value) -> Result<(), String> {
    let members = reply.as_object().ok_or("is no object; write {\"result\": …} or {\"error\": \"…\"}")?;
    if members.contains_key("error") {
        return if members.len() == 1 { text(members, "error") } else { Err("has an error beside other members; keep one".to_owned()) };
    }
    known(members, &TASK_MEMBERS)?;
    ["set_params", "set_context"].iter().try_for_each(|it| object(members, it))?;
    ["intent", "state"].iter().try_for_each(|it| text(members, it))
}

fn tool(reply: &Value) -> Result<(), String> {
    let members = reply.as_object().ok_or("is no object; write {\"text\": …}, {\"expression\": …} or {\"request\": …}")?;
    if TOOL.iter().filter(|it| members.contains_key(**it)).count() != 1 {
        return Err(format!("does not have one of {}; write one of them", TOOL.join(", ")));
    }
    let is_call = members.contains_key("request");
    known(members, if is_call { &["request", "response"] } else { &TOOL })?;
    ["expression", "request", "response"].iter().try_for_each(|it| object(members, it))?;
    if members.get("texts").is_some_and(|it| it.as_array().is_none_or(Vec::is_empty)) {
        return Err("the member 'texts' is no list of answers; correct it".to_owned());
    }
    text(members, "error")
}

fn known(members: &Map, names: &[&str]) -> Result<(), String> {
    match members.keys().find(|it| !names.contains(&it.as_str())) {
        Some(other) => Err(format!("has the unknown member '{other}'; use {}", names.join(", "))),
        None => Ok(()),
    }
}

fn object(members: &Map, name: &str) -> Result<(), String> {
    match members.get(name) {
        Some(value) if !value.is_object() => Err(format!("the member '{name}' is no object; correct it")),
        Some(_) | None => Ok(()),
    }
}

fn text(members: &Map, name: &str) -> Result<(), String> {
    match members.get(name) {
        Some(value) if !value.is_string() => Err(format!("the member '{name}' is no text; correct it")),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_their_form() {
        let good = json!({
            "tasks": {
                "a:b": {"set_params": {"x": 1}, "set_context": {"y": null}, "result": [1]},
                "a:c": {"error": "down"}, "a:d": {"result": null}, "a:e": {}
            },
            "tools": {
                "t": {"text": "plain"}, "w": {"error": "down"}, "x": {"texts": ["one", {"n": 2}]}
            },
            "http": [{"path_prefix": "/a", "status": 503}],
            "containers": {"1/2/3": 5, "1/2/4": {"anything": []}}
        });
        assert_eq!(serde_json::from_value::<Scripts>(good).unwrap().problems(), [""; 0]);
        let bad = json!({
            "tasks": {
                "a": "text", "b": {"error": 5}, "c": {"error": "x", "result": 1}, "d": {"reslt": 1}, "e": {"set_params": [1]},
                "f": {"state": 7}
            },
            "tools": {
                "a": [], "b": {}, "c": {"text": "x", "expression": {}}, "d": {"expression": "x"}, "e": {"text": "x", "response": {}},
                "f": {"request": "GET"}, "g": {"texts": "one"}, "h": {"texts": []}, "i": {"expression": {"x": "1"}}
            }
        });
        let problems = serde_json::from_value::<Scripts>(bad).unwrap().problems();
        let of: Vec<&str> = problems.iter().filter_map(|it| it.split(':').next()).collect();
        let names = ["tasks.a", "tasks.b", "tasks.c", "tasks.d", "tasks.e", "tasks.f"].map(str::to_owned);
        let tools = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|it| format!("tools.{it}"));
        assert_eq!(of, [&names[..], &tools[..]].concat(), "{problems:#?}");
    }
}
