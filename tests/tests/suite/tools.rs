//! Tools on a server with services, secrets and files: what reaches them, and what never leaves.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_storage::turn::decompress;
use convengine_test_macros::test;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv};
use crate::stream::{ID, Listener};

pub const SECRET: &str = "hunter2/quite+\"secret\"";

/// A service that answers with the next status, and with what it was sent.
pub struct Service {
    pub address: SocketAddr,
    received: Arc<Mutex<Received>>,
    _runtime: Runtime,
}

#[derive(Default)]
struct Received {
    statuses: VecDeque<u16>,
    calls: Vec<(String, HeaderMap)>,
}

impl Service {
    pub fn start(due: &[u16]) -> Service {
        let runtime = Runtime::new().unwrap();
        let received = Arc::new(Mutex::new(Received { statuses: due.iter().copied().collect(), calls: Vec::new() }));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().fallback(echo).with_state(Arc::clone(&received));
        runtime.spawn(async { axum::serve(listener, routes).await });
        Service { address, received, _runtime: runtime }
    }

    pub fn calls(&self) -> Vec<(String, HeaderMap)> {
        self.received.lock().unwrap().calls.clone()
    }
}

/// Returns everything that was sent, including the secret.
async fn echo(State(seen): State<Arc<Mutex<Received>>>, uri: Uri, headers: HeaderMap) -> (StatusCode, String) {
    let mut seen = seen.lock().unwrap();
    let signed = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    seen.calls.push((uri.to_string(), headers));
    let status = seen.statuses.pop_front().unwrap_or(200);
    (StatusCode::from_u16(status).unwrap(), json!({"you": signed, "plain": SECRET}).to_string() + SECRET)
}

