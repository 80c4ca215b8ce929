//! The MCP server of `tests/mcp` as a child process of our server or on its own, and a pack that uses its tools.

use std::cell::Cell;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use convengine_tests::root;
use serde_json::{Value, json};

use crate::flows::send;
use crate::harness::{OPEN, REGEX_ONLY, Server, TestEnv};

/// The key of the server in rows, settings and codes of tools.
pub const KEY: &str = "acme-oms";

/// The path of its routes.
pub const ROUTES: &str = "/api/v1/mcp/servers/acme-oms";

/// How long a call of a tool may take in these tests, as the operator sets it.
const CALL_TIMEOUT: &str = "convengine.tools.timeout=10s";

/// What a call may take above that: a start of Node, and a handshake.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// All tools of the server, each with the approval that the tests store for it.
const TOOLS: [(&str, Option<&str>); 7] = [
    ("get_order_status", None),
    ("cancel_order", None),
    ("add_note", Some("never")),
    ("reserve_stock", Some("never")),
    ("track", None),
    ("picture", None),
    ("echo_headers", None),
];

/// How the server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

/// The server with its files; over HTTP also its process.
pub struct FakeMcp<'e> {
    env: &'e TestEnv,
    transport: Transport,
    options: Vec<String>,
    child: Option<Child>,
    port: u16,
    turns: Cell<u32>,
}

impl<'e> FakeMcp<'e> {
    /// The server with further options; over HTTP it is started.
    pub fn new(env: &'e TestEnv, transport: Transport, more: &[&str]) -> FakeMcp<'e> {
        let file = |name: &str| env.path(name).display().to_string();
        let files = [("--log", "mcp.log"), ("--requests", "mcp.requests"), ("--fault-file", "mcp.fault"), ("--inject", "mcp.inject")];
        let files = files.iter().flat_map(|(option, name)| [(*option).to_owned(), file(name)]);
        let options = files.chain(more.iter().map(|it| (*it).to_owned())).collect();
        let mut fake = FakeMcp { env, transport, options, child: None, port: 0, turns: Cell::new(0) };
        if transport == Transport::Http {
            fake.restart();
        }
        fake
    }

    /// Starts the process over HTTP, again on its port.
    pub fn restart(&mut self) {
        self.stop();
        let mut command = Command::new("node");
        command.arg(script()).args(["--http", &self.port.to_string()]).args(&self.options).stdout(Stdio::piped());
        let mut child = command.spawn().expect("cannot start node");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.child = Some(child);
        let port = line.trim().strip_prefix("listening on http://127.0.0.1:").and_then(|it| it.strip_suffix("/mcp"));
        self.port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("not started: {line}"));
    }

    /// Ends the process over HTTP.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The row of the server.
    pub fn row(&self) -> Value {
        match self.transport {
            Transport::Stdio => json!({"server_key": KEY, "transport": "stdio", "protocol_mode": "auto"}),
            Transport::Http => {
                let endpoint = format!("http://127.0.0.1:{}/mcp", self.port);
                json!({"server_key": KEY, "transport": "http", "endpoint": endpoint, "protocol_mode": "auto"})
            }
        }
    }

    /// The setting that lets our server reach this one.
    pub fn setting(&self) -> String {
        match self.transport {
            Transport::Stdio => {
                let command: Vec<String> = [vec!["node".to_owned(), script()], self.options.clone()].concat();
                format!("convengine.mcp.servers.{KEY}.command={}", json!(command))
            }
            Transport::Http => format!("convengine.network.allow-private=127.0.0.1:{}", self.port),
        }
    }

    /// Imports the pack and starts our server; no tool is approved yet.
    pub fn serve(&self, row: &Value, more: &[&str]) -> Server {
        let file = self.env.write_pack("pack.json", &pack(row));
        let output = self.env.run(&["import", &file]);
        assert_eq!(output.code, 0, "{output:?}");
        let setting = self.setting();
        self.env.serve(&[&REGEX_ONLY[..], &OPEN, &["--set", &setting, "--set", CALL_TIMEOUT], more].concat())
    }

    /// Starts our server and approves all tools.
    pub fn serve_approved(&self, more: &[&str]) -> Server {
        let server = self.serve(&self.row(), more);
        approve_all(&server);
        server
    }

    pub fn begin_fault(&self, name: &str) {
        self.replace("mcp.fault", name);
    }

    pub fn end_fault(&self) {
        let _ = fs::remove_file(self.env.path("mcp.fault"));
    }

    /// Injects a text, or none, from the next message on.
    pub fn inject(&self, injections: &Value) {
        self.replace("mcp.inject", &injections.to_string());
    }

