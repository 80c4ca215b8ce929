//! The routes of a server, as tests of access and tenants call them.

use std::io::Read;

use crate::ai_agents::helper;
use crate::chains::nightly;
use crate::flows::{DEPLOYED, JSON, desk};
use crate::harness::{Answer, MESSAGE, Server, TIMEOUT, client};
use crate::stream::ID;
use crate::workflows::front;

/// Every route: method, path, the scopes of which one is required, and a body. A new route needs a row here; `tenants.rs` plays them too.
pub const ROUTES: [(&str, &str, &[&str], &str); 119] = [
    ("POST", MESSAGE, &["converse"], r#"{"message":"my order"}"#),
    ("POST", "/api/v1/conversation/feedback", &["converse"], r#"{"conversationId":"{id}","feedbackType":"THUMBS_UP"}"#),
    ("GET", "/api/v1/conversation", &["read"], ""),
    ("GET", "/api/v1/conversation/audit/{id}", &["read"], ""),
    ("GET", "/api/v1/conversation/audit/{id}/trace", &["read"], ""),
    ("GET", "/api/v1/conversation/journal/{id}", &["read"], ""),
    (
        "POST",
        "/mcp",
        &["converse", "read"],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"replay","arguments":{"conversation_id":"{id}"}}}"#,
    ),
    ("GET", "/api/v1/conversation/stream/{id}", &["converse", "read"], ""),
    ("POST", "/api/v1/cache/refresh", &["admin"], ""),
    ("GET", "/api/v1/cache/analyze", &["admin"], ""),
    ("GET", "/api/v1/db/inspect-schema", &["admin"], ""),
    ("GET", "/metrics", &["read"], ""),
    ("GET", "/api/v1/security-log", &["admin"], ""),
    ("GET", "/api/v1/mcp/servers", &["admin"], ""),
    ("GET", "/api/v1/mcp/servers/{server}/tools", &["admin"], ""),
    ("PUT", "/api/v1/mcp/servers/{server}/tools/{tool}/approval", &["admin"], r#"{"digest":"sha256:0"}"#),
    ("DELETE", "/api/v1/mcp/servers/{server}/tools/{tool}/approval", &["admin"], ""),
    ("POST", "/api/v1/mcp/servers/{server}/tools/{tool}/call", &["admin"], r#"{"arguments":{}}"#),
    ("GET", "/api/v1/config/snapshots", &["admin"], ""),
    ("POST", "/api/v1/config/snapshots/{hash}/activate", &["admin"], ""),
    ("POST", "/api/v1/config/rollback", &["admin"], ""),
    ("POST", "/api/v1/privacy/forget", &["admin"], r#"{"person":{"customerId":"C-17"}}"#),
    ("DELETE", "/api/v1/conversation/{id}", &["admin"], ""),
    ("GET", "/v1/agents", &["admin"], ""),
    ("GET", "/v1/agents/{agent}/flow", &["admin"], ""),
    ("POST", "/v1/agents/{agent}/flow/validate-publish", &["admin"], ""),
    ("POST", "/v1/agents/{agent}/publish", &["admin"], ""),
    ("GET", "/v1/agents/{agent}/versions", &["admin"], ""),
    ("POST", "/v1/agents/{agent}/versions/{version}/restore", &["admin"], ""),
    ("POST", "/v1/agents/{agent}/knowledge", &["admin"], r#"{"id":"faq","title":"FAQ","text":"Only A sells cards."}"#),
    ("GET", "/v1/agents/{agent}/knowledge", &["admin"], ""),
    ("GET", "/v1/agents/{agent}/knowledge/search", &["admin"], ""),
    ("GET", "/v1/agents/{agent}/knowledge/{source}", &["admin"], ""),
    ("DELETE", "/v1/agents/{agent}/knowledge/{source}", &["admin"], ""),
    ("POST", "/v1/agents/{agent}/deployments", &["admin"], r#"{"name":"shop","origins":["https://shop.example"]}"#),
    ("POST", "/v1/runtime/assistants/{agent}/sessions", &["admin"], r#"{"session_id":"{session}"}"#),
    ("POST", "/v1/runtime/assistants/{agent}/sessions/{session}/turns", &["admin"], r#"{"type":"user.message","text":"more please"}"#),
    ("POST", "/v1/runtime/assistants/{agent}/sessions/{session}/approvals/{call}", &["admin"], r#"{"approved":true}"#),
    ("POST", "/v1/runtime/assistants/{agent}/sessions/{session}/handoff/status", &["admin"], r#"{"state":"accepted"}"#),
    ("POST", "/v1/runtime/assistants/{agent}/sessions/{session}/handoff/messages", &["admin"], r#"{"text":"Hello."}"#),
    ("GET", "/v1/runtime/assistants/{agent}/sessions/{session}/messages", &["admin"], ""),
    ("GET", "/v1/runtime/assistants/{agent}/sessions/{session}", &["admin"], ""),
    ("GET", "/v1/runtime/assistants/{agent}/sessions/{session}/trace", &["admin"], ""),
    ("GET", "/v1/runtime/assistants/{agent}/sessions/{session}/replay", &["admin"], ""),
    ("GET", "/v1/desk/conversations", &["desk"], ""),
    ("GET", "/v1/desk/conversations/{session}", &["desk"], ""),
    ("GET", "/v1/desk/events", &["desk"], ""),
    ("POST", "/v1/desk/conversations/{session}/take", &["desk"], r#"{"author":"Mia"}"#),
    ("POST", "/v1/desk/conversations/{session}/messages", &["desk"], r#"{"author":"Mia","text":"Hello."}"#),
    ("POST", "/v1/desk/conversations/{session}/return", &["desk"], r#"{"author":"Mia"}"#),
    ("POST", "/v1/desk/conversations/{session}/close", &["desk"], r#"{"author":"Mia"}"#),
    ("GET", "/v1/workflows", &["admin"], ""),
    ("GET", "/v1/workflows/{workflow}/draft", &["admin"], ""),
    ("POST", "/v1/workflows/{workflow}/validate-publish", &["admin"], ""),
    ("POST", "/v1/workflows/{workflow}/publish", &["admin"], ""),
    ("GET", "/v1/workflows/{workflow}/versions", &["admin"], ""),
    ("POST", "/v1/workflows/{workflow}/versions/{version}/restore", &["admin"], ""),
    ("POST", "/v1/workflows/{workflow}/knowledge", &["admin"], r#"{"id":"faq","title":"FAQ","text":"Only A sells cards."}"#),
    ("GET", "/v1/workflows/{workflow}/knowledge", &["admin"], ""),
    ("GET", "/v1/workflows/{workflow}/knowledge/search", &["admin"], ""),
    ("GET", "/v1/workflows/{workflow}/knowledge/{source}", &["admin"], ""),
    ("DELETE", "/v1/workflows/{workflow}/knowledge/{source}", &["admin"], ""),
    ("POST", "/v1/workflows/{workflow}/deployments", &["admin"], r#"{"name":"shop","origins":["https://shop.example"]}"#),
    ("POST", "/v1/runtime/workflows/{workflow}/sessions", &["admin"], r#"{"session_id":"{workflow_session}"}"#),
    ("POST", "/v1/runtime/workflows/sessions/{session}/turns", &["admin"], r#"{"type":"user.message","text":"more please"}"#),
    ("POST", "/v1/runtime/workflows/sessions/{session}/approvals/{call}", &["admin"], r#"{"approved":true}"#),
    ("POST", "/v1/runtime/workflows/sessions/{session}/handoff/status", &["admin"], r#"{"state":"accepted"}"#),
    ("POST", "/v1/runtime/workflows/sessions/{session}/handoff/messages", &["admin"], r#"{"text":"Hello."}"#),
    ("GET", "/v1/runtime/workflows/sessions/{session}/messages", &["admin"], ""),
    ("GET", "/v1/runtime/workflows/sessions/{session}", &["admin"], ""),
    ("GET", "/v1/runtime/workflows/sessions/{session}/trace", &["admin"], ""),
    ("GET", "/v1/runtime/workflows/sessions/{session}/replay", &["admin"], ""),
    ("PUT", "/v1/workflows/{workflow}/draft", &["admin"], "{front}"),
    ("GET", "/v1/workflow-chains", &["admin"], ""),
    ("GET", "/v1/workflow-chains/{chain}/draft", &["admin"], ""),
    ("POST", "/v1/workflow-chains/{chain}/validate-publish", &["admin"], ""),
    ("POST", "/v1/workflow-chains/{chain}/publish", &["admin"], ""),
    ("GET", "/v1/workflow-chains/{chain}/versions", &["admin"], ""),
    ("POST", "/v1/workflow-chains/{chain}/versions/{version}/restore", &["admin"], ""),
    ("PUT", "/v1/workflow-chains/{chain}/status", &["admin"], r#"{"status":"paused"}"#),
    ("POST", "/v1/workflow-chains/{chain}/run", &["admin"], "{}"),
    ("GET", "/v1/workflow-chains/{chain}/runs", &["admin"], ""),
    ("GET", "/v1/workflow-chains/{chain}/runs/{run}", &["admin"], ""),
    ("GET", "/v1/workflow-chains/{chain}/runs/{run}/trace", &["admin"], ""),
    ("GET", "/v1/workflow-chains/{chain}/runs/{run}/events", &["admin"], ""),
    ("POST", "/v1/workflow-chains/{chain}/runs/{run}/resume", &["admin"], "{}"),
    ("POST", "/v1/workflow-chains/{chain}/runs/{run}/token", &["admin"], "{}"),
    ("POST", "/v1/workflow-chains/{chain}/runs/{run}/cancel", &["admin"], "{}"),
    ("POST", "/v1/workflow-chains/{chain}/runs/{run}/retry", &["admin"], "{}"),
    ("GET", "/v1/ai-agents", &["admin"], ""),
    ("GET", "/v1/ai-agents/{ai_agent}/draft", &["admin"], ""),
    ("POST", "/v1/ai-agents/{ai_agent}/validate-publish", &["admin"], ""),
    ("POST", "/v1/ai-agents/{ai_agent}/publish", &["admin"], ""),
    ("GET", "/v1/ai-agents/{ai_agent}/versions", &["admin"], ""),
    ("POST", "/v1/ai-agents/{ai_agent}/versions/{version}/restore", &["admin"], ""),
    ("POST", "/v1/ai-agents/{ai_agent}/knowledge", &["admin"], r#"{"id":"faq","title":"FAQ","text":"Only A sells cards."}"#),
    ("GET", "/v1/ai-agents/{ai_agent}/knowledge", &["admin"], ""),
    ("GET", "/v1/ai-agents/{ai_agent}/knowledge/search", &["admin"], ""),
    ("GET", "/v1/ai-agents/{ai_agent}/knowledge/{source}", &["admin"], ""),
    ("DELETE", "/v1/ai-agents/{ai_agent}/knowledge/{source}", &["admin"], ""),
    ("POST", "/v1/ai-agents/{ai_agent}/deployments", &["admin"], r#"{"name":"shop","channel":"web"}"#),
    ("POST", "/v1/runtime/ai-agents/{ai_agent}/turn", &["admin"], r#"{"text":"more please"}"#),
    ("POST", "/v1/runtime/ai-agents/{ai_agent}/sessions", &["admin"], "{}"),
    ("POST", "/v1/runtime/ai-agents/sessions/{session}/turns", &["admin"], r#"{"type":"user.message","text":"more please"}"#),
    ("GET", "/v1/runtime/ai-agents/sessions/{session}", &["admin"], ""),
    ("GET", "/v1/runtime/ai-agents/sessions/{session}/trace", &["admin"], ""),
    ("GET", "/v1/runtime/ai-agents/sessions/{session}/replay", &["admin"], ""),
    ("GET", "/v1/deployments", &["admin"], ""),
    ("POST", "/v1/deployments/{deployment}/tokens", &["admin"], ""),
    ("DELETE", "/v1/deployments/{deployment}/tokens/{id}", &["admin"], ""),
    ("GET", "/v1/tools/{tool}", &["admin"], ""),
    ("PUT", "/v1/tools/{tool}", &["admin"], r#"{"id":"find","name":"Only A","kind":"noop"}"#),
    ("DELETE", "/v1/tools/{tool}", &["admin"], ""),
    ("PUT", "/v1/workflow-chains/{chain}/draft", &["admin"], "{nightly}"),
    ("PUT", "/v1/ai-agents/{ai_agent}/draft", &["admin"], "{helper}"),
    ("PUT", "/v1/agents/{agent}/flow", &["admin"], "{desk}"),
    ("POST", "/v1/secrets", &["admin"], r#"{"name":"CRM_KEY","value":"in-the-vault"}"#),
    ("GET", "/v1/secrets", &["admin"], ""),
    ("DELETE", "/v1/secrets/{name}", &["admin"], ""),
];

/// The only routes that a deployment token opens (see `deployments.rs`).
pub const DEPLOYMENT_ROUTES: [(&str, &str); 4] = [
    ("POST", DEPLOYED),
    ("POST", "/v1/public/runtime/sessions/{session}/turns"),
    ("GET", "/v1/public/runtime/sessions/{session}/messages"),
    ("GET", "/v1/public/runtime/sessions/{session}"),
];

/// The only routes that the token of an AI agent's deployment opens (see `ai_agents.rs`).
pub const LINK_ROUTES: [(&str, &str); 3] = [
    ("POST", "/v1/public/ai-agents/{token}/turn"),
    ("GET", "/v1/public/ai-agents/{token}/messages"),
    ("GET", "/v1/public/ai-agents/{token}/sessions/{session}"),
];

/// The only routes that a signature opens (see `chains.rs`).
pub const SIGNED_ROUTES: [(&str, &str); 2] =
    [("POST", "/v1/public/chains/{chain}/ingress"), ("POST", "/v1/public/chains/{chain}/ingress/{step}")];

/// The sessions that the routes start and use, with an assistant and a workflow.
const SESSION: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a70";
const WORKFLOW_SESSION: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a71";

/// Fills the parameters of a path.
pub fn fill_path(path: &str) -> String {
    path.replace("{id}", ID)
        .replace("{hash}", "0123456789abcdef")
        .replace("{agent}", "desk")
        .replace("{version}", "1")
        .replace("{name}", "CRM_KEY")
        .replace("{source}", "faq")
        .replace("/knowledge/search", "/knowledge/search?q=cards")
        .replace("/workflows/sessions/{session}", &format!("/workflows/sessions/{WORKFLOW_SESSION}"))
        .replace("{session}", SESSION)
        .replace("{call}", "c1")
        .replace("{server}", "only-b")
        .replace("{workflow}", "front")
        .replace("{tool}", "find")
        .replace("{chain}", "nightly")
        .replace("{ai_agent}", "helper")
        .replace("{run}", "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a72")
        .replace("{token}", "cap_unknown")
        .replace("{step}", "await")
        .replace("{deployment}", "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a73")
}

/// Whether a path is an event stream, which does not end.
fn is_stream(path: &str) -> bool {
    path.contains("/stream/") || path == "/v1/desk/events"
}

/// Calls a path; of a stream it reads only the beginning.
pub fn call(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let (path, body) = (fill_path(path), body.replace("{id}", ID).replace("{session}", SESSION));
    let body = match body.as_str() {
        "{desk}" => desk("Desk").to_string(),
        "{front}" => front("Front").to_string(),
        "{nightly}" => nightly("Nightly").to_string(),
        "{helper}" => helper("Helper").to_string(),
        _ => body.replace("{workflow_session}", WORKFLOW_SESSION),
    };
    let mut headers = [headers, &[JSON]].concat();
    if path == "/mcp" {
        headers.push(("Accept", "application/json, text/event-stream"));
    }
    if !is_stream(&path) {
        return server.request(method, &path, &headers, body);
    }
    let mut call = client().request(method.parse().unwrap(), format!("http://{}{path}", server.address));
    for (name, value) in headers {
        call = call.header(name, value);
    }
    let mut response = call.timeout(TIMEOUT).send().unwrap();
    let mut first = Vec::new();
    let most = if response.status().is_success() { 16 } else { u64::MAX };
    response.by_ref().take(most).read_to_end(&mut first).unwrap();
    Answer { status: response.status().as_u16(), headers: response.headers().clone(), text: String::from_utf8(first).unwrap() }
}
