//! Nodes of each type in a minimal document.

use std::sync::Arc;

use convengine_config::Config;
use serde_json::{Value, json};

use crate::turn::{
    Completion, EffectError, EffectErrorDetail, EffectErrorKind, EffectResult, HttpReply, HttpRequest, LoadedSession, ProgramRef, Reply,
    Request, Turn, TurnInput, UserEvent, Write,
};

/// A session of a document whose intent `go` runs the given nodes in order.
struct FlowSession {
    config: Arc<Config>,
    session: Option<Value>,
    /// The output of the last turn.
    output: Value,
}

impl FlowSession {
    fn new(nodes: &[Value], edges: &Value, more: &Value) -> FlowSession {
        let mut all = vec![json!({"id": "it", "type": "intent", "name": "It", "data": {"intent_id": "go"}})];
        all.extend(nodes.iter().cloned());
        all.push(json!({"id": "failed", "type": "message", "name": "Failed", "data": {"blocks": [{"kind": "text", "text": "{{ _error.code }}"}]}}));
        all.push(json!({"id": "end", "type": "end", "name": "End", "data": {}}));
        let ids: Vec<String> = all.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect();
        let main: Vec<&String> = ids.iter().filter(|it| *it != "failed").collect();
        let mut links: Vec<Value> =
            main.windows(2).map(|pair| json!({"id": format!("e-{}", pair[0]), "source": pair[0], "target": pair[1]})).collect();
        links.push(json!({"id": "e-f", "source": "failed", "target": "end"}));
        links.extend(edges.as_array().into_iter().flatten().cloned());
        let root = json!({"id": "root", "kind": "root", "name": "Root", "entry": "start",
            "nodes": [{"id": "start", "type": "start", "name": "Start", "data": {}},
                {"id": "idle", "type": "end", "name": "Idle", "data": {"end_session": false}}],
            "edges": [{"id": "e", "source": "start", "target": "idle"}]});
        let mut document = json!({"schema_version": "1.0", "doc": "conversation_flow", "id": "desk", "name": "Desk", "root": "root",
            "default_locale": "en", "intents": [{"id": "go", "name": "Go", "phrases": ["go"], "graph": "g"}],
            "graphs": [root, {"id": "g", "kind": "intent", "name": "G", "entry": "it", "nodes": all, "edges": links}]});
        document.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let config = Arc::new(Config::from_flow(&document).unwrap());
        let mut desk = FlowSession { config, session: None, output: Value::Null };
        desk.send_event(json!({"type": "session.start"}));
        desk
    }

    fn start_turn(&self, event: Value) -> (Turn, convengine_turn::Slice) {
        let input = TurnInput {
            turn: "t".to_owned(),
            conversation: "s-1".to_owned(),
            at: 1_767_268_800_000,
            seed: 1,
            program: ProgramRef::Flow,
            event: UserEvent::from_flow_event(event),
            session: LoadedSession { flow: self.session.clone().map(Arc::new), ..LoadedSession::default() },
        };
        Turn::start(input, Arc::clone(&self.config)).unwrap()
    }

    /// Runs a turn with these replies to its HTTP requests and scripts; returns the requests.
    fn run_turn(&mut self, event: Value, mut answers: Vec<EffectResult>) -> Vec<HttpRequest> {
        let (mut turn, mut slice) = self.start_turn(event);
        let mut requests = Vec::new();
        answers.reverse();
        while slice.end.is_none() {
            let effect = slice.effects.remove(0);
            let outcome = if let Request::Http(request) = effect.request {
                requests.push(*request);
                answers.pop().unwrap()
            } else if matches!(effect.request, Request::Script(_)) {
                answers.pop().unwrap()
            } else {
                // The only other effect is a sleep.
                EffectResult::Ok(Reply::Slept)
            };
            slice = turn.resume(vec![Completion { id: effect.id, at: 1_767_268_800_000, outcome }]).unwrap();
        }
        let outcome = slice.end.unwrap();
        let state =
            outcome.writes.iter().find_map(|write| if let Write::Session { state } = write { Some((**state).clone()) } else { None });
        self.session = state.or(self.session.take());
        self.output = *outcome.flow.unwrap();
        requests
    }