/// A pack whose tools call a service and read files.
pub fn desk(address: SocketAddr) -> Value {
    let tool = |id: u32, code: &str, group: &str| json!({"tool_id": id, "tool_code": code, "tool_group": group, "intent_code": "ANY", "state_code": "ANY"});
    json!({
        "name": "desk",
        "tables": {
            "ce_intent": [{"intent_code": "DESK", "description": "Everything"}],
            "ce_intent_classifier": [{"classifier_id": 1, "rule_type": "REGEX", "pattern": ".*", "intent_code": "DESK", "priority": 1}],
            "ce_response": [{"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                "exact_text": "{{inputParams.tool_status}} {{inputParams.tool_result.result}}{{inputParams.tool_result.error}}"}],
            "ce_mcp_tool": [tool(1, "crm.find", "API"), tool(2, "crm.note", "API"), tool(3, "manual", "FILES")],
            "ce_http_tool": [
                {"tool_id": 1, "url_template": format!("http://{address}/find/{{{{name}}}}"), "auth_ref": "crm", "response_mapping": "TEXT"},
                {"tool_id": 2, "method": "POST", "url_template": format!("http://{address}/note"), "auth_ref": "crm", "policy": {"initialBackoffMs": 1}}
            ],
            "cv_tool_spec": [
                {"tool_id": 1, "input_schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 20}}}},
                {"tool_id": 3, "spec": {"root": "manuals", "operation": "read"}}
            ]
        }
    })
}

/// A server that has the secret and may call the service.
fn serve(env: &TestEnv, service: &Service, more: &[&str]) -> Server {
    let network = format!("convengine.network.allow-private={}", service.address);
    serve_with(env, &[&["--set", &network], more].concat())
}

fn serve_with(env: &TestEnv, more: &[&str]) -> Server {
    let secret = ["--set", "convengine.secrets.crm=env:DESK_CRM"];
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &secret, more].concat());
    env.start(command.env("DESK_CRM", SECRET).env("RUST_LOG", "trace"))
}

fn call(server: &Server, tool: &str, args: Value) -> Value {
    let params = json!({"tool_request": {"tool_code": tool, "args": args}});
    server.post(json!({"message": "go", "conversationId": ID, "inputParams": params}).to_string()).json()
}

fn observation(answer: &Value) -> String {
    answer["payload"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_secret_echoed_by_a_service_is_in_no_byte() {
    let service = Service::start(&[200, 400, 401]);
    let env = TestEnv::with_pack(&desk(service.address));
    let server = serve(&env, &service, &[]);
    let mut listener = Listener::open(&server);
    let answers: Vec<Value> = (0..3).map(|number| call(&server, "crm.find", json!({"name": format!("n{number}")}))).collect();
    assert!(observation(&answers[0]).starts_with("SUCCESS") && observation(&answers[0]).contains("[secret:crm]"), "{answers:?}");
    assert!(observation(&answers[1]).contains("status 400") && observation(&answers[1]).contains("[secret:crm]"), "{answers:?}");
    let signed = service.calls().iter().filter(|call| call.1["authorization"].to_str().unwrap() == format!("Bearer {SECRET}")).count();
    assert_eq!(signed, 3, "each call was signed");
    let ends = Cell::new(0);
    let events = listener.until(|event| {
        ends.set(ends.get() + usize::from(event.name == "ENGINE_RETURN"));
        ends.get() == 3
    });
    let mut sql = env.sql();
    let hex = sql.hex_expression("journal");
    let journals = sql.texts(&format!("select {hex} from ce_turn"));
    let mut shown: Vec<String> = answers.iter().map(ToString::to_string).collect();
    shown.extend(server.audit(ID).iter().map(ToString::to_string));
    shown.extend(events.iter().map(|it| it.data.to_string()));
    shown.extend(env.sql().dump());
    shown.extend(journals.iter().map(|journal| serde_json::to_string(&decompress(&decode_hex(journal)).unwrap()).unwrap()));
    shown.push(server.log());
    // The beginning of the secret, which no escaping changes.
    let found: Vec<&String> = shown.iter().filter(|it| it.contains("hunter2")).collect();
    assert!(found.is_empty(), "{found:#?}");
    assert!(journals.len() == 3 && shown.len() > 200, "only {} texts were searched", shown.len());
}

fn decode_hex(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn a_retry_carries_the_key_of_the_first_attempt_and_no_other_call_does() {
    let service = Service::start(&[503, 200, 200]);
    let env = TestEnv::with_pack(&desk(service.address));
    let server = serve(&env, &service, &[]);
    assert!(observation(&call(&server, "crm.note", json!({"text": "a"}))).starts_with("SUCCESS"));
    assert!(observation(&call(&server, "crm.note", json!({"text": "b"}))).starts_with("SUCCESS"));
    let keys: Vec<String> = service.calls().iter().map(|call| call.1["idempotency-key"].to_str().unwrap().to_owned()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys[0] == keys[1] && keys[1] != keys[2], "{keys:?}");
}

#[test]
fn arguments_outside_the_schema_and_private_services_are_never_called() {
    let service = Service::start(&[]);
    let env = TestEnv::with_pack(&desk(service.address));
    let server = serve(&env, &service, &[]);
    for args in
        [json!({}), json!({"name": true}), json!({"name": "a name that is too long"}), json!({"name": "../admin"}), json!({"name": ".."})]
    {
        let answer = observation(&call(&server, "crm.find", args.clone()));
        assert_eq!(answer.starts_with("ERROR"), args != json!({"name": "../admin"}), "{args}: {answer}");
    }
    let paths: Vec<String> = service.calls().into_iter().map(|it| it.0).collect();
    assert_eq!(paths, ["/find/..%2Fadmin"], "a name that looks like a path stays one name");
    drop(server);
    let closed = serve_with(&env, &[]);
    let answer = observation(&call(&closed, "crm.note", json!({})));
    assert!(answer.starts_with("ERROR") && answer.contains("convengine.network.allow-private"), "{answer}");
    assert_eq!(service.calls().len(), 1);
}

#[test]
fn files_are_read_below_their_root_and_nowhere_else() {
    let service = Service::start(&[]);
    let env = TestEnv::with_pack(&desk(service.address));
    env.write("outside.txt", "not for you");
    std::fs::create_dir(env.path("manuals")).unwrap();
    env.write("manuals/lamp.txt", "Turn it on.");
    let root = format!("convengine.files.roots.manuals={}", env.path("manuals").display());
    let server = serve(&env, &service, &["--set", &root]);
    let answer = observation(&call(&server, "manual", json!({"path": "lamp.txt"})));
    assert!(answer.starts_with("SUCCESS") && answer.contains("Turn it on."), "{answer}");
    for path in ["../outside.txt", "/etc/hostname", "manuals/../../outside.txt", "lamp.txt/../../outside.txt", "gone.txt", ""] {
        let answer = observation(&call(&server, "manual", json!({"path": path})));
        assert!(answer.starts_with("ERROR") && !answer.contains("not for you"), "{path}: {answer}");
    }
}
