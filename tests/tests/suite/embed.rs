//! The engine as an npm package: the page of the example, a program, and the types.

use std::process::Command;

use convengine_tests::{root, server_binary};
use serde_json::{Value, json};

#[test]
fn the_package_runs_in_a_browser_without_a_bundler_and_in_node() {
    let package = server_binary().unwrap().ancestors().nth(2).unwrap().join("npm/convengine");
    assert!(package.is_dir(), "the package is not built; run `cargo xtask npm` first");
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/embed.mjs")).arg(root().join("examples/page")).arg(package);
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = printed.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let expected = [
        json!({"page": "We are open from 6 to 14, and closed on Mondays."}),
        json!({"page": "There are 12 loaves left, at 4.0 each."}),
        json!({"page": "Ask me when we are open, or what is left."}),
        json!({"complaints": []}),
        // A pack given as text is used as written.
        json!({"own": "There are 1 loaves left, at 1.0 each.", "asked": ["shelf:count", true], "notices": true}),
        json!({"script": "There are 3 loaves left, at 4.0 each."}),
        json!({"failed": "There are  loaves left, at  each."}),
        json!({"types": ""}),
    ];
    assert_eq!(lines, expected);
}
