//! Flow documents for tests, and sessions of them on real servers.

use serde_json::{Value, json};

use crate::harness::{Answer, OPEN, REGEX_ONLY, Server, TestEnv, orders_pack};

pub const JSON: (&str, &str) = ("Content-Type", "application/json");

/// The origin of a deployment.
pub const ORIGIN: (&str, &str) = ("Origin", "https://shop.example");

/// The paths at which sessions of the assistant `desk` start: in the simulator, and in a deployment.
pub const SIMULATED: &str = "/v1/runtime/assistants/desk/sessions";
pub const DEPLOYED: &str = "/v1/public/runtime/sessions";

/// A valid document: the desk counts, asks for a PIN and says good-bye.
pub fn desk(name: &str) -> Value {
    let intent = |id: &str, words: [&str; 3]| json!({"id": id, "name": id, "description": format!("The user wants to {id}"), "phrases": words, "graph": format!("g_{id}")});
    let asked = |id: &str| json!({"id": "asked", "type": "intent", "name": "Asked", "data": {"intent_id": id}});
    let say = |text: &str| json!({"id": "say", "type": "message", "name": "Say", "data": {"blocks": [{"kind": "text", "text": text}]}});
    let end = |data: Value| json!({"id": "end", "type": "end", "name": "End", "data": data});
    let ask = json!({"id": "ask", "type": "entity", "name": "PIN", "data": {"variable": "pin", "entity": "pin", "prompt": "Your PIN?",
        "reprompt": ["Four digits?"], "max_attempts": 2, "redact": true, "interruptible": false}});
    let add =
        json!({"id": "add", "type": "set", "name": "Add", "data": {"assign": [{"variable": "count", "op": "increment", "value": 1}]}});
    let failed = json!({"id": "e9", "source": "ask", "source_port": "failed", "target": "end"});
    let mut login = edges(&["asked", "ask", "say", "end"]);
    login.as_array_mut().unwrap().push(failed);
    json!({
        "schema_version": "1.0", "doc": "conversation_flow", "id": "desk", "name": name, "default_locale": "en-US", "root": "root",
        "variables": [{"name": "pin", "type": "string", "redact": true}, {"name": "count", "type": "number", "default": 0}],
        "entities": [{"id": "pin", "kind": "regex", "patterns": ["\\b(\\d{4})\\b"], "redact": true}],
        "events": {
            "welcome": {"enabled": true, "message": format!("Welcome to {name}.")},
            "fallback": {"enabled": true, "message": "Sorry?"},
            "no_input": {"enabled": true, "message": "Still there?", "max_times": 1, "then": "end_session"},
        },
        "settings": {"llm_verify": false, "llm_match": false, "no_input_timeout_s": 600, "error_message": "Something went wrong."},
        "intents": [
            intent("count", ["more please", "some more", "count on"]),
            intent("login", ["log in", "let me in", "open up"]),
            intent("leave", ["good bye", "see you", "farewell"]),
        ],
        "graphs": [
            {"id": "root", "kind": "root", "entry": "start",
             "nodes": [{"id": "start", "type": "start", "name": "Start", "data": {}}, {"id": "idle", "type": "end", "name": "Idle", "data": {"end_session": false}}],
             "edges": edges(&["start", "idle"])},
            {"id": "g_count", "kind": "intent", "entry": "asked",
             "nodes": [asked("count"), add, say(&format!("{name} {{{{ session.count }}}}")), end(json!({}))],
             "edges": edges(&["asked", "add", "say", "end"])},
            {"id": "g_login", "kind": "intent", "entry": "asked", "nodes": [asked("login"), ask, say("Thank you."), end(json!({}))],
             "edges": login},
            {"id": "g_leave", "kind": "intent", "entry": "asked", "nodes": [asked("leave"), end(json!({"end_session": true, "final_message": "Bye."}))],
             "edges": edges(&["asked", "end"])},
        ],
    })
}

/// Edges from each node to the next.
pub fn edges(nodes: &[&str]) -> Value {
    let edge = |(at, pair): (usize, &[&str])| json!({"id": format!("e{at}"), "source": pair[0], "target": pair[1]});
    nodes.windows(2).enumerate().map(edge).collect()
}

/// A document with other values at these JSON pointers.
pub fn with_changes(mut document: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
        let place = if parent.is_array() { &mut parent[member.parse::<usize>().unwrap()] } else { &mut parent[member] };
        *place = value.clone();
    }
    document
}

/// The desk with a timeout for the reply to its question for the PIN.
pub fn with_input_timeout(ms: u64) -> Value {
    with_changes(desk("Desk"), &[("/graphs/2/nodes/1/data/no_input_ms", json!(ms))])
}

pub fn send(server: &Server, method: &str, path: &str, body: &Value) -> Answer {
    server.request(method, path, &[JSON], body.to_string())
}

