//! MCP servers that end, lie or flood: each has a clear outcome in time, and the next turn works when the fault is over.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::send;
use crate::harness::{Server, TestEnv, wait_until};
use crate::mcp_fake::{FakeMcp, KEY, ROUTES, Transport, approve, list_tools, listed_tool};
use crate::observability::read_metrics;

/// What a turn that calls a tool under a fault shows.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// An error that has these words.
    Fails(&'static [&'static str]),
    /// The result, as without the fault.
    Works,
}

use Expected::{Fails, Works};

/// Faults of calls, over both transports.
const CALL_FAULTS: [(&str, Expected); 14] = [
    ("exit_on_call", Fails(&[KEY])),
    ("half_message", Fails(&[KEY])),
    ("large_result", Fails(&[KEY])),
    ("wrong_id", Fails(&[KEY])),
    ("hang", Fails(&[KEY])),
    ("slow_body", Fails(&[KEY])),
    ("deep_result", Fails(&[KEY])),
    ("protocol_error", Fails(&["the order system has failed"])),
    ("error_result", Fails(&["the order system is closed"])),
    ("bad_output", Fails(&[KEY])),
    ("asks_client", Works),
    ("noisy_stderr", Works),
    ("flood", Works),
    // What is no message is passed over: the output of a child process, and the event of a stream.
    ("garbage", Works),
];

/// Faults of the transport alone.
const HTTP_FAULTS: [(&str, Expected); 2] = [("unauthorized", Fails(&[KEY, "401"])), ("redirect", Fails(&[KEY]))];

#[track_caller]
fn assert_expected(fault: &str, expected: Expected, text: &str) {
    let right = match expected {
        Fails(words) => text.starts_with("ERROR") && words.iter().all(|it| text.contains(it)),
        Works => text.starts_with("SUCCESS"),
    };
    assert!(right && text.len() < 4_000, "{fault}: expected {expected:?}, got {}", text.chars().take(500).collect::<String>());
}

/// Plays all faults of calls on one server.
fn play(fake: &mut FakeMcp<'_>, server: &Server, faults: &[(&str, Expected)], transport: Transport) {
    for (fault, expected) in faults {
        let before = fake.calls().len();
        fake.begin_fault(fault);
        let text = fake.order_status(server);
        fake.end_fault();
        assert_expected(fault, *expected, &text);
        assert!(fake.calls().len() <= before + 2, "{fault}: a call that only reads is tried at most twice");
        if *fault == "exit_on_call" && transport == Transport::Http {
            fake.restart();
        }
        let text = fake.order_status(server);
        assert!(text.starts_with("SUCCESS"), "after {fault}: {text}");
    }
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

/// Asserts that a server gets nothing that it asks for: no model call, no folder and no word of the user.
fn assert_nothing_given(fake: &FakeMcp<'_>) {
    let refusals = [Value::Null, json!({"roots": []}), json!({"action": "decline"})];
    let asked = fake.logged("asked_client");
    assert!(!asked.is_empty() && asked.iter().all(|it| refusals.contains(&it["answer"])), "{asked:?}");
}

#[test]
fn faults_of_a_child_process_have_a_clear_outcome() {
    let env = TestEnv::with_tables();
    let mut fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve_approved(&[]);
    play(&mut fake, &server, &CALL_FAULTS, Transport::Stdio);
    assert_nothing_given(&fake);
}

#[test]
fn faults_over_http_have_a_clear_outcome() {
    let env = TestEnv::with_tables();
    let mut fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve_approved(&[]);
    play(&mut fake, &server, &CALL_FAULTS, Transport::Http);
    play(&mut fake, &server, &HTTP_FAULTS, Transport::Http);
    assert_nothing_given(&fake);
    fake.stop();
    let text = fake.order_status(&server);
    assert!(text.starts_with("ERROR") && text.contains("Connection refused"), "an operator learns the cause: {text}");
    let calls = |outcome: &str| {
        let name = format!("convengine_mcp_calls_total{{server=\"{KEY}\",outcome=\"{outcome}\"}}");
        read_metrics(&server).get(&name).copied().unwrap_or_default()
    };
    assert!(calls("ok") >= 1.0 && calls("unavailable") >= 1.0, "{:?}", read_metrics(&server));
    assert!(fake.logged("redirected").is_empty() && fake.logged("other_path").is_empty(), "no other address is called");
}

/// How many lines of the log say that the server is lost, and that it answers again.
fn outages(server: &Server) -> (usize, usize) {
    let count = |text: &str| server.log().lines().filter(|line| line.contains(text) && line.contains(KEY)).count();
    (count("MCP server is lost"), count("MCP server answers again"))
}

#[test]
fn a_server_that_is_lost_is_logged_once_until_it_answers() {
    let env = TestEnv::with_tables();
    let mut fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve_approved(&[]);
    assert!(fake.order_status(&server).starts_with("SUCCESS"));
    assert_eq!(outages(&server), (0, 0));
    fake.stop();
    for _ in 0..3 {
        assert!(fake.order_status(&server).starts_with("ERROR"));
    }
    assert_eq!(outages(&server), (1, 0), "{}", server.log());
    fake.restart();
    assert!(wait_until(|| fake.order_status(&server).starts_with("SUCCESS")));
    assert_eq!(outages(&server), (1, 1), "{}", server.log());
}

#[test]
fn a_child_process_that_ends_is_logged_once() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve_approved(&[]);
    fake.begin_fault("exit_on_call");
    // A call that writes is made once, so that one process ends.
    let text = fake.call(&server, "reserve_stock", &json!({"sku": "a", "quantity": 1}));
    fake.end_fault();
    assert!(!text.starts_with("SUCCESS"), "{text}");
    assert!(wait_until(|| outages(&server) == (1, 0)), "{}", server.log());
    assert!(fake.order_status(&server).starts_with("SUCCESS"));
    assert_eq!(outages(&server), (1, 1), "{}", server.log());
}

