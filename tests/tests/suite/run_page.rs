//! Runs of chains and workflow graphs on the page, in a real Chromium.

use convengine_core::pack::Pack;
use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::TestEnv;
use crate::simulator::{hashes, members_of, run_page};

/// The sample of a run.
fn claim() -> Pack {
    Pack::parse(&std::fs::read_to_string(root().join("tests/packs/chain/claim_desk.json")).unwrap()).unwrap()
}

/// Returns the lines of a text of the page that contain a word.
fn line_with<'t>(text: &'t Value, word: &str) -> &'t str {
    text.as_str().unwrap().lines().find(|it| it.contains(word)).unwrap_or_default()
}

#[test]
#[on(browser)]
fn a_run_in_the_browser_is_decided_rewound_failed_and_cancelled() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["run"]);
    let played = &lines["played"][0];
    assert_eq!(members_of(played, "hash"), hashes(&claim(), 5).iter().collect::<Vec<_>>(), "the sample runs as the core does");
    assert_eq!(members_of(played, "state"), ["collect", "collect", "approve", "book", "pause"]);
    let current: Vec<&str> = lines["node"].iter().filter_map(Value::as_str).collect();
    assert_eq!(current, ["● Three days", "● Approve payment", "● Book by hand"]);
    let [failed, repeated] = [&lines["retry"][0][0], &lines["retry"][0][1]];
    assert!(failed.as_str().unwrap().contains("status_5xx") && line_with(failed, "Next attempt").contains("30 s"), "{failed}");
    assert!(repeated.as_str().unwrap().contains("attempt 2"), "{repeated}");
    let steps = lines["steps"][0].to_string();
    assert!(steps.contains("2 attempts") && steps.contains("waits for the time until 2026-01-04"), "{steps}");

    assert_eq!(lines["skipped"][0]["message"], "Timer wake fired");
    assert!(lines["clock"][0].as_str().unwrap().ends_with("2026-01-04 09:03:30"), "the clock has moved: {}", lines["clock"][0]);
    assert!(lines["end"][0].as_str().unwrap().contains("The run has succeeded."));

    assert!(lines["past"][0].as_str().unwrap().starts_with("The run after turn 3 of 6."), "{}", lines["past"][0]);
    assert!(lines["asked"][0].as_str().unwrap().contains("Pay for the front wheel of my bicycle?"));
    assert!(lines["refused"][0].as_str().unwrap().contains("invalid_fields"), "{}", lines["refused"][0]);
    assert_eq!(lines["missing"][0], "Fill in amount.");
    let rejected = &lines["rejected"][0];
    assert_eq!(members_of(rejected, "hash")[..3], members_of(played, "hash")[..3], "the turns before the decision are shared");
    assert_eq!(rejected[4]["message"], "Kim decided: reject");
    assert!(lines["branch"][0].to_string().contains("Explain the rejection"), "{}", lines["branch"][0]);
    assert!(lines["branches"][0].as_str().unwrap().contains("3 shared"), "{}", lines["branches"][0]);

    assert_eq!((&lines["failed"][0]["origins"][0], &lines["failed"][0]["state"]), (&json!("fault"), &json!("book/by_hand/hand")));
    assert!(lines["byHand"][0].as_str().unwrap().contains("180"), "{}", lines["byHand"][0]);
    assert_eq!(lines["booked"][0]["state"], "pause", "the branch rejoins");
    assert!(lines["shortened"][0].as_str().unwrap().contains("in 1 h"), "{}", lines["shortened"][0]);

    assert_eq!(lines["invalid"][0], false);
    assert_eq!(members_of(&lines["approved"][0], "state"), ["collect", "collect", "approve", "book"]);
    assert!(lines["waits"][0].as_str().unwrap().contains("in 30 s"), "{}", lines["waits"][0]);
    assert_eq!(lines["cancelled"][0]["message"], "Run cancelled: sold the car");
    assert!(lines["ended"][0].as_str().unwrap().contains("The run was cancelled."));
}

#[test]
#[on(browser)]
fn a_workflow_graph_in_the_browser_shows_the_graph_of_the_assistant_that_has_the_conversation() {
    let server = TestEnv::new().serve(&[]);
    let pack = root().join("tests/packs/workflow/support.json").display().to_string();
    let lines = run_page(&server.address, &["workflow", &pack]);
    assert_eq!((&lines["greeted"][0]["reply"], &lines["node"][0]), (&json!("How can I help?"), &json!("● Triage")));
    assert_eq!(lines["inside"][0], "● Card");
    assert!(lines["tab"][0].as_str().unwrap().starts_with("● Billing: Pay"), "{}", lines["tab"][0]);
    let nested: Vec<&str> = lines["nested"][0].as_str().unwrap().lines().collect();
    assert_eq!(nested.last(), Some(&"› Billing: Pay: Card"), "{nested:?}");
    assert_eq!(nested.first(), Some(&"Support: Billing assistant"), "{nested:?}");
    assert_eq!(lines["outside"][0], json!(["Billing assistant"]));
    assert_eq!(lines["paid"][0]["reply"], "Paid.\nRating: paid. Goodbye.");
    assert_eq!(lines["path"][0], json!(["Card", "Rate", "End"]));
    assert_eq!(lines["back"][0], json!(["Billing assistant", "Bye"]));
    assert!(lines["issues"][0].to_string().contains("nobody"), "the documents that it runs are checked too: {}", lines["issues"][0]);
}