/// Saves a document as the draft of its assistant; returns the codes of its issues.
pub fn save_draft(server: &Server, document: &Value) -> Vec<String> {
    let saved = send(server, "PUT", &format!("/v1/agents/{}/flow", document["id"].as_str().unwrap()), document);
    assert_eq!(saved.status, 200, "{saved:?}");
    saved.json()["issues"].as_array().unwrap().iter().map(|issue| issue["code"].as_str().unwrap().to_owned()).collect()
}

/// Publishes a document; returns its version number.
pub fn publish(server: &Server, document: &Value) -> u64 {
    save_draft(server, document);
    let published = send(server, "POST", &format!("/v1/agents/{}/publish", document["id"].as_str().unwrap()), &json!({}));
    assert_eq!(published.status, 201, "{published:?}");
    published.json()["version"].as_u64().unwrap()
}

/// A server with a document as the desk's draft, open also after a deployment.
pub fn serve_desk(document: &Value, more: &[&str]) -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN, more].concat());
    save_draft(&server, document);
    (env, server)
}

/// Asserts status and code of an error response.
#[track_caller]
pub fn assert_refused(answer: &Answer, status: u16, code: &str) {
    let body = answer.json();
    let found = (answer.status, body["error"]["code"].as_str().unwrap_or_default());
    assert_eq!(found, (status, code), "{answer:?}");
    assert!(body["error"]["message"].as_str().is_some_and(|it| !it.is_empty()), "{answer:?}");
}

pub fn reply_texts(answer: &Value) -> Vec<&str> {
    answer["messages"].as_array().into_iter().flatten().filter_map(|it| it["text"].as_str()).collect()
}

/// A running session.
#[derive(Debug, Clone)]
pub struct Session {
    pub id: String,
    path: String,
    headers: Vec<(String, String)>,
}

impl Session {
    /// Starts a session of the draft, or of what the body requests; also returns the response of the first turn.
    pub fn start_simulated(server: &Server, body: &Value) -> (Session, Value) {
        Session::start(server, SIMULATED, &[], body)
    }

    /// Starts a session with the token of a deployment; also returns the response of the first turn.
    pub fn start_deployed(server: &Server, token: &str, more: &[(&str, &str)]) -> (Session, Value) {
        let bearer = format!("Bearer {token}");
        Session::start(server, DEPLOYED, &[&[("Authorization", bearer.as_str()), ORIGIN], more].concat(), &json!({}))
    }

    fn start(server: &Server, path: &str, headers: &[(&str, &str)], body: &Value) -> (Session, Value) {
        let answer = server.request("POST", path, &[headers, &[JSON]].concat(), body.to_string());
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = answer.json()["session_id"].as_str().unwrap().to_owned();
        let headers = headers.iter().map(|header| (header.0.to_owned(), header.1.to_owned())).collect();
        (Session { path: format!("{path}/{id}"), id, headers }, answer.json())
    }

    pub fn send_event(&self, server: &Server, event: &Value) -> Answer {
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|header| (header.0.as_str(), header.1.as_str())).chain([JSON]).collect();
        server.request("POST", &format!("{}/turns", self.path), &headers, event.to_string())
    }

    /// Sends a message; returns the response of its turn.
    #[track_caller]
    pub fn say(&self, server: &Server, text: &str) -> Value {
        let answer = self.send_event(server, &json!({"type": "user.message", "text": text}));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The data of the first trace event of a kind.
    pub fn find_trace(&self, server: &Server, kind: &str) -> Option<Value> {
        let audit = server.audit(&self.id);
        let payload = audit.iter().find(|it| it["stage"] == kind)?["payloadJson"].as_str()?;
        serde_json::from_str(payload).ok()
    }

    /// An admin view of the session: its state, or a path below it.
    pub fn inspect(&self, server: &Server, what: &str) -> Value {
        let answer = server.get(&format!("{SIMULATED}/{}{what}", self.id));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub fn state(&self, server: &Server) -> Value {
        self.inspect(server, "")
    }

    /// The types of its events so far.
    pub fn event_types(&self, server: &Server) -> Vec<String> {
        let trace = self.inspect(server, "/trace");
        let kind = |entry: &Value| entry["event"]["type"].as_str().unwrap_or_default().to_owned();
        trace["turns"].as_array().unwrap().iter().map(kind).collect()
    }

    /// Asserts that its turns replay equally, over HTTP and by the command; returns their number.
    #[track_caller]
    pub fn assert_replays(&self, env: &TestEnv, server: &Server) -> u64 {
        let replayed = self.inspect(server, "/replay");
        assert_eq!((&replayed["equal"], &replayed["divergence"]), (&json!(true), &Value::Null), "{replayed}");
        let output = env.run(&["replay", "--conversation", &self.id]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        assert!(output.stdout.ends_with(&format!("\n{} turns equal\n", replayed["turns"])), "{output:?}");
        replayed["turns"].as_u64().unwrap()
    }
}

/// Deploys the desk to a page; returns the token.
pub fn deploy(server: &Server, debug: bool) -> String {
    let request = json!({"name": "shop", "channel": "web", "origins": [ORIGIN.1], "debug": debug});
    let created = send(server, "POST", "/v1/agents/desk/deployments", &request);
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["token"].as_str().unwrap().to_owned()
}
