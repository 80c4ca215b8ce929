//! Tools of MCP servers: approval and change, secrets, addresses, rows, and servers that end. (docs/spec/tools.md#7)

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use convengine_storage::turn::decompress;
use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::send;
use crate::harness::{OPEN, REGEX_ONLY, SERVE, Server, TestEnv, wait_until};
use crate::mcp_fake::{
    FakeMcp, KEY, ROUTES, Transport, approve, approve_all, code, conversation, list_tools, listed_tool, pack, request_tool,
};
use crate::tools::SECRET;

const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

fn order() -> Value {
    json!({"orderId": "ORD-7017"})
}

#[test]
fn every_revision_is_spoken_over_both_transports() {
    for transport in TRANSPORTS {
        for revision in REVISIONS {
            let env = TestEnv::with_tables();
            let fake = FakeMcp::new(&env, transport, &["--protocol", revision]);
            let server = fake.serve_approved(&[]);
            let about = &list_tools(&server)["server"];
            assert_eq!(*about, json!({"name": "acme-oms", "version": "1.4.0", "protocol": revision}), "{transport:?}");
            assert_eq!(fake.order_status(&server), r#"SUCCESS {"orderId":"ORD-7017","status":"SUBMITTED"}"#);
            assert_eq!(fake.call(&server, "track", &order()), r#"SUCCESS {"text":"The order ORD-7017 is on its way."}"#);
            let unknown = fake.call(&server, "get_order_status", &json!({"orderId": "ORD-1"}));
            assert!(unknown.starts_with("ERROR") && unknown.contains("there is no order 'ORD-1'"), "{unknown}");
            let picture = fake.call(&server, "picture", &json!({}));
            assert!(picture.starts_with("SUCCESS") && picture.contains("https://oms.acme.example/parcels/1.png"), "{picture}");
            assert!(!picture.contains("iVBORw0KGgo"), "the bytes of a picture are in no answer: {picture}");
            assert_eq!(fake.calls(), ["get_order_status", "track", "get_order_status", "picture"]);
            assert!(fake.logged("call").iter().all(|it| it["protocol"] == revision), "{:?}", fake.logged("call"));
        }
    }
}

#[test]
fn tools_are_listed_with_what_their_annotations_say() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve(&fake.row(), &[]);
    let servers = server.get("/api/v1/mcp/servers").json();
    assert!(servers.to_string().contains(KEY), "{servers}");
    for (name, effect, idempotent) in [
        ("get_order_status", "read", true),
        ("cancel_order", "irreversible", false),
        ("add_note", "write", true),
        ("reserve_stock", "write", false),
    ] {
        let tool = listed_tool(&server, name);
        assert_eq!((&tool["effect"], &tool["idempotent"], &tool["state"]), (&json!(effect), &json!(idempotent), &json!("new")), "{tool}");
        assert!(tool["digest"].as_str().unwrap().starts_with("sha256:"), "{tool}");
    }
    let tool = listed_tool(&server, "get_order_status");
    assert_eq!((&tool["title"], &tool["description"]), (&json!("Order status"), &json!("Returns how far an order is.")));
    assert_eq!(tool["input_schema"]["required"], json!(["orderId"]));
    assert_eq!(tool["output_schema"]["required"], json!(["orderId", "status"]));
}

#[test]
fn a_tool_is_called_only_after_its_approval_and_within_its_schema() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve(&fake.row(), &[]);
    let refused = fake.order_status(&server);
    assert!(refused.starts_with("ERROR") && refused.contains(&code("get_order_status")) && refused.contains("not approved"), "{refused}");
    let digest = listed_tool(&server, "get_order_status")["digest"].clone();
    assert_eq!(approve(&server, "get_order_status", &json!("sha256:00"), None), 409);
    assert_eq!(approve(&server, "no_such_tool", &digest, None), 404);
    assert_eq!(approve(&server, "get_order_status", &digest, None), 200);
    assert_eq!(listed_tool(&server, "get_order_status")["state"], "approved");
    for args in [json!({}), json!({"orderId": 7017}), json!({"orderId": "7017"}), json!({"orderId": "ORD-7017", "more": true})] {
        let refused = fake.call(&server, "get_order_status", &args);
        assert!(refused.starts_with("ERROR"), "{args}: {refused}");
    }
    assert_eq!(fake.calls(), [""; 0], "nothing has reached the server");
    assert!(fake.order_status(&server).starts_with("SUCCESS"));
    let withdrawn = send(&server, "DELETE", &format!("{ROUTES}/tools/get_order_status/approval"), &json!({}));
    assert_eq!(withdrawn.status, 204, "{withdrawn:?}");
    assert!(fake.order_status(&server).starts_with("ERROR"));
    assert_eq!(fake.calls(), ["get_order_status"]);
}

