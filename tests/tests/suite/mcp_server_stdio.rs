//! `convengine mcp`: the Model Context Protocol on standard input and output. (docs/guide/mcp-server.md)

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{OPEN, REGEX_ONLY, SERVE, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::mcp_server::{VERSION, names};

/// A `convengine mcp` process.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Messages that came before the response to a request.
    earlier: VecDeque<Value>,
}

impl Process {
    pub fn start(env: &TestEnv, more: &[&str]) -> Process {
        let mut command = env.command(&[&["mcp"], more].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Process { child, input, output, earlier: VecDeque::new() }
    }

    pub fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next message that answers no request: a notification may be sent before the response to the request that causes it.
    fn next_notification(&mut self) -> Value {
        self.earlier.pop_front().unwrap_or_else(|| self.read())
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends the first messages; returns the response.
    pub fn initialize(&mut self) -> Value {
        let client = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}});
        let initialized = self.request("initialize", client);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        initialized
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        loop {
            let message = self.read();
            if message["id"] == method {
                return message;
            }
            self.earlier.push_back(message);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_editor_starts_the_server_itself() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut process = Process::start(&env, &REGEX_ONLY);
    let initialized = process.initialize();
    assert_eq!(initialized["result"]["capabilities"]["tools"]["listChanged"], true, "{initialized}");
    let listed = process.request("tools/list", json!({}));
    assert!(names(&listed, "tools").contains(&"import".to_owned()) && names(&listed, "tools").contains(&"ask_tables".to_owned()));
    let asked = process.request("tools/call", json!({"name": "ask_tables", "arguments": {"text": "my order"}}));
    assert_eq!(asked["result"]["content"][0]["text"], "Your order is on its way.", "{asked}");
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][0]["exact_text"] = json!("Tomorrow.");
    let imported = process.request("tools/call", json!({"name": "import", "arguments": {"pack": pack, "dry_run": false}}));
    assert_eq!(imported["result"]["structuredContent"]["imported"], true, "{imported}");
    assert_eq!(process.next_notification()["method"], "notifications/tools/list_changed");
    drop(process.input.take());
    let mut status = None;
    assert!(wait_until(|| {
        status = process.child.try_wait().unwrap();
        status.is_some()
    }));
    assert_eq!(status.and_then(|it| it.code()), Some(0), "it ends with its client");
}

#[test]
#[on(sqlite)]
fn a_second_process_on_an_sqlite_file_is_sent_to_the_running_server() {
    let env = TestEnv::with_pack(&orders_pack());
    let _server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    let output = env.run(&["mcp"]);
    assert_one_line(&output, 3, &["in use by a running server", "/mcp"]);
    let mut process = Process::start(&TestEnv::with_tables(), &[]);
    drop(process.input.take());
    assert!(wait_until(|| process.child.try_wait().unwrap().is_some()), "a client that says nothing is not a failure");
    let other = TestEnv::with_tables();
    let mut held = Process::start(&other, &[]);
    held.initialize();
    assert_one_line(&other.run(&SERVE), 3, &["in use by another server"]);
}
