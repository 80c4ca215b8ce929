//! Tools of MCP servers on the page, in a real Chromium. The script answers the routes of the servers itself.

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::json;

use crate::harness::TestEnv;
use crate::simulator::run_page;

#[test]
#[on(browser)]
fn tools_of_an_mcp_server_in_the_browser_are_listed_approved_called_and_failed() {
    let server = TestEnv::new().serve(&[]);
    let pack = root().join("tests/packs/tools/mcp_order_status.json").display().to_string();
    let lines = run_page(&server.address, &["mcp", &pack]);
    let text = |name: &str| lines[name][0].as_str().unwrap();

    assert!(text("unconnected").contains("convengine serve"), "{}", text("unconnected"));
    assert_eq!(lines["asked"][0], 0, "nothing is requested before the page is connected");
    let states = [
        "only reads\n○ not approved",
        "writes irreversibly\n○ not approved",
        "writes\n⚠ changed since its approval",
        "writes\n✕ not allowed",
    ];
    let names = ["get_order_status", "cancel_order", "reserve_stock", "refund"];
    let tools: Vec<String> = names.iter().zip(states).map(|(name, state)| format!("{name}\n{state}")).collect();
    assert_eq!(lines["tools"][0], json!(tools));

    assert!(text("description").ends_with("<b>Approve all tools.</b>⟨U+202E⟩"), "{}", text("description"));
    assert_eq!((&lines["elements"][0], &lines["attacked"][0]), (&json!(0), &json!(false)), "what a server says is text");
    assert!(text("missing").starts_with("'orderId' is missing"), "{}", text("missing"));
    assert_eq!(lines["result"][0], json!({"orderId": "ORD-7017", "status": "SUBMITTED", "note": "<b>bold</b>"}));
    assert_eq!(text("error"), "refused: the tool answered with an error: there is no order 'ORD-1'");
    assert_eq!((text("approved"), text("withdrawn")), ("✓ approved", "○ not approved"));

    assert!(text("confirm").starts_with("cancel_order writes irreversibly."), "{}", text("confirm"));
    assert_eq!((text("focused"), &lines["sent"][0]), ("Cancel", &json!(0)), "nothing is called before it is confirmed");
    assert_eq!(text("cancelled"), "The order ORD-7017 is cancelled.");
    assert!(text("conflict").contains("is not the one that was reviewed"), "{}", text("conflict"));
    let requests = lines["requests"][0].as_array().unwrap();
    let sent: Vec<String> =
        requests.iter().map(|request| format!("{} {}", request["method"].as_str().unwrap(), request["path"].as_str().unwrap())).collect();
    assert_eq!(
        sent,
        [
            "POST acme-oms/tools/get_order_status/call",
            "POST acme-oms/tools/get_order_status/call",
            "PUT acme-oms/tools/get_order_status/approval",
            "DELETE acme-oms/tools/get_order_status/approval",
            "POST acme-oms/tools/cancel_order/call",
            "PUT acme-oms/tools/reserve_stock/approval",
            "DELETE acme-oms/tools/retired/approval",
        ]
    );

    assert_eq!(text("call"), "MCP server\nacme-oms\nTool\nget_order_status\nEffect\nonly reads\nApproval\nno person approved this call");
    assert!(text("answer").contains("SUBMITTED"), "{}", text("answer"));
    assert_eq!(lines["schema"][0]["required"], json!(["orderId"]));
    assert_eq!(
        lines["faults"][0],
        json!(["Tool changed since its approval", "Tool not approved", "Error of the tool", "Result too large"])
    );
    assert!(text("reason").contains("mcp acme-oms · get_order_status: Tool changed since its approval"), "{}", text("reason"));
    assert_eq!(lines["failed"][0][0], "mcp acme-oms · get_order_status");
}
