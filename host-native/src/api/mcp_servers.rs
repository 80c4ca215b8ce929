//! `/api/v1/mcp/servers`: MCP servers, their tools, and the approval of tools (docs/spec/tools.md#7).

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use convengine_access::api_error::ApiError;
use convengine_content::config::active::{ActiveConfig, ReloadError};
use convengine_content::mcp_approval::{self, Approval, ApprovalError};
use convengine_core::turn::{EffectError, EffectErrorKind, Map};
use convengine_effects::Outbound;
use convengine_effects::mcp::catalog::{McpServer, McpTransport, ProtocolMode};
use serde_json::{Value, json};

use super::schemas::{list as list_of, nullable_text, object, text};
use crate::api::assistant::body::{ObjectBody, ObjectRefusals};
use crate::api::host::Host;

/// Lists the MCP servers of the configuration.
#[utoipa::path(
    get,
    path = "/api/v1/mcp/servers",
    tag = "mcp",
    responses((status = 200, description = "The servers with the names of their approved tools", body = ref("#/components/schemas/McpServers"))),
)]
pub async fn list(State(host): State<Arc<Host>>) -> Json<Value> {
    let configured = host.content.config_manager.active();
    let servers: Vec<Value> = configured.mcp.servers.values().map(|it| describe(&configured, it)).collect();
    Json(json!({"servers": servers}))
}

/// Lists the tools that a server offers now, each with its state.
#[utoipa::path(
    get,
    path = "/api/v1/mcp/servers/{server}/tools",
    tag = "mcp",
    responses(
        (status = 200, description = "The tools", body = ref("#/components/schemas/McpTools")),
        (status = 404, description = "Server not found or disabled"),
        (status = 502, description = "The server cannot be used; the message says what is wrong"),
        (status = 504, description = "The server does not answer in time"),
    ),
)]
pub async fn tools(State(host): State<Arc<Host>>, server: Result<Path<String>, PathRejection>) -> Result<Json<Value>, ApiError> {
    let configured = host.content.config_manager.active();
    let server = find_server(&configured, server.ok().map(|it| it.0))?;
    mcp_approval::list_tools(&host.content, server).await.map(Json).map_err(|it| server_error(&host.outbound, &it))
}

/// Approves a tool as the server offers it now, and lets planners use it if a scope is given.
#[utoipa::path(
    put,
    path = "/api/v1/mcp/servers/{server}/tools/{tool}/approval",
    tag = "mcp",
    params(("tool" = String, Path, description = "The name of the tool")),
    request_body = ref("#/components/schemas/McpApproval"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The tool is approved", body = ref("#/components/schemas/McpApproved")),
        (status = 404, description = "There is no such server or tool"),
        (status = 409, description = "The tool has changed since it was listed"),
        (status = 422, description = "A member is missing or wrong, the row of the server does not allow the tool, or the rows have new errors"),
        (status = 502, description = "The server cannot be used; the message says what is wrong"),
        (status = 504, description = "The server does not answer in time"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn approve(
    State(host): State<Arc<Host>>,
    path: Result<Path<(String, String)>, PathRejection>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let members = members?;
    let configured = host.content.config_manager.active();
    let (server, tool) = path.ok().map(|it| it.0).unzip();
    let server = find_server(&configured, server)?;
    let tool = tool.unwrap_or_default();
    let approval = Approval::read(&members).map_err(ApiError::unprocessable)?;
    match mcp_approval::approve(&host.content, server, &tool, &approval).await {
        Ok(code) => Ok(Json(json!({"code": code, "digest": approval.digest}))),
        Err(ApprovalError::Server(error)) => Err(server_error(&host.outbound, &error)),
        Err(ApprovalError::NotOffered(message)) => Err(ApiError::not_found(message)),
        Err(ApprovalError::Changed(message)) => Err(ApiError::conflict(message)),
        Err(ApprovalError::NotAllowed(message)) => Err(ApiError::unprocessable(message)),
        Err(ApprovalError::Reload(error)) => Err(reload_error(error)),
    }
}

/// Withdraws the approval of a tool.
#[utoipa::path(
    delete,
    path = "/api/v1/mcp/servers/{server}/tools/{tool}/approval",
    tag = "mcp",
    params(("tool" = String, Path, description = "The name of the tool")),
    responses(
        (status = 204, description = "The tool is no longer approved"),
        (status = 404, description = "The tool is not approved"),
        (status = 422, description = "The rows have new errors"),
        (status = 503, description = "The database is unavailable"),
    ),
)]
pub async fn withdraw(State(host): State<Arc<Host>>, path: Result<Path<(String, String)>, PathRejection>) -> Result<StatusCode, ApiError> {
    let Path((server, tool)) = path.map_err(|_| convengine_access::api_error::path_not_found())?;
    // PostgreSQL stores no NUL, so no approved tool has one in its code.
    let has_nul = [&server, &tool].iter().any(|it| it.contains('\0'));
    match if has_nul { Ok(false) } else { mcp_approval::withdraw(&host.content, &server, &tool).await } {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => Err(ApiError::not_found(format!("the tool '{tool}' of '{server}' is not approved"))),
        Err(error) => Err(reload_error(error)),
    }
}

