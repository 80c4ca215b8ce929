//! What people, models and tools say is redacted before it is stored or sent, whichever way it comes: sessions, chains, the desk, calls of
//! tools. (docs/guide/operations.md#redaction)

use std::fs;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::ai_agents::{helper, publish_helper};
use crate::chains::{Backend, Run, SECRET, add_secret, chain, human, ingress, post, publish_chain, sign, step};
use crate::flows::{DEPLOYED, JSON, ORIGIN, SIMULATED, Session, deploy, desk, publish, reply_texts, save_draft, send, with_changes};
use crate::handoff::{Webhook, with_handoff};
use crate::harness::{Answer, OPEN, REGEX_ONLY, SERVE, Server, TestEnv, orders_pack, wait_until};
use crate::mcp_fake::{FakeMcp, Transport, request_tool};
use crate::privacy::{bytes, contains_mark, decompressed};
use crate::stream::{ID, Listener};
use crate::workflows::front;

const CARD: &str = "4929123456781111";
const IBAN: &str = "DE00BANK7711";
const NAME: &str = "Ada-Lovelace-1815";
const EMAIL: &str = "ada@engine.example";
const MARKS: [&str; 4] = [CARD, IBAN, NAME, EMAIL];

/// Rules by pattern, by name and by path.
fn rules() -> String {
    let rules = json!([
        {"pattern": r"\b4929\d{12}\b", "with": "[card]"}, {"param": "iban", "with": "[iban]"}, {"param": "customer.name", "with": "[name]"},
        {"param": "user.email", "with": "[email]"}, {"param": "pin", "with": "[pin]"},
    ]);
    format!("convengine.privacy.redact={rules}")
}

/// A server with these rules, and with a model whose agents say this one after the other.
fn serve(replies: &Value, more: &[&str]) -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let script = json!([{"purpose": "agent", "replies": replies}]);
    let (rules, model) = (rules(), format!("scripted:{}", env.write_pack("model.json", &script)));
    let words = [&SERVE[..], &REGEX_ONLY, &OPEN, &["--set", &rules, "--llm", &model], more].concat();
    let server = env.start(env.command(&words).env("RUST_LOG", "info,convengine_host=trace"));
    (env, server)
}

/// What holds a value of each rule.
fn marked() -> Value {
    json!({"customer": {"name": NAME, "city": "Ulm"}, "iban": IBAN, "note": format!("pay with {CARD}")})
}

/// The same as it is stored.
fn redacted() -> Value {
    json!({"customer": {"name": "[name]", "city": "Ulm"}, "iban": "[iban]", "note": "pay with [card]"})
}

/// Asserts that no marked value is in the database, in the log, or in what was shown or sent.
#[track_caller]
fn assert_hidden(env: &TestEnv, server: &Server, shown: &[String]) {
    let mut all = bytes(env);
    all.extend([decompressed(env, "journal"), decompressed(env, "answer"), server.log()].map(String::into_bytes));
    all.extend(shown.iter().map(|text| text.clone().into_bytes()));
    let found: Vec<&str> = MARKS.into_iter().filter(|it| contains_mark(&all, it)).collect();
    let rows: Vec<String> = env.sql().dump().into_iter().filter(|row| found.iter().any(|mark| row.contains(mark))).collect();
    assert!(found.is_empty(), "{found:?} in {rows:#?} or {shown:#?}");
}

