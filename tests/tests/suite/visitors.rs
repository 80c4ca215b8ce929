//! What visitors of a deployment may set, read and how often they may call, and the tokens that they use. (docs/spec/flows-http.md#3, #4)

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::deployments::{post, with_shop};
use crate::flows::{
    DEPLOYED, ORIGIN, SIMULATED, Session, assert_refused, deploy, desk, publish, reply_texts, send, serve_desk, with_changes,
};

/// The desk with one variable that pages may set.
fn desk_with_input() -> Value {
    let variables = json!([
        {"name": "pin", "type": "string", "redact": true, "input": true}, {"name": "count", "type": "number", "default": 0},
        {"name": "plan", "type": "string", "input": true},
    ]);
    with_changes(desk("Desk"), &[("/variables", variables)])
}

#[test]
fn a_page_sets_only_the_inputs_of_the_document() {
    let (_env, server) = serve_desk(&desk_with_input(), &[]);
    publish(&server, &desk_with_input());
    let bearer = format!("Bearer {}", deploy(&server, false));
    let begin = |params: Value| post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({"params": params}));
    for (params, names) in [
        (json!({"count": 5}), "'count'"),
        (json!({"plan": "gold", "count": 5, "other": 1}), "'count', 'other'"),
        (json!({"pin": "1234"}), "'pin'"),
        (json!({"_agent_memory_x": {}}), "'_agent_memory_x'"),
    ] {
        let refused = begin(params);
        assert_refused(&refused, 422, "unknown_param");
        assert!(refused.text.contains(names), "{}", refused.text);
    }
    let began = begin(json!({"plan": "gold"}));
    assert_eq!(began.status, 201, "{began:?}");
    let state = server.get(&format!("{SIMULATED}/{}", began.json()["session_id"].as_str().unwrap())).json();
    assert_eq!((&state["vars"]["plan"], &state["vars"]["count"]), (&json!("gold"), &json!(0)));
    publish(&server, &with_changes(desk_with_input(), &[("/inputs", json!(["count", "pin"]))]));
    assert_eq!(begin(json!({"plan": "gold", "count": 5})).status, 201, "named as an input of the document");
    assert_refused(&begin(json!({"pin": "1234"})), 422, "unknown_param");
    let (simulated, _) = Session::start_simulated(&server, &json!({"params": {"count": 5}}));
    assert_eq!(simulated.state(&server)["vars"]["count"], 5, "authors may set all");
}

#[test]
fn tokens_are_listed_rotated_and_revoked() {
    let (env, server, first) = with_shop(&[]);
    let listed = || server.get("/v1/deployments");
    let one = listed().json()["deployments"][0].clone();
    let id = one["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&one["kind"], &one["document"], &one["name"], &one["origins"]),
        (&json!("assistant"), &json!("desk"), &json!("shop"), &json!([ORIGIN.1]))
    );
    assert_eq!((one["tokens"].as_array().unwrap().len(), &one["tokens"][0]["last_used_at"]), (1, &Value::Null));
    let (session, _) = Session::start_deployed(&server, &first, &[]);
    assert!(
        crate::harness::wait_until(|| listed().json()["deployments"][0]["tokens"][0]["last_used_at"].is_string()),
        "its use is recorded"
    );
    let tokens = format!("/v1/deployments/{id}/tokens");
    let added = send(&server, "POST", &tokens, &json!({}));
    assert_eq!(added.status, 201, "{added:?}");
    let second = added.json()["token"].as_str().unwrap().to_owned();
    assert!(second.starts_with("cdp_") && second != first && !listed().text.contains(&second[4..]) && !listed().text.contains(&first[4..]));
    let again = |token: &str| {
        let bearer = format!("Bearer {token}");
        post(
            &server,
            &format!("{DEPLOYED}/{}/turns", session.id),
            &[("Authorization", &bearer), ORIGIN],
            &json!({"type": "user.message", "text": "more please"}),
        )
    };
    assert_eq!((again(&first).status, again(&second).status), (200, 200), "both tokens belong to the deployment");
    let old = one["tokens"][0]["id"].as_str().unwrap();
    let delete = |path: &str| server.request("DELETE", path, &[], "").status;
    assert_eq!((delete(&format!("{tokens}/{old}")), delete(&format!("{tokens}/{old}"))), (204, 404));
    assert_refused(&again(&first), 401, "unauthorized");
    assert_eq!(again(&second).status, 200);
    assert_eq!(listed().json()["deployments"][0]["tokens"].as_array().map(Vec::len), Some(1));
    for path in [format!("/v1/deployments/{}/tokens", session.id), "/v1/deployments/x/tokens".to_owned()] {
        assert_refused(&send(&server, "POST", &path, &json!({})), 404, "not_found");
    }
    assert!(!env.sql().dump().join("\n").contains(&second[4..]) && !server.log().contains(&second[4..]));
}

