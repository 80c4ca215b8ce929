//! The page in a browser's cache: without a network, without a server, and when a newer build appears.

use std::process::Command;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

#[test]
#[on(browser)]
fn a_browser_plays_the_page_offline_from_any_folder_and_updates_only_on_request() {
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/offline.mjs")).arg(root().join("web-demo/dist"));
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let greeting =
        "Hello Ada, and welcome back to Marlow & Finch. I can look after orders, refunds and your store card. What can I do for you?";
    let expected = [
        // API calls are never answered from the cache: the server has counted each.
        json!({"called": [1, 2, 3, 4]}),
        json!({"metrics": "5"}),
        json!({"reply": greeting}),
        json!({"flow": "Your checking balance is 1234.50."}),
        // The interpreter was fetched by the first document with scripts.
        json!({"script": "Total 6.35."}),
        json!({"offered": "A new version is ready", "still": "ConvEngine"}),
        json!({"again": "ConvEngine"}),
        json!({"then": "Newer", "offers": 0}),
        json!({"offline": "Newer"}),
    ];
    assert_eq!(lines, expected);
}