#[test]
fn start_parameters_of_sessions_are_redacted_by_path_name_and_pattern() {
    let (env, server) = serve(&json!(["Good morning."]), &[]);
    let inputs = ["customer", "iban", "note"]
        .map(|name| json!({"name": name, "type": if name == "customer" { "object" } else { "string" }, "input": true}));
    let mut document = desk("Desk");
    document["variables"].as_array_mut().unwrap().extend(inputs);
    publish(&server, &document);
    assert_eq!(send(&server, "PUT", "/v1/workflows/front/draft", &front("Front")).status, 200);
    publish_helper(&server, &helper("A shop"));
    let bearer = format!("Bearer {}", deploy(&server, true));
    let body = json!({"params": marked(), "user": {"id": "u1", "email": EMAIL}}).to_string();
    let mut shown = Vec::new();
    for (start, state) in [
        (SIMULATED, SIMULATED),
        ("/v1/runtime/workflows/front/sessions", "/v1/runtime/workflows/sessions"),
        ("/v1/runtime/ai-agents/helper/sessions", "/v1/runtime/ai-agents/sessions"),
    ] {
        let started = server.request("POST", start, &[JSON], body.clone());
        assert_eq!(started.status, 201, "{start}: {started:?}");
        let path = format!("{state}/{}", started.json()["session_id"].as_str().unwrap());
        let event = json!({"type": "user.message", "text": format!("it is {CARD}"), "params": marked()});
        let answer = send(&server, "POST", &format!("{path}/turns"), &event);
        let found = server.get(&path).json();
        for name in ["customer", "iban", "note"] {
            assert_eq!(found["vars"][name], redacted()[name], "{start}: {found}");
        }
        shown.extend([started.text, answer.text, found.to_string(), server.get(&format!("{path}/trace")).text]);
    }
    let headers = [("Authorization", bearer.as_str()), ORIGIN, JSON, ("X-Debug", "1")];
    let started = server.request("POST", &format!("{DEPLOYED}?stream=true"), &headers, json!({"params": marked()}).to_string());
    assert!(started.status == 201 && started.text.contains("Welcome to Desk."), "{started:?}");
    shown.push(started.text);
    assert!(decompressed(&env, "journal").matches("[name]").count() >= 7, "of each start and each message");
    assert_hidden(&env, &server, &shown);
}

#[test]
fn inputs_of_chains_are_redacted_before_they_are_stored() {
    let backend = Backend::start(&json!([{"path_prefix": "/notify", "status": 200, "json": {}}]));
    let env = TestEnv::with_pack(&orders_pack());
    let server = backend.serve(&env, &["--set", &rules()]);
    add_secret(&server, "INGRESS", SECRET);
    let text = "{{ trigger.body.note }} {{ trigger.body.iban }} {{ trigger.body.customer.name }}";
    let steps = json!([
        step("tell", "notify", json!({"channel": "email", "text": text})),
        human("ask"),
        step("call", "webhook", json!({"direction": "inbound", "secret": "INGRESS"})),
    ]);
    publish_chain(&server, &chain("desk", steps, &[("trigger", json!({"kind": "webhook", "label": "Call", "secret": "INGRESS"}))]));
    let start = || {
        let headers = [JSON, ("Idempotency-Key", "k")];
        server.request("POST", "/v1/workflow-chains/desk/run", &headers, json!({"input": marked()}).to_string())
    };
    let (first, again) = (start(), start());
    assert_eq!((first.status, again.status, &again.json()["run_id"]), (202, 200, &first.json()["run_id"]), "the same input, redacted");
    let run = Run::find("desk", &first);
    run.wait_for(&server, "awaiting_human");
    let decision = json!({"decision": "yes", "fields": marked(), "comment": format!("charge {CARD}"), "by": "Jo"});
    let resumed = run.resume(&server, &decision);
    assert_eq!(resumed.status, 200, "{resumed:?}");
    run.wait_for(&server, "awaiting_event");
    let body = marked().to_string();
    let answered = ingress(&server, "desk/ingress/call", &sign(SECRET, None, &body), &body);
    assert_eq!(answered.status, 202, "{answered:?}");
    let ended = run.wait_for(&server, "succeeded");
    assert_eq!((&ended["trigger"]["body"], &ended["primary_trace"][2]["output"]), (&redacted(), &redacted()), "{ended:#}");
    assert_eq!(ended["primary_trace"][1]["output"]["fields"], redacted(), "{ended:#}");

    let started = ingress(&server, "desk/ingress", &sign(SECRET, None, &body), &body);
    assert_eq!(started.status, 202, "{started:?}");
    let other = Run::find("desk", &started);
    assert_eq!(other.wait_for(&server, "awaiting_human")["trigger"]["body"], redacted());
    let cancelled = post(&server, &format!("{}/cancel", other.path), &json!({"reason": format!("{CARD} is blocked")}));
    assert_eq!(cancelled.status, 200, "{cancelled:?}");

    let views = ["", "/events", "/trace"].map(|path| [&run, &other].map(|run| server.get(&format!("{}{path}", run.path)).text));
    let sent = backend.calls.all();
    assert!(sent.len() == 2 && sent.iter().all(|it| it.body.contains("pay with [card] [iban] [name]")), "{:?}", sent[0].body);
    let shown: Vec<String> = views.into_iter().flatten().chain(sent.into_iter().map(|it| it.body)).chain([cancelled.text]).collect();
    assert_hidden(&env, &server, &shown);
    assert_eq!(env.run(&["replay", "--conversation", &run.id]).code, 0);
}