#[test]
fn a_tool_outside_the_lists_of_its_row_is_not_allowed() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let mut row = fake.row();
    row["tool_allow"] = json!(r#"["get_order_status", "cancel_order"]"#);
    row["tool_deny"] = json!(r#"["cancel_order"]"#);
    let server = fake.serve(&row, &[]);
    for (name, state) in [("get_order_status", "new"), ("cancel_order", "not_allowed"), ("track", "not_allowed")] {
        let tool = listed_tool(&server, name);
        assert_eq!(tool["state"], state, "{tool}");
        assert_eq!(approve(&server, name, &tool["digest"], Some("never")) == 200, state == "new", "{name}");
    }
    assert!(fake.call(&server, "track", &order()).starts_with("ERROR"));
    assert_eq!(fake.calls(), [""; 0]);
}

#[test]
fn a_changed_tool_is_refused_until_it_is_approved_again() {
    for transport in TRANSPORTS {
        let env = TestEnv::with_tables();
        let fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        assert!(fake.order_status(&server).starts_with("SUCCESS"));
        let before = listed_tool(&server, "get_order_status");
        fake.begin_fault("schema_swapped");
        assert!(wait_until(|| listed_tool(&server, "get_order_status")["state"] == "changed"), "{transport:?}");
        let changed = listed_tool(&server, "get_order_status");
        let changes = changed["changes"].as_array().unwrap();
        assert!(changes.contains(&json!("description")) && changes.len() >= 2 && changed["digest"] != before["digest"], "{changed}");
        let refused = fake.order_status(&server);
        assert!(refused.starts_with("ERROR") && refused.contains(KEY) && refused.contains("changed"), "{refused}");
        assert_eq!(fake.calls(), ["get_order_status"], "{transport:?}: the changed tool is not called");
        assert_eq!(fake.call(&server, "track", &order()).split(' ').next(), Some("SUCCESS"), "the others are");
        assert_eq!(approve(&server, "get_order_status", &before["digest"], None), 409);
        assert_eq!(approve(&server, "get_order_status", &changed["digest"], None), 200);
        assert!(fake.order_status(&server).starts_with("ERROR"), "the new schema demands more");
        let answer = fake.call(&server, "get_order_status", &json!({"orderId": "ORD-7017", "cardNumber": "1"}));
        assert!(answer.starts_with("SUCCESS"), "{answer}");
    }
}

#[test]
fn a_tool_that_acts_waits_for_the_user_when_it_is_requested() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let server = fake.serve_approved(&[]);
    for (number, answer, calls) in [(1, "no", 0), (2, "what does that cost?", 0), (3, "yes", 1), (3, "yes", 1)] {
        let id = conversation(100 + number);
        if calls == 0 || fake.calls().is_empty() {
            let asked = request_tool(&server, &id, "cancel_order", &order());
            assert!(asked["payload"]["value"].as_str().unwrap().contains("cancel_order"), "{asked}");
        }
        server.say(&id, answer);
        assert_eq!(fake.calls().len(), calls, "after '{answer}'");
        if answer == "no" {
            server.say(&id, "yes");
            assert_eq!(fake.calls(), [""; 0], "a yes after a no");
        }
    }
}

#[test]
fn tools_are_called_by_hand() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve_approved(&[]);
    let call = |tool: &str, args: Value| send(&server, "POST", &format!("{ROUTES}/tools/{tool}/call"), &json!({"arguments": args}));
    let answer = call("get_order_status", order());
    assert_eq!((answer.status, answer.json()["ok"].clone()), (200, json!(true)), "{answer:?}");
    assert_eq!(answer.json()["result"], json!({"orderId": "ORD-7017", "status": "SUBMITTED"}));
    let answer = call("get_order_status", json!({"orderId": "ORD-1"}));
    assert_eq!(answer.json()["ok"], false, "{answer:?}");
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("there is no order"), "{answer:?}");
    assert_eq!(call("no_such_tool", json!({})).status, 404);
    assert_eq!(server.get("/api/v1/mcp/servers/nobody/tools").status, 404);
}

#[test]
fn a_replay_calls_nobody() {
    for transport in TRANSPORTS {
        let env = TestEnv::with_tables();
        let mut fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        let id = conversation(900);
        let turns = [("get_order_status", order()), ("track", order()), ("get_order_status", json!({"orderId": "ORD-1"}))];
        for (tool, args) in &turns {
            request_tool(&server, &id, tool, args);
        }
        fake.begin_fault("protocol_error");
        request_tool(&server, &id, "track", &order());
        fake.end_fault();
        drop(server);
        let (calls, messages) = (fake.calls().len(), fake.message_count());
        assert_eq!(calls, 4);
        for is_running in [true, false] {
            if !is_running {
                fake.stop();
            }
            let output = env.run(&["replay", "--conversation", &id]);
            assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
            assert!(output.stdout.ends_with("\n4 turns equal\n"), "{output:?}");
            assert_eq!((fake.calls().len(), fake.message_count()), (calls, messages), "{transport:?}");
        }
    }
}

