//! Imports the fakes of a pack (scripted answers of tasks, tools, containers and HTTP) after validating them.

use convengine_core::config::TASK_MEMBERS;
use convengine_core::pack::{HttpRule, Pack};
use convengine_core::turn::Map;
use serde::Deserialize;
use serde_json::{Value, json};

use convengine_storage::{Connection, script};

/// The members of a pack that hold scripted answers; an absent one leaves the stored answers unchanged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ScriptedReplies {
    tasks: Option<Map>,
    tools: Option<Map>,
    containers: Option<Map>,
    http: Option<Vec<HttpRule>>,
}

/// The members that define a tool's text; a tool has exactly one of them.
const TOOL_SOURCES: [&str; 5] = ["text", "texts", "expression", "request", "error"];

impl ScriptedReplies {
    /// Parses the scripted answers of a pack, without tools that parsing the pack has turned into rows.
    ///
    /// # Errors
    /// The failure if a member has another form.
    pub fn parse(text: &str, pack: &Pack) -> serde_json::Result<ScriptedReplies> {
        let mut scripts: ScriptedReplies = serde_json::from_str(text)?;
        if let Some(tools) = &mut scripts.tools {
            tools.retain(|code, _| pack.tools.contains_key(code));
        }
        Ok(scripts)
    }

    /// Returns a line for each invalid answer.
    pub fn find_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, reply) in self.tasks.iter().flatten() {
            problems.extend(check_task(reply).err().map(|it| format!("tasks.{name}: {it}")));
        }
        for (name, reply) in self.tools.iter().flatten() {
            let misplaced = ["request", "expression"].iter().any(|member| reply.get(member).is_some());
            let misplaced = misplaced.then(|| "configures a tool that is missing in the pack's ce_mcp_tool; add its row".to_owned());
            problems.extend(check_tool(reply).err().or(misplaced).map(|it| format!("tools.{name}: {it}")));
        }
        problems
    }

    /// Adds the kinds that are absent, without answers, so that no stored ones stay.
    pub fn add_absent_kinds(&mut self) {
        for replies in [&mut self.tasks, &mut self.tools, &mut self.containers] {
            replies.get_or_insert_default();
        }
        self.http.get_or_insert_default();
    }

    /// Adds the answers of another pack that this one lacks. Rules of HTTP come after those that there are.
    pub fn add_missing(&mut self, other: &ScriptedReplies) {
        let kinds = [(&mut self.tasks, &other.tasks), (&mut self.tools, &other.tools), (&mut self.containers, &other.containers)];
        for (own, others) in kinds {
            let own = own.get_or_insert_default();
            for (name, reply) in others.iter().flatten() {
                own.entry(name.clone()).or_insert_with(|| reply.clone());
            }
        }
        self.http.get_or_insert_default().extend(other.http.iter().flatten().cloned());
    }

    /// Replaces the stored answers of each kind that the pack has.
    ///
    /// # Errors
    /// The failure of the database.
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

fn check_task(reply: &Value) -> Result<(), String> {
    let members = reply.as_object().ok_or("must be an object; write {\"result\": …} or {\"error\": \"…\"}")?;
    if members.contains_key("error") {
        return if members.len() == 1 {
            check_string(members, "error")
        } else {
            Err("'error' excludes other members; keep one".to_owned())
        };
    }
    check_members(members, &TASK_MEMBERS)?;
    ["set_params", "set_context"].iter().try_for_each(|it| check_object(members, it))?;
    ["intent", "state"].iter().try_for_each(|it| check_string(members, it))
}

fn check_tool(reply: &Value) -> Result<(), String> {
    let members = reply.as_object().ok_or("must be an object; write {\"text\": …}, {\"expression\": …} or {\"request\": …}")?;
    if TOOL_SOURCES.iter().filter(|it| members.contains_key(**it)).count() != 1 {
        return Err(format!("must have exactly one of {}", TOOL_SOURCES.join(", ")));
    }
    let is_call = members.contains_key("request");
    check_members(members, if is_call { &["request", "response"] } else { &TOOL_SOURCES })?;
    ["expression", "request", "response"].iter().try_for_each(|it| check_object(members, it))?;
    if members.get("texts").is_some_and(|texts| texts.as_array().is_none_or(Vec::is_empty)) {
        return Err("'texts' must be a non-empty list of answers".to_owned());
    }
    check_string(members, "error")
}

fn check_members(members: &Map, names: &[&str]) -> Result<(), String> {
    match members.keys().find(|name| !names.contains(&name.as_str())) {
        Some(other) => Err(format!("unknown member '{other}'; use {}", names.join(", "))),
        None => Ok(()),
    }
}

fn check_object(members: &Map, name: &str) -> Result<(), String> {
    match members.get(name) {
        Some(value) if !value.is_object() => Err(format!("'{name}' must be an object")),
        Some(_) | None => Ok(()),
    }
}

fn check_string(members: &Map, name: &str) -> Result<(), String> {
    match members.get(name) {
        Some(value) if !value.is_string() => Err(format!("'{name}' must be a string")),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_another_pack_are_added() {
        let parse = |scripts: Value| serde_json::from_value::<ScriptedReplies>(scripts).unwrap();
        let rule = |prefix: &str| json!({"path_prefix": prefix});
        let mut own = parse(json!({"tasks": {"a:b": {"result": 1}}, "http": [rule("/a")]}));
        own.add_missing(&parse(
            json!({"tasks": {"a:b": {"result": 2}, "a:c": {"result": 3}}, "tools": {"t": {"text": "x"}}, "http": [rule("/b")]}),
        ));
        let expected = json!({"tasks": {"a:b": {"result": 1}, "a:c": {"result": 3}}, "tools": {"t": {"text": "x"}}, "containers": {},
            "http": [rule("/a"), rule("/b")]});
        assert_eq!(own, parse(expected));
        let mut none = parse(json!({}));
        none.add_absent_kinds();
        assert_eq!(none, parse(json!({"tasks": {}, "tools": {}, "containers": {}, "http": []})));
    }

    #[test]
    fn answers_are_validated() {
        let valid = json!({
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
        assert_eq!(serde_json::from_value::<ScriptedReplies>(valid).unwrap().find_problems(), [""; 0]);
        let invalid = json!({
            "tasks": {
                "a": "text", "b": {"error": 5}, "c": {"error": "x", "result": 1}, "d": {"reslt": 1}, "e": {"set_params": [1]},
                "f": {"state": 7}
            },
            "tools": {
                "a": [], "b": {}, "c": {"text": "x", "expression": {}}, "d": {"expression": "x"}, "e": {"text": "x", "response": {}},
                "f": {"request": "GET"}, "g": {"texts": "one"}, "h": {"texts": []}, "i": {"expression": {"x": "1"}}
            }
        });
        let problems = serde_json::from_value::<ScriptedReplies>(invalid).unwrap().find_problems();
        let of: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
        let names = ["tasks.a", "tasks.b", "tasks.c", "tasks.d", "tasks.e", "tasks.f"].map(str::to_owned);
        let tools = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|it| format!("tools.{it}"));
        assert_eq!(of, [&names[..], &tools[..]].concat(), "{problems:#?}");
    }
}
