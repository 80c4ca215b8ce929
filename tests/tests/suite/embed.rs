//! The engine as an npm package: the page of the example, a program, and the types.

use std::process::Command;

use convengine_test_macros::test;
use convengine_tests::{flow, root, target_folder};
use serde_json::{Value, json};

use crate::simulator::hashes;

#[test]
#[on(browser)]
fn the_package_plays_tables_and_flows_in_a_page_a_worker_and_node() {
    let package = target_folder().unwrap().join("npm/convengine");
    assert!(package.is_dir(), "the package is not built; run `cargo xtask npm` first");
    let mut command = Command::new("node");
    let flow_pack = root().join("tests/packs/flow/bank_desk.json");
    command.arg(root().join("web-demo/test/embed.mjs")).arg(root().join("examples/page")).arg(package).arg(&flow_pack);
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        json!({"page": "We are open from 6 to 14, and closed on Mondays."}),
        json!({"page": "There are 12 loaves left, at 4.0 each."}),
        json!({"page": "Ask me when we are open, or what is left."}),
        json!({"worker": {
            "reply": "There are 2 loaves left, at 1.0 each.", "asked": ["shelf:count"], "failure": "no shelf",
            "flow": ["Welcome to the bank. Ask me for your balance.", "Your 4-digit PIN?"],
            "issues": ["ce_rule[1].match_pattern"], "refused": "NOT_A_PACK", "freed": "the engine was freed; create another one",
        }}),
        json!({"complaints": []}),
        // A pack given as text is used as written.
        json!({"own": "There are 1 loaves left, at 1.0 each.", "asked": ["shelf:count", true], "notices": true}),
        json!({"script": "There are 3 loaves left, at 4.0 each."}),
        json!({"conversation": {
            "scripted": "There are 3 loaves left, at 4 each.",
            "handled": ["There are 11 loaves left, at 2.5 each.", "OTHER", true],
            "broken": ["no shelf", true],
            "second": ["TURN_RUNNING", "a turn of this conversation is still running; await it first"], "unsupported": "unsupported",
            "flow": ["Welcome to the bank. Ask me for your balance.", "awaiting_input", "Your 4-digit PIN?", "entity"],
            "refused": "NOT_A_PACK",
        }}),
        json!({"edge": ["There are 3 loaves left, at 4 each.", "no module 'lint'; pass it to fromModules"]}),
        json!({"failed": "There are  loaves left, at  each."}),
        json!({
            "flow": ["root/r_wait", "g_auth/a_pin", "g_balance/b_kind", "root/r_wait", "g_offers/o_show"],
            "hash": hashes(&flow("bank_desk.json").unwrap().pack, 5).last(), "issues": 1,
        }),
        json!({"types": ""}),
    ];
    assert_eq!(lines, expected);
}