/// Kills a process as `kill -9` does.
fn kill(pid: &Value) {
    let signalled = Command::new("sh").args(["-c", &format!("kill -KILL {pid}")]).status().unwrap();
    assert!(signalled.success());
}

fn is_alive(pid: &Value) -> bool {
    Command::new("sh").args(["-c", &format!("kill -0 {pid} 2>/dev/null")]).status().unwrap().success()
}

#[test]
fn a_server_killed_in_a_turn_is_reported_and_started_again() {
    for transport in TRANSPORTS {
        let env = TestEnv::with_tables();
        let mut fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        fake.begin_fault("hang");
        let answer = thread::scope(|scope| {
            let turn = scope.spawn(|| request_tool(&server, &conversation(901), "get_order_status", &order()));
            let log = env.path("mcp.log");
            assert!(wait_until(|| std::fs::read_to_string(&log).is_ok_and(|log| log.contains("\"call\""))));
            let line: Value = serde_json::from_str(std::fs::read_to_string(&log).unwrap().lines().next().unwrap()).unwrap();
            kill(&line["pid"]);
            turn.join().unwrap()
        });
        let text = answer["payload"]["value"].as_str().unwrap();
        assert!(text.starts_with("ERROR") && text.contains(KEY), "{transport:?}: {answer}");
        fake.end_fault();
        if transport == Transport::Http {
            fake.restart();
        }
        assert!(fake.order_status(&server).starts_with("SUCCESS"), "{transport:?}");
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }
}

#[test]
fn a_write_is_not_repeated_when_our_server_is_killed_and_its_child_ends_with_it() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let lease = ["--set", "convengine.turn.lease=500ms"];
    let server = fake.serve_approved(&lease);
    fake.begin_fault("hang");
    let body = json!({"conversationId": conversation(902), "message": "go",
        "inputParams": {"tool_request": {"tool_code": code("reserve_stock"), "args": {"sku": "A", "quantity": 1}}}});
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = crate::harness::client();
            let call = client.post(format!("http://{}{}", server.address, crate::harness::MESSAGE));
            call.header("Content-Type", "application/json").body(body.to_string()).send().is_err()
        });
        assert!(wait_until(|| !fake.calls().is_empty()));
        server.kill();
    });
    let pid = fake.logged("call")[0]["pid"].clone();
    assert!(wait_until(|| !is_alive(&pid)), "the child outlives our server");
    drop(server);
    fake.end_fault();
    let setting = fake.setting();
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN, &["--set", &setting], &lease].concat());
    assert!(wait_until(|| env.sql().texts("select status from ce_turn where status = 'open'").is_empty()), "{}", server.log());
    assert_eq!(fake.calls(), ["reserve_stock"], "whether it was carried out is unknown, so it is not repeated");
    assert!(fake.order_status(&server).starts_with("SUCCESS"));
}

#[test]
fn a_call_given_up_is_cancelled_at_the_server() {
    for transport in TRANSPORTS {
        let env = TestEnv::with_tables();
        let fake = FakeMcp::new(&env, transport, &[]);
        let server = fake.serve_approved(&[]);
        fake.begin_fault("hang");
        let answer = fake.order_status(&server);
        assert!(answer.starts_with("ERROR") && answer.contains(KEY), "{answer}");
        assert!(wait_until(|| fake.logged("cancelled").len() == 1), "{transport:?}: {:?}", fake.logged("cancelled"));
    }
}

#[test]
fn a_secret_reaches_the_server_and_nothing_else() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &["--token", SECRET]);
    let mut row = fake.row();
    row["auth_ref"] = json!("oms");
    let output = env.run(&["import", &env.write_pack("pack.json", &pack(&row))]);
    assert_eq!(output.code, 0, "{output:?}");
    let setting = fake.setting();
    let set = ["--set", "convengine.secrets.oms=env:SUITE_OMS", "--set", &setting];
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &set].concat());
    let server = env.start(command.env("SUITE_OMS", SECRET).env("RUST_LOG", "trace"));
    approve_all(&server);
    let echoed = fake.call(&server, "echo_headers", &json!({}));
    assert!(echoed.starts_with("SUCCESS") && echoed.contains("[secret:oms]"), "{echoed}");
    fake.inject(&json!([{"tool": "get_order_status", "where": "error", "text": format!("no such token: {SECRET}")}]));
    let failed = fake.order_status(&server);
    assert!(failed.starts_with("ERROR") && failed.contains("[secret:oms]"), "{failed}");
    let signed = |request: &Value| request["authorization"] == json!(format!("Bearer {SECRET}"));
    assert!(fake.logged("call").len() == 2 && fake.logged("call").iter().all(signed), "{:?}", fake.logged("call"));
    fake.begin_fault("redirect");
    assert!(fake.order_status(&server).starts_with("ERROR"));
    assert_eq!(fake.logged("redirected"), [Value::Null; 0], "no redirect is followed");
    let by_hand = send(&server, "POST", &format!("{ROUTES}/tools/echo_headers/call"), &json!({"arguments": {}}));
    assert_hidden(&env, &server, &[echoed, failed, by_hand.text, list_text(&server)]);
}

