//! `ask_…`: a tool for each assistant, workflow and AI agent that the caller reaches, and one for the table configuration. A call runs one
//! turn of the user.
//!
//! The team reaches what is published, others what is deployed, as over HTTP, and within the limits of a deployment's visitors.

use std::sync::Arc;

use convengine_access::TenantAccess;
use convengine_access::api_error::ApiError;
use convengine_access::identity::Identity;
use convengine_access::scope::Scopes;
use convengine_core::turn::Map;
use convengine_storage::assistant::session::{self, Session};
use convengine_storage::assistant::{DocumentKind, ProgramKey, deployment, draft};
use convengine_turns::Turns;
use convengine_turns::message::Message;
use convengine_turns::refusal::Refusal;
use convengine_turns::running_session::RunningSession;
use convengine_turns::turn_runner;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};
use uuid::Uuid;

use super::names::{TABLES, ask_name};
use super::{Answer, ToolResult, arguments_schema, object_schema, refusal_text};
use crate::api::assistant::document;
use crate::api::assistant::runtime::ai_agents::is_channel_allowed;
use crate::api::assistant::runtime::simulator::{SessionStart, begin_session};
use crate::api::assistant::runtime::{Visibility, events, filter_answer, load_session};
use crate::api::mcp::arguments::Arguments;
use crate::api::mcp::pages::page;
use crate::api::mcp::resources::uri;
use crate::api::mcp::server::McpServer;

/// The channel of sessions that begin here.
const CHANNEL: &str = "mcp";

/// Users see no debug information.
const VISIBILITY: Visibility = Visibility { debug: false };

/// The kinds of documents that have tools. Runs of chains are not conversations.
pub const ASKED_KINDS: [DocumentKind; 3] = [DocumentKind::Assistant, DocumentKind::Workflow, DocumentKind::Agent];

/// A tool that talks.
#[derive(Debug)]
pub enum AskTool {
    /// To a published assistant, workflow or AI agent.
    Document {
        /// The document.
        program: ProgramKey,
        /// Its deployment, whose limits apply; absent for the team.
        deployment: Option<String>,
        /// Its display name.
        title: String,
        /// Its description, if the document has one.
        about: Option<String>,
    },
    /// To the table configuration.
    Tables,
}

/// Lists the tools of a caller.
pub async fn list(server: &McpServer) -> sqlx::Result<Vec<AskTool>> {
    select(server, |_| true).await
}

/// Returns the tool of a name if the caller has it.
pub async fn find(server: &McpServer, name: &str) -> sqlx::Result<Option<AskTool>> {
    Ok(select(server, |it| it == name).await?.pop())
}

/// The tools of a caller whose name is wanted; only their documents are loaded.
async fn select(server: &McpServer, is_wanted: impl Fn(&str) -> bool) -> sqlx::Result<Vec<AskTool>> {
    if !server.permits(Scopes::CONVERSE) {
        return Ok(Vec::new());
    }
    let host = server.host();
    let mut tools = Vec::new();
    let is_team = server.permits(Scopes::ADMIN);
    let open = deployment::list_open(&host.content.readers).await?;
    for kind in ASKED_KINDS {
        for document in draft::list(&host.content.readers, kind).await? {
            let Some(live) = document.live_version.filter(|_| is_wanted(&ask_name(&document.key))) else { continue };
            let deployment = open.iter().find(|it| it.program == document.key).filter(|_| !is_team).map(|it| it.id.clone());
            if !is_team && deployment.is_none() {
                continue;
            }
            let Some(version) = host.content.versions.load(&host.content.readers, &document.key, live).await? else { continue };
            if kind == DocumentKind::Agent && !is_channel_allowed(&version.document, &json!(CHANNEL)) {
                continue;
            }
            let text = |name: &str| version.document.get(name).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned);
            let title = text("name").unwrap_or_else(|| document.key.id().to_owned());
            tools.push(AskTool::Document { about: text("description"), program: document.key, deployment, title });
        }
    }
    let active = host.content.config_manager.active();
    let has_intents = active.config.row_counts().any(|(table, rows)| table == "ce_intent" && rows > 0);
    tools.extend((is_wanted(TABLES) && has_intents).then_some(AskTool::Tables));
    Ok(tools)
}

impl AskTool {
    /// The name of the tool.
    fn name(&self) -> String {
        match self {
            AskTool::Document { program, .. } => ask_name(program),
            AskTool::Tables => TABLES.to_owned(),
        }
    }

