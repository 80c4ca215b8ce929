//! AI agents on real servers: their documents, evals, turns and deployments (docs/spec/workflows-http.md#7).

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::{assert_refused, reply_texts, send, with_changes};
use crate::harness::{Answer, OPEN, REGEX_ONLY, Server, TestEnv, orders_pack};

const AGENT: &str = "/v1/ai-agents/helper";
const TURN: &str = "/v1/runtime/ai-agents/helper/turn";
const SESSIONS: &str = "/v1/runtime/ai-agents/sessions";

/// A document with a mission and a channel.
pub fn helper(name: &str) -> Value {
    json!({"schema_version": "1.0", "doc": "ai_agent", "id": "helper", "name": name, "mission": format!("Help customers of {name}."),
        "channels": ["web", "sms"]})
}

/// A model that answers as these rules say.
fn serve(rules: &Value, more: &[&str]) -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let script = format!("scripted:{}", env.write("script.json", &rules.to_string()));
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN, &["--llm", &script], more].concat());
    (env, server)
}

fn reply(text: &str, reply: &str) -> Value {
    json!({"purpose": "agent", "user_text": text, "reply": reply})
}

fn save(server: &Server, document: &Value) -> Answer {
    send(server, "PUT", &format!("{AGENT}/draft"), document)
}

#[track_caller]
pub fn publish_helper(server: &Server, document: &Value) {
    let saved = save(server, document);
    assert_eq!(saved.status, 200, "{saved:?}");
    let published = send(server, "POST", &format!("{AGENT}/publish"), &json!({}));
    assert_eq!(published.status, 201, "{published:?}");
}

#[track_caller]
pub fn deploy_helper(server: &Server, request: &Value) -> String {
    let created = send(server, "POST", &format!("{AGENT}/deployments"), request);
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["token"].as_str().unwrap().to_owned()
}