#[test]
fn calls_by_hand_are_counted() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve_approved(&[]);
    let count = |outcome: &str| {
        let name = format!("convengine_mcp_calls_total{{server=\"{KEY}\",outcome=\"{outcome}\"}}");
        read_metrics(&server).get(&name).copied().unwrap_or_default()
    };
    let call = |tool: &str| send(&server, "POST", &format!("{ROUTES}/tools/{tool}/call"), &json!({"arguments": {"orderId": "ORD-7017"}}));
    assert_eq!(call("get_order_status").json()["ok"], true);
    fake.begin_fault("error_result");
    assert_eq!(call("get_order_status").json()["ok"], false);
    assert_eq!(call("no_such_tool").status, 404);
    assert_eq!((count("ok"), count("refused")), (1.0, 1.0));
}

#[test]
fn a_call_that_writes_is_made_once_whatever_happens_to_its_answer() {
    for transport in [Transport::Stdio, Transport::Http] {
        let env = TestEnv::with_tables();
        let mut fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        for (count, fault) in ["exit_on_call", "half_message", "wrong_id", "hang", "protocol_error"].iter().enumerate() {
            fake.begin_fault(fault);
            let text = fake.call(&server, "reserve_stock", &json!({"sku": fault, "quantity": 1}));
            fake.end_fault();
            assert!(!text.starts_with("SUCCESS"), "{fault}: {text}");
            assert_eq!(fake.calls().len(), count + 1, "{transport:?} {fault}");
            if *fault == "exit_on_call" && transport == Transport::Http {
                fake.restart();
            }
        }
    }
}

#[test]
fn a_question_of_a_stateless_server_is_not_answered() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &["--protocol", "2026-07-28"]);
    let server = fake.serve_approved(&[]);
    fake.begin_fault("input_required");
    assert_expected("input_required", Fails(&[KEY]), &fake.order_status(&server));
    assert_eq!(fake.calls().len(), 1);
}

