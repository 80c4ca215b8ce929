//! Scripts of `python` nodes over HTTP: what publishing reports, time limits, and replay without the interpreter.
//! (docs/spec/flows.md#4.7) The tests run on SQLite alone, because the interpreter does not reach the database.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::{Session, desk, edges, reply_texts, save_draft, send, serve_desk};

/// The desk with a script in place of the node that counts; a failure is told by its code.
fn with_script(data: Value) -> Value {
    let mut document = desk("Desk");
    document["graphs"][1]["nodes"][1] = json!({"id": "add", "type": "python", "name": "Add", "data": data});
    let say = json!({"id": "failed", "type": "message", "name": "Failed",
        "data": {"blocks": [{"kind": "text", "text": "Failed: {{ session._error.code }}"}]}});
    document["graphs"][1]["nodes"].as_array_mut().unwrap().push(say);
    let mut links = edges(&["asked", "add", "say", "end"]);
    let more = [
        json!({"id": "f1", "source": "add", "source_port": "error", "target": "failed"}),
        json!({"id": "f2", "source": "failed", "target": "end"}),
    ];
    links.as_array_mut().unwrap().extend(more);
    document["graphs"][1]["edges"] = links;
    document
}

fn issues(document: &Value) -> Vec<(String, String)> {
    let (_env, server) = serve_desk(document, &[]);
    let checked = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
    let text = |issue: &Value, name: &str| issue[name].as_str().unwrap_or_default().to_owned();
    let of_script = |it: &&Value| it["node"] == "add";
    checked["issues"].as_array().unwrap().iter().filter(of_script).map(|issue| (text(issue, "code"), text(issue, "message"))).collect()
}

#[test]
#[on(sqlite)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_script_counts_and_replays() {
    let code = "session['count'] = session.get('count', 0) + 2\nprint('counted')\n";
    let (env, server) = serve_desk(&with_script(json!({"code": code})), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    for (turn, text) in [(1, "Desk 2"), (2, "Desk 4")] {
        let answer = session.say(&server, "more please");
        assert_eq!(
            (reply_texts(&answer), &answer["debug"]["effects"][0]["kind"]),
            (vec![text], &json!("script.run")),
            "turn {turn}: {answer}"
        );
    }
    assert_eq!(session.assert_replays(&env, &server), 3);
}

#[test]
#[on(sqlite)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_script_is_stopped_at_its_time_limit() {
    // Far less than the instructions need that its fuel allows.
    let (_env, server) = serve_desk(&with_script(json!({"code": "while True:\n    pass\n", "timeout_ms": 10})), &[]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["Failed: timeout"]);
    let (_env, server) =
        serve_desk(&with_script(json!({"code": "while True:\n    pass\n"})), &["--set", "convengine.assistants.script-timeout=10ms"]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["Failed: timeout"]);
    save_draft(&server, &with_script(json!({"code": "session['count'] = 1\n", "timeout_ms": 500})));
    let checked = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
    assert!(checked["issues"].as_array().unwrap().iter().any(|it| it["code"] == "P006"), "{checked}");
}

#[test]
#[on(sqlite)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn publishing_reports_the_line_of_an_error() {
    let found = issues(&with_script(json!({"code": "x = 1\nfor y in range(3)\n    x += y\n"})));
    assert!(found.iter().any(|issue| issue.0 == "P001" && issue.1.starts_with("line 2: ")), "{found:?}");
    let found = issues(&with_script(json!({"code": "import os\n\nopen('x')\n"})));
    let codes: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
    assert!(codes.contains(&"P002") && codes.contains(&"P003"), "{found:?}");
}
