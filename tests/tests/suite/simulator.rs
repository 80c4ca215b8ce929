//! The page as its people use it, in a real Chromium.

use std::collections::BTreeMap;
use std::process::Command;

use convengine_server::play::{CorePlayer, Suspend};
use convengine_tests::{demo, root};
use serde_json::{Value, json};

use crate::running::Place;

/// Runs the page's script against a server; answers what its lines say, by their only members.
fn page(address: &str, arguments: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/simulator.mjs")).arg(format!("http://{address}")).args(arguments);
    let output = command.output().expect("node cannot be started");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in printed.lines() {
        let members: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        for (name, value) in members {
            lines.entry(name).or_default().push(value);
        }
    }
    lines
}

/// One member of each turn.
fn each<'v>(turns: &'v Value, member: &str) -> Vec<&'v Value> {
    turns.as_array().unwrap().iter().map(|it| &it[member]).collect()
}

#[test]
fn a_branch_of_the_loan_in_the_browser_asks_nothing_again_of_the_turns_before_it() {
    let server = Place::new().serve(&[]);
    let lines = page(&server.address, &["branch"]);
    let played = &lines["played"][0];
    let states = ["WELCOME", "COLLECT_DETAILS", "CONFIRM_DETAILS", "CONFIRM_DETAILS", "COMPLETED"];
    assert_eq!(each(played, "state"), states);
    let core: Vec<String> = {
        let case = demo("loan.json").unwrap();
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        (0..5).map(|turn| player.play(turn).unwrap().hash).collect()
    };
    assert_eq!(each(played, "hash"), core.iter().collect::<Vec<_>>(), "the sample runs as the core does");
    let branched = &lines["branched"][0];
    assert_eq!(each(branched, "hash")[..3], each(played, "hash")[..3], "the turns before it are shared");
    assert_eq!(branched[3]["reply"], "All right, nothing has been handed in. What would you like to change?");
    assert_eq!(lines["asked"][0], json!(["no", "no"]), "only the turn that says no asks its model");
    let branches = lines["branches"][0].as_str().unwrap();
    assert!(branches.contains("4 turns, 3 shared, 0 new model calls"), "{branches}");
}

#[test]
fn a_recorded_conversation_in_the_browser_ends_with_equal_state_and_becomes_a_test() {
    let case = demo("loan.json").unwrap();
    let pack = serde_json::to_value(&case.pack).unwrap();
    let place = Place::with(&pack);
    let file = case.path.display().to_string();
    let server = place.serve(&["--llm", &format!("scripted:{file}")]);
    let id = "4aecbdd6-962b-5aa1-8e77-cf43ef25dc33";
    for turn in &case.pack.turns[..3] {
        let body = &turn.request.as_ref().unwrap().body;
        let answer = server.post(body.to_string()).json();
        assert_eq!(answer["success"], true, "{answer}");
    }
    let folder = place.path("").display().to_string();
    let lines = page(&server.address, &["recorded", id, &folder]);
    assert_eq!(lines["verdict"][0], "✓ All 3 turns end with the recorded state hash.");
    assert_eq!(lines["equal"][0], 3);
    let taken = &lines["taken"][0];
    assert_eq!(each(taken, "state"), ["WELCOME", "COLLECT_DETAILS", "CONFIRM_DETAILS"]);
    let talk = lines["files"][0].as_array().unwrap().iter().filter_map(Value::as_str).find(|it| it.ends_with(".talk")).unwrap();
    let talk = place.path(talk).display().to_string();
    let passed = place.run(&["test", &talk]);
    assert_eq!(passed.code, 0, "{passed:?}");
    let config = talk.replace(".talk", ".json");
    let changed = std::fs::read_to_string(&config).unwrap().replace("@.schemaComplete == true", "@.schemaComplete == false");
    std::fs::write(&config, changed).unwrap();
    let failed = place.run(&["test", &talk]);
    assert_eq!(failed.code, 1, "another rule, another conversation: {failed:?}");
    assert!(failed.out.contains("CONFIRM_DETAILS"), "{failed:?}");
}

#[test]
fn an_edited_row_in_the_browser_changes_the_hashes_as_it_does_in_the_core() {
    let case = demo("card_replacement.json").unwrap();
    let text = std::fs::read_to_string(&case.path).unwrap();
    let (from, to) = ("Your card is blocked", "Your card has been blocked");
    let server = Place::new().serve(&[]);
    let lines = page(&server.address, &["edited", &case.path.display().to_string(), from, to]);
    let hashes = |text: &str| {
        let pack = convengine_core::pack::Pack::parse(text).unwrap();
        let mut player = CorePlayer::new(&pack, Suspend::Never);
        (0..pack.turns.len()).map(|turn| player.play(turn).unwrap().hash).collect::<Vec<_>>()
    };
    assert!(text.contains(from));
    let (before, after) = (hashes(&text), hashes(&text.replace(from, to)));
    assert_ne!(before, after);
    assert_eq!(lines["hashes"], [json!(before), json!(after)]);
}
