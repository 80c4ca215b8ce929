//! The acceptance list of the existing clients (docs/spec/clients.md), run by a client of their contract in a real browser.

use std::process::Command;

use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{SERVE, TestEnv};

/// The rows of the list, and three more: the stream opens first, survives a change of the display, and progress stays readable.
const ROWS: [&str; 15] = [
    "stream",
    "audit before",
    "core",
    "status",
    "audit",
    "feedback",
    "queue",
    "reset",
    "inflight",
    "attach",
    "renderer",
    "failure",
    "error",
    "mode",
    "progress",
];

/// Every mode in which the clients run: transport, origin and display.
fn client_modes() -> Vec<Value> {
    let mut modes = Vec::new();
    for transport in ["sse", "stomp", "websocket", "none"] {
        for origin in ["cross", "same"] {
            modes.extend(
                ["fullscreen", "side", "panel"].map(|it| json!({"transport": transport, "origin": origin, "mode": it, "held": ROWS})),
            );
        }
    }
    modes
}

#[test]
fn the_acceptance_list_passes_in_the_browser_in_every_mode() {
    let pack = root().join("tests/packs/clients/chat.json").display().to_string();
    let env = TestEnv::with_tables();
    let imported = env.run(&["import", &pack]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let llm = format!("scripted:{pack}");
    // The proxy in front of the client passes the host of the browser on.
    let set = ["--set", "convengine.transport.stomp.enabled=true", "--set", "convengine.http.allowed-hosts=127.0.0.1"];
    let server = env.start(env.command(&SERVE).args(["--llm", &llm]).args(set));
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/client.mjs")).arg(format!("http://{}", server.address));
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let mut passed: Vec<Value> = printed.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    passed.sort_by_key(|mode| client_modes().iter().position(|it| it == mode));
    assert_eq!(passed, client_modes());
}