/// Calls a tool by hand: a tool of the server as it is, approved or not.
#[utoipa::path(
    post,
    path = "/api/v1/mcp/servers/{server}/tools/{tool}/call",
    tag = "mcp",
    params(("tool" = String, Path, description = "The name of the tool")),
    request_body = ref("#/components/schemas/McpCall"),
    responses(
        ObjectRefusals,
        (status = 200, description = "The result, or the error of the tool", body = ref("#/components/schemas/McpCalled")),
        (status = 404, description = "There is no such server or tool, or its row is disabled"),
        (status = 422, description = "The arguments are not an object, or an unknown member is present"),
    ),
)]
pub async fn call(
    State(host): State<Arc<Host>>,
    path: Result<Path<(String, String)>, PathRejection>,
    ObjectBody(members): ObjectBody,
) -> Result<Json<Value>, ApiError> {
    let members = members?;
    let configured = host.content.config_manager.active();
    let (server, tool) = path.ok().map(|it| it.0).unzip();
    let server = find_server(&configured, server)?;
    if let Some(name) = members.keys().find(|it| *it != "arguments") {
        let message = format!("unknown member '{name}'; send {{\"arguments\": {{…}}}}");
        return Err(ApiError::unprocessable(message));
    }
    let args = match members.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args.clone(),
        Some(_) => {
            let message = "'arguments' is not an object; send {\"arguments\": {…}}";
            return Err(ApiError::unprocessable(message));
        }
    };
    let tool = tool.unwrap_or_default();
    Ok(Json(match mcp_approval::call_by_hand(&host.content, server, &tool, &args).await {
        Ok(None) => {
            let message = format!("the MCP server '{}' does not offer the tool '{tool}'", server.key);
            return Err(ApiError::not_found(message));
        }
        Ok(Some(text)) => json!({"ok": true, "result": serde_json::from_str(&text).unwrap_or(Value::String(text))}),
        Err(error) => json!({"ok": false, "error": {"kind": error.kind, "message": error.message}}),
    }))
}

fn describe(configured: &ActiveConfig, server: &McpServer) -> Value {
    let (transport, endpoint) = match &server.transport {
        McpTransport::Http(url) => ("http", Some(url)),
        McpTransport::Stdio => ("stdio", None),
    };
    let protocol = match server.protocol {
        ProtocolMode::Auto => "auto",
        ProtocolMode::Stateless => "stateless",
        ProtocolMode::Initialize => "initialize",
    };
    json!({
        "key": server.key, "transport": transport, "endpoint": endpoint, "enabled": server.enabled, "description": server.description,
        "protocol_mode": protocol, "approved": configured.mcp.approved_tools(&server.key).collect::<Vec<_>>(),
    })
}

fn find_server(configured: &ActiveConfig, key: Option<String>) -> Result<&McpServer, ApiError> {
    let found = configured.mcp.enabled_server(&key.unwrap_or_default());
    found.map_err(|it| ApiError::not_found(it.message))
}

fn server_error(outbound: &Outbound, error: &EffectError) -> ApiError {
    let status = if error.kind == EffectErrorKind::Timeout { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    ApiError::with_status(status, outbound.secrets.scrub(&error.message).into_owned())
}

fn reload_error(error: ReloadError) -> ApiError {
    match error {
        ReloadError::Database(error) => ApiError::from(error),
        ReloadError::NewErrors(issues) => {
            let message = "the rows have new errors; correct them and try again, the active configuration is unchanged";
            ApiError::unprocessable(message).with_issues(&issues)
        }
    }
}

/// The schemas of the bodies.
pub fn schemas() -> Value {
    let names = || list_of(&text("The name of a tool"));
    let json_object = |description: &str| json!({"type": ["object", "null"], "description": description});
    let server = object(json!({
        "key": text("The key of the server"), "transport": {"enum": ["http", "stdio"]}, "endpoint": nullable_text("The address"),
        "enabled": {"type": "boolean"}, "description": nullable_text("What the server is for"),
        "protocol_mode": {"enum": ["auto", "stateless", "initialize"]}, "approved": names(),
    }));
    let about = object(json!({
        "name": nullable_text("The name that the server gives itself"), "version": nullable_text("Its version"),
        "protocol": text("The revision of the protocol"),
    }));
    let approval = || json!({"enum": ["always", "write", "never", null], "description": "When a person approves a call; null is 'write'"});
    let tool = object(json!({
        "name": text("The name"), "code": text("The code for rows: mcp.SERVER.TOOL"), "title": nullable_text("The title"),
        "description": nullable_text("The description; text of the server, not to be trusted"),
        "input_schema": json_object("JSON Schema of the arguments"), "output_schema": json_object("JSON Schema of the result"),
        "annotations": json_object("Hints from the server"), "effect": {"enum": ["read", "write", "irreversible"]},
        "idempotent": {"type": "boolean"}, "approval": approval(), "state": {"enum": ["new", "approved", "changed", "not_allowed"]},
        "digest": text("The hash of the definition"), "changes": list_of(&text("A member that differs from the approved definition")),
    }));
    let mut request = object(json!({
        "digest": text("The hash of the definition that was reviewed"), "approval": approval(),
        "intent_code": nullable_text("The intent for which planners may use the tool"),
        "state_code": nullable_text("The state for which planners may use the tool"),
    }));
    request["required"] = json!(["digest"]);
    let error = object(json!({"kind": text("The kind of the error"), "message": text("What is wrong")}));
    json!({
        "McpServers": object(json!({"servers": list_of(&server)})),
        "McpTools": object(json!({
            "server": about, "tools": list_of(&tool), "missing": names(),
            "problems": list_of(&text("What is wrong with the list: a tool that cannot be used, with the reason, or a cursor that repeats")),
        })),
        "McpApproval": request,
        "McpApproved": object(json!({"code": text("The code of the tool"), "digest": text("The hash of its definition")})),
        "McpCall": json!({"type": "object", "properties": {"arguments": json_object("The arguments")}}),
        "McpCalled": json!({
            "type": "object", "required": ["ok"],
            "properties": {"ok": {"type": "boolean"}, "result": {"description": "The result"}, "error": error},
        }),
    })
}
