//! Scripted answers of what is not a model: tasks, tools, containers. (`interface.md` 3)

use std::collections::BTreeMap;

use serde_json::Value;

use super::Pack;
use crate::turn::{
    Answer, ContainerReply, ContainerRequest, EffectError, EffectErrorKind, Map, Reply, TaskReply, TaskRequest, ToolReply, ToolRequest,
};

/// Tasks, tools and containers that answer by the book.
#[derive(Debug, Clone, Default)]
pub struct StandIns {
    /// `bean:method` to what it returns and changes, or to `{"error": text}`.
    pub tasks: Map,
    /// Tools by code: `{"text": …}`, `{"texts": […]}` for the first, second, … use (the last repeats), or `{"error": text}`.
    pub tools: Map,
    /// `page/section/container` to data.
    pub containers: Map,
    /// How often each tool was used.
    pub uses: BTreeMap<String, usize>,
}

impl StandIns {
    /// Those of a pack.
    pub fn of(pack: &Pack) -> StandIns {
        StandIns { tasks: pack.tasks.clone(), tools: pack.tools.clone(), containers: pack.containers.clone(), uses: BTreeMap::new() }
    }

    /// Answers a task.
    pub fn task(&self, request: &TaskRequest) -> Answer {
        let Some(script) = self.tasks.get(&request.task) else { return missing("task", &request.task) };
        if let Some(error) = script.get("error") {
            return failed(error);
        }
        match serde_json::from_value::<TaskReply>(script.clone()) {
            Ok(reply) => Answer::Ok(Reply::Task(Box::new(reply))),
            Err(error) => invalid("task", &request.task, &error.to_string()),
        }
    }

    /// Answers a tool; one that needs a back-end does not answer here.
    pub fn tool(&mut self, request: &ToolRequest) -> Answer {
        // A request that names only a group is answered by the group.
        let name = request.tool_code.as_deref().unwrap_or(&request.tool_group);
        let Some(script) = self.tools.get(name) else { return missing("tool", name) };
        if let Some(error) = script.get("error") {
            return failed(error);
        }
        let uses = self.uses.entry(name.to_owned()).or_default();
        let texts = script.get("texts").and_then(Value::as_array);
        let nth = texts.and_then(|it| it.get(*uses).or_else(|| it.last()));
        *uses += 1;
        match script.get("text").or(nth) {
            Some(Value::String(text)) => Answer::Ok(Reply::Tool(ToolReply { text: text.clone() })),
            Some(other) => Answer::Ok(Reply::Tool(ToolReply { text: other.to_string() })),
            None => Answer::Error(EffectError::new(EffectErrorKind::Unsupported, format!("the tool '{name}' is not available here"))),
        }
    }

    /// Answers a container.
    pub fn container(&self, request: &ContainerRequest) -> Answer {
        let name = format!("{}/{}/{}", request.page_id, request.section_id, request.container_id);
        let Some(script) = self.containers.get(&name) else { return missing("container", &name) };
        match script.get("error").filter(|_| script.as_object().is_some_and(|it| it.len() == 1)) {
            Some(error) => failed(error),
            None => Answer::Ok(Reply::Container(ContainerReply { data: script.clone() })),
        }
    }
}

fn missing(what: &str, name: &str) -> Answer {
    Answer::Error(EffectError::new(EffectErrorKind::NotFound, format!("no {what} '{name}' is set up")))
}

fn invalid(what: &str, name: &str, reason: &str) -> Answer {
    Answer::Error(EffectError::new(EffectErrorKind::Invalid, format!("the {what} '{name}' cannot be used: {reason}")))
}

fn failed(error: &Value) -> Answer {
    let text = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
    Answer::Error(EffectError::new(EffectErrorKind::Unavailable, text))
}
