//! Scripted answers of what is not a model: tasks, tools, containers. (`interface.md` 3)

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

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
    uses: Uses,
}

/// How often each tool was used; turns of several conversations may use one at the same time.
#[derive(Debug, Default)]
struct Uses(Mutex<BTreeMap<String, usize>>);

impl Clone for Uses {
    fn clone(&self) -> Self {
        Uses(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

impl Uses {
    /// The uses before this one.
    fn count(&self, name: &str) -> usize {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = uses.entry(name.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

impl StandIns {
    /// Those of a pack.
    pub fn of(pack: &Pack) -> StandIns {
        StandIns { tasks: pack.tasks.clone(), tools: pack.tools.clone(), containers: pack.containers.clone(), uses: Uses::default() }
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
    pub fn tool(&self, request: &ToolRequest) -> Answer {
        // A request that names only a group is answered by the group.
        let name = request.tool_code.as_deref().unwrap_or(&request.tool_group);
        let Some(script) = self.tools.get(name) else { return missing("tool", name) };
        if let Some(error) = script.get("error") {
            return failed(error);
        }
        let uses = self.uses.count(name);
        let texts = script.get("texts").and_then(Value::as_array);
        match script.get("text").or_else(|| texts.and_then(|it| it.get(uses).or_else(|| it.last()))) {
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
