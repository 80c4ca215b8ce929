//! Servers of others, as they are published: the reference servers `everything` and `filesystem` of the protocol. (docs/spec/tools.md#7)

use std::fs;
use std::io::Read;
use std::process::Command;
use std::thread;

use convengine_test_macros::test;
use convengine_tests::reference_server;
use reqwest::blocking::Response;
use serde_json::{Value, json};

use crate::flows::send;
use crate::harness::{OPEN, REGEX_ONLY, Server, TestEnv, client, wait_until};
use crate::mcp_fake::conversation;

const SERVERS: &str = "/api/v1/mcp/servers";

/// A folder with a file, and our server with both servers as child processes.
struct Desk {
    env: TestEnv,
    server: Server,
    folder: String,
}

impl Desk {
    fn start() -> Desk {
        let env = TestEnv::with_tables();
        env.write("note.txt", "Buy milk.\n");
        let folder = env.path("note.txt").parent().unwrap().canonicalize().unwrap().display().to_string();
        let file = env.write_pack("pack.json", &pack());
        assert_eq!(env.run(&["import", &file]).code, 0);
        let command = |name: &str, arguments: &[&str]| {
            let script = reference_server(name).unwrap();
            let line: Vec<String> = ["node", script.to_str().unwrap()].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
            format!("convengine.mcp.servers.{name}.command={}", json!(line))
        };
        let (everything, filesystem) = (command("everything", &["stdio"]), command("filesystem", &[&folder]));
        let env_setting = "convengine.mcp.servers.everything.env.GREETING=hello";
        let settings = ["--set", &everything, "--set", &filesystem, "--set", env_setting];
        let server = env.serve(&[&REGEX_ONLY[..], &OPEN, &settings].concat());
        for (name, tools) in [
            ("everything", &["echo", "get-env", "get-structured-content", "get-tiny-image", "trigger-long-running-operation"][..]),
            ("filesystem", &["read_text_file", "write_file", "list_directory"]),
        ] {
            tools.iter().for_each(|it| approve(&server, name, it));
        }
        Desk { env, server, folder }
    }

    /// Requests a tool in a turn; returns what the response shows.
    #[track_caller]
    fn call(&self, conversation: &str, tool: &str, args: &Value) -> String {
        let params = json!({"tool_request": {"tool_code": format!("mcp.{tool}"), "args": args}});
        let answer = self.server.post(json!({"conversationId": conversation, "message": "go", "inputParams": params}).to_string());
        assert_eq!(answer.json()["success"], true, "{answer:?}");
        answer.json()["payload"]["value"].as_str().unwrap_or_default().to_owned()
    }
}

fn pack() -> Value {
    let server = |key: &str| json!({"server_key": key, "transport": "stdio"});
    json!({
        "name": "desk",
        "tables": {
            "ce_intent": [{"intent_code": "DESK", "description": "Everything"}],
            "ce_intent_classifier": [{"classifier_id": 1, "rule_type": "REGEX", "pattern": ".*", "intent_code": "DESK", "priority": 1}],
            "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                "exact_text": "{{inputParams.tool_status}} {{inputParams.tool_result.result}}{{inputParams.tool_result.error}}"}],
            "ce_mcp_server": [server("everything"), server("filesystem")],
        }
    })
}

