//! What MCP servers send besides what the protocol says: a line of data for each shape of `tests/mcp/fake/shapes.mjs`.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::TestEnv;
use crate::mcp_fake::{FakeMcp, Transport, approve, list_tools};

/// All tools of the server.
const ALL: &str = "get_order_status cancel_order add_note reserve_stock track picture echo_headers";

/// The tools but `cancel_order`.
const OTHERS: &str = "get_order_status add_note reserve_stock track picture echo_headers";

/// Shapes of lists: the tools that are offered, and the problem that is named.
const LISTS: [(&str, &str, &str); 12] = [
    ("no_schema", OTHERS, "the tool 'cancel_order' has no inputSchema"),
    ("null_schema", OTHERS, "the tool 'cancel_order' has no inputSchema"),
    ("list_as_schema", OTHERS, "the tool 'cancel_order' has an inputSchema that is not an object"),
    ("number_as_description", OTHERS, "the tool 'cancel_order' does not match the protocol"),
    ("text_as_annotations", OTHERS, "the tool 'cancel_order' does not match the protocol"),
    ("no_name", OTHERS, "the tool 2 has no name"),
    ("large_definition", OTHERS, "the tool 'cancel_order' has a definition of more than"),
    ("unknown_members", ALL, ""),
    ("repeated_cursor", ALL, "the list repeats a cursor"),
    ("ignored_cursor", "get_order_status cancel_order add_note reserve_stock", "the list repeats a cursor"),
    ("blank_cursor", ALL, ""),
    ("null_cursor", ALL, ""),
];

/// Shapes of schemas: the tool, its arguments, and what a call shows.
const SCHEMAS: [(&str, &str, &str, &str); 10] = [
    ("example", "get_order_status", r#"{"orderId": "ORD-7017"}"#, "SUCCESS {\"orderId\":\"ORD-7017\""),
    ("extensions", "get_order_status", r#"{"orderId": "ORD-7017"}"#, "SUCCESS {\"orderId\":\"ORD-7017\""),
    ("content_encoding", "get_order_status", r#"{"orderId": "ORD-7017"}"#, "SUCCESS {\"orderId\":\"ORD-7017\""),
    ("content_encoding", "get_order_status", r#"{"orderId": "7017"}"#, "ERROR the arguments do not fit the tool: 'orderId' has to match"),
    ("property_names", "get_order_status", r#"{"orderId": "ORD-7017"}"#, "SUCCESS {\"orderId\":\"ORD-7017\""),
    ("nullable", "add_note", r#"{"orderId": "ORD-7017", "text": null}"#, "SUCCESS {\"text\":\"The note is at ORD-7017.\"}"),
    (
        "nullable",
        "add_note",
        r#"{"orderId": "ORD-7017", "text": [1]}"#,
        "ERROR the arguments do not fit the tool: 'text' has to be of the type",
    ),
    ("boolean_bound", "reserve_stock", r#"{"sku": "A", "quantity": "2"}"#, "SUCCESS {\"text\":\"2 of A are reserved.\"}"),
    ("boolean_bound", "reserve_stock", r#"{"sku": 7, "quantity": 1}"#, "SUCCESS {\"text\":\"1 of 7 are reserved.\"}"),
    (
        "boolean_bound",
        "reserve_stock",
        r#"{"sku": "A", "quantity": 0}"#,
        "ERROR the arguments do not fit the tool: 'quantity' has to be above 0",
    ),
];

/// Shapes of results: what a call shows.
const RESULTS: [(&str, &str); 11] = [
    ("structured_error", "ERROR the tool answered with an error: {\"code\":\"CLOSED\",\"until\":\"2027-01-01\"}"),
    ("structured_and_text_error", "ERROR the tool answered with an error: The desk is closed. {\"code\":\"CLOSED\"}"),
    (
        "error_in_a_resource",
        "ERROR the tool answered with an error: {\"content\":[{\"type\":\"resource\",\"uri\":\"log://1\",\"text\":\"stack\"}]}",
    ),
    ("silent_error", "ERROR the tool answered with an error: it gives no reason"),
    ("error_with_data", "ERROR the MCP server 'acme-oms' answered with the error -32603: failed {\"reason\":\"CLOSED\"}"),
    ("content_as_text", "SUCCESS {\"text\":\"Done.\"}"),
    ("content_as_one_block", "SUCCESS {\"text\":\"Done.\"}"),
    ("unknown_block", "SUCCESS {\"content\":[{\"type\":\"text\",\"text\":\"Done.\"},{\"type\":\"chart\"}]}"),
    (
        "described_link",
        "SUCCESS {\"content\":[{\"type\":\"resource_link\",\"uri\":\"file:///invoice.pdf\",\"name\":\"invoice\",\"description\":\"The invoice of May\",\"size\":9}]}",
    ),
    ("structured_alone", "SUCCESS {\"done\":true}"),
    ("empty_result", "SUCCESS"),
];

/// The names of the listed tools.
fn names(listed: &Value) -> String {
    let tools = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    tools.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_shape_of_a_list_has_its_outcome() {
    for transport in [Transport::Stdio, Transport::Http] {
        let env = TestEnv::with_tables();
        let fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        for (shape, tools, problem) in LISTS {
            fake.begin_fault(shape);
            let listed = list_tools(&server);
            assert_eq!(names(&listed), tools, "{shape}: {listed}");
            let problems = listed["problems"].as_array().unwrap();
            assert_eq!(problems.len(), usize::from(!problem.is_empty()), "{shape}: {problems:?}");
            assert!(problems.iter().all(|found| found.as_str().unwrap().starts_with(problem)), "{shape}: {problems:?}");
            let text = fake.order_status(&server);
            assert!(text.starts_with("SUCCESS"), "{shape}: {text}");
            fake.end_fault();
        }
    }
}

#[test]
fn every_shape_of_a_schema_has_its_outcome() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve_approved(&[]);
    for (shape, tool, args, expected) in SCHEMAS {
        fake.begin_fault(shape);
        let listed = list_tools(&server);
        let definition = listed["tools"].as_array().unwrap().iter().find(|it| it["name"] == tool).unwrap();
        assert_eq!(approve(&server, tool, &definition["digest"], Some("never")), 200, "{shape}");
        let text = fake.call(&server, tool, &serde_json::from_str(args).unwrap());
        assert!(text.starts_with(expected), "{shape} {args}: expected {expected}, got {text}");
        fake.end_fault();
    }
}

#[test]
fn every_shape_of_a_result_has_its_outcome() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let env = TestEnv::with_tables();
        let fake = FakeMcp::new(&env, Transport::Http, &["--protocol", revision]);
        let server = fake.serve_approved(&[]);
        for (shape, expected) in RESULTS {
            fake.begin_fault(shape);
            let text = fake.call(&server, "add_note", &json!({"orderId": "ORD-7017", "text": "x"}));
            assert!(text.starts_with(expected), "{revision} {shape}: expected {expected}, got {text}");
            fake.end_fault();
        }
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }
}
