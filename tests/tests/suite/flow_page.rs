//! A flow document on the page, in a real Chromium.

use std::fs;

use convengine_core::pack::Pack;
use convengine_test_macros::test;
use convengine_tests::{flow, root};
use serde_json::{Value, json};

use crate::harness::TestEnv;
use crate::simulator::{hashes, members_of, run_page};

#[test]
#[on(browser)]
fn a_flow_in_the_browser_shows_its_position_and_is_edited_branched_and_failed_like_tables() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["flow"]);
    let bank: Pack = flow("bank_desk.json").unwrap().pack;
    let played = &lines["played"][0];
    assert_eq!(lines["fetched"][0], json!([]), "the engine plays documents as well");
    assert_eq!(members_of(played, "hash"), hashes(&bank, 5).iter().collect::<Vec<_>>(), "the sample runs as the core does");
    assert_eq!(members_of(played, "state"), ["root/r_wait", "g_auth/a_pin", "g_balance/b_kind", "root/r_wait", "g_offers/o_show"]);

    let stands: Vec<&str> = lines["node"].iter().filter_map(Value::as_str).collect();
    assert_eq!(stands, ["● Show accounts", "● Idle", "● Service is down", "● Idle"]);
    let blocks = lines["blocks"][0].as_str().unwrap();
    assert!(blocks.contains("No fee") && blocks.contains("Terms of the account"), "{blocks}");

    let branched = &lines["branched"][0];
    assert_eq!(members_of(branched, "hash")[..3], members_of(played, "hash")[..3], "the messages before the button press stay");
    assert_eq!(branched[3]["reply"], "Careful: only 12.00 left.");
    assert_eq!(lines["path"][0], json!(["Which account", "Fetch balance", "Low balance?", "Low balance warning", "Done"]));

    assert_eq!(lines["edited"][0][3]["reply"], "Mind your 12.");
    assert_eq!(lines["broken"][0], "Line 1: expected a value before the end of the text");
    assert_eq!(lines["apply"][0], false);
    assert_eq!(
        (&lines["refused"][0], &lines["kept"][0][3]["reply"]),
        (&json!(1), &json!("Mind your 12.")),
        "the last valid document stays"
    );

    assert_eq!(lines["failed"][0]["reply"], "I cannot look that up right now.", "the failure port");
    assert_eq!(lines["failed"][0]["origins"], json!(["fault"]));
    assert_eq!(lines["again"][0]["reply"], "Careful: only 12.00 left.");

    let alone = &lines["alone"][0];
    assert_eq!(members_of(alone, "hash")[..2], members_of(played, "hash")[..2], "the same session again");
    assert_eq!(
        (&alone[2]["message"], &alone[2]["reply"]),
        (&json!("Timer no-input fired"), &json!("Are you still there?\nYour 4-digit PIN?"))
    );
    assert_eq!(lines["stack"][0], "root: Idle\n› Check balance: Authenticate\n› g_auth: PIN");
    assert_eq!(lines["variables"][0], json!(["+\nadded:\nauth {1}"]), "the PIN is removed and its value is not shown");
    assert_eq!(members_of(&lines["anew"][0], "hash"), members_of(played, "hash")[..1]);
}

#[test]
#[on(no_database)]
fn the_sample_of_a_flow_is_a_pack_that_the_core_plays() {
    let text = fs::read_to_string(root().join("tests/packs/flow/bank_desk.json")).unwrap();
    let (_, issues) = Pack::parse(&text).unwrap().compile();
    assert!(issues.is_empty(), "{issues:?}");
}

/// Returns the path of a pack of flows as an argument for the page's driver.
fn pack(name: &str) -> String {
    root().join("tests/packs/flow").join(name).display().to_string()
}

