//! The server against its own OpenAPI document: valid calls are answered as documented, invalid calls are rejected in the documented form.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::Read;

use convengine_test_macros::test;
use convengine_tests::contract::{Call, Document, Operation, Reply};
use reqwest::Method;
use reqwest::blocking::Client;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use crate::ai_agents::{deploy_helper, helper, publish_helper};
use crate::chains::{nightly, publish_chain};
use crate::flows::{ORIGIN, Session, deploy, desk, publish, serve_desk, with_changes};
use crate::harness::{OPEN, REGEX_ONLY, Server, TestEnv, client, orders_pack};
use crate::stream::ID;

/// The seed of the calls.
const SEED: u64 = 7;

/// Valid calls of each operation.
const ROUNDS: usize = 12;

/// Bytes that are read of an endless response.
const STREAM_PREFIX: usize = 256;

fn send(client: &Client, server: &Server, call: &Call) -> Option<Reply> {
    let method = Method::from_bytes(call.method.as_bytes()).unwrap();
    let mut request = client.request(method, format!("http://{}{}", server.address, call.path));
    for (name, value) in &call.headers {
        request = request.header(*name, HeaderValue::from_bytes(value).unwrap());
    }
    if let Some(body) = &call.body {
        request = request.body(body.clone());
    }
    let mut response = request.send().ok()?;
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: BTreeMap<String, String> = response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let status = response.status().as_u16();
    let mut body = Vec::new();
    if headers.get("content-type").is_some_and(|it| it.starts_with("text/event-stream")) {
        let mut beginning = [0; STREAM_PREFIX];
        let count = response.read(&mut beginning).ok()?;
        body.extend_from_slice(&beginning[..count]);
    } else {
        response.read_to_end(&mut body).ok()?;
    }
    Some(Reply { status, headers, body })
}

/// Existing sessions of an assistant for calls, public ones or simulated ones: each valid call gets a new one, and those that are rejected,
/// which change nothing, share one.
#[derive(Default)]
struct Sessions {
    public: OnceCell<String>,
    simulated: OnceCell<String>,
}

impl Sessions {
    fn for_call(&self, call: &Call, is_public: bool, server: &Server, token: &str) -> String {
        let start = || match is_public {
            true => Session::start_deployed(server, token, &[]).0.id,
            false => Session::start_simulated(server, &json!({})).0.id,
        };
        let shared = if is_public { &self.public } else { &self.simulated };
        if call.defect.is_some() { shared.get_or_init(start).clone() } else { start() }
    }
}

/// The call with an existing session, AI agent or chain in its path and, on public routes, with its credentials.
fn with_session(mut call: Call, sessions: &Sessions, server: &Server, token: &str, agent_token: &str) -> Call {
    if call.path.starts_with("/v1/public/runtime/") {
        call.headers.push(("authorization", format!("Bearer {token}").into_bytes()));
        call.headers.push(("origin", ORIGIN.1.as_bytes().to_vec()));
    }
    let (path, query) = call.path.split_once('?').map_or((call.path.as_str(), None), |it| (it.0, Some(it.1)));
    let parts: Vec<&str> = path.split('/').collect();
    if call.defect.as_deref().is_some_and(|it| it.starts_with("path")) {
        return call;
    }
    let session = |is_public: bool| sessions.for_call(&call, is_public, server, token);
    let path = match parts.as_slice() {
        [_, "v1", "public", "runtime", "sessions", _, rest @ ..] => {
            [&["", "v1", "public", "runtime", "sessions", &session(true)], rest].concat().join("/")
        }
        [_, "v1", "runtime", "assistants", _, "sessions", _, rest @ ..] => {
            [&["", "v1", "runtime", "assistants", "desk", "sessions", &session(false)], rest].concat().join("/")
        }
        [_, "v1", "public", "ai-agents", _, "sessions", id] => format!("/v1/public/ai-agents/{agent_token}/sessions/{id}"),
        [_, "v1", "public", "ai-agents", _, rest] => format!("/v1/public/ai-agents/{agent_token}/{rest}"),
        [_, "v1", "runtime", "ai-agents", _, rest] => format!("/v1/runtime/ai-agents/helper/{rest}"),
        [_, "v1", "workflow-chains", _, rest] => format!("/v1/workflow-chains/nightly/{rest}"),
        [_, "v1", "runtime", "assistants", _, sessions] => format!("/v1/runtime/assistants/desk/{sessions}"),
        _ => return call,
    };
    call.path = query.map_or_else(|| path.clone(), |it| format!("{path}?{it}"));
    call
}