#[test]
fn limits_are_of_each_visitor_and_not_of_all() {
    let (_env, server, token) = with_shop(&["--set", "convengine.assistants.rpm=3", "--set", "convengine.assistants.rpm-per-address=12"]);
    let (loud, _) = Session::start_deployed(&server, &token, &[]);
    let (quiet, _) = Session::start_deployed(&server, &token, &[]);
    let event = json!({"type": "user.message", "text": "more please"});
    let statuses: Vec<u16> = (0..4).map(|_| loud.send_event(&server, &event).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(loud.send_event(&server, &event).json()["error"]["scope"], "visitor");
    assert_eq!(quiet.send_event(&server, &event).status, 200, "another visitor is not affected");
    // Ids that are invented do not lift the limit of the address.
    let bearer = format!("Bearer {token}");
    let invent = || {
        let path = format!("{DEPLOYED}/{}/turns", uuid::Uuid::new_v4());
        post(&server, &path, &[("Authorization", &bearer), ORIGIN], &event)
    };
    let last = (0..12).map(|_| invent()).find(|it| it.status != 404).expect("a limit");
    assert_refused(&last, 429, "rate_limited");
    assert_eq!(last.json()["error"]["scope"], "address");
}

#[test]
fn a_page_reads_its_session_after_a_reload() {
    let (_env, server, token) = with_shop(&[]);
    let (session, _) = Session::start_deployed(&server, &token, &[]);
    session.say(&server, "more please");
    session.say(&server, "log in");
    session.say(&server, "my pin is 4711");
    let read = |token: &str, id: &str| {
        let bearer = format!("Bearer {token}");
        server.request("GET", &format!("{DEPLOYED}/{id}"), &[("Authorization", bearer.as_str()), ORIGIN], "")
    };
    let answer = read(&token, &session.id);
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["session_id", "seq", "status", "handoff", "awaiting", "turns"], "nothing else is shown");
    let turns = body["turns"].as_array().unwrap();
    let texts: Vec<(Value, Vec<&str>)> = turns.iter().map(|turn| (turn["user"].clone(), reply_texts(turn))).collect();
    assert_eq!(texts[0], (Value::Null, vec!["Welcome to Desk."]));
    assert_eq!(texts[1], (json!("more please"), vec!["Desk 1"]));
    assert_eq!((texts.len(), &texts[2].0), (4, &json!("log in")));
    assert!(!answer.text.contains("4711") && answer.text.contains("[pin]"), "{}", answer.text);
    assert!(!answer.text.contains("debug") && !answer.text.contains("\"vars\""), "{}", answer.text);
    let other = deploy(&server, true);
    let (simulated, _) = Session::start_simulated(&server, &json!({}));
    for (token, id) in [(&other, &session.id), (&token, &simulated.id), (&token, &"x".to_owned())] {
        assert_refused(&read(token, id), 404, "not_found");
    }
    assert_refused(&read("cdp_x", &session.id), 401, "unauthorized");
}