    fn send_event(&mut self, event: Value) -> Vec<String> {
        self.run_turn(event, Vec::new());
        self.texts()
    }

    fn say(&mut self, text: &str) -> Vec<String> {
        self.send_event(json!({"type": "user.message", "text": text}))
    }

    fn texts(&self) -> Vec<String> {
        self.output["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    }

    fn port(&self, node: &str) -> &Value {
        let nodes = self.output["debug"]["nodes"].as_array().unwrap();
        &nodes.iter().find(|it| it["id"] == node).unwrap()["port"]
    }
}

fn node(kind: &str, data: Value) -> Value {
    json!({"id": "n", "type": kind, "name": "N", "data": data})
}

fn go_event() -> Value {
    json!({"type": "user.message", "text": "go"})
}

fn reply(status: u16, body: &str) -> EffectResult {
    EffectResult::Ok(Reply::Http(HttpReply { status, body: body.to_owned(), retry_after_ms: None, broken_json: false }))
}

/// A session with a service node whose failure sends the failure code.
fn service_session(data: Value) -> FlowSession {
    let vars = json!([{"name": "odd", "type": "string", "default": "a\"b &c"}, {"name": "obj", "type": "object", "default": {"a": 1}}]);
    FlowSession::new(
        &[node("service", data)],
        &json!([{"id": "x", "source": "n", "source_port": "failure", "target": "failed"}]),
        &json!({"variables": vars}),
    )
}

fn sent_request(request: Value) -> HttpRequest {
    let mut desk = service_session(json!({"request": request}));
    desk.run_turn(go_event(), vec![reply(200, "{}")]).remove(0)
}

#[test]
fn the_query_of_a_request_is_encoded_and_its_fragment_dropped() {
    let url = |url: &str, query: Value| sent_request(json!({"method": "GET", "url": url, "query": query})).url;
    assert_eq!(
        url("https://a.example/x", json!({"q": "a&b=c d#e", "w": "{{ odd }}", "n k": "1"})),
        "https://a.example/x?q=a%26b%3Dc%20d%23e&w=a%22b%20%26c&n%20k=1"
    );
    assert_eq!(url("https://a.example/x?o={{ odd }}#top", json!({"q": "1"})), "https://a.example/x?o=a%22b%20%26c&q=1");
    assert_eq!(url("https://a.example/x#t?u", json!({})), "https://a.example/x");
}

#[test]
fn a_body_is_encoded_by_its_type() {
    let body = |kind: Value, body: Value| {
        let mut request = json!({"method": "POST", "url": "https://a.example/x", "body": body});
        if !kind.is_null() {
            request["body_type"] = kind;
        }
        let sent = sent_request(request);
        let kind = sent.headers.iter().find(|(name, _)| name == "Content-Type").unwrap().1.clone();
        (kind, sent.body.unwrap(), sent.secrets)
    };
    let json_text = body(json!("json"), json!("{\"a\": {{ odd | json }}}"));
    assert_eq!((json_text.0.as_str(), json_text.1.as_str()), ("application/json", r#"{"a": "a\"b &c"}"#));
    assert_eq!(body(json!("json"), json!("{{ obj }}")).1, r#"{"a":1}"#);
    assert_eq!(body(json!(null), json!({"a": "{{ odd }}"})).1, r#"{"a":"a\"b &c"}"#);
    assert_eq!(body(json!("form"), json!({"a": "{{ odd }}"})).1, "a=a%22b+%26c");
    assert_eq!(body(json!("form"), json!({"a": "{{ secret.KEY }}"})).2, ["form 2 KEY"]);
    assert_eq!(body(json!("json"), json!({"a": "{{ secret.KEY }}"})).2, ["json 6 KEY"]);

    let (kind, text, secrets) = body(json!("multipart"), json!({"a": "{{ odd }}", "b\"": [1], "k": "x {{ secret.KEY }}"}));
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let part = |name: &str, value: &str| format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    let whole = [part("a", "a\"b &c"), part("b%22", "[1]"), part("k", "x [secret:KEY]"), format!("--{boundary}--\r\n")].concat();
    assert_eq!(text, whole);
    assert_eq!(secrets, [format!("body {} KEY", text.find("[secret").unwrap())]);
}

#[test]
fn a_write_has_one_key_and_it_is_not_empty() {
    let request = json!({"method": "POST", "url": "https://a.example/x", "body": {},
        "headers": {"Idempotency-Key": "header", "Authorization": "Bearer {{ secret.KEY }}"}});
    let data =
        |key: &str| json!({"request": request, "idempotency_key": key, "retry": {"max_attempts": 2, "initial_ms": 600, "max_ms": 100}});
    let requests = service_session(data("own-{{ session.odd }}")).run_turn(go_event(), vec![reply(503, ""), reply(200, "{}")]);
    let keys: Vec<_> = requests
        .iter()
        .map(|request| {
            request.headers.iter().filter(|(name, _)| name == "Idempotency-Key").map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(keys, [["own-a\"b &c"], ["own-a\"b &c"]]);
    let at = requests[0].headers.iter().position(|it| it.0 == "Authorization").unwrap();
    assert_eq!(requests[0].secrets, [format!("{at} 7 KEY")]);
    for empty in ["{{ nobody }}", " ", "{{ nobody | default(\"\") }}"] {
        let mut desk = service_session(data(empty));
        assert_eq!((desk.run_turn(go_event(), Vec::new()).len(), desk.texts()), (0, vec!["template_undefined".to_owned()]), "{empty}");
    }
}

#[test]
fn a_status_that_is_listed_is_a_success_at_once() {
    let data = json!({"request": {"method": "GET", "url": "https://a.example/x"}, "success": [503], "outputs": [{"path": "$.v", "variable": "v"}]});
    let mut desk = service_session(data.clone());
    assert_eq!(desk.run_turn(go_event(), vec![reply(503, "{\"v\": 1}")]).len(), 1);
    assert_eq!((desk.port("n"), &desk.output["debug"]["effects"][0]["outcome"]), (&json!("success"), &json!("ok")));
    assert_eq!(desk.session.as_ref().unwrap()["vars"]["v"], 1);
    for (status, code) in [(200, "status_4xx"), (404, "status_4xx"), (500, "status_5xx")] {
        let mut desk = service_session(data.clone());
        desk.run_turn(go_event(), vec![reply(status, "")]);
        assert_eq!(desk.texts(), [code]);
    }
}

#[test]
fn a_failure_has_its_code() {
    let failed = |kind, detail: Option<EffectErrorDetail>| {
        let error = EffectError::new(kind, "no");
        let answer = || EffectResult::Error(EffectError { detail: detail.clone(), ..error.clone() });
        let mut desk = service_session(json!({"request": {"method": "GET", "url": "https://a.example/x"}}));
        desk.run_turn(go_event(), vec![answer(), answer(), answer()]);
        desk.texts().remove(0)
    };
    let unavailable = EffectErrorKind::Unavailable;
    assert_eq!(failed(unavailable, None), "network");
    assert_eq!(failed(unavailable, Some(EffectErrorDetail::DNS)), "dns");
    assert_eq!(failed(unavailable, Some(EffectErrorDetail::TLS)), "tls");
    assert_eq!(failed(EffectErrorKind::Invalid, Some(EffectErrorDetail::TOO_LARGE)), "response_too_large");
    assert_eq!(failed(EffectErrorKind::Invalid, Some(EffectErrorDetail::TARGET)), "blocked_target");
    assert_eq!(failed(EffectErrorKind::Invalid, None), "network");
    assert_eq!(failed(EffectErrorKind::Denied, None), "blocked_target");

    let of_type = |body: &str, kind: &str| {
        HttpReply { status: 200, body: body.to_owned(), retry_after_ms: None, broken_json: false }.with_content_type(kind)
    };
    let mut desk = service_session(json!({"request": {"method": "GET", "url": "https://a.example/x"}}));
    desk.run_turn(go_event(), vec![EffectResult::Ok(Reply::Http(of_type("{\"v\":", "application/problem+json; charset=utf-8")))]);
    assert_eq!(desk.texts(), ["parse"]);
    for (body, kind) in [("{\"v\":", "text/plain"), ("", "application/json"), ("{}", "application/json"), ("{", "")] {
        assert!(!of_type(body, kind).broken_json, "{body} {kind}");
    }
}

#[test]
fn outputs_are_written_together_and_their_defaults_are_rendered_and_typed() {
    let outputs = json!([{"path": "$.name", "variable": "v"}, {"path": "$.gone", "variable": "w", "required": true}]);
    let request = json!({"method": "GET", "url": "https://a.example/x"});
    let mut desk = service_session(json!({"request": request, "outputs": outputs}));
    desk.run_turn(go_event(), vec![reply(200, "{\"name\": \"N\"}")]);
    assert_eq!((desk.texts(), &desk.session.as_ref().unwrap()["vars"]["v"]), (vec!["output_missing".to_owned()], &Value::Null));

    let outputs = json!([{"path": "$.a", "variable": "a", "default": "{{ args.id }}"}, {"path": "$.b", "variable": "b", "type": "number", "default": "5"}]);
    let mut node = node("service", json!({"request": request, "outputs": outputs, "args": {"id": 7}}));
    node["on_error"] = json!("continue");
    let mut desk = FlowSession::new(&[node], &json!([]), &json!({}));
    desk.run_turn(go_event(), vec![reply(404, "")]);
    let vars = &desk.session.as_ref().unwrap()["vars"];
    assert_eq!((&vars["a"], &vars["b"], desk.port("n")), (&json!(7), &json!(5), &json!("success")));
}

#[test]
fn buttons_with_the_same_id_are_told_apart_by_value_and_label() {
    let card =
        |value: &str| json!({"kind": "card", "title": value, "buttons": [{"id": "buy", "label": format!("Buy {value}"), "value": value}]});
    let shop = node("message", json!({"blocks": [card("A"), card("B")], "await": "button"}));
    let echo =
        json!({"id": "m", "type": "message", "name": "M", "data": {"blocks": [{"kind": "text", "text": "{{ event.button.value }}"}]}});
    for (event, value) in
        [(json!({"value": "B"}), "B"), (json!({"label": "Buy B"}), "B"), (json!({"value": "A", "label": "Buy B"}), "A"), (json!({}), "A")]
    {
        let mut desk = FlowSession::new(&[shop.clone(), echo.clone()], &json!([]), &json!({}));
        desk.say("go");
        let mut event = event;
        event["type"] = json!("user.button");
        event["button_id"] = json!("buy");
        assert_eq!(desk.send_event(event.clone()), [value], "{event}");
    }
}

#[test]
fn a_message_that_is_too_long_fails_its_turn() {
    let long = node("message", json!({"blocks": [{"kind": "text", "text": "x".repeat(33_000)}]}));
    let mut desk = FlowSession::new(&[long], &json!([]), &json!({"settings": {"error_message": "Sorry."}}));
    let before = desk.session.clone().unwrap();
    assert_eq!(desk.say("go"), ["Sorry."]);
    let after = desk.session.clone().unwrap();
    assert_eq!((&desk.output["debug"]["stop_reason"], &after["vars"]), (&json!("message_too_large"), &before["vars"]));
    assert_eq!((after["seq"].as_u64(), &after["stack"]), (before["seq"].as_u64().map(|it| it + 1), &before["stack"]));
    let fits = node("message", json!({"blocks": [{"kind": "text", "text": "x".repeat(32_000)}]}));
    assert_eq!(FlowSession::new(&[fits], &json!([]), &json!({})).say("go")[0].len(), 32_000);
}

#[test]
fn redacted_values_are_removed_from_all_stored_texts() {
    let ask = node("entity", json!({"variable": "pin", "entity": "@string", "prompt": "PIN?", "confirm": true}));
    let echo = json!({"id": "m", "type": "message", "name": "M", "data": {"blocks": [{"kind": "text", "text": "{{ pin }} it is, 1x23."}]}});
    let forget = json!({"id": "gone", "type": "set", "name": "F", "data": {"assign": [{"variable": "pin", "op": "unset"}]}});
    let more = json!({"variables": [{"name": "pin", "type": "string", "redact": true}]});
    let mut desk = FlowSession::new(&[ask, echo, forget], &json!([]), &more);
    desk.say("go");
    assert_eq!(desk.say("123"), ["Is that 123?"]);
    let mut shown = desk.session.clone().unwrap();
    convengine_flow::redact_session(desk.config.flow().unwrap(), &mut shown);
    assert_eq!(shown["vars"]["_slot"]["candidate"], "[pin]");
    assert!(!shown["history"].to_string().contains("123"), "{shown}");
    assert_eq!(desk.say("yes"), ["123 it is, 1x23."], "the user sees the value");
    let history = desk.session.as_ref().unwrap()["history"].to_string();
    assert!(history.contains("[pin] it is, 1x23.") && !history.contains(" 123"), "{history}");
}

#[test]
fn a_confirmation_is_readable_and_can_be_interrupted() {
    let ask = node("entity", json!({"variable": "sum", "entity": "@currency", "prompt": "How much?", "confirm": true}));
    let more = json!({"small_talk": [{"id": "hi", "patterns": ["hi there"], "responses": ["Hello."]}]});
    let mut desk = FlowSession::new(&[ask], &json!([]), &more);
    desk.say("go");
    assert_eq!(desk.say("$5"), ["Is that 5 USD?"]);
    assert_eq!(desk.say("hi there"), ["Hello.", "Is that 5 USD?"]);
    assert_eq!(desk.say("hm"), ["Is that 5 USD?"]);
}

#[test]
fn parameters_and_parts_have_the_declared_types() {
    let set = |variable: &str, value: Value| node("set", json!({"assign": [{"variable": variable, "value": value}]}));
    let more = json!({"variables": [{"name": "n", "type": "number", "default": 1}, {"name": "s", "type": "string"}, {"name": "o", "type": "object"}, {"name": "o.k", "type": "number"}]});
    for (variable, value, fails) in
        [("n.x", json!(1), true), ("o", json!({"k": "abc"}), true), ("o", json!({"k": 2}), false), ("o.other", json!("x"), false)]
    {
        let mut desk = FlowSession::new(
            &[set(variable, value.clone())],
            &json!([{"id": "x", "source": "n", "source_port": "error", "target": "failed"}]),
            &more,
        );
        assert_eq!(!desk.say("go").is_empty(), fails, "{variable} = {value}");
    }
    let mut desk = FlowSession::new(&[], &json!([]), &more);
    desk.session = None;
    desk.send_event(json!({"type": "session.start", "params": {"n": "abc", "s": 5, "free": [1]}}));
    let vars = &desk.session.as_ref().unwrap()["vars"];
    assert_eq!((&vars["n"], &vars["s"], &vars["free"]), (&json!(1), &json!("5"), &json!([1])));
    desk.session = None;
    desk.send_event(json!({"type": "session.start", "params": {"n": "77"}}));
    assert_eq!(desk.session.as_ref().unwrap()["vars"]["n"], 77);
}

#[test]
fn addresses_that_are_shown_are_encoded() {
    let media = |url: &str| {
        let vars = json!({"variables": [{"name": "q", "type": "string", "default": "a b&c\"><x"}, {"name": "link", "type": "string", "default": "https://a.example/x?y=1"}]});
        let mut desk =
            FlowSession::new(&[node("message", json!({"blocks": [{"kind": "media", "media": "image", "url": url}]}))], &json!([]), &vars);
        desk.say("go");
        desk.output["messages"][0]["blocks"][0]["url"].clone()
    };
    assert_eq!(media("https://a.example/i?q={{ q }}"), "https://a.example/i?q=a%20b%26c%22%3E%3Cx");
    assert_eq!(media("{{ link }}"), "https://a.example/x?y=1");
}

#[test]
fn buttons_without_a_wait_are_selected_by_id_number_or_label() {
    let buttons = json!([{"id": "a", "label": "Nothing"}, {"id": "b", "label": "Again", "value": "go"}]);
    let shows = node("message", json!({"blocks": [{"kind": "buttons", "text": "What now?", "buttons": buttons}]}));
    let shown = |channel: &str| {
        let mut desk = FlowSession::new(std::slice::from_ref(&shows), &json!([]), &json!({}));
        desk.session = None;
        desk.send_event(json!({"type": "session.start", "channel": channel}));
        desk.say("go");
        desk
    };
    let matched = |desk: &mut FlowSession, event: Value| {
        desk.send_event(event);
        desk.output["debug"]["matched_intent"]["intent_id"].clone()
    };
    let text = |text: &str| json!({"type": "user.message", "text": text});
    assert_eq!(matched(&mut shown("web"), json!({"type": "user.button", "button_id": "b"})), "go");
    assert_eq!(matched(&mut shown("web"), json!({"type": "user.button", "button_id": "a"})), Value::Null);
    assert_eq!([matched(&mut shown("sms"), text("2")), matched(&mut shown("sms"), text("again"))], ["go", "go"]);
    assert_eq!([matched(&mut shown("web"), text("2")), matched(&mut shown("web"), text("the last one"))], ["go", "go"]);
    assert_eq!(matched(&mut shown("web"), text("2 of them")), Value::Null);
    let mut desk = shown("sms");
    desk.say("hm");
    assert_eq!(matched(&mut desk, text("2")), Value::Null, "buttons expire with the next message");
}

#[test]
fn a_disabled_no_input_event_arms_no_timer() {
    let ask = || node("entity", json!({"variable": "n", "entity": "@number", "prompt": "How many?"}));
    for (enabled, timers) in [(true, vec!["no_input", "session"]), (false, vec!["session"])] {
        let more = json!({"settings": {"no_input_timeout_s": 5}, "events": {"no_input": {"enabled": enabled, "max_times": 2}}});
        let mut desk = FlowSession::new(&[ask()], &json!([]), &more);
        desk.say("go");
        let armed = desk.session.as_ref().unwrap()["timers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|timer| timer["id"].as_str().unwrap())
            .collect::<Vec<_>>();
        assert_eq!(armed, timers);
    }
}

#[test]
fn a_consumed_message_is_not_passed_to_the_next_node() {
    let asks = node("message", json!({"blocks": [{"kind": "text", "text": "Well?"}], "await": "any"}));
    let agent = json!({"id": "a", "type": "instruction_agent", "name": "A", "data": {"instructions": "Help."}});
    let mut desk = FlowSession::new(&[asks, agent], &json!([]), &json!({}));
    desk.say("go");
    let slice = desk.start_turn(json!({"type": "user.message", "text": "hello"})).1;
    let Request::Llm(request) = &slice.effects[0].request else { panic!("{slice:?}") };
    assert_eq!(request.dialogue.as_ref().unwrap().messages.last().unwrap().content, "go");
}

#[test]
fn a_value_in_a_negative_phrase_fills_no_slot() {
    let ask = |more: Value| {
        let buttons = json!([{"id": "o", "label": "One fruit", "value": "orange"}]);
        let mut data = json!({"variable": "fruit", "entity": "fruit", "prompt": "Which fruit?", "buttons": buttons});
        data.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        node("entity", data)
    };
    let entities = json!([{"id": "fruit", "kind": "list", "entries": [{"value": "orange"}, {"value": "apple"}],
        "negative_phrases": ["orange juice", "big apple"]}]);
    let intents = json!([{"id": "go", "name": "Go", "phrases": ["go", "pack {fruit} now"], "graph": "g"}]);
    let begin = |more: Value| FlowSession::new(&[ask(more)], &json!([]), &json!({"entities": entities, "intents": intents}));
    let fruit = |desk: &FlowSession| desk.session.as_ref().unwrap()["vars"]["fruit"].clone();
    for (text, one, all) in [
        ("go for an orange", json!("orange"), json!(["orange"])),
        ("go for orange juice", Value::Null, Value::Null),
        ("go, orange-juice and an apple", json!("apple"), json!(["apple"])),
        ("pack an apple now", json!("apple"), json!(["apple"])),
        ("pack orange juice now", Value::Null, Value::Null),
        ("pack Orange Juice and apple now", json!("apple"), json!(["apple"])),
    ] {
        for (more, expected) in [(json!({}), &one), (json!({"multiple": true}), &all)] {
            let mut desk = begin(more);
            let asked = desk.say(text);
            assert_eq!((fruit(&desk), asked.is_empty()), (expected.clone(), !expected.is_null()), "{text}");
        }
    }
    let entities = json!([{"id": "fruit", "kind": "regex", "patterns": ["\\b[A-Z]\\d[A-Z]\\b"], "negative_phrases": ["w3c"]}]);
    for (text, expected) in [("pack A1B now", json!("A1B")), ("pack W3C now", Value::Null), ("go for W3C and A1B", json!("A1B"))] {
        let mut desk = FlowSession::new(&[ask(json!({}))], &json!([]), &json!({"entities": entities, "intents": intents}));
        desk.say(text);
        assert_eq!(fruit(&desk), expected, "{text}");
    }
    let mut desk = begin(json!({}));
    desk.say("go");
    assert_eq!((desk.say("the big apple").is_empty(), fruit(&desk)), (false, Value::Null), "an answer");
    desk.send_event(json!({"type": "user.button", "button_id": "o"}));
    assert_eq!(fruit(&desk), "orange");
}

#[test]
fn a_condition_without_a_value_leaves_by_the_port_error_if_that_is_connected() {
    let to = |id: &str, port: &str, target: &str| json!({"id": id, "source": "n", "source_port": port, "target": target});
    let when = |id: &str, expr: &str, target: &str| json!({"id": id, "source": "n", "target": target, "condition": {"expr": expr}});
    let say = |id: &str| json!({"id": id, "type": "message", "name": id, "data": {"blocks": [{"kind": "text", "text": id}]}});
    for kind in ["decision", "router"] {
        for (edges, policy, expected) in [
            (vec![when("a", "amount > 100", "large")], "port", vec!["usual", "large"]),
            (vec![when("a", "amount > 100", "large"), to("b", "error", "failed")], "port", vec!["condition_failed"]),
            (
                vec![when("a", "amount > 100", "large"), when("c", "event.text == 'go'", "large"), to("b", "error", "failed")],
                "port",
                vec!["large"],
            ),
            (vec![when("a", "amount == 100", "large"), to("b", "error", "failed")], "port", vec!["usual", "large"]),
            (vec![when("a", "amount > 100", "large"), to("b", "error", "failed")], "continue", vec!["usual", "large"]),
            (vec![when("a", "amount > 100", "large")], "stop", vec!["Something went wrong. Please try again."]),
        ] {
            let mut decision = node(kind, json!({}));
            decision["on_error"] = json!(policy);
            // Each node leads to the next one: the decision to `usual` by its default edge.
            let mut session = FlowSession::new(&[decision, say("usual"), say("large")], &json!(edges), &json!({}));
            assert_eq!(session.say("go"), expected, "{kind} {policy}");
        }
    }
}

#[test]
fn members_of_values_of_the_system_are_undefined() {
    let text = "{{ system.channel.anything }}{{ system.turn.x }}{{ event.text.x }}|{{ system.channel }}";
    let message = node("message", json!({"blocks": [{"kind": "text", "text": text}]}));
    let mut session = FlowSession::new(&[message], &json!([]), &json!({}));
    assert_eq!(session.say("go"), ["|web"]);
    assert_eq!(session.output["debug"]["warnings"], json!(["template.undefined"]));
}

#[test]
fn the_lowest_priority_of_an_intent_wins_whatever_it_is() {
    let lowest = json!({"id": "low", "name": "Low", "phrases": ["go"], "graph": "g", "priority": -9_007_199_254_740_991_i64});
    let usual = json!({"id": "go", "name": "Go", "phrases": ["go"], "graph": "g"});
    let highest = json!({"id": "high", "name": "High", "phrases": ["go"], "graph": "g", "priority": 9_007_199_254_740_991_i64});
    let mut session = FlowSession::new(&[], &json!([]), &json!({"intents": [highest, usual, lowest]}));
    session.say("go");
    assert_eq!(session.output["debug"]["matched_intent"]["intent_id"], json!("low"));
}

#[test]
fn a_script_that_no_host_can_run_fails_with_what_the_host_says() {
    let tell = json!({"id": "tell", "type": "message", "name": "Tell",
        "data": {"blocks": [{"kind": "text", "text": "{{ _error.code }}: {{ _error.message }}"}]}});
    let edges = json!([{"id": "x", "source": "n", "source_port": "error", "target": "tell"}]);
    for (kind, expected) in [
        (EffectErrorKind::Unsupported, "unavailable: no interpreter; build it"),
        (EffectErrorKind::Interrupted, "unavailable: the script could not run (unavailable)"),
    ] {
        let mut session = FlowSession::new(&[node("python", json!({"code": "session['x'] = 1"})), tell.clone()], &edges, &json!({}));
        session.run_turn(go_event(), vec![EffectResult::Error(EffectError::new(kind, "no interpreter; build it"))]);
        assert_eq!(session.texts(), [expected]);
    }
}