#[test]
fn every_call_is_answered_as_documented() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(
        &[&REGEX_ONLY[..], &OPEN, &["--set", "convengine.assistants.rpm=0", "--set", "convengine.assistants.rpm-per-address=0"]].concat(),
    );
    server.say(ID, "my order");
    publish(&server, &desk("Desk"));
    let token = deploy(&server, true);
    publish_helper(&server, &with_changes(helper("Helper"), &[("/channels", json!([]))]));
    let agent_token = deploy_helper(&server, &json!({"name": "shop"}));
    publish_chain(&server, &nightly("Nightly"));
    let document = Document::parse(&server.get("/openapi.json").text).unwrap();
    let (client, sessions) = (client(), Sessions::default());
    let operations = document.operations();
    let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    for operation in &operations {
        for call in document.calls(operation, ID, SEED, ROUNDS) {
            let call = with_session(call, &sessions, &server, &token, &agent_token);
            let shown = || format!("{} {:.120} ({})", call.method, call.path, call.defect.as_deref().unwrap_or("as documented"));
            let Some(reply) = send(&client, &server, &call) else {
                violations.push(format!("{}: no answer", shown()));
                continue;
            };
            *statuses.entry(reply.status).or_default() += 1;
            if let Some(violation) = document.find_violation(operation, &call, &reply) {
                let body: String = String::from_utf8_lossy(&reply.body).chars().take(300).collect();
                violations.push(format!("{}: {}: {violation}: {body}", shown(), reply.status));
            }
        }
    }
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
    let count: usize = statuses.values().sum();
    println!("{count} calls of {} operations: {statuses:?}", operations.len());
    assert!(operations.len() >= 13 && count > 50 * operations.len(), "only {count} calls of {} operations", operations.len());
    assert!(
        [200, 400, 404, 405, 406, 413, 415].iter().all(|it| statuses.contains_key(it)),
        "some error statuses were never seen: {statuses:?}"
    );
    assert_eq!(server.get("/healthz").status, 200, "the server is still healthy");
}

#[test]
fn a_long_response_is_compressed_and_an_unchanged_one_is_not_resent() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    server.say(ID, "my order");
    let path = format!("/api/v1/conversation/audit/{ID}");
    let get = |headers: &[(&str, &str)]| server.request("GET", &path, headers, "");
    let whole = get(&[]);
    let tag = whole.header("etag").to_owned();
    assert_eq!((whole.status, whole.header("content-encoding"), whole.header("cache-control")), (200, "", "private, no-cache"));
    let same = get(&[("If-None-Match", &tag)]);
    assert_eq!((same.status, same.text.as_str(), same.header("etag")), (304, "", tag.as_str()));
    let mut compressed = client().get(format!("http://{}{path}", server.address)).header("Accept-Encoding", "gzip").send().unwrap();
    assert_eq!(
        (compressed.headers()["content-encoding"].as_bytes(), compressed.headers()["etag"].as_bytes()),
        (&b"gzip"[..], tag.as_bytes())
    );
    let mut bytes = Vec::new();
    compressed.read_to_end(&mut bytes).unwrap();
    assert!(bytes.starts_with(&[0x1f, 0x8b]) && bytes.len() * 4 < whole.text.len(), "{} of {} bytes", bytes.len(), whole.text.len());
    server.say(ID, "hello");
    let newer = get(&[("If-None-Match", &tag)]);
    assert!(newer.status == 200 && newer.text.len() > whole.text.len());
    // Events are sent at once, so they are never compressed.
    let stream = format!("http://{}/api/v1/conversation/stream/{ID}", server.address);
    let stream = client().get(stream).header("Accept-Encoding", "gzip").send().unwrap();
    assert!(!stream.headers().contains_key("content-encoding"));
    let trace = server.get(&format!("{path}/trace"));
    let same = server.request("GET", &format!("{path}/trace"), &[("If-None-Match", trace.header("etag"))], "");
    assert_eq!((trace.status, same.status), (200, 304));
}