    /// The argument and the member with the id to continue with.
    fn id_name(&self) -> &'static str {
        match self {
            AskTool::Document { .. } => "session_id",
            AskTool::Tables => "conversation_id",
        }
    }

    /// Describes the tool.
    pub fn describe(&self) -> Tool {
        let id = self.id_name();
        let input = arguments_schema(
            json!({
                "text": {"type": "string", "description": "What the user says"},
                id: {"type": "string", "description": format!("The {id} of the last answer, to continue; omit it to begin")},
            }),
            &["text"],
        );
        let output = object_schema(
            json!({
                id: {"type": "string", "description": "Continues the conversation"},
                "messages": {"type": "array", "items": {"type": "object"}, "description": "What the assistant says"},
                "status": {"type": "string", "description": "`completed` and `failed` end the session"},
                "awaiting": {"type": ["object", "null"], "description": "What the assistant is waiting for"},
                "omitted_messages": {"type": "integer", "description": "How many more messages there are"},
            }),
            &[id, "messages", "status"],
        );
        let (title, about) = match self {
            AskTool::Document { program, title, about, .. } => {
                let about = about.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
                let kind = program.kind().title();
                (
                    title.clone(),
                    format!("Talks to the {kind} '{title}'.{about} Begins a session, or continues one, and returns its answer."),
                )
            }
            AskTool::Tables => {
                let about =
                    "Talks to the assistant that the tables configure. Begins a conversation, or continues one, and returns its answer.";
                ("Table configuration".to_owned(), about.to_owned())
            }
        };
        // Assistants may call services and change data there.
        let annotations = ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true);
        Tool::new(self.name(), about, input).with_title(title).with_raw_output_schema(output.into()).with_annotations(annotations)
    }

    /// Runs the turn.
    ///
    /// # Errors
    /// A message that says what to send, or the reason of a refusal.
    pub async fn run(&self, server: &McpServer, arguments: Option<Map>) -> ToolResult {
        let arguments = Arguments::read(arguments, &["text", self.id_name()])?;
        let (text, id) = (arguments.required_text("text")?, arguments.id(self.id_name())?);
        match self {
            AskTool::Document { program, deployment, .. } => {
                check_program_rate(server, program, deployment.as_deref(), id.as_deref()).await?;
                ask_document(server, program, text, id).await
            }
            AskTool::Tables => ask_tables(server, text, id).await,
        }
    }
}

async fn ask_document(server: &McpServer, program: &ProgramKey, text: &str, id: Option<String>) -> ToolResult {
    let host = server.host();
    let message = Map::from_iter([("type".to_owned(), json!("user.message")), ("text".to_owned(), json!(text))]);
    let message = events::read_event(&host.content, message, true).map_err(|it| refusal_text(&it))?;
    let mut messages = Vec::new();
    let running = match id {
        Some(id) => {
            check_rate(&host.access, &id)?;
            continue_session(server, program, &id).await?
        }
        None => {
            let running = start_session(server, program).await.map_err(|it| refusal_text(&it))?;
            // The team tries the document and is not its user.
            let user = server.caller().user().filter(|_| !server.permits(Scopes::ADMIN)).cloned();
            let identity = Identity { user, visitor: None };
            let start = events::read_start(&Map::new(), Some(CHANNEL), identity).map_err(|it| refusal_text(&it))?;
            let mut answer = submit(&host.turns, &running, start).await?;
            messages.append(&mut take_messages(&mut answer));
            if answer["status"] != "awaiting_input" {
                return render("session_id", answer, messages);
            }
            RunningSession { is_new: false, ..running }
        }
    };
    let mut answer = submit(&host.turns, &running, message).await?;
    messages.append(&mut take_messages(&mut answer));
    render("session_id", answer, messages)
}

/// Begins a session on the live version; it belongs to the caller.
async fn start_session(server: &McpServer, program: &ProgramKey) -> Result<RunningSession, ApiError> {
    let host = server.host();
    let (live, document) = document::live_document(&host.content, program).await?;
    let start = SessionStart {
        session: Uuid::new_v4().to_string(),
        program: program.clone(),
        deployment: None,
        version: Some(live),
        document,
        access: server.caller().access(),
    };
    begin_session(&host.content, start).await
}

/// Loads a session that the caller may continue: its own, or one of nobody. Sessions of deployments and of drafts are for the administrator.
async fn continue_session(server: &McpServer, program: &ProgramKey, id: &str) -> Result<RunningSession, String> {
    let unknown = || "session not found; omit session_id to begin one".to_owned();
    let (stored, running) = load_session(&server.host().content, id).await.map_err(|it| refusal_text(&it))?;
    let is_from_here = |it: &Session| it.deployment.is_none() && it.version.is_some();
    if stored.program != *program || !(is_from_here(&stored) || server.permits(Scopes::ADMIN)) {
        return Err(unknown());
    }
    Ok(RunningSession { access: server.caller().access(), ..running })
}

