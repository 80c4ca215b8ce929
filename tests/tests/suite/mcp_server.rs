//! The server as a server of the Model Context Protocol: `/mcp` and `convengine mcp`. (docs/guide/mcp-server.md)

use std::io::{BufRead, BufReader};

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::{WITH_KEYS, key, refusal_message};
use crate::flows::{deploy, desk, publish, save_draft};
use crate::harness::{Answer, OPEN, REGEX_ONLY, Server, TestEnv, orders_pack};
use crate::tenants::{KEYS, TwoTenants};
use crate::tokens::Signer;

/// The revision that most tests speak.
pub const VERSION: &str = "2025-11-25";

/// Sends a message of the protocol.
pub fn send(server: &Server, headers: &[(&str, &str)], message: &Value) -> Answer {
    let own = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", VERSION)];
    server.request("POST", "/mcp", &[&own[..], headers].concat(), message.to_string())
}

/// Sends a request; returns its response.
pub fn request(server: &Server, credential: &str, method: &str, params: Value) -> Value {
    let bearer = format!("Bearer {credential}");
    let headers: &[(&str, &str)] = if credential.is_empty() { &[] } else { &[("Authorization", bearer.as_str())] };
    let answer = send(server, headers, &json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
    assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(7)), "{method}: {answer:?}");
    answer.json()
}

/// Calls a tool; returns its structure.
#[track_caller]
pub fn call(server: &Server, credential: &str, tool: &str, arguments: Value) -> Value {
    let response = request(server, credential, "tools/call", json!({"name": tool, "arguments": arguments}));
    let result = &response["result"];
    assert_ne!(result["isError"], true, "{tool}: {response}");
    assert!(result["content"].as_array().is_some(), "{tool}: {response}");
    result["structuredContent"].clone()
}

/// Calls a tool that reports an error; returns its message.
#[track_caller]
pub fn call_in_vain(server: &Server, credential: &str, tool: &str, arguments: Value) -> String {
    let response = request(server, credential, "tools/call", json!({"name": tool, "arguments": arguments}));
    assert_eq!(response["result"]["isError"], true, "{tool}: {response}");
    response["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The names in a list.
pub fn names(response: &Value, list: &str) -> Vec<String> {
    response["result"][list]
        .as_array()
        .unwrap_or_else(|| panic!("{response}"))
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

/// A closed server with a deployed assistant, and keys of the scopes `converse`, `read` and `admin`.
pub fn serve_with_keys(more: &[&str]) -> (TestEnv, Server, [String; 3]) {
    let env = TestEnv::with_pack(&orders_pack());
    let open = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    publish(&open, &desk("Desk"));
    deploy(&open, false);
    drop(open);
    let keys = ["converse", "read", "admin"].map(|it| key(&env, &["--scope", it]));
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS, more].concat());
    (env, server, keys)
}

/// An open server with a published assistant.
pub fn serve() -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    publish(&server, &desk("Desk"));
    (env, server)
}