#[track_caller]
fn say(server: &Server, path: &str, body: &Value) -> Value {
    let answer = send(server, "POST", path, body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn a_conversation_begins_with_a_message_and_goes_on_by_its_id() {
    let (env, server) = serve(&json!([reply("hello", "Good morning."), reply("thanks", "You are welcome.")]), &[]);
    assert_refused(&send(&server, "POST", TURN, &json!({"text": "hello"})), 404, "not_found");
    assert_eq!(save(&server, &helper("A shop")).status, 200);
    let first = say(&server, TURN, &json!({"text": "hello", "channel": "sms", "event_id": "e1"}));
    let id = first["conversation_id"].as_str().unwrap();
    assert_eq!((reply_texts(&first), &first["session_id"], &first["turn"]), (vec!["Good morning."], &json!(id), &json!(1)));
    assert_eq!(first["debug"]["effective_agent_provider"], "scripted", "{first}");
    let second = say(&server, TURN, &json!({"text": "thanks", "conversation_id": id}));
    assert_eq!((reply_texts(&second), &second["conversation_id"]), (vec!["You are welcome."], &json!(id)));
    // A client that lost its answer sends the message again.
    let again = send(&server, "POST", TURN, &json!({"text": "hello", "conversation_id": id, "event_id": "e1"}));
    assert_eq!((again.header("x-replayed"), again.json()), ("true", first.clone()));
    let state = server.get(&format!("{SESSIONS}/{id}")).json();
    assert_eq!((&state["program"], &state["channel"], &state["turn"]), (&json!("agent"), &json!("sms"), &json!(2)));
    assert_eq!(server.get(&format!("{SESSIONS}/{id}/trace")).json()["turns"].as_array().unwrap().len(), 2);
    let replayed = server.get(&format!("{SESSIONS}/{id}/replay")).json();
    assert_eq!((&replayed["equal"], &replayed["turns"]), (&json!(true), &json!(2)));
    let output = env.run(&["replay", "--conversation", id]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");

    let ended = say(&server, &format!("{SESSIONS}/{id}/turns"), &json!({"type": "session.end"}));
    assert_eq!(ended["status"], "completed");
    let late = send(&server, "POST", TURN, &json!({"text": "thanks", "conversation_id": id}));
    assert_refused(&late, 409, "session_completed");
}

#[test]
fn an_invalid_message_is_refused_and_stores_nothing() {
    let (env, server) = serve(&json!([reply("hello", "Good morning.")]), &[]);
    save(&server, &helper("A shop"));
    server.say(crate::stream::ID, "my order");
    for (body, status, code) in [
        (json!({}), 422, "text_required"),
        (json!({"text": " "}), 422, "text_required"),
        (json!({"text": 5}), 422, "text_required"),
        (json!({"text": "hello", "channel": "fax"}), 403, "channel_not_allowed"),
        (json!({"text": "hello", "channel": 5}), 422, "invalid_channel"),
        (json!({"text": "hello", "conversation_id": "main"}), 422, "invalid_conversation"),
        (json!({"text": "hello", "conversation_id": crate::stream::ID}), 404, "not_found"),
        (json!({"text": "hello", "event_id": ""}), 422, "invalid_event"),
        (json!({"text": "hello", "version": 1}), 404, "not_found"),
        (json!({"text": "x".repeat(100_000)}), 413, "text_too_long"),
    ] {
        assert_refused(&send(&server, "POST", TURN, &body), status, code);
    }
    assert_eq!(env.sql().texts("select 'x' from cs_session"), Vec::<String>::new());
    let of_desk = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a79";
    assert_refused(&send(&server, "GET", &format!("{SESSIONS}/{of_desk}"), &Value::Null), 404, "not_found");
}

#[test]
fn an_agent_is_published_if_enough_of_its_evals_pass() {
    let rules = json!([reply("hello", "Good morning."), reply("where is it?", "What is the number of your order?")]);
    let eval = |name: &str, prompt: &str, expected: &str| json!({"name": name, "prompt": prompt, "expected": expected});
    let failing = with_changes(
        helper("A shop"),
        &[("/evals", json!([eval("greeting", "hello", "good MORNING"), eval("order", "where is it?", "invoice")]))],
    );
    let (_env, server) = serve(&rules, &[]);
    save(&server, &failing);
    let issue = |answer: &Answer| answer.json()["issues"][0].clone();
    let checked = send(&server, "POST", &format!("{AGENT}/validate-publish"), &json!({}));
    assert_eq!((&checked.json()["ok"], &issue(&checked)["code"]), (&json!(false), &json!("Q002")), "{checked:?}");
    let blocked = send(&server, "POST", &format!("{AGENT}/publish"), &json!({}));
    assert_refused(&blocked, 422, "publish_blocked");
    let message = issue(&blocked)["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("1 of 2 evals passed, of which 100 % have to: 'order' has no reply with \"invoice\" (session "),
        "{message}"
    );
    // The session of a failed eval can be read.
    let session = message.rsplit_once("session ").unwrap().1.trim_end_matches(')');
    let state = server.get(&format!("{SESSIONS}/{session}")).json();
    assert_eq!(state["turn"], 1, "{state}");
    assert_eq!(server.get("/v1/ai-agents").json()["ai_agents"][0].get("live_version"), None);
    publish_helper(&server, &with_changes(failing.clone(), &[("/evals/1/expected", json!("number"))]));
    drop(server);

    let (_env, server) = serve(&rules, &["--set", "convengine.assistants.eval-pass-threshold=0.5"]);
    publish_helper(&server, &failing);
    let neither = with_changes(failing.clone(), &[("/evals/0/expected", json!("good night"))]);
    save(&server, &neither);
    assert_refused(&send(&server, "POST", &format!("{AGENT}/publish"), &json!({})), 422, "publish_blocked");
    drop(server);

    let (env, server) = serve(&json!([]), &["--set", "convengine.assistants.eval-pass-threshold=0"]);
    publish_helper(&server, &neither);
    assert_eq!(env.sql().texts("select 'x' from cs_session"), Vec::<String>::new(), "no eval is played");
    let output = env.run(&["serve", "--listen", "127.0.0.1:0", "--set", "convengine.assistants.eval-pass-threshold=2"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("eval-pass-threshold: '2' is not a share"), "{output:?}");
}

#[test]
fn limits_of_a_deployment_are_of_each_visitor_and_not_of_all() {
    let set = ["convengine.assistants.rpm=2", "convengine.assistants.rpm-per-address=9", "convengine.http.trusted-proxies=127.0.0.1"];
    let (_env, server) = serve(&json!([reply("hello", "Good morning.")]), &set.map(|it| ["--set", it]).concat());
    publish_helper(&server, &helper("A shop"));
    let token = deploy_helper(&server, &json!({"name": "shop", "channel": "web"}));
    let say_from = |address: &str, body: &Value| {
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", address)];
        server.request("POST", &format!("/v1/public/ai-agents/{token}/turn"), &headers, body.to_string())
    };
    let new = json!({"text": "hello"});
    let loud: Vec<u16> = (0..3).map(|_| say_from("192.0.2.1", &new).status).collect();
    assert_eq!(loud, [200, 200, 429]);
    assert_eq!(say_from("192.0.2.2", &new).status, 200, "another address is not affected");
    assert_eq!(say_from("198.51.100.7, 192.0.2.1", &new).status, 429, "what the client wrote itself does not count");
    // Ids that are invented make no new visitor.
    let invented = json!({"text": "hello", "conversation_id": "0b7b6d0e-5a0f-4c56-8a52-0f5a0f6f4d09"});
    assert_eq!(say_from("192.0.2.1", &invented).status, 429);
}

#[test]
fn a_repeated_start_counts_once_against_the_plan() {
    let mut slow = reply("hello", "Good morning.");
    slow["delay_ms"] = json!(1000);
    let (_env, server) = serve(&json!([slow, reply("again", "Hello.")]), &["--set", "convengine.assistants.sessions-per-month=4"]);
    publish_helper(&server, &helper("A shop"));
    let path = format!("/v1/public/ai-agents/{}/turn", deploy_helper(&server, &json!({"name": "shop", "channel": "web"})));
    let first = json!({"text": "hello", "conversation_id": "0b7b6d0e-5a0f-4c56-8a52-0f5a0f6f4d10", "event_id": "e"});
    let answers = std::thread::scope(|scope| {
        let sent = [(); 3].map(|()| scope.spawn(|| send(&server, "POST", &path, &first)));
        sent.map(|thread| thread.join().unwrap())
    });
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.text == answers[0].text), "{answers:?}");
    let others = [(); 3].map(|()| send(&server, "POST", &path, &json!({"text": "again"})).status);
    assert_eq!(others, [200; 3], "the other sessions of the month");
    assert_refused(&send(&server, "POST", &path, &json!({"text": "again"})), 429, "rate_limited");
}

#[test]
fn a_deployment_answers_with_the_live_version_and_only_its_own_conversations() {
    let (env, server) = serve(&json!([reply("hello", "Good morning."), reply("again", "Hello again.")]), &[]);
    save(&server, &helper("A shop"));
    let request = json!({"name": "shop", "channel": "web"});
    assert_refused(&send(&server, "POST", &format!("{AGENT}/deployments"), &request), 409, "not_published");
    publish_helper(&server, &helper("A shop"));
    assert_refused(&send(&server, "POST", &format!("{AGENT}/deployments"), &json!({"channel": "web"})), 422, "invalid_deployment");
    let foreign = json!({"name": "shop", "channel": "fax"});
    assert_refused(&send(&server, "POST", &format!("{AGENT}/deployments"), &foreign), 422, "invalid_deployment");
    let (token, other) = (deploy_helper(&server, &request), deploy_helper(&server, &request));
    assert!(token.starts_with("cap_") && token.len() > 40 && token != other, "{token}");
    let path = |token: &str| format!("/v1/public/ai-agents/{token}/turn");
    let first = say(&server, &path(&token), &json!({"text": "hello"}));
    let id = first["conversation_id"].as_str().unwrap();
    assert_eq!((reply_texts(&first), first.get("debug")), (vec!["Good morning."], None));
    let state = server.get(&format!("{SESSIONS}/{id}")).json();
    assert_eq!((&state["channel"], &state["mission"]), (&json!("web"), &Value::Null));
    assert_eq!(reply_texts(&say(&server, &path(&token), &json!({"text": "again", "conversation_id": id}))), ["Hello again."]);
    let messages = server.get(&format!("/v1/public/ai-agents/{token}/messages?conversation_id={id}&after=1")).json();
    assert_eq!((&messages["seq"], reply_texts(&messages)), (&json!(2), vec!["Hello again."]));

    let body = json!({"text": "again", "conversation_id": id});
    assert_refused(&send(&server, "POST", &path(&other), &body), 404, "not_found");
    assert_refused(&send(&server, "POST", TURN, &body), 404, "not_found");
    assert_refused(&server.get(&format!("/v1/public/ai-agents/{other}/messages?conversation_id={id}")), 404, "not_found");
    for body in [json!({"text": "hello", "channel": "fax"}), json!({"text": "hello", "channel": "fax", "conversation_id": id})] {
        assert_refused(&send(&server, "POST", &path(&token), &body), 403, "channel_not_allowed");
    }
    for unknown in ["cap_x", "cdp_x", &token[1..]] {
        assert_refused(&send(&server, "POST", &path(unknown), &json!({"text": "hello"})), 401, "invalid_token");
    }
    let bearer = format!("Bearer {token}");
    let of_page = server.request("POST", crate::flows::DEPLOYED, &[("Authorization", &bearer), crate::flows::ORIGIN], "{}");
    assert_refused(&of_page, 401, "unauthorized");
    let dump = env.sql().dump().join("\n");
    assert!(!dump.contains(&token) && !server.log().contains(&token), "the token is neither stored nor logged");
    assert!(!server.get("/metrics").text.contains("cap_"), "metrics name the route, not the path");
}

#[test]
fn a_deployment_with_origins_admits_only_them_and_its_calls_are_limited() {
    let (_env, server) = serve(&json!([reply("hello", "Good morning.")]), &["--set", "convengine.assistants.rpm=3"]);
    publish_helper(&server, &helper("A shop"));
    let token = deploy_helper(&server, &json!({"name": "shop", "channel": "web", "origins": ["https://shop.example"]}));
    let path = format!("/v1/public/ai-agents/{token}/turn");
    let from = |origin: &str| {
        let headers = [("Origin", origin), crate::flows::JSON];
        server.request("POST", &path, &headers, json!({"text": "hello"}).to_string())
    };
    assert_refused(&send(&server, "POST", &path, &json!({"text": "hello"})), 403, "origin_not_allowed");
    assert_refused(&from("https://evil.example"), 403, "origin_not_allowed");
    let answer = from("https://shop.example");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "https://shop.example"), "{answer:?}");
    assert_eq!((from("https://shop.example").status, from("https://shop.example").status), (200, 200));
    let limited = from("https://shop.example");
    assert_refused(&limited, 429, "rate_limited");
    assert!(!limited.header("retry-after").is_empty(), "{limited:?}");
}