/// Approves a tool as it is, with a row for every intent and state.
#[track_caller]
fn approve(server: &Server, name: &str, tool: &str) {
    let listed = server.get(&format!("{SERVERS}/{name}/tools")).json();
    let found = listed["tools"].as_array().and_then(|tools| tools.iter().find(|offered| offered["name"] == tool));
    let digest = &found.unwrap_or_else(|| panic!("{tool} is not in {listed}"))["digest"];
    let body = json!({"digest": digest, "intent_code": "ANY", "state_code": "ANY"});
    let answer = send(server, "PUT", &format!("{SERVERS}/{name}/tools/{tool}/approval"), &body);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn reference_servers_are_called_and_replayed_without_them() {
    let desk = Desk::start();
    let id = conversation(1);
    assert_eq!(desk.call(&id, "everything.echo", &json!({"message": "good morning"})), r#"SUCCESS {"text":"Echo: good morning"}"#);
    let weather = desk.call(&id, "everything.get-structured-content", &json!({"location": "Chicago"}));
    assert!(weather.starts_with("SUCCESS {\"temperature\":"), "{weather}");
    let image = desk.call(&id, "everything.get-tiny-image", &json!({}));
    assert!(image.contains("\"mimeType\":\"image/png\"") && !image.contains("iVBORw0KGgo"), "{image}");
    let variables = desk.call(&id, "everything.get-env", &json!({}));
    assert!(variables.contains("GREETING") && !variables.contains("CARGO") && !variables.contains("CONVENGINE"), "{variables}");
    let refused = desk.call(&id, "everything.echo", &json!({"text": 1}));
    assert!(refused.starts_with("ERROR the arguments do not fit the tool"), "{refused}");
    let note = format!("{}/note.txt", desk.folder);
    let text = desk.call(&id, "filesystem.read_text_file", &json!({"path": note}));
    assert!(text.starts_with("SUCCESS") && text.contains("Buy milk."), "{text}");
    let outside = desk.call(&id, "filesystem.read_text_file", &json!({"path": "/etc/passwd"}));
    assert!(outside.starts_with("ERROR the tool answered with an error") && !outside.contains("root:"), "{outside}");
    // A tool that writes waits for the user, and is called once.
    let new = format!("{}/new.txt", desk.folder);
    let asked = desk.call(&id, "filesystem.write_file", &json!({"path": new, "content": "tea"}));
    assert!(asked.contains("filesystem.write_file") && !desk.env.path("new.txt").exists(), "{asked}");
    desk.server.say(&id, "yes");
    assert_eq!(fs::read_to_string(desk.env.path("new.txt")).unwrap(), "tea");
    fs::remove_file(desk.env.path("new.txt")).unwrap();
    let Desk { env, server, .. } = desk;
    drop(server);
    let output = env.run(&["replay", "--conversation", &id]);
    assert_eq!((output.code, output.stdout.ends_with("\n9 turns equal\n")), (0, true), "{output:?}");
    assert!(!env.path("new.txt").exists(), "the replay called a server");
}

#[test]
fn a_reference_server_killed_in_a_turn_is_reported_and_started_again() {
    let desk = Desk::start();
    let id = conversation(2);
    let script = "server-everything/dist/index.js stdio";
    let pids = || {
        let found = Command::new("pgrep").args(["-f", "-P", &desk.server.pid().to_string(), script]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(desk.call(&id, "everything.echo", &json!({"message": "a"})).starts_with("SUCCESS"));
    let before = pids();
    assert_eq!(before.len(), 1, "one process for all calls");
    let mut events = client().get(format!("http://{}/api/v1/conversation/stream/{id}", desk.server.address)).send().unwrap();
    read_until(&mut events, "CONNECTED");
    let args = json!({"duration": 60, "steps": 60});
    let text = thread::scope(|scope| {
        let turn = scope.spawn(|| desk.call(&id, "everything.trigger-long-running-operation", &args));
        read_until(&mut events, "\"eventType\":\"TOOL_PROGRESS\"");
        let killed = Command::new("kill").args(["-KILL", &before[0]]).status().unwrap();
        assert!(killed.success());
        turn.join().unwrap()
    });
    assert!(text.starts_with("ERROR") && text.contains("everything"), "{text}");
    assert!(desk.call(&id, "everything.echo", &json!({"message": "b"})).contains("Echo: b"));
    let after = pids();
    assert!(after.len() == 1 && after != before, "{after:?}");
    let Desk { env, server, .. } = desk;
    drop(server);
    assert!(wait_until(|| pids_of(script, &after[0]).is_empty()), "the process ends with our server");
    let output = env.run(&["replay", "--conversation", &id]);
    assert_eq!((output.code, output.stdout.ends_with("\n3 turns equal\n")), (0, true), "{output:?}");
}

/// Reads an event stream until a text occurs.
fn read_until(events: &mut Response, text: &str) {
    let mut read = String::new();
    let mut buffer = [0; 1024];
    while !read.contains(text) {
        let count = events.read(&mut buffer).unwrap();
        assert!(count > 0, "the stream has ended: {read}");
        read.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}

/// The process of this number, if it still runs this script.
fn pids_of(script: &str, pid: &str) -> String {
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
    if command.contains(script) { pid.to_owned() } else { String::new() }
}