async fn submit(turns: &Arc<Turns>, running: &RunningSession, event: Map) -> Result<Value, String> {
    let done = running.submit_event(turns, event).await.map_err(refused_text)?;
    let answer = done.outcome.flow.and_then(|it| filter_answer(*it, VISIBILITY));
    answer.ok_or_else(|| "turn was lost when a server stopped; send the message again".to_owned())
}

async fn ask_tables(server: &McpServer, text: &str, id: Option<String>) -> ToolResult {
    let host = server.host();
    let max_chars = host.content.config_manager.active().config.settings.input_max_chars;
    if text.chars().nth(max_chars).is_some() {
        return Err(format!("text is too long; send at most {max_chars} characters"));
    }
    if let Some(id) = &id {
        check_rate(&host.access, id)?;
        let session = session::find_program(&host.content.readers, id).await.map_err(|error| refusal_text(&ApiError::from(error)))?;
        if session.is_some() {
            return Err("conversation not found; omit conversation_id to begin one".to_owned());
        }
    }
    let message = Message::new(id, Some(text.to_owned()), false, Map::new()).with_access(server.caller().access());
    let outcome = turn_runner::submit_for_outcome(Arc::clone(&host.turns), message).await.map_err(refused_text)?;
    let answer = outcome.to_response();
    let (status, message) = match answer["success"] == true {
        true => ("awaiting_input", json!({"type": answer["payload"]["type"], "text": payload_text(&answer["payload"]["value"])})),
        false => ("failed", json!({"type": "ERROR", "text": answer["message"], "code": answer["errorCode"]})),
    };
    let shown =
        json!({"conversation_id": answer["conversationId"], "status": status, "intent": answer["intent"], "state": answer["state"]});
    render("conversation_id", shown, vec![message])
}

/// The text of a payload, whose value is text or JSON.
fn payload_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn take_messages(answer: &mut Value) -> Vec<Value> {
    match answer["messages"].take() {
        Value::Array(messages) => messages,
        _ => Vec::new(),
    }
}

/// Renders an answer: the texts for the model, and the structure.
fn render(id: &str, answer: Value, messages: Vec<Value>) -> ToolResult {
    let count = messages.len();
    let (messages, _) = page(messages, None)?;
    let mut texts: Vec<String> =
        messages.iter().filter_map(|it| it["text"].as_str()).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    if let Some(tool) = answer.pointer("/awaiting/call/tool").and_then(Value::as_str) {
        texts.push(format!("A person has to approve the call of '{tool}' before the assistant can continue."));
    }
    let mut shown = json!({id: answer[id], "messages": messages, "status": answer["status"]});
    for name in ["awaiting", "handoff", "intent", "state"] {
        if let Some(value) = answer.get(name).filter(|it| !it.is_null()) {
            shown[name] = value.clone();
        }
    }
    if messages.len() < count {
        shown["omitted_messages"] = json!(count - messages.len());
    }
    let has_failed = shown["status"] == "failed";
    Ok(Answer::with_texts(shown, texts).failed_if(has_failed))
}

/// Counts a call as over HTTP: of the team by the document, else by the visitor of the deployment, which is the session, or without one the
/// user of the caller.
async fn check_program_rate(
    server: &McpServer,
    program: &ProgramKey,
    deployment: Option<&str>,
    session: Option<&str>,
) -> Result<(), String> {
    let (host, limits) = (server.host(), &server.host().access.rate_limits);
    let Some(deployment) = deployment else {
        return limits.check_program(program, &uri()).map(|_| ()).map_err(|it| refusal_text(&it));
    };
    let mut visitor = server.caller().visitor_id().unwrap_or(CHANNEL);
    if let Some(session) = session {
        let found = session::find_program(&host.content.readers, session).await.map_err(|error| refusal_text(&ApiError::from(error)))?;
        // An id that the client has invented does not count as a visitor.
        visitor = found.filter(|it| it == program).map_or(visitor, |_| session);
    }
    limits.check_visitor(deployment, visitor, &uri()).map(|_| ()).map_err(|it| refusal_text(&it))
}

fn check_rate(access: &TenantAccess, id: &str) -> Result<(), String> {
    access.rate_limits.check_conversation(id, &uri()).map(|_| ()).map_err(|it| refusal_text(&it))
}

/// The message for a turn that was refused.
fn refused_text(refusal: Refusal) -> String {
    refusal_text(&ApiError::from(refusal))
}