    /// Replaces a file that the server reads at any time, so that it never reads a half of it.
    fn replace(&self, name: &str, text: &str) {
        let new = format!("{name}.new");
        self.env.write(&new, text);
        fs::rename(self.env.path(&new), self.env.path(name)).unwrap();
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.env.path(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What the server has logged under an event: `call`, `cancelled`, `redirected`, `asked_client`, `other_path`.
    pub fn logged(&self, event: &str) -> Vec<Value> {
        self.lines("mcp.log").into_iter().filter(|it| it["event"] == event).collect()
    }

    /// The tools that were called, in order.
    pub fn calls(&self) -> Vec<String> {
        self.logged("call").iter().map(|call| call["tool"].as_str().unwrap().to_owned()).collect()
    }

    /// The number of messages that have reached the server.
    pub fn message_count(&self) -> usize {
        self.lines("mcp.requests").len()
    }

    /// Calls a tool in a turn of a new conversation; returns what its response shows, within the time.
    #[track_caller]
    pub fn call(&self, server: &Server, tool: &str, args: &Value) -> String {
        self.turns.set(self.turns.get() + 1);
        let since = Instant::now();
        let answer = request_tool(server, &conversation(self.turns.get()), tool, args);
        assert!(since.elapsed() < PATIENCE, "{tool} took {:?}: {answer}", since.elapsed());
        assert_eq!(answer["success"], true, "{answer}");
        answer["payload"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Asks for the status of the order, as [`FakeMcp::call`].
    #[track_caller]
    pub fn order_status(&self, server: &Server) -> String {
        self.call(server, "get_order_status", &json!({"orderId": "ORD-7017"}))
    }
}

impl Drop for FakeMcp<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn script() -> String {
    root().join("tests/mcp/fake_server.mjs").canonicalize().unwrap().display().to_string()
}

/// The id of the nth conversation.
pub fn conversation(number: u32) -> String {
    format!("3c0f4a3e-6f0a-4f0e-9a53-{number:012}")
}

/// The code of a tool.
pub fn code(tool: &str) -> String {
    format!("mcp.{KEY}.{tool}")
}

/// Sends a message that requests a tool.
pub fn request_tool(server: &Server, conversation: &str, tool: &str, args: &Value) -> Value {
    let params = json!({"tool_request": {"tool_code": code(tool), "args": args}});
    let body = json!({"conversationId": conversation, "message": "go", "inputParams": params});
    let answer = server.post(body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// A pack with all tools in every scope, whose response shows status and result of a requested tool.
pub fn pack(row: &Value) -> Value {
    let tool = |(index, tool): (usize, &(&str, Option<&str>))| json!({"tool_id": index + 1, "tool_code": code(tool.0), "tool_group": "MCP", "intent_code": "ANY", "state_code": "ANY"});
    let tools: Vec<Value> = TOOLS.iter().enumerate().map(tool).collect();
    json!({
        "name": "desk",
        "tables": {
            "ce_intent": [{"intent_code": "DESK", "description": "Everything"}],
            "ce_intent_classifier": [{"classifier_id": 1, "rule_type": "REGEX", "pattern": ".*", "intent_code": "DESK", "priority": 1}],
            "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                "exact_text": "{{inputParams.tool_status}} {{inputParams.tool_result.result}}{{inputParams.tool_result.error}}"}],
            "ce_mcp_server": [row],
            "ce_mcp_tool": tools,
            "ce_mcp_planner": [{"planner_id": 1, "intent_code": "ANY", "state_code": "ANY", "system_prompt": "You help with orders.",
                "user_prompt": "{{user_input}}\nTools: {{mcp_tools}}\nSeen: {{mcp_observations}}"}]
        }
    })
}

/// The tools as our server lists them.
#[track_caller]
pub fn list_tools(server: &Server) -> Value {
    let answer = server.get(&format!("{ROUTES}/tools"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// A tool as our server lists it.
#[track_caller]
pub fn listed_tool(server: &Server, name: &str) -> Value {
    let listed = list_tools(server);
    listed["tools"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name} is not in {listed}")).clone()
}

/// Approves a tool under a digest; returns the status.
pub fn approve(server: &Server, tool: &str, digest: &Value, approval: Option<&str>) -> u16 {
    send(server, "PUT", &format!("{ROUTES}/tools/{tool}/approval"), &json!({"digest": digest, "approval": approval})).status
}

/// Approves all tools as they are listed now.
#[track_caller]
pub fn approve_all(server: &Server) {
    let listed = list_tools(server);
    for tool in listed["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let approval = TOOLS.iter().find(|it| it.0 == name).and_then(|it| it.1);
        assert_eq!(approve(server, name, &tool["digest"], approval), 200, "{name}");
    }
}