#[test]
fn a_turn_is_streamed_to_users_without_debug_information() {
    let (_env, server) = serve(&json!([reply("hello", "Good morning.")]), &[]);
    publish_helper(&server, &helper("A shop"));
    let token = deploy_helper(&server, &json!({"name": "shop", "channel": "web"}));
    let answer = send(&server, "POST", &format!("/v1/public/ai-agents/{token}/turn?stream=true"), &json!({"text": "hello"}));
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/event-stream"));
    let names: Vec<&str> = answer.text.lines().filter_map(|line| line.strip_prefix("event: ").or(line.strip_prefix("event:"))).collect();
    assert!(names.contains(&"message") && names.last() == Some(&"done"), "{names:?}");
    assert!(!names.contains(&"trace") && !answer.text.contains("\"debug\""), "{}", answer.text);
    assert!(answer.text.contains("conversation_id"), "{}", answer.text);
}

#[test]
fn a_sensitive_call_waits_for_a_person() {
    let call = json!({"tool_calls": [{"id": "k", "name": "close_account", "arguments": {}}]});
    let rules = json!([
        {"purpose": "agent", "user_text": "close it", "replies": [call, "It is closed."]},
        {"purpose": "agent", "reply": "It is closed."},
    ]);
    let (_env, server) = serve(&rules, &[]);
    let document = with_changes(
        helper("A shop"),
        &[
            ("/tools", json!([{"id": "close_account", "name": "Close", "kind": "noop", "sensitive": true}])),
            ("/guardrails", json!([{"id": "verified", "kind": "AUTH", "config": {"expr": "true"}}])),
        ],
    );
    let saved = save(&server, &document);
    assert_eq!(saved.status, 200, "{saved:?}");
    let first = say(&server, TURN, &json!({"text": "close it"}));
    assert_eq!((&first["awaiting"]["kind"], &first["awaiting"]["call"]["call_id"]), (&json!("approval"), &json!("k")), "{first}");
    let session = first["session_id"].as_str().unwrap();
    let decision = json!({"type": "approval.decision", "call_id": "k", "approved": true});
    let decided = say(&server, &format!("{SESSIONS}/{session}/turns"), &decision);
    assert_eq!(reply_texts(&decided), ["It is closed."], "{decided}");
}