#[test]
#[on(browser)]
fn a_knowledge_base_in_the_browser_is_searched_cited_tested_and_edited() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["knowledge", &pack("knowledge.json")]);
    assert_eq!(lines["answer"][0], "Parcels to islands take a week. [1]", "the stub answers from the passages");
    let cited = lines["cited"][0].as_str().unwrap();
    assert!(cited.starts_with("[1] Delivery times"), "{cited}");
    let search = lines["search"][0].as_str().unwrap();
    assert!(search.contains("Lists: keyword") && search.contains("delivery#1") && search.contains("cited"), "{search}");
    assert!(
        lines["step"][0].as_str().unwrap().contains("g_ask/search"),
        "an effect belongs to the node that requests it: {}",
        lines["step"][0]
    );
    assert_eq!(members_count(&lines["sources"][0]), 5);
    assert!(lines["found"][0][0].as_str().unwrap().contains("Gift cards"), "{}", lines["found"][0]);
    assert!(
        lines["dropped"][0].as_str().unwrap().contains("Gift wrap › Ribbons"),
        "Markdown is cut at its headings: {}",
        lines["dropped"][0]
    );
    assert!(lines["added"][0].as_str().unwrap().contains("times#1"), "{}", lines["added"][0]);
}

#[test]
#[on(browser)]
fn a_designer_plays_the_desk_of_a_handoff_in_the_browser() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["desk", &pack("helpdesk.json")]);
    let facts = lines["facts"][0].as_str().unwrap();
    assert!(facts.contains("waiting for a person") && facts.contains("it"), "{facts}");
    let person = lines["person"][0].as_str().unwrap();
    assert!(person.contains("Noor") && person.contains("<b>Hello</b>"), "hostile text is text: {person}");
    assert_eq!(lines["relayed"][0], "Relayed to the desk");
    assert_eq!(lines["returned"][0][5]["reply"], "Your key works again. Is there anything else?");
    assert_eq!(lines["panels"][0], 0, "the desk has left");
    let late = &lines["late"][0];
    assert_eq!(late["message"], "Timer handoff fired");
    assert!(late["reply"].as_str().unwrap().starts_with("Nobody is free"), "{late}");
}

#[test]
#[on(browser)]
fn a_script_in_the_browser_shows_its_output_and_the_line_at_which_it_fails() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["scripts", &pack("python.json")]);
    let run = lines["run"][0].as_str().unwrap();
    assert!(run.contains("prices") && run.contains("total"), "{run}");
    let failure = lines["failure"][0].as_str().unwrap();
    assert!(failure.starts_with("exception") && failure.contains("line 2"), "{failure}");
    assert_eq!(lines["line"][0], "1 / 0");
    assert_eq!(lines["form"][0], json!(["Code", "Branches", "Inputs", "Outputs", "Time limit in ms"]));
    assert!(lines["mended"][0].as_str().unwrap().contains("mended"));
    assert!(lines["issues"][0][0].as_str().unwrap().contains("P001"));
}

#[test]
#[on(browser)]
fn the_phrases_of_a_document_in_the_browser_are_reported_on_marked_and_explained() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["phrases", &pack("phrases.json"), "I lost my card", "when do you close today"]);
    let report = lines["report"][0].as_str().unwrap();
    assert!(report.contains("of 30 phrases have the right intent first") && report.contains("Confused intents"), "{report}");
    assert_eq!(lines["marks"][0], 0, "no phrase would be accepted for another intent");

    let issue = lines["issue"][0].as_str().unwrap();
    assert!(issue.contains("/intents/2/phrases/0") && issue.contains("taken for Opening hours ("), "{issue}");
    assert_eq!(lines["mark"][0], "\"when do you close today\"", "the phrase itself is marked");
    assert!(lines["selected"][0].as_str().unwrap().contains("when do you close today"), "{}", lines["selected"][0]);

    assert_eq!((&lines["recognised"][0], &lines["nearest"][0]), (&json!("Account balance, by lexical."), &json!(5)));
    let best = lines["best"][0].as_str().unwrap();
    let parts = ["won", "balance", "confidence", "score = ", "margin = ", "account"];
    assert!(parts.iter().all(|it| best.contains(it)), "{best}");
}

/// Returns the number of elements of a list.
fn members_count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}
