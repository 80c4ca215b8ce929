//! The acceptance list of the existing clients (docs/spec/clients.md), run by a client of their contract in a real browser.

use std::collections::BTreeSet;
use std::process::Command;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{SERVE, TestEnv};
use crate::running::is_long_run;

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

const TRANSPORTS: [&str; 4] = ["sse", "stomp", "websocket", "none"];
const ORIGINS: [&str; 2] = ["cross", "same"];
const DISPLAYS: [&str; 3] = ["fullscreen", "side", "panel"];

/// A way in which the clients run: transport, origin and display.
type Way = [&'static str; 3];

/// All 24 ways.
fn all_ways() -> Vec<Way> {
    let with_transport = |transport| ORIGINS.into_iter().flat_map(move |origin| DISPLAYS.map(|display| [transport, origin, display]));
    TRANSPORTS.into_iter().flat_map(with_transport).collect()
}

/// The fewest ways in which every two values meet: each transport with each display, and the origins in turn.
fn pairwise_ways() -> Vec<Way> {
    let with_transport = |(row, transport): (usize, &'static str)| {
        let way = move |(column, display): (usize, &'static str)| [transport, ORIGINS[(row + column) % ORIGINS.len()], display];
        DISPLAYS.into_iter().enumerate().map(way)
    };
    TRANSPORTS.into_iter().enumerate().flat_map(with_transport).collect()
}

/// The pairs of values that meet in some ways.
fn pairs(ways: &[Way]) -> BTreeSet<[&'static str; 2]> {
    ways.iter().flat_map(|&[transport, origin, display]| [[transport, origin], [transport, display], [origin, display]]).collect()
}

#[test]
#[on(no_database)]
fn every_two_values_meet_in_the_chosen_ways() {
    assert_eq!(pairs(&pairwise_ways()), pairs(&all_ways()));
    assert_eq!((pairwise_ways().len(), all_ways().len()), (12, 24));
}

/// `cargo xtask soak clients` runs it in all ways.
#[test]
#[on(browser)]
fn the_acceptance_list_passes_in_every_way() {
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
    let ways = if is_long_run() { all_ways() } else { pairwise_ways() };
    for way in &ways {
        command.args(["--way", &way.join(",")]);
    }
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let expected =
        ways.iter().map(|[transport, origin, display]| json!({"transport": transport, "origin": origin, "mode": display, "held": ROWS}));
    let expected: Vec<Value> = expected.collect();
    let mut passed: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    passed.sort_by_key(|way| expected.iter().position(|other| other == way));
    assert_eq!(passed, expected);
}
