//! Scripted answers of what is not a model: tasks, tools, containers, an HTTP service. (`interface.md` 3)

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::Pack;
use super::stub::HttpRule;
use crate::turn::{
    Answer, ContainerReply, ContainerRequest, EffectError, EffectErrorKind, HttpCaller, HttpReply, HttpRequest, Map, Reply, Request, STUB,
    SqlReply, SqlRequest, TaskReply, TaskRequest, ToolReply, ToolRequest,
};

/// Tasks, tools, containers and an HTTP service that answer by the book.
#[derive(Debug, Clone, Default)]
pub struct StandIns {
    /// `bean:method` to what it returns and changes, or to `{"error": text}`.
    pub tasks: Map,
    /// Tools by code: `{"text": …}`, `{"texts": […]}` for the first, second, … use (the last repeats), or `{"error": text}`.
    pub tools: Map,
    /// `page/section/container` to data.
    pub containers: Map,
    /// The service at `${STUB}`.
    pub http: Vec<HttpRule>,
    uses: Uses,
}

/// How often each tool and each rule was used; turns of several conversations may use one at the same time.
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
        StandIns {
            tasks: pack.tasks.clone(),
            tools: pack.tools.clone(),
            containers: pack.containers.clone(),
            http: pack.http.clone(),
            uses: Uses::default(),
        }
    }

    /// Whether a request has an answer here.
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

    /// Whether a tool has a script.
    pub fn has_tool(&self, request: &ToolRequest) -> bool {
        self.has_script(name_of(request))
    }

    /// Whether a tool has a script, by its code.
    pub fn has_script(&self, code: &str) -> bool {
        self.tools.contains_key(code)
    }

    /// Answers a tool.
    pub fn tool(&self, request: &ToolRequest) -> Answer {
        let name = name_of(request);
        match self.text_of_tool(name) {
            Some(text) => text.map_or_else(Answer::Error, |text| Answer::Ok(Reply::Tool(ToolReply { text }))),
            None => missing("tool", name),
        }
    }

    /// Answers a query in the place of a database, when its tool has a script: its text is a list of rows, or one row.
    pub fn sql(&self, request: &SqlRequest) -> Option<Answer> {
        let rows = |text: String| SqlReply::of(serde_json::from_str(&text).unwrap_or_default());
        let text = self.text_of_tool(&request.tool_code)?;
        Some(text.map_or_else(Answer::Error, |text| Answer::Ok(Reply::Sql(rows(text)))))
    }

    /// Answers a call of a service, when its tool or task has a script, or when it goes to `${STUB}`.
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

    /// What the service at `${STUB}` answers on a path.
    fn stub(&self, path: &str) -> Answer {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let Some(rule) = self.http.iter().find(|it| path.starts_with(&it.path_prefix)) else {
            return Answer::Ok(Reply::Http(HttpReply { status: 404, body: String::new(), retry_after_ms: None, broken_json: false }));
        };
        let uses = self.uses.count(&format!("http {}", rule.path_prefix));
        let (status, body) = rule.answer(uses);
        Answer::Ok(Reply::Http(HttpReply { status, body, retry_after_ms: None, broken_json: false }))
    }

    /// What the script of a tool says now; `None` when it has none.
    fn text_of_tool(&self, name: &str) -> Option<Result<String, EffectError>> {
        let script = self.tools.get(name)?;
        if let Some(reason) = script.get("error") {
            return Some(Err(error(reason)));
        }
        let texts = script.get("texts").and_then(Value::as_array);
        let said = match texts {
            Some(texts) => texts.get(self.uses.count(name)).or_else(|| texts.last()),
            None => script.get("text"),
        };
        said.map(|it| Ok(it.as_str().map_or_else(|| it.to_string(), str::to_owned)))
    }

    /// Answers a container.
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

/// A request that names only a group is answered by the group.
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
