//! Flow documents on the command line, and the usage counters of assistants.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::ai_agents::helper;
use crate::flows::{Session, assert_refused, deploy, desk, publish, reply_texts, save_draft, send, with_changes};
use crate::harness::{Answer, OPEN, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack};
use crate::models::{KEY, PRICES, ProviderReply, start_provider};

#[test]
fn a_document_is_imported_as_the_draft_of_its_assistant() {
    let env = TestEnv::with_pack(&orders_pack());
    let file = env.write_pack("desk.flow.json", &desk("Desk"));
    let output = env.run(&["import", &file]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    assert!(output.stdout.contains("1 document"), "{output:?}");
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(server.get("/v1/agents/desk/flow").json(), desk("Desk"));
    assert_eq!(reply_texts(&Session::start_simulated(&server, &json!({})).1), ["Welcome to Desk."]);
    let used = "select kind || ' ' || ref || ' ' || cast(amount as text) from cs_usage_events where kind = 'import'";
    assert_eq!(env.sql().texts(used), ["import desk 1"]);
    // Rows and other drafts stay.
    assert_eq!(server.say(crate::stream::ID, "my order")["payload"]["value"], "Your order is on its way.");
    let file = env.write_pack("shop.flow.json", &with_changes(desk("Shop"), &[("/id", json!("shop"))]));
    assert_eq!(env.run(&["import", &file]).code, 0);
    let again = env.run(&["import", &env.write_pack("two.flow.json", &desk("Two"))]);
    assert_eq!(again.code, 0, "{again:?}");
    let listed = json!({"agents": [
        {"id": "desk", "name": "Two", "revision": 2, "live_version": null}, {"id": "shop", "name": "Shop", "revision": 1, "live_version": null},
    ]});
    assert_eq!(server.get("/v1/agents").json(), listed);
}

/// Edges as the canvas exports them.
fn as_canvas_export(mut document: Value) -> Value {
    for graph in document["graphs"].as_array_mut().unwrap() {
        for edge in graph["edges"].as_array_mut().unwrap() {
            let edge = edge.as_object_mut().unwrap();
            let port = edge.shift_remove("source_port").unwrap_or(json!("out"));
            edge.insert("sourceHandle".to_owned(), port);
            edge.insert("targetHandle".to_owned(), json!("in"));
        }
    }
    document
}

#[test]
fn a_canvas_export_is_imported_with_its_ports() {
    let env = TestEnv::with_pack(&orders_pack());
    let output = env.run(&["import", &env.write_pack("canvas.json", &as_canvas_export(desk("Desk")))]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    let server = env.serve(&REGEX_ONLY);
    let draft = server.get("/v1/agents/desk/flow").json();
    assert!(!draft.to_string().contains("Handle"), "{draft}");
    assert_eq!(draft.pointer("/graphs/2/edges/3/source_port"), Some(&json!("failed")));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    for (text, answer) in [("log in", "Your PIN?"), ("well", "Four digits?")] {
        assert_eq!(reply_texts(&session.say(&server, text)), [answer]);
    }
    let last = session.say(&server, "no");
    assert_eq!(last["debug"]["nodes"][0]["id"], "end", "the port 'failed' leads there: {last}");
    assert_eq!(save_draft(&server, &as_canvas_export(desk("Desk"))), [""; 0], "and when it is saved");
}

#[test]
fn an_invalid_document_is_not_imported() {
    let env = TestEnv::with_pack(&orders_pack());
    let before = env.sql().dump();
    for (document, words) in [
        (with_changes(desk("Desk"), &[("/graphs/0/nodes/0/type", json!("teapot"))]), "D002"),
        (with_changes(desk("Desk"), &[("/id", json!("1 desk"))]), "id"),
        (with_changes(desk("Desk"), &[("/graphs", json!(5))]), "D001"),
    ] {
        let output = env.run(&["import", &env.write_pack("wrong.json", &document)]);
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
    }
    assert!(env.sql().dump() == before, "nothing has changed");
}

#[test]
fn lint_reports_the_same_as_publishing() {
    let env = TestEnv::new();
    let lint = |document: &Value, more: &[&str]| env.run(&[&["lint", &env.write_pack("desk.flow.json", document)], more].concat());
    let fine = lint(&desk("Desk"), &[]);
    assert_eq!((fine.code, fine.stdout.as_str(), fine.stderr.as_str()), (0, "", ""), "{fine:?}");
    assert_eq!((lint(&desk("Desk"), &["--json"]).stdout.trim(), lint(&as_canvas_export(desk("Desk")), &[]).code), ("[]", 0));
    let warned = lint(&with_changes(desk("Desk"), &[("/intents/0/phrases", json!(["more please"]))]), &[]);
    assert_eq!((warned.code, warned.stdout.lines().count()), (0, 1), "{warned:?}");
    assert!(warned.stdout.starts_with("warning I007 /intents/0"), "{warned:?}");
    let wrong = with_changes(desk("Desk"), &[("/graphs/1/nodes/2/data/blocks/0/text", json!("{{ session.count | nofilter }}"))]);
    let refused = lint(&wrong, &[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.starts_with("error T002 /graphs/1/nodes/2"), "{refused:?}");
    let output = lint(&wrong, &["--json"]);
    let issues: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((output.code, &issues[0]["code"], &issues[0]["severity"]), (1, &json!("T002"), &json!("error")), "{output:?}");
    for member in ["path", "graph", "node", "name", "message"] {
        assert!(issues[0].get(member).is_some(), "{member}: {issues}");
    }
    let drafts = TestEnv::with_pack(&orders_pack());
    assert_eq!(drafts.run(&["import", &drafts.write_pack("wrong.flow.json", &wrong)]).code, 0, "drafts may have errors");
    let of_database = drafts.run(&["lint"]);
    assert_eq!((of_database.code, of_database.stdout.contains("T002")), (1, true), "{of_database:?}");
}

#[test]
fn strict_import_rejects_a_document_with_errors() {
    let env = TestEnv::with_pack(&orders_pack());
    let before = env.sql().dump();
    let wrong = with_changes(desk("Desk"), &[("/graphs/1/nodes/2/data/blocks/0/text", json!("{{ session.count | nofilter }}"))]);
    let file = env.write_pack("wrong.flow.json", &wrong);
    for more in [&["--strict"][..], &["--strict", "--dry-run"]] {
        let output = env.run(&[&["import", &file], more].concat());
        assert_eq!((output.code, output.stderr.contains("error T002 /graphs/1/nodes/2")), (1, true), "{output:?}");
    }
    assert!(env.sql().dump() == before, "nothing has changed");
    let warned = with_changes(desk("Desk"), &[("/intents/0/phrases", json!(["more please"]))]);
    let output = env.run(&["import", &env.write_pack("desk.flow.json", &warned), "--strict"]);
    assert_eq!((output.code, output.stderr.starts_with("warning I007")), (0, true), "a warning is not an error: {output:?}");
}

#[test]
fn a_dry_run_reports_what_an_import_would_change() {
    let env = TestEnv::with_pack(&orders_pack());
    let file = env.write_pack("desk.flow.json", &desk("Desk"));
    let dry = |file: &str, more: &[&str]| {
        let before = env.sql().dump();
        let dry_run = env.run(&[&["import", file, "--dry-run"], more].concat());
        assert_eq!((dry_run.code, dry_run.stderr.as_str()), (0, ""), "{dry_run:?}");
        assert!(env.sql().dump() == before, "nothing has changed");
        dry_run.stdout
    };
    let assert_change = |file: &str, change: &str| {
        let output = dry(file, &[]);
        assert!(output.contains(&format!("draft desk: {change}\n")), "{output}");
        assert_eq!(output.contains("no difference"), change == "equal", "{output}");
        let json: Value = serde_json::from_str(&dry(file, &["--json"])).unwrap();
        assert_eq!((&json["drafts"][0]["id"], &json["drafts"][0]["change"]), (&json!("desk"), &json!(change)));
        json["drafts"][0].get("parts").cloned()
    };
    assert_eq!(assert_change(&file, "new"), None);
    assert_eq!(env.run(&["import", &file]).code, 0);
    assert_eq!(assert_change(&file, "equal"), None);
    let changes = [("/name", json!("Two")), ("/graphs/1/nodes/2/data/blocks/0/text", json!("Other"))];
    let two = env.write_pack("two.flow.json", &with_changes(desk("Desk"), &changes));
    let changed = json!({"added": [], "removed": [], "changed": ["graphs.g_count.nodes.say", "name"]});
    assert_eq!(assert_change(&two, "replaced"), Some(changed));
    assert!(dry(&two, &[]).contains("draft desk: replaced\n  ~ graphs.g_count.nodes.say\n  ~ name\n"));
    let tables = dry(&env.write_pack("orders.json", &orders_pack()), &[&["--json"][..], &REGEX_ONLY].concat());
    assert!(!tables.contains("drafts"), "{tables}");
}

/// Another process that deletes unused snapshots looks at the stored day only.
#[test]
fn a_draft_is_in_use_from_the_day_when_a_process_compiles_it() {
    let env = TestEnv::with_pack(&orders_pack());
    let settings = [&REGEX_ONLY[..], &OPEN].concat();
    let server = env.serve(&settings);
    save_draft(&server, &desk("Desk"));
    Session::start_simulated(&server, &json!({}));
    server.kill();
    drop(server);
    env.sql().run("update ce_config_snapshot set used_at = 5");
    let unused = "select s.hash from ce_config_snapshot s join cs_session c on c.snapshot = 'sha256:' || s.hash where s.used_at = 5";
    assert_eq!(env.sql().texts(unused).len(), 1);
    let server = env.serve(&settings);
    Session::start_simulated(&server, &json!({}));
    assert_eq!(env.sql().texts(unused), [""; 0]);
}

#[test]
fn a_session_is_replayed_under_another_document() {
    let env = TestEnv::with_pack(&orders_pack());
    assert_eq!(env.run(&["import", &env.write_pack("desk.flow.json", &desk("Desk"))]).code, 0);
    let server = env.serve(&REGEX_ONLY);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["Desk 1"]);
    let replay =
        |name: &str, config: &Value| env.run(&["replay", "--conversation", &session.id, "--config", &env.write_pack(name, config)]);
    let same = replay("same.flow.json", &desk("Desk"));
    assert_eq!((same.code, same.stdout.as_str(), same.stderr.as_str()), (0, "no difference\n", ""), "{same:?}");
    let elsewhere = with_changes(desk("Desk"), &[("/graphs/3/nodes/1/data/final_message", json!("See you."))]);
    assert_eq!(replay("elsewhere.flow.json", &elsewhere).stdout, "no difference\n", "the replay creates no session");
    let edited = with_changes(desk("Desk"), &[("/graphs/1/nodes/2/data/blocks/0/text", json!("Now {{ session.count }}"))]);
    let shop = with_changes(desk("Shop"), &[("/id", json!("shop"))]);
    for (name, config) in
        [("said.flow.json", edited.clone()), ("pack.json", json!({"name": "n", "documents": [shop.clone(), as_canvas_export(edited)]}))]
    {
        let other = replay(name, &config);
        assert_eq!((other.code, other.stdout.as_str()), (1, ""), "{other:?}");
        assert!(other.stderr.starts_with("turn 2 ") && other.stderr.contains("Desk 1") && other.stderr.contains("Now 1"), "{other:?}");
    }
    assert_one_line(&replay("shop.flow.json", &shop), 1, &["assistant 'desk'"]);
    assert_one_line(&replay("rows.json", &orders_pack()), 1, &["assistant 'desk'"]);
}

#[test]
fn a_plan_limits_imports_per_month() {
    let env = TestEnv::with_pack(&orders_pack());
    let file = env.write_pack("desk.flow.json", &desk("Desk"));
    let import = || env.run(&["import", &file, "--set", "convengine.assistants.imports-per-month=1"]);
    assert_eq!(import().code, 0);
    assert_one_line(&import(), 1, &["imports", "month"]);
    env.sql().run("update cs_usage_events set at = 1");
    env.sql().run("update cs_counter set period = 1");
    assert_eq!(import().code, 0, "in another month");
}

#[test]
fn a_draft_that_is_saved_over_http_counts_as_an_import() {
    let env = TestEnv::with_pack(&orders_pack());
    let limit = ["--set", "convengine.assistants.imports-per-month=2"];
    let server = env.serve(&[&REGEX_ONLY[..], &limit].concat());
    let save = |path: &str, document: &Value| send(&server, "PUT", path, document);
    let assert_saved = |answer: &Answer, status: u16, left: &str| {
        let quota = (answer.header("x-ratelimit-limit"), answer.header("x-ratelimit-remaining"));
        assert_eq!((answer.status, quota), (status, ("2", left)), "{answer:?}");
    };
    // What is refused does not count.
    assert_saved(&save("/v1/agents/desk/flow", &json!({"id": "desk"})), 422, "2");
    assert_saved(&save("/v1/agents/desk/flow", &desk("Desk")), 200, "1");
    assert_saved(&save("/v1/ai-agents/helper/draft", &helper("A shop")), 200, "0");
    let refused = save("/v1/agents/desk/flow", &desk("Second"));
    assert_refused(&refused, 429, "rate_limited");
    assert_eq!((refused.header("x-ratelimit-limit"), refused.header("x-ratelimit-remaining")), ("2", "0"));
    let error = refused.json()["error"].clone();
    assert_eq!((&error["scope"], &error["limit"], error["reset"].is_u64()), (&json!("imports"), &json!(2), true), "{error}");
    assert_eq!(refused.header("x-ratelimit-reset"), error["reset"].to_string());
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    assert_eq!(server.get("/v1/agents/desk/flow").json(), desk("Desk"));
    let file = env.write_pack("shop.flow.json", &with_changes(desk("Shop"), &[("/id", json!("shop"))]));
    assert_one_line(&env.run(&[&["import", &file][..], &limit].concat()), 1, &["imports", "month"]);
    env.sql().run("update cs_usage_events set at = 1");
    assert_eq!(save("/v1/agents/desk/flow", &desk("Second")).status, 200, "in another month");
}

/// A decision of a model; it costs 162 millionths.
fn decision(object: &Value) -> ProviderReply {
    let usage = json!({"prompt_tokens": 1001, "completion_tokens": 20});
    let choice = json!({"index": 0, "message": {"content": object.to_string()}, "finish_reason": "stop"});
    let body = json!({"model": "test-model", "choices": [choice], "usage": usage}).to_string();
    Box::new(move |stream: &mut TcpStream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    })
}

fn with_model(env: &TestEnv, address: &str, prices: &str) -> Server {
    let words = ["--set", prices, "--llm", "openai:test-model", "--set", "convengine.llm.max-attempts=1"];
    let command = &mut env.command(&[&SERVE[..], &words, &REGEX_ONLY, &OPEN].concat());
    env.start(command.env("OPENAI_BASE_URL", address).env("OPENAI_API_KEY", KEY))
}

#[test]
fn usage_is_counted() {
    let hit = json!({"intent_id": "count", "confidence": 0.9, "slots": {}});
    let (address, requests) = start_provider(vec![decision(&hit), decision(&hit)]);
    let env = TestEnv::with_pack(&orders_pack());
    let server = with_model(&env, &address, PRICES);
    publish(
        &server,
        &with_changes(desk("Desk"), &[("/settings/llm_match", json!(true)), ("/settings/monthly_llm_spend_cap_cents", json!(1))]),
    );
    let token = deploy(&server, false);
    let (simulated, _) = Session::start_simulated(&server, &json!({}));
    let (deployed, _) = Session::start_deployed(&server, &token, &[]);
    for session in [&simulated, &deployed] {
        assert_eq!(reply_texts(&session.say(&server, "blah blah")), ["Desk 1"]);
        let usage = session.state(&server)["usage"].clone();
        assert_eq!((&usage["llm_calls"], usage["cost_microcents"].as_u64()), (&json!(1), Some(16200)), "{usage}");
    }
    assert_eq!(requests.join().unwrap().len(), 2);
    let used = "select kind || ' ' || workspace_id || ' ' || ref || ' ' || cast(sum(amount) as text) from cs_usage_events
        group by kind, workspace_id, ref order by kind";
    assert_eq!(env.sql().texts(used), ["import default desk 1", "llm default desk 32400", "session default desk 1"]);
    assert_eq!(simulated.assert_replays(&env, &server), 2);
    // The remaining budget travels with every event and is not shown in the trace.
    let left = |session: &Session| {
        let journal = server.get(&format!("/api/v1/conversation/journal/{}", session.id)).text;
        let amount = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        journal.split("\"budget_left\":").skip(1).map(amount).collect::<Vec<_>>()
    };
    assert_eq!((left(&simulated), left(&deployed)), (vec!["1000000".to_owned(); 2], vec!["1000000".to_owned(), "983800".to_owned()]));
    assert!(!simulated.inspect(&server, "/trace").to_string().contains("budget_left"));
    deployed.send_event(&server, &json!({"type": "session.end"}));
    assert_eq!(left(&deployed).last().map(String::as_str), Some("967600"));
    env.sql().run("update cs_usage_events set at = 1");
    env.sql().run("update cs_counter set period = 1");
    simulated.send_event(&server, &json!({"type": "session.end"}));
    assert_eq!(left(&simulated).last().map(String::as_str), Some("1000000"), "in another month");
}

#[test]
fn a_call_reserves_its_maximum_cost() {
    let hit = json!({"intent_id": "count", "confidence": 0.9, "slots": {}});
    let ((started_sender, started), (release_sender, release)) = (mpsc::channel(), mpsc::channel());
    let slow = decision(&hit);
    let first: ProviderReply = Box::new(move |stream| {
        started_sender.send(()).unwrap();
        release.recv().unwrap();
        slow(stream);
    });
    let (address, calls) = start_provider(vec![first, decision(&hit)]);
    let env = TestEnv::with_pack(&orders_pack());
    // A full-length reply costs more than half of the cap; these cost little.
    let server = with_model(&env, &address, r#"convengine.llm.prices={"test-model":{"input":0,"output":1.5}}"#);
    publish(
        &server,
        &with_changes(desk("Desk"), &[("/settings/llm_match", json!(true)), ("/settings/monthly_llm_spend_cap_cents", json!(1))]),
    );
    let [(one, _), (two, _)] = [Session::start_simulated(&server, &json!({})), Session::start_simulated(&server, &json!({}))];
    thread::scope(|scope| {
        let waits = scope.spawn(|| one.say(&server, "blah blah"));
        started.recv().unwrap();
        let refused = two.say(&server, "blah blah");
        let debug = &refused["debug"];
        let seen = (&debug["matched_intent"]["source"], &debug["effects"][0]["outcome"]);
        assert_eq!(seen, (&json!("fallback"), &json!("error")), "{refused}");
        release_sender.send(()).unwrap();
        assert_eq!(reply_texts(&waits.join().unwrap()), ["Desk 1"]);
    });
    assert_eq!(reply_texts(&two.say(&server, "blah blah")), ["Desk 1"]);
    assert_eq!(calls.join().unwrap().len(), 2);
    assert_eq!(two.assert_replays(&env, &server), 3);
}