#[test]
fn a_caller_has_the_tools_of_its_scopes() {
    let (_env, server, [converse, read, admin]) = serve_with_keys(&[]);
    let tools = |key: &str| names(&request(&server, key, "tools/list", json!({})), "tools");
    assert_eq!(tools(&converse), ["ask_desk", "ask_tables"]);
    assert_eq!(tools(&read), ["replay", "explain_turn", "compare"]);
    assert_eq!(tools(&admin), ["lint", "import", "play", "replay", "explain_turn", "compare", "ask_desk", "ask_tables"]);
    for (key, tool) in [(&converse, "lint"), (&converse, "replay"), (&read, "ask_desk"), (&read, "import"), (&admin, "ask_nobody")] {
        let refused = request(&server, key, "tools/call", json!({"name": tool, "arguments": {}}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let resources = |key: &str| names(&request(&server, key, "resources/list", json!({})), "resources");
    assert!(resources(&converse).contains(&"talks".to_owned()) && !resources(&converse).contains(&"Desk".to_owned()));
    assert!(!resources(&read).contains(&"Desk".to_owned()) && resources(&admin).contains(&"Desk".to_owned()));
    let prompts = |key: &str| names(&request(&server, key, "prompts/list", json!({})), "prompts");
    assert_eq!(
        (prompts(&read), prompts(&admin)),
        (vec![], vec!["write_pack".to_owned(), "write_flow".to_owned(), "write_talk".to_owned()])
    );
    let listed = request(&server, &admin, "tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let complete = ["title", "description", "inputSchema", "outputSchema", "annotations"].iter().all(|it| !tool[it].is_null());
        assert!(complete && tool["inputSchema"]["additionalProperties"] == false, "{tool}");
        let hints = &tool["annotations"];
        let is_of_developers = !tool["name"].as_str().unwrap().starts_with("ask_");
        assert_eq!(hints["readOnlyHint"], is_of_developers && tool["name"] != "import", "{tool}");
        assert_eq!(hints["openWorldHint"], !is_of_developers, "{tool}");
    }
}

#[test]
fn an_open_server_has_the_tools_for_developers_for_its_own_machine() {
    let env = TestEnv::with_pack(&orders_pack());
    let list = |server: &Server, headers: &[(&str, &str)]| {
        names(&send(server, headers, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).json(), "tools")
    };
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    let elsewhere = [("X-Forwarded-For", "192.0.2.1")];
    let for_everyone = ["replay", "explain_turn", "compare", "ask_tables"];
    assert_eq!(list(&server, &elsewhere), for_everyone, "as routes of the administrator");
    assert!(list(&server, &[]).contains(&"import".to_owned()));
    drop(server);
    let token = ("Authorization", "Bearer not-for-everyone");
    for (mode, without_token) in [("none", Some(for_everyone)), ("keys", None)] {
        let setting = format!("convengine.security.mode={mode}");
        let more = ["--set", "convengine.admin-token=not-for-everyone", "--set", setting.as_str()];
        let server = env.serve(&[&REGEX_ONLY[..], &more].concat());
        assert!(list(&server, &[token, elsewhere[0]]).contains(&"import".to_owned()), "{mode}");
        match without_token {
            Some(tools) => assert_eq!(list(&server, &[]), tools, "{mode}"),
            None => assert_eq!(send(&server, &[], &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).status, 401, "{mode}"),
        }
    }
}

#[test]
fn a_refusal_points_to_the_metadata() {
    let (_env, server, [converse, ..]) = serve_with_keys(&[]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let address = format!("http://{}/.well-known/oauth-protected-resource", server.address);
    for headers in [&[][..], &[("Authorization", "Bearer ce_000000000000_0")]] {
        let refused = send(&server, headers, &message);
        assert_eq!(refused.status, 401, "{refused:?}");
        assert!(refused.header("www-authenticate").starts_with("Bearer realm=\"convengine\""), "{refused:?}");
        assert!(refused.header("www-authenticate").ends_with(&format!("resource_metadata=\"{address}/mcp\"")), "{refused:?}");
    }
    let of_mcp = server.get("/.well-known/oauth-protected-resource/mcp").json();
    assert_eq!(
        (&of_mcp["resource"], &of_mcp["bearer_methods_supported"]),
        (&json!(format!("http://{}/mcp", server.address)), &json!(["header"]))
    );
    assert_eq!((&of_mcp["scopes_supported"], of_mcp.get("authorization_servers")), (&json!(["converse", "read", "admin"]), None));
    let of_server = server.get("/.well-known/oauth-protected-resource").json();
    assert_eq!(of_server["resource"], format!("http://{}", server.address));
    assert_eq!(send(&server, &[("X-API-Key", &converse)], &message).status, 200, "the other header of a key");
}

#[test]
fn the_metadata_names_the_issuer_of_tokens() {
    let env = TestEnv::with_tables();
    let file = env.write("keys.json", &json!({"keys": [Signer::from_ed25519_seed("ed", 1).public_jwk()]}).to_string());
    let sets = [
        "convengine.security.mode=jwt".to_owned(),
        format!("convengine.security.jwt.jwks-file={file}"),
        "convengine.security.jwt.audience=bot".to_owned(),
        "convengine.security.jwt.issuer=https://id.example".to_owned(),
    ];
    let arguments: Vec<&str> = sets.iter().flat_map(|it| ["--set", it]).collect();
    let server = env.serve(&arguments);
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        assert_eq!(server.get(path).json()["authorization_servers"], json!(["https://id.example"]));
    }
}

#[test]
fn foreign_pages_and_foreign_hosts_are_refused() {
    let (_env, server) = serve();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"] {
        let refused = send(&server, &[("Origin", origin)], &message);
        assert_eq!(refused.status, 403, "{origin}: {refused:?}");
        assert!(refusal_message(&refused).contains("allowed-origins"), "{refused:?}");
    }
    let own = format!("http://{}", server.address);
    assert_eq!(send(&server, &[("Origin", &own)], &message).status, 200, "a page of the server itself");
    assert_eq!(send(&server, &[("Host", "evil.example")], &message).status, 421);
    for method in ["GET", "DELETE"] {
        let answer = server.request(method, "/mcp", &[("Accept", "text/event-stream")], "");
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "there are no sessions");
    }
}

#[test]
fn messages_are_bounded_and_checked() {
    let (_env, server) = serve();
    let too_large = "x".repeat(8 * 1024 * 1024 + 1);
    let own = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    assert_eq!(server.request("POST", "/mcp", &own, too_large).status, 413);
    for accepted in ["application/json", "text/event-stream", "text/html"] {
        let refused = server.request("POST", "/mcp", &[own[0], ("Accept", accepted)], "{}");
        assert_eq!((refused.status, &refused.json()["status"]), (406, &json!(406)), "{accepted}");
    }
    assert_eq!(server.request("POST", "/mcp", &own[1..], "{}").status, 415);
    for invalid in ["{", "[]", "{}", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#] {
        let refused = server.request("POST", "/mcp", &own, invalid);
        assert_eq!(refused.status, 400, "{invalid}");
        assert!(refusal_message(&refused).contains("JSON-RPC"), "{refused:?}");
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(server.request("POST", "/mcp", &[own[0], ("Accept", "*/*")], ping).status, 200);
    let notification = send(&server, &[], &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((notification.status, notification.text.as_str()), (202, ""));
    let unknown = request(&server, "", "books/list", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let cursor = request(&server, "", "tools/list", json!({"cursor": "x"}));
    assert_eq!(cursor["error"]["code"], -32602, "{cursor}");
}

#[test]
fn three_revisions_are_served() {
    let (_env, server) = serve();
    for version in ["2025-06-18", "2025-11-25"] {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}});
        let headers =
            [("MCP-Protocol-Version", version), ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = server.request("POST", "/mcp", &headers, message.to_string());
        let result = &answer.json()["result"];
        assert_eq!((&result["protocolVersion"], &result["serverInfo"]["name"]), (&json!(version), &json!("convengine")), "{answer:?}");
        assert!(result["instructions"].as_str().is_some_and(|it| it.contains("dry run")), "{answer:?}");
        assert!(result["capabilities"]["tools"].get("listChanged").is_none(), "there is no stream to send it on: {answer:?}");
        assert_eq!(answer.header("mcp-session-id"), "");
    }
    let answer = send_newest(&server, "server/discover", json!({}));
    let result = &answer.json()["result"];
    assert_eq!(result["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]), "{answer:?}");
    let answer = send_newest(&server, "tools/list", json!({}));
    assert!(names(&answer.json(), "tools").contains(&"ask_desk".to_owned()), "{answer:?}");
    assert_eq!(answer.json()["result"]["resultType"], "complete", "{answer:?}");
    let removed = send_newest(&server, "initialize", json!({}));
    assert_eq!((removed.status, &removed.json()["error"]["code"]), (404, &json!(-32601)), "{removed:?}");
    let incomplete = request(&server, "", "initialize", json!({}));
    assert_eq!(incomplete["error"]["code"], -32602, "{incomplete}");
}

/// Sends a request of the newest revision, which has no sessions.
fn send_newest(server: &Server, method: &str, params: Value) -> Answer {
    let (headers, message) = newest(method, params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|it| (it.0, it.1.as_str())).collect();
    server.request("POST", "/mcp", &headers, message.to_string())
}

/// The headers and the message of a request of the newest revision.
fn newest(method: &str, mut params: Value) -> (Vec<(&'static str, String)>, Value) {
    let version = "2026-07-28";
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "suite", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = vec![
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("MCP-Protocol-Version", version.to_owned()),
        ("Mcp-Method", method.to_owned()),
    ];
    (headers, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

#[test]
fn a_subscriber_notices_a_published_assistant() {
    let (_env, server) = serve();
    let (headers, message) = newest("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut call = crate::harness::client().post(format!("http://{}/mcp", server.address)).body(message.to_string());
    for (name, value) in headers {
        call = call.header(name, value);
    }
    let response = call.send().unwrap();
    assert_eq!(response.status().as_u16(), 200, "{response:?}");
    let mut lines = BufReader::new(response).lines().map_while(Result::ok);
    assert!(lines.any(|it| it.contains("notifications/subscriptions/acknowledged")));
    let mut other = desk("Other");
    other["id"] = json!("other");
    publish(&server, &other);
    assert!(lines.any(|it| it.contains("notifications/tools/list_changed")));
    assert!(names(&request(&server, "", "tools/list", json!({})), "tools").contains(&"ask_other".to_owned()));
}

#[test]
fn tenants_have_their_own_tools() {
    let tenants = TwoTenants::with_pack(&orders_pack());
    let (a, b) = (tenants.key("a", "admin"), tenants.key("b", "admin"));
    let server = tenants.serve(&KEYS);
    let save = |key: &str, name: &str| {
        let headers = [("X-API-Key", key), crate::flows::JSON];
        let saved = server.request("PUT", "/v1/agents/desk/flow", &headers, desk(name).to_string());
        assert_eq!(saved.status, 200, "{saved:?}");
        assert_eq!(server.request("POST", "/v1/agents/desk/publish", &headers, "{}").status, 201);
    };
    save(&a, "Desk of a");
    let tools = |key: &str| names(&request(&server, key, "tools/list", json!({})), "tools");
    assert!(tools(&a).contains(&"ask_desk".to_owned()) && !tools(&b).contains(&"ask_desk".to_owned()));
    save(&b, "Desk of b");
    let asked = call(&server, &a, "ask_desk", json!({"text": "more please"}));
    assert_eq!(asked["messages"][0]["text"], "Welcome to Desk of a.");
    let message = call_in_vain(&server, &b, "ask_desk", json!({"text": "more please", "session_id": asked["session_id"]}));
    assert!(message.contains("session not found"), "{message}");
    let message = call_in_vain(&server, &b, "replay", json!({"session_id": asked["session_id"]}));
    assert!(message.contains("not stored"), "{message}");
}

#[test]
fn drafts_have_no_tool() {
    let env = TestEnv::with_tables();
    let server = env.serve(&OPEN);
    save_draft(&server, &desk("Desk"));
    let tools = names(&request(&server, "", "tools/list", json!({})), "tools");
    assert_eq!(tools, ["lint", "import", "play", "replay", "explain_turn", "compare"], "neither drafts nor empty tables");
}
