//! Fakes of everything but models: tasks, tools, containers and an HTTP service. (docs/spec/interface.md#3)

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::Pack;
use super::stub::HttpRule;
use crate::turn::{
    Answer, ContainerReply, ContainerRequest, EffectError, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map, Reply, Request, STUB,
    SqlReply, SqlRequest, TaskReply, TaskRequest, ToolReply, ToolRequest,
};

/// Scripted tasks, tools, containers and HTTP services.
#[derive(Debug, Clone, Default)]
pub struct StandIns {
    /// Tasks: `bean:method` to the reply, or to `{"error": text}`.
    pub tasks: Map,
    /// Tools by code: `{"text": …}`, `{"texts": […]}` for the first, second, … use (the last one repeats), or `{"error": text}`.
    pub tools: Map,
    /// Containers: `page/section/container` to the data.
    pub containers: Map,
    /// The fake HTTP service at `${STUB}`.
    pub http: Vec<HttpRule>,
    uses: Uses,
}

/// The number of uses of each tool and rule. Locked, because concurrent turns of several conversations share them.
#[derive(Debug, Default)]
struct Uses(Mutex<BTreeMap<String, usize>>);

impl Clone for Uses {
    fn clone(&self) -> Self {
        Uses(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

impl Uses {
    /// Counts a use and returns the number of earlier uses.
    fn count(&self, name: &str) -> usize {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = uses.entry(name.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

impl StandIns {
    /// Creates the fakes of a pack.
    pub fn of(pack: &Pack) -> StandIns {
        StandIns {
            tasks: pack.tasks.clone(),
            tools: pack.tools.clone(),
            containers: pack.containers.clone(),
            http: pack.http.clone(),
            uses: Uses::default(),
        }
    }

    /// Whether a request has a scripted answer.
    pub fn knows(&self, request: &Request) -> bool {
        match request {
            Request::Task(request) => self.tasks.contains_key(&request.task),
            Request::Tool(request) => self.has_tool(request),
            Request::Container(it) => self.containers.contains_key(&container_name(it)),
            Request::Sql(request) => self.has_script(&request.tool_code),
            Request::Http(request) => {
                let by_caller = match &request.caller {
                    HttpCaller::Tool(code) => self.has_script(code),
                    HttpCaller::Task(name) => self.tasks.contains_key(name),
                    HttpCaller::Extension(_) => false,
                };
                by_caller || request.url.starts_with(STUB)
            }
            Request::Llm(_) | Request::Embed(_) | Request::Sleep(_) | Request::Extension(_) => false,
        }
    }

    /// Answers a task request.
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

    /// Whether a tool has a script.
    pub fn has_tool(&self, request: &ToolRequest) -> bool {
        self.has_script(name_of(request))
    }

    /// Whether a tool has a script, by its code.
    pub fn has_script(&self, code: &str) -> bool {
        self.tools.contains_key(code)
    }

    /// Answers a tool request.
    pub fn tool(&self, request: &ToolRequest) -> Answer {
        let name = name_of(request);
        match self.text_of_tool(name) {
            Some(text) => text.map_or_else(Answer::Error, |text| Answer::Ok(Reply::Tool(ToolReply { text }))),
            None => missing("tool", name),
        }
    }

    /// Answers an SQL request if its tool has a script, whose text is a JSON list of rows, or one row.
    pub fn sql(&self, request: &SqlRequest) -> Option<Answer> {
        let rows = |text: String| SqlReply::of(serde_json::from_str(&text).unwrap_or_default());
        let text = self.text_of_tool(&request.tool_code)?;
        Some(text.map_or_else(Answer::Error, |text| Answer::Ok(Reply::Sql(rows(text)))))
    }

    /// Answers an HTTP request if its tool or task has a script, or if its URL begins with `${STUB}`.
    pub fn http(&self, request: &HttpRequest) -> Option<Answer> {
        let scripted = match &request.caller {
            HttpCaller::Tool(code) => self.text_of_tool(code),
            HttpCaller::Task(name) => {
                self.tasks.get(name).map(|it| it.get("error").map_or_else(|| Ok(it.to_string()), |it| Err(error(it))))
            }
            HttpCaller::Extension(_) => None,
        };
        let reply = |body| Answer::Ok(Reply::Http(HttpReply { status: 200, body, retry_after_ms: None, broken_json: false }));
        if let Some(scripted) = scripted {
            return Some(scripted.map_or_else(Answer::Error, reply));
        }
        let path = request.url.strip_prefix(STUB)?;
        Some(self.stub(path))
    }

    /// Returns the answer of the service at `${STUB}` for a path.
    fn stub(&self, path: &str) -> Answer {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let Some(rule) = self.http.iter().find(|it| path.starts_with(&it.path_prefix)) else {
            return Answer::Ok(Reply::Http(HttpReply { status: 404, body: String::new(), retry_after_ms: None, broken_json: false }));
        };
        let uses = self.uses.count(&format!("http {}", rule.path_prefix));
        let (status, body) = rule.answer(uses);
        Answer::Ok(Reply::Http(HttpReply { status, body, retry_after_ms: None, broken_json: false }))
    }

    /// Returns the current text or error of the script of a tool; `None` if it has no script.
    fn text_of_tool(&self, name: &str) -> Option<Result<String, EffectError>> {
        let script = self.tools.get(name)?;
        if let Some(reason) = script.get("error") {
            return Some(Err(error(reason)));
        }
        let texts = script.get("texts").and_then(Value::as_array);
        let text = match texts {
            Some(texts) => texts.get(self.uses.count(name)).or_else(|| texts.last()),
            None => script.get("text"),
        };
        text.map(|it| Ok(it.as_str().map_or_else(|| it.to_string(), str::to_owned)))
    }

    /// Answers a container request.
    pub fn container(&self, request: &ContainerRequest) -> Answer {
        let name = container_name(request);
        let Some(script) = self.containers.get(&name) else { return missing("container", &name) };
        match script.get("error").filter(|_| script.as_object().is_some_and(|it| it.len() == 1)) {
            Some(error) => failed(error),
            None => Answer::Ok(Reply::Container(ContainerReply { data: script.clone() })),
        }
    }
}

fn container_name(request: &ContainerRequest) -> String {
    format!("{}/{}/{}", request.page_id, request.section_id, request.container_id)
}

/// Returns the script name of a tool request: its code, or its group if it has no code.
fn name_of(request: &ToolRequest) -> &str {
    request.tool_code.as_deref().unwrap_or(&request.tool_group)
}

fn missing(what: &str, name: &str) -> Answer {
    Answer::Error(EffectError::new(EffectErrorKind::NotFound, format!("no {what} '{name}' is set up")))
}

fn invalid(what: &str, name: &str, reason: &str) -> Answer {
    Answer::Error(EffectError::new(EffectErrorKind::Invalid, format!("the {what} '{name}' cannot be used: {reason}")))
}

fn failed(reason: &Value) -> Answer {
    Answer::Error(error(reason))
}

fn error(reason: &Value) -> EffectError {
    let text = reason.as_str().map_or_else(|| reason.to_string(), str::to_owned);
    EffectError::new(EffectErrorKind::Unavailable, text)
}
