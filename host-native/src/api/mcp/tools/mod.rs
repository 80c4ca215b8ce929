//! The tools: one to talk to each assistant and to the tables, and those for developers. Each caller sees those that its scopes permit.

mod ask;
mod developer;
mod explain;
mod import;
pub mod lint;
mod names;
pub mod play;
mod replay;

use std::sync::Arc;

use convengine_access::api_error::ApiError;
use convengine_core::turn::Map;
use convengine_host_base::exit::Failure;
use convengine_storage::run_blocking;
use rmcp::ErrorData as McpError;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ErrorData, ListToolsResult, Tool};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::runtime::Handle;

pub use self::ask::ASKED_KINDS;

use self::ask::AskTool;
use self::developer::DeveloperTool;
use super::pages::invalid_cursor;
use super::server::{McpServer, database_error, invalid_params};

/// The number of tools of a page.
const PAGE_SIZE: usize = 100;

/// Asks whether a call is cancelled.
pub type StopCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// The result of a tool, or a message for the model that says what to do.
pub type ToolResult = Result<Answer, String>;

/// What a tool returns.
#[derive(Debug)]
pub struct Answer {
    /// The texts for clients that read no structure; absent for that of the structure.
    texts: Option<Vec<String>>,
    /// The structure.
    structure: Value,
    /// Whether the tool has failed.
    is_error: bool,
}

impl Answer {
    /// An answer whose text is its structure.
    pub fn new(structure: Value) -> Answer {
        Answer { texts: None, structure, is_error: false }
    }

    /// An answer with texts of its own.
    pub fn with_texts(structure: Value, texts: Vec<String>) -> Answer {
        Answer { texts: Some(texts), structure, is_error: false }
    }

    /// Marks the answer as that of a tool that has failed.
    #[must_use]
    pub fn failed_if(self, is_error: bool) -> Answer {
        Answer { is_error, ..self }
    }

    fn into_result(self) -> CallToolResult {
        let texts = self.texts.unwrap_or_else(|| vec![self.structure.to_string()]);
        let mut result = CallToolResult::success(texts.into_iter().map(ContentBlock::text).collect());
        result.structured_content = Some(self.structure);
        result.is_error = Some(self.is_error);
        result
    }
}

/// Lists the tools of a caller from a cursor on.
///
/// # Errors
/// Invalid parameters for an unknown cursor, an internal error if the database is unavailable.
pub async fn list(server: &McpServer, cursor: Option<&str>) -> Result<ListToolsResult, McpError> {
    let mut all: Vec<Tool> = DeveloperTool::of(server).map(DeveloperTool::describe).collect();
    all.extend(ask::list(server).await.map_err(|it| database_error(&it))?.iter().map(AskTool::describe));
    let start = match cursor {
        None => 0,
        Some(text) => text.parse().ok().filter(|start| *start <= all.len()).ok_or_else(|| invalid_params(invalid_cursor(text)))?,
    };
    let count = all.len();
    let page: Vec<Tool> = all.into_iter().skip(start).take(PAGE_SIZE).collect();
    let next = start + page.len();
    let mut result = ListToolsResult::with_all_items(page);
    result.next_cursor = (next < count).then(|| next.to_string());
    Ok(result)
}

/// Calls a tool. A turn that has begun runs to its end even if the call is cancelled; everything else stops.
///
/// # Errors
/// Invalid parameters for a tool that the caller does not have, an internal error if the call is cancelled.
pub async fn call(
    server: &McpServer,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, McpError> {
    let arguments: Option<Map> = request.arguments;
    let token = context.ct.clone();
    let done = match DeveloperTool::of(server).find(|tool| tool.name() == request.name) {
        Some(tool) => {
            let stop: StopCheck = Arc::new(move || token.is_cancelled());
            tokio::select! {
                biased;
                () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
                done = tool.run(server, arguments, stop) => done,
            }
        }
        None => {
            let unknown = || invalid_params(format!("unknown tool '{}'; call one that tools/list returns", request.name));
            let found = ask::find(server, &request.name).await.map_err(|it| database_error(&it))?;
            let tool = found.ok_or_else(unknown)?;
            tool.run(server, arguments).await
        }
    };
    Ok(match done {
        Ok(answer) => answer.into_result(),
        Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
    })
}

/// Runs a future that cannot change its thread, on the blocking thread pool.
///
/// # Errors
/// A message if it panics.
pub async fn run_in_place<T: Send + 'static, F: Future<Output = T>>(start: impl FnOnce() -> F + Send + 'static) -> Result<T, String> {
    let runtime = Handle::current();
    run_blocking(move || runtime.block_on(start())).await.map_err(|it| database_text(&it))
}

/// The message for a refused request.
fn refusal_text(refusal: &ApiError) -> String {
    refusal.message().to_owned()
}

/// The message for a failure.
fn failure_text(failure: &Failure) -> String {
    super::pages::cut(failure.lines.join("\n"), "correct these first")
}

/// The message for a failure of the database; details are logged.
fn database_text(error: &sqlx::Error) -> String {
    tracing::error!(%error, "cannot access the database");
    "database is unavailable; try again later".to_owned()
}

/// The JSON Schema of an object.
fn object_schema(properties: Value, required: &[&str]) -> Map {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    if let Value::Object(schema) = schema { schema } else { Map::new() }
}

/// The schema of arguments, of which there are no others.
fn arguments_schema(properties: Value, required: &[&str]) -> Map {
    let mut schema = object_schema(properties, required);
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}