/// Starts a server of ours on one of theirs that has the fault from its start, and asks it for its tools.
fn list_under(fault: &str, transport: Transport, check: impl Fn(&FakeMcp<'_>, &Server, u16, &str)) {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, transport, &["--fault", fault]);
    let server = fake.serve(&fake.row(), &[]);
    let answer = server.get(&format!("{ROUTES}/tools"));
    assert!(answer.text.len() < 2 * 1024 * 1024, "{fault}: {} bytes", answer.text.len());
    check(&fake, &server, answer.status, &answer.text);
    let refused = fake.order_status(&server);
    assert!(refused.starts_with("ERROR") && refused.len() < 4_000, "{fault}: {refused}");
    assert_eq!(fake.calls(), [""; 0], "{fault}");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn lists_that_cannot_be_used_are_refused_in_time() {
    for transport in [Transport::Stdio, Transport::Http] {
        for (fault, expected) in
            [("endless_list", 502), ("huge_schema", 502), ("many_tools", 502), ("hang_on_start", 504), ("hang_on_list", 504)]
        {
            let since = std::time::Instant::now();
            list_under(fault, transport, |_, _, status, text| {
                assert!(status == expected && text.contains(KEY), "{transport:?} {fault}: {status} {text}");
            });
            assert!(since.elapsed().as_secs() < 60, "{transport:?} {fault}: {:?}", since.elapsed());
        }
    }
}

#[test]
fn a_tool_that_is_listed_wrongly_cannot_be_approved() {
    let not_an_object = "the tool 'get_order_status' has an inputSchema that is not an object";
    for (fault, listed, problems, refusal) in [("duplicate_tools", 2, &[][..], 422), ("bad_schema", 0, &[not_an_object][..], 404)] {
        list_under(fault, Transport::Stdio, |_, server, status, text| {
            assert_eq!(status, 200, "{fault}: {text}");
            let list: Value = serde_json::from_str(text).unwrap();
            assert_eq!(list["problems"], json!(problems), "{fault}");
            let tools = list["tools"].as_array().unwrap();
            let digests: Vec<&Value> = tools.iter().filter(|tool| tool["name"] == "get_order_status").map(|tool| &tool["digest"]).collect();
            assert_eq!(digests.len(), listed, "{fault}: {list}");
            for digest in digests.into_iter().chain([&json!("sha256:0")]) {
                assert_eq!(approve(server, "get_order_status", digest, None), refusal, "{fault}: {digest}");
            }
        });
    }
}

#[test]
fn an_approved_tool_that_has_gone_is_missing() {
    for transport in [Transport::Stdio, Transport::Http] {
        let env = TestEnv::with_tables();
        let fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        fake.begin_fault("no_such_tool");
        let listed = list_tools(&server);
        assert!(listed["missing"].to_string().contains("get_order_status"), "{listed}");
        assert_expected("no_such_tool", Fails(&["get_order_status"]), &fake.order_status(&server));
        fake.end_fault();
        assert_eq!(listed_tool(&server, "get_order_status")["state"], "approved");
        assert!(fake.order_status(&server).starts_with("SUCCESS"));
    }
}

#[test]
fn faults_of_calls_by_hand_have_their_kind() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve_approved(&[]);
    let call = || send(&server, "POST", &format!("{ROUTES}/tools/get_order_status/call"), &json!({"arguments": {"orderId": "ORD-7017"}}));
    for (fault, kind) in [
        ("hang", "timeout"),
        ("exit_on_call", "unavailable"),
        ("large_result", "invalid"),
        ("error_result", "refused"),
        ("protocol_error", "refused"),
    ] {
        fake.begin_fault(fault);
        let answer = call();
        fake.end_fault();
        let body = answer.json();
        assert_eq!((answer.status, &body["ok"]), (200, &json!(false)), "{fault}: {answer:?}");
        assert_eq!(body["error"]["kind"], kind, "{fault}: {body}");
        assert!(body["error"]["message"].as_str().is_some_and(|it| !it.is_empty()), "{fault}: {body}");
        assert_eq!(call().json()["ok"], true, "after {fault}");
    }
    fake.begin_fault("schema_swapped");
    assert!(wait_until(|| listed_tool(&server, "get_order_status")["state"] == "changed"));
    let calls = fake.calls().len();
    let answer = call();
    assert!(answer.text.contains("changed") && answer.text.contains(KEY), "{answer:?}");
    assert_eq!(fake.calls().len(), calls, "nor by hand");
}