/// The document does not depend on the database.
#[test]
#[on(sqlite)]
fn violations_of_the_document_are_found() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let text = server.get("/openapi.json").text;
    // Documents that this server does not conform to.
    let altered = |alter: &dyn Fn(&mut Value)| {
        let mut document: Value = serde_json::from_str(&text).unwrap();
        alter(&mut document);
        Document::parse(&document.to_string()).unwrap()
    };
    let violation = |doc: &Document, path: &str| {
        let operation: Operation = doc.operations().into_iter().find(|operation| operation.path == path).unwrap();
        let found = doc.calls(&operation, ID, SEED, 1).into_iter().find_map(|call| {
            let reply = send(&client(), &server, &call).unwrap();
            doc.find_violation(&operation, &call, &reply)
        });
        found.unwrap_or_default()
    };
    assert_eq!(violation(&altered(&|_| {}), "/healthz"), "");
    let wrong_word = altered(&|it| it["components"]["schemas"]["Health"]["properties"]["status"]["const"] = "DOWN".into());
    assert!(violation(&wrong_word, "/healthz").contains("status"));
    let no_status = altered(&|doc| _ = doc["paths"]["/api/v1/conversation"]["get"]["responses"].as_object_mut().unwrap().remove("400"));
    assert_eq!(violation(&no_status, "/api/v1/conversation"), "the status is not documented");
    let no_type = altered(&|doc| _ = doc["paths"]["/metrics"]["get"]["responses"]["200"].as_object_mut().unwrap().remove("content"));
    assert!(violation(&no_type, "/metrics").contains("text/plain"));
    let more_asked = altered(&|it| it["components"]["schemas"]["Readiness"]["required"] = serde_json::json!(["moon"]));
    assert!(violation(&more_asked, "/readyz").contains("moon"));
}

/// The document does not depend on the database.
#[test]
#[on(sqlite)]
fn the_document_lists_keys_scopes_and_refusals() {
    let env = TestEnv::with_pack(&orders_pack());
    let answer = env.serve(&REGEX_ONLY).get("/openapi.json");
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!((&schemes["bearer"]["scheme"], &schemes["api_key"]["name"]), (&"bearer".into(), &"X-API-Key".into()));
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let is_open = ["/healthz", "/readyz", "/openapi.json", "/schemas", "/schemas/{name}"].contains(&path.as_str());
            let guarded = !is_open && !path.starts_with("/.well-known/");
            assert_eq!(operation["security"].is_array(), guarded, "{method} {path}");
            let words = match path.split('/').nth(3) {
                Some("chains") if path.starts_with("/v1/public/") => "signature",
                Some("runtime" | "ai-agents") if path.starts_with("/v1/public/") => "deployment",
                _ => "Requires scope ",
            };
            assert_eq!(operation["description"].as_str().is_some_and(|it| it.contains(words)), guarded, "{method} {path}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let form = if path.starts_with("/v1/") { "AssistantRefusal" } else { "Refusal" };
                let refusal = response["content"]["application/json"]["schema"]["$ref"] == format!("#/components/schemas/{form}");
                assert_eq!(refusal, status.as_str() >= "400", "{method} {path} {status}");
            }
            assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{method} {path} has no sentence");
        }
    }
}

/// The API has the same limits on each database.
#[test]
#[on(sqlite)]
fn limits_of_the_document_are_those_of_the_code() {
    let (_env, server) = serve_desk(&desk("Desk"), &[]);
    let document = server.get("/openapi.json").json();
    let parameters = document["paths"]["/v1/agents/{agent}/knowledge/search"]["get"]["parameters"].as_array().unwrap();
    for (name, step) in [("top_k", 1.0), ("vector_weight", 0.5)] {
        let schema = &parameters.iter().find(|it| it["name"] == name).unwrap()["schema"];
        let [least, most] = ["minimum", "maximum"].map(|bound| schema[bound].as_f64().unwrap());
        let search = |value: f64| server.get(&format!("/v1/agents/desk/knowledge/search?q=a&{name}={value}")).status;
        assert_eq!([least - step, least, most, most + step].map(search), [400, 200, 200, 400], "{name}");
    }
    let limit = |schema: &str, member: &str, limit: &str| {
        usize::try_from(document["components"]["schemas"][schema]["properties"][member][limit].as_u64().unwrap()).unwrap()
    };
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let say = |chars: usize| session.send_event(&server, &json!({"type": "user.message", "text": "a".repeat(chars)})).status;
    let most = limit("TurnEvent", "text", "maxLength");
    assert_eq!((say(most), say(most + 1)), (200, 413));
    let keep =
        |chars: usize| crate::flows::send(&server, "POST", "/v1/secrets", &json!({"name": "CRM", "value": "k".repeat(chars)})).status;
    let least = limit("NewSecret", "value", "minLength");
    assert_eq!((keep(least - 1), keep(least)), (422, 201));
}
