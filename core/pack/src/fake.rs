//! Fakes of everything but models: tasks, tools, containers and an HTTP service. (docs/spec/interface.md#3)
//!
//! A server uses them too, for the tasks and tools that an author has scripted; what has no script it carries out itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use convengine_text::json;
use convengine_turn::{
    ContainerReply, ContainerRequest, EffectError, EffectErrorKind, EffectResult, HttpCaller, HttpReply, HttpRequest, Map, Reply, Request,
    STUB_ADDRESS, SqlReply, SqlRequest, TaskReply, TaskRequest, ToolReply, ToolRequest,
};
use serde_json::Value;

use super::Pack;
use super::fake_http::HttpRule;

/// The scheme of the addresses of notification channels, which packs answer at `/notify/CHANNEL`.
const CHANNEL_PREFIX: &str = "notify:";

/// Scripted tasks, tools, containers and HTTP services.
///
/// ```
/// use convengine_pack::{Fakes, Pack};
/// use convengine_turn::{EffectErrorKind, EffectResult, Map, Reply, ToolRequest};
///
/// let pack = Pack::parse(r#"{"name": "p", "tools": {"stock.count": {"texts": ["3", "2"]}}}"#)?;
/// let fakes = Fakes::from_pack(&pack);
/// let call = |code: &str| ToolRequest { tool_code: Some(code.to_owned()), tool_group: "OTHER".to_owned(), args: Map::new(), spec: None };
/// let count = || match fakes.answer_tool(&call("stock.count")) {
///     EffectResult::Ok(Reply::Tool(reply)) => reply.text,
///     other => format!("{other:?}"),
/// };
/// assert_eq!([count(), count(), count()], ["3", "2", "2"], "the last one repeats");
/// let EffectResult::Error(error) = fakes.answer_tool(&call("stock.order")) else { panic!("it has no script") };
/// assert_eq!(error.kind, EffectErrorKind::NotFound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fakes {
    /// Tasks: `bean:method` to the reply, or to `{"error": text}`.
    pub tasks: Map,
    /// Tools by code: `{"text": …}`, `{"texts": […]}` for the first, second, … use (the last one repeats), or `{"error": text}`.
    pub tools: Map,
    /// Containers: `page/section/container` to the data.
    pub containers: Map,
    /// The fake HTTP service at `${STUB}`.
    pub http: Vec<HttpRule>,
    uses: UseCounts,
}

/// The number of uses of each tool and rule. Locked, because concurrent turns of several conversations share them.
#[derive(Debug, Default)]
struct UseCounts(Mutex<BTreeMap<String, usize>>);