#[test]
fn what_the_desk_and_its_webhook_get_is_redacted() {
    let webhook = Webhook::start();
    let (env, server) = serve(&json!(["Yes."]), &["--set", &format!("convengine.network.allow-private={}", webhook.address)]);
    // A PIN that the document does not hide, read from a text in which no rule by name can find it.
    let open = ["/variables/0/redact", "/entities/0/redact", "/graphs/2/nodes/1/data/redact"].map(|it| (it, json!(false)));
    save_draft(&server, &with_changes(with_handoff(Some(&webhook), &json!({})), &open));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    assert_eq!(reply_texts(&session.say(&server, "4711")), ["Thank you."]);
    let (_, request) = webhook.during(200, &json!({"state": "queued"}), || session.say(&server, "a person please"));
    assert_eq!(request["context"], json!({"topic": "cards", "pin": "[pin]"}), "{request}");
    assert_eq!((&request["type"], &request["session_id"]), (&json!("handoff.request"), &json!(session.id)));
    let (_, relayed) = webhook.during(204, &json!(""), || session.say(&server, &format!("charge {CARD}")));
    assert_eq!((&relayed["text"], &relayed["correlation_id"]), (&json!("charge [card]"), &request["correlation_id"]));

    let list = server.get("/v1/desk/conversations");
    assert_eq!(list.json()["conversations"][0]["preview"], "charge [card]");
    let conversation = format!("/v1/desk/conversations/{}", session.id);
    let act = |action: &str, body: &Value| -> Answer {
        let answer = send(&server, "POST", &format!("{conversation}/{action}"), body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer
    };
    let taken = act("take", &json!({"author": "Mia"}));
    let written = act("messages", &json!({"author": "Mia", "text": format!("Your card {CARD} is blocked.")}));
    assert_eq!(reply_texts(&written.json()), ["Your card [card] is blocked."]);
    let opened = server.get(&conversation);
    let variables = opened.json()["variables"].clone();
    let pin = variables.as_array().unwrap().iter().find(|it| it["name"] == "pin").unwrap();
    assert_eq!(pin["value"], "[pin]", "{variables}");
    let returned = act("return", &json!({"author": "Mia", "vars": {"topic": CARD}, "message": format!("Bye {CARD}.")}));
    assert_eq!(session.state(&server)["vars"]["topic"], "[card]");
    let shown = [list, taken, written, opened, returned].map(|it| it.text);
    assert_hidden(&env, &server, &[&shown[..], &[request.to_string(), relayed.to_string()]].concat());
    drop(webhook);
    session.assert_replays(&env, &server);
}

#[test]
fn the_desk_does_not_see_what_the_assistant_says_of_private_variables() {
    let (_env, server) = serve(&json!(["Yes."]), &[]);
    let says = json!([{"kind": "text", "text": "Your PIN is {{ session.pin }}."}]);
    save_draft(&server, &with_changes(with_handoff(None, &json!({})), &[("/graphs/4/nodes/2/data/blocks", says)]));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    session.say(&server, "4711");
    session.say(&server, "a person please");
    let returned = send(&server, "POST", &format!("/v1/desk/conversations/{}/return", session.id), &json!({"author": "Mia"}));
    assert_eq!((returned.status, reply_texts(&returned.json())), (200, vec!["Your PIN is [pin]."]), "{returned:?}");
    assert!(session.inspect(&server, "/messages").to_string().contains("Your PIN is 4711."), "the user sees it");
}

/// The replies of a model that calls a tool with marked arguments, and then answers.
fn calling(tool: &str) -> Value {
    json!([{"tool_calls": [{"id": "n1", "name": tool, "arguments": marked()}]}, "Noted."])
}

#[test]
fn arguments_of_tool_calls_are_redacted() {
    // A tool gets what the rules by name and pattern leave, as in conversations of tables.
    let expected = json!({"customer": {"name": NAME, "city": "Ulm"}, "iban": "[iban]", "note": "pay with [card]"});
    let hidden = [CARD, IBAN];
    let assert_hidden = |env: &TestEnv, server: &Server, shown: &str| {
        let all = [bytes(env), vec![[decompressed(env, "journal"), server.log(), shown.to_owned()].concat().into_bytes()]].concat();
        assert!(hidden.iter().all(|text| !contains_mark(&all, text)), "{shown}");
    };
    let (env, server) = serve(&calling("note"), &[]);
    let pack: Value = serde_json::from_slice(&fs::read(root().join("tests/packs/flow/agent.json")).unwrap()).unwrap();
    let tools = json!([{"tool": "note", "approval": "always"}]);
    save_draft(&server, &with_changes(pack["documents"][0].clone(), &[("/graphs/1/nodes/1/data/tools", tools)]));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let asked = session.say(&server, "card desk: a note");
    assert!(asked["awaiting"]["call"].to_string().contains(&expected.to_string()), "{asked}");
    let decision = json!({"approved": true, "edited_args": marked(), "reason": format!("as {CARD}")});
    let decided = send(&server, "POST", &format!("{SIMULATED}/{}/approvals/n1", session.id), &decision);
    assert_eq!(reply_texts(&decided.json()), ["Noted."], "{decided:?}");
    let trace = session.inspect(&server, "/trace");
    assert_hidden(&env, &server, &format!("{asked}{}{trace}{}", decided.text, json!(server.audit(&session.id))));
    session.assert_replays(&env, &server);
    drop(server);

    let (env, server) = serve(&calling("take_note"), &[]);
    let document = with_changes(helper("A shop"), &[("/tools", json!([{"id": "take_note", "name": "Note", "kind": "noop"}]))]);
    assert_eq!(send(&server, "PUT", "/v1/ai-agents/helper/draft", &document).status, 200);
    let answer = send(&server, "POST", "/v1/runtime/ai-agents/helper/turn", &json!({"text": "a note"}));
    assert_eq!(reply_texts(&answer.json()), ["Noted."], "{answer:?}");
    let id = answer.json()["session_id"].as_str().unwrap().to_owned();
    let trace = server.get(&format!("/v1/runtime/ai-agents/sessions/{id}/trace"));
    assert!(decompressed(&env, "journal").contains("pay with [card]"));
    assert_hidden(&env, &server, &[answer.text, trace.text].concat());
}

#[test]
fn json_in_replies_of_models_is_redacted_wherever_it_stands() {
    let object = json!({"iban": IBAN, "holder": {"iban": IBAN}});
    let (env, server) = serve(&json!([format!("Noted:\n```json\n{object}\n```\nand also {object}, in short.")]), &[]);
    assert_eq!(send(&server, "PUT", "/v1/ai-agents/helper/draft", &helper("A shop")).status, 200);
    let answer = send(&server, "POST", "/v1/runtime/ai-agents/helper/turn", &json!({"text": "a note"}));
    let body = answer.json();
    let text = reply_texts(&body)[0];
    assert_eq!((text.matches("\"[iban]\"").count(), text.contains("in short.")), (4, true), "{answer:?}");
    assert_hidden(&env, &server, &[answer.text]);
}

#[test]
fn what_is_offered_is_chosen_though_a_rule_means_it() {
    let cards = [CARD, "4929123456782222"];
    let buttons = cards.map(|card| json!({"id": format!("card-{card}"), "label": format!("Card {card}"), "value": card}));
    let choose = json!({"id": "add", "type": "message", "name": "Choose", "data": {
        "blocks": [{"kind": "buttons", "text": "Which one?", "buttons": buttons}], "await": "button"}});
    let text = "You chose {{ event.button.value }}.";
    let (env, server) = serve(&json!(["Yes."]), &[]);
    save_draft(
        &server,
        &with_changes(desk("Desk"), &[("/graphs/1/nodes/1", choose), ("/graphs/1/nodes/2/data/blocks/0/text", json!(text))]),
    );
    let (session, _) = Session::start_simulated(&server, &json!({"locale": "en-US", "time_zone": "Europe/Berlin"}));
    let chosen = |event: &Value| -> Vec<String> {
        session.say(&server, "more please");
        let answer = session.send_event(&server, event);
        assert_eq!(answer.status, 200, "{answer:?}");
        reply_texts(&answer.json()).into_iter().map(str::to_owned).collect()
    };
    let clicked = json!({"type": "user.button", "button_id": format!("card-{}", cards[1]), "value": cards[1], "label": format!("Card {}", cards[1]), "event_id": "e1"});
    let answers = [format!("You chose {}.", cards[0]), format!("You chose {}.", cards[1])];
    assert_eq!(chosen(&clicked), answers[1..]);
    let again = session.send_event(&server, &clicked);
    assert_eq!((again.status, reply_texts(&again.json())), (200, vec![answers[1].as_str()]), "it is the same event");
    assert_eq!(chosen(&json!({"type": "user.message", "text": format!("Card {}", cards[0])})), answers[..1]);
    // What is not offered is what somebody has written.
    let (unknown, written) = ("4929000000000001", "4929000000000002");
    let event =
        json!({"type": "user.button", "button_id": format!("card-{}", cards[1]), "value": unknown, "label": format!("Card {unknown}")});
    assert_eq!(chosen(&event), answers[1..]);
    session.say(&server, &format!("It is {written}."));
    let mut stored = bytes(&env);
    stored.extend([decompressed(&env, "journal"), session.state(&server).to_string()].map(String::into_bytes));
    assert!([unknown, written].iter().all(|it| !contains_mark(&stored, it)));
    session.assert_replays(&env, &server);
}

#[test]
fn results_errors_and_the_error_output_of_mcp_servers_are_redacted() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let secret = format!("convengine.secrets.oms=file:{}", env.write("oms", "hunter2-hunter2"));
    let server = fake.serve_approved(&["--set", &rules(), "--set", &secret, "--set", "convengine.logging.level=info"]);
    let object = json!({"iban": IBAN, "note": "long ".repeat(1000)});
    let shown = |injected: Value| {
        fake.inject(&injected);
        request_tool(&server, ID, "track", &json!({"orderId": "ORD-7017"}))["payload"]["value"].as_str().unwrap().to_owned()
    };
    let block = json!({"iban": IBAN}).to_string();
    let result = shown(json!([
        {"where": "stderr", "text": format!("charging {CARD} with hunter2-hunter2 by {block}")},
        {"tool": "track", "where": "result", "text": block}, {"tool": "track", "where": "result", "text": block},
    ]));
    assert!(result.starts_with("SUCCESS") && result.contains(r#"{\"iban\":\"[iban]\"}\n{\"iban\":\"[iban]\"}"#), "{result}");
    assert!(
        wait_until(|| server.log().contains("MCP server: charging [card] with [secret:oms] by {\"iban\":\"[iban]\"}")),
        "{}",
        server.log()
    );
    let error = shown(json!([{"tool": "track", "where": "error", "text": format!("failed: {object}")}]));
    assert!(error.contains("failed: {\"iban\":\"[iban]\",\"note\":\"long long "), "{error}");
    assert!(error.chars().count() < 2100, "it is cut");
    let mut all = bytes(&env);
    all.extend([result, error, server.log(), decompressed(&env, "journal")].map(String::into_bytes));
    assert!([CARD, IBAN, "hunter2"].iter().all(|it| !contains_mark(&all, it)));
}

#[test]
fn progress_of_mcp_servers_is_scrubbed_redacted_and_capped() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Stdio, &[]);
    let secret = format!("convengine.secrets.oms=file:{}", env.write("oms", "hunter2-hunter2"));
    let server = fake.serve_approved(&["--set", &rules(), "--set", &secret]);
    let first = [format!("charge {CARD} with hunter2-hunter2"), "long ".repeat(1000)];
    let steps = first.into_iter().chain((0..120).map(|it| format!("step {it}")));
    fake.inject(&steps.map(|step| json!({"tool": "track", "where": "progress", "text": step})).collect());
    let mut listener = Listener::open(&server);
    let answer = request_tool(&server, ID, "track", &json!({"orderId": "ORD-7017"}));
    assert!(answer["payload"]["value"].as_str().unwrap().starts_with("SUCCESS"), "{answer}");
    let events = listener.until(|it| it.name == "ENGINE_RETURN");
    let messages: Vec<&str> =
        events.iter().filter(|it| it.name == "TOOL_PROGRESS").map(|event| event.data["message"].as_str().unwrap()).collect();
    assert_eq!(messages[0], "charge [card] with [secret:oms]");
    assert_eq!(messages[1].chars().count(), 500);
    // One that comes faster than it is read is dropped.
    assert!((50..=100).contains(&messages.len()), "{}", messages.len());
    let mut shown = bytes(&env);
    shown.extend([server.log(), json!(server.audit(ID)).to_string()].map(String::into_bytes));
    assert!([CARD, "hunter2"].iter().all(|it| !contains_mark(&shown, it)));
    assert_eq!(fake.calls(), ["track"]);
}