fn list_text(server: &Server) -> String {
    server.get(&format!("{ROUTES}/tools")).text
}

/// Asserts that the secret is in none of these texts, no row, no journal and no line of the log.
fn assert_hidden(env: &TestEnv, server: &Server, texts: &[String]) {
    let mut sql = env.sql();
    let hex = sql.hex_expression("journal");
    let bytes = |hex: &String| (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect::<Vec<u8>>();
    let journals = sql.texts(&format!("select {hex} from ce_turn"));
    let mut shown: Vec<String> = texts.to_vec();
    shown.extend(journals.iter().map(|journal| serde_json::to_string(&decompress(&bytes(journal)).unwrap()).unwrap()));
    shown.extend(sql.dump());
    shown.push(server.log());
    let found: Vec<&String> = shown.iter().filter(|it| it.contains("hunter2")).collect();
    assert!(found.is_empty() && journals.len() >= 3, "{found:#?}");
}

#[test]
fn private_addresses_are_refused_unless_the_operator_lists_them() {
    // What listens here answers nothing, but every connection would be seen.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let port = silent.local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let env = TestEnv::with_tables();
        let row = json!({"server_key": KEY, "transport": "http", "endpoint": format!("http://{host}:{port}/mcp"), "protocol_mode": "auto"});
        let output = env.run(&["import", &env.write_pack("pack.json", &pack(&row))]);
        assert_eq!(output.code, 0, "{output:?}");
        let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
        let listed = server.get(&format!("{ROUTES}/tools"));
        assert!(listed.status == 502 && listed.text.contains("convengine.network.allow-private"), "{host}: {listed:?}");
        let called = send(&server, "POST", &format!("{ROUTES}/tools/get_order_status/call"), &json!({"arguments": order()})).json();
        assert_eq!((&called["ok"], &called["error"]["kind"]), (&json!(false), &json!("denied")), "{host}: {called}");
        let connected = silent.accept();
        assert!(connected.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{host}: {connected:?}");
    }
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve(&fake.row(), &[]);
    assert_eq!((listed_tool(&server, "get_order_status")["state"].clone(), fake.message_count() > 0), (json!("new"), true));
}

#[test]
fn rows_name_no_command_and_a_row_without_the_operator_s_setting_says_which() {
    let env = TestEnv::with_tables();
    for (column, value) in [("command", json!("touch /tmp/owned")), ("args", json!(["x"])), ("env", json!({"A": "b"})), ("cwd", json!("/"))]
    {
        let mut row = json!({"server_key": KEY, "transport": "stdio"});
        row[column] = value;
        let output = env.run(&["import", &env.write_pack("pack.json", &pack(&row))]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(&format!("ce_mcp_server[1].{column}: unknown column")), "{output:?}");
    }
    let output = env.run(&["import", &env.write_pack("pack.json", &pack(&json!({"server_key": KEY, "transport": "stdio"})))]);
    assert_eq!(output.code, 0, "{output:?}");
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    let listed = server.get(&format!("{ROUTES}/tools"));
    assert!(listed.status >= 400 && listed.text.contains("convengine.mcp.servers.acme-oms.command"), "{listed:?}");
    // Nor does the endpoint of a row start anything.
    let marker = env.path("owned");
    let row = json!({"server_key": KEY, "transport": "stdio", "endpoint": format!("touch {}", marker.display())});
    assert_eq!(env.run(&["import", &env.write_pack("pack.json", &pack(&row))]).code, 0);
    drop(server);
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    assert!(server.get(&format!("{ROUTES}/tools")).status >= 400 && !marker.exists());
}

#[test]
fn the_routes_of_servers_need_an_administrator() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let output = env.run(&["import", &env.write_pack("pack.json", &pack(&fake.row()))]);
    assert_eq!(output.code, 0, "{output:?}");
    let setting = fake.setting();
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.security.mode=keys", "--set", &setting]].concat());
    let approval = format!("{ROUTES}/tools/get_order_status/approval");
    for (method, path) in [("GET", format!("{ROUTES}/tools")), ("PUT", approval), ("POST", format!("{ROUTES}/tools/track/call"))] {
        let refused = send(&server, method, &path, &json!({}));
        assert_eq!(refused.status, 401, "{method} {path}: {refused:?}");
    }
    assert_eq!(fake.message_count(), 0);
}