impl Clone for UseCounts {
    fn clone(&self) -> Self {
        UseCounts(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

impl UseCounts {
    /// Counts a use and returns the number of earlier uses.
    fn increment(&self, name: &str) -> usize {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = uses.entry(name.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

impl Fakes {
    /// Creates the fakes of a pack.
    pub fn from_pack(pack: &Pack) -> Fakes {
        Fakes {
            tasks: pack.tasks.clone(),
            tools: pack.tools.clone(),
            containers: pack.containers.clone(),
            http: pack.http.clone(),
            uses: UseCounts::default(),
        }
    }

    /// Whether a request has a scripted answer, so that a host knows whether to carry it out itself. An address below `${STUB}` always has
    /// one: without a rule it is 404.
    pub fn has_answer(&self, request: &Request) -> bool {
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
                    HttpCaller::Handoff(_) => false,
                    HttpCaller::Notify(_) => request.url.starts_with(CHANNEL_PREFIX),
                };
                by_caller || request.url.starts_with(STUB_ADDRESS)
            }
            Request::Llm(_) | Request::Embed(_) | Request::Sleep(_) | Request::Extension(_) => false,
            Request::Knowledge(_) | Request::Script(_) | Request::PhraseSearch(_) => false,
        }
    }

    /// Answers a task request; [`NotFound`](EffectErrorKind::NotFound) without a script, [`Unavailable`](EffectErrorKind::Unavailable) for
    /// a scripted error, [`Invalid`](EffectErrorKind::Invalid) for a script that is not a reply of a task.
    pub fn answer_task(&self, request: &TaskRequest) -> EffectResult {
        let Some(script) = self.tasks.get(&request.task) else { return missing_script("task", &request.task) };
        if let Some(error) = script.get("error") {
            return scripted_failure(error);
        }
        match json::decode::<TaskReply>(script) {
            Ok(reply) => EffectResult::Ok(Reply::Task(Box::new(reply))),
            Err(error) => invalid_script("task", &request.task, &error.to_string()),
        }
    }

    /// Whether a tool has a script.
    pub fn has_tool(&self, request: &ToolRequest) -> bool {
        self.has_script(tool_name(request))
    }

    /// Whether a tool has a script, by its code.
    pub fn has_script(&self, code: &str) -> bool {
        self.tools.contains_key(code)
    }

    /// Answers a tool request.
    pub fn answer_tool(&self, request: &ToolRequest) -> EffectResult {
        let name = tool_name(request);
        match self.next_tool_text(name) {
            Some(text) => text.map_or_else(EffectResult::Error, |text| EffectResult::Ok(Reply::Tool(ToolReply { text }))),
            None => missing_script("tool", name),
        }
    }

    /// Answers an SQL request if its tool has a script, whose text is a JSON list of rows, or one row.
    pub fn answer_sql(&self, request: &SqlRequest) -> Option<EffectResult> {
        let rows = |text: String| SqlReply::from_script(serde_json::from_str(&text).unwrap_or_default());
        let text = self.next_tool_text(&request.tool_code)?;
        Some(text.map_or_else(EffectResult::Error, |text| EffectResult::Ok(Reply::Sql(rows(text)))))
    }

    /// Answers an HTTP request if its tool or task has a script, or if its URL begins with `${STUB}`.
    pub fn answer_http(&self, request: &HttpRequest) -> Option<EffectResult> {
        let scripted = match &request.caller {
            HttpCaller::Tool(code) => self.next_tool_text(code),
            HttpCaller::Task(name) => self
                .tasks
                .get(name)
                .map(|answer| answer.get("error").map_or_else(|| Ok(answer.to_string()), |error| Err(scripted_error(error)))),
            HttpCaller::Extension(_) => None,
            HttpCaller::Handoff(_) | HttpCaller::Notify(_) => None,
        };
        let reply = |body| EffectResult::Ok(Reply::Http(HttpReply { status: 200, body, retry_after_ms: None, broken_json: false }));
        if let Some(scripted) = scripted {
            return Some(scripted.map_or_else(EffectResult::Error, reply));
        }
        if let Some(channel) = request.url.strip_prefix(CHANNEL_PREFIX) {
            let path = format!("/notify/{channel}");
            let is_configured = self.http.iter().any(|it| path.starts_with(&it.path_prefix));
            return is_configured.then(|| self.answer_fake_http(&path));
        }
        let path = request.url.strip_prefix(STUB_ADDRESS)?;
        Some(self.answer_fake_http(path))
    }

    /// Returns the answer of the service at `${STUB}` for a path.
    fn answer_fake_http(&self, path: &str) -> EffectResult {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let Some(rule) = self.http.iter().find(|it| path.starts_with(&it.path_prefix)) else {
            return EffectResult::Ok(Reply::Http(HttpReply { status: 404, body: String::new(), retry_after_ms: None, broken_json: false }));
        };
        let uses = self.uses.increment(&format!("http {}", rule.path_prefix));
        let (status, body) = rule.response(uses);
        EffectResult::Ok(Reply::Http(HttpReply { status, body, retry_after_ms: None, broken_json: false }))
    }

    /// Returns the current text or error of the script of a tool; `None` if it has no script.
    fn next_tool_text(&self, name: &str) -> Option<Result<String, EffectError>> {
        let script = self.tools.get(name)?;
        if let Some(reason) = script.get("error") {
            return Some(Err(scripted_error(reason)));
        }
        let texts = script.get("texts").and_then(Value::as_array);
        let text = match texts {
            Some(texts) => texts.get(self.uses.increment(name)).or_else(|| texts.last()),
            None => script.get("text"),
        };
        text.map(|text| Ok(text.as_str().map_or_else(|| text.to_string(), str::to_owned)))
    }

    /// Answers a container request. Data whose only member is `error` is a failure.
    pub fn answer_container(&self, request: &ContainerRequest) -> EffectResult {
        let name = container_name(request);
        let Some(script) = self.containers.get(&name) else { return missing_script("container", &name) };
        match script.get("error").filter(|_| script.as_object().is_some_and(|members| members.len() == 1)) {
            Some(error) => scripted_failure(error),
            None => EffectResult::Ok(Reply::Container(ContainerReply { data: script.clone() })),
        }
    }
}

fn container_name(request: &ContainerRequest) -> String {
    format!("{}/{}/{}", request.page_id, request.section_id, request.container_id)
}

/// Returns the script name of a tool request: its code, or its group if it has no code.
fn tool_name(request: &ToolRequest) -> &str {
    request.tool_code.as_deref().unwrap_or(&request.tool_group)
}

fn missing_script(what: &str, name: &str) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::NotFound, format!("no {what} '{name}' is set up")))
}

fn invalid_script(what: &str, name: &str, reason: &str) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::Invalid, format!("the {what} '{name}' cannot be used: {reason}")))
}

fn scripted_failure(reason: &Value) -> EffectResult {
    EffectResult::Error(scripted_error(reason))
}

fn scripted_error(reason: &Value) -> EffectError {
    let text = reason.as_str().map_or_else(|| reason.to_string(), str::to_owned);
    EffectError::new(EffectErrorKind::Unavailable, text)
}
