//! A flow document on the page, in a real Chromium.

use std::fs;

use convengine_core::pack::Pack;
use convengine_tests::{flow, root};
use serde_json::{Value, json};

use crate::harness::TestEnv;
use crate::simulator::{hashes, members_of, run_page};

#[test]
fn a_flow_in_the_browser_shows_its_position_and_is_edited_branched_and_failed_like_tables() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["flow"]);
    let bank: Pack = flow("bank_desk.json").unwrap().pack;
    let played = &lines["played"][0];
    assert_eq!(lines["engines"][0], 1, "the flow engine is fetched with the first flow");
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
fn the_sample_of_a_flow_is_a_pack_that_the_core_plays() {
    let text = fs::read_to_string(root().join("tests/packs/flow/bank_desk.json")).unwrap();
    let (_, issues) = Pack::parse(&text).unwrap().compile();
    assert!(issues.is_empty(), "{issues:?}");
}
