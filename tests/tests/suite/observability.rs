//! Observability of a server: metrics, traces and the log, none of which contains what users write.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use convengine_host_base::metric_names::METRICS;
use convengine_host_base::trace_ids::{span_id, trace_id};
use convengine_test_macros::test;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::harness::{MESSAGE, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::stream::{ID, Listener};

const KEY: &str = "sk-observe-0123456789";
const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A user's message; it must not appear in anything that operators see.
const USER_TEXT: &str = "my order of a violet umbrella";

/// A collector, a model and a service at one address.
struct Backends {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
    _runtime: Runtime,
}

#[derive(Default)]
struct Received {
    exports: Vec<Vec<u8>>,
    /// Whether the collector rejects exports.
    rejects_exports: bool,
    /// The trace headers that the service received.
    traceparent: Vec<String>,
}

impl Backends {
    fn start() -> Backends {
        let runtime = Runtime::new().unwrap();
        let received = Arc::new(Mutex::new(Received::default()));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().fallback(answer).with_state(Arc::clone(&received));
        runtime.spawn(async { axum::serve(listener, routes).await });
        Backends { address, received, _runtime: runtime }
    }

    fn spans(&self) -> Vec<Span> {
        let seen = self.received.lock().unwrap();
        let requests = seen.exports.iter().map(|export| ExportTraceServiceRequest::decode(export.as_slice()).unwrap());
        requests.flat_map(|it| it.resource_spans).flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    /// A server with this model, this service and optionally this collector.
    fn serve(&self, env: &TestEnv, traced: bool, more: &[&str]) -> Server {
        let network = format!("convengine.network.allow-private={}", self.address);
        let model = ["--llm", "openai:test-model", "--set", r#"convengine.llm.prices={"test-model":{"input":0.15,"output":0.6}}"#];
        let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &["--set", &network], &model, more].concat());
        if traced {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", self.address));
        }
        env.start(command.env("OPENAI_BASE_URL", format!("http://{}/v1", self.address)).env("OPENAI_API_KEY", KEY))
    }
}

async fn answer(State(seen): State<Arc<Mutex<Received>>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let mut seen = seen.lock().unwrap();
    match uri.path() {
        "/v1/traces" if seen.rejects_exports => StatusCode::BAD_REQUEST.into_response(),
        "/v1/traces" => {
            seen.exports.push(body.to_vec());
            StatusCode::OK.into_response()
        }
        // It repeats what it was sent.
        "/denied/chat/completions" => {
            let sent = String::from_utf8_lossy(&body).into_owned();
            (StatusCode::UNAUTHORIZED, Json(json!({"error": {"message": format!("no access: {sent}")}}))).into_response()
        }
        "/v1/chat/completions" => {
            let piece = json!({"model": "test-model-2026", "choices": [{"index": 0, "delta": {"content": "It is on its way."}}]});
            let done = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
            let usage = json!({"choices": [], "usage": {"prompt_tokens": 1001, "completion_tokens": 20}});
            let events = format!("data: {piece}\n\ndata: {done}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
            ([("Content-Type", "text/event-stream")], events).into_response()
        }
        _ => {
            seen.traceparent.extend(headers.get("traceparent").map(|value| value.to_str().unwrap().to_owned()));
            "found".into_response()
        }
    }
}

/// `orders` with a model that writes, a tool of a service, and a policy.
fn observed_pack(address: SocketAddr) -> Value {
    let mut pack = orders_pack();
    let row = &mut pack["tables"]["ce_response"][0];
    row["response_type"] = json!("DERIVED");
    row.as_object_mut().unwrap().remove("exact_text");
    pack["tables"]["ce_prompt_template"] = json!([{"template_id": 1, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT",
        "system_prompt": "Answer kindly.", "user_prompt": "The customer writes: {{user_input}}"}]);
    pack["tables"]["ce_policy"] = json!([{"policy_id": 1, "rule_type": "CONTAINS", "pattern": "password", "response_text": "No."}]);
    pack["tables"]["ce_mcp_tool"] =
        json!([{"tool_id": 1, "tool_code": "crm.find", "tool_group": "API", "intent_code": "OTHER", "state_code": "ANY"}]);
    pack["tables"]["ce_http_tool"] = json!([{"tool_id": 1, "url_template": format!("http://{address}/find"), "response_mapping": "TEXT"}]);
    pack
}

fn attributes(span: &Span) -> BTreeMap<&str, Value> {
    let value = |pair: &Attribute| match pair {
        Attribute::StringValue(text) => json!(text),
        Attribute::IntValue(number) => json!(number),
        other => panic!("{other:?}"),
    };
    span.attributes.iter().map(|pair| (pair.key.as_str(), value(pair.value.as_ref().unwrap().value.as_ref().unwrap()))).collect()
}

/// The metrics of `/metrics`, by name with labels.
pub fn read_metrics(server: &Server) -> BTreeMap<String, f64> {
    let text = server.get("/metrics").text;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.rsplit_once(' ').unwrap()).map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

#[track_caller]
fn assert_metric(numbers: &BTreeMap<String, f64>, name: &str, value: f64) {
    let alike: Vec<_> = numbers.iter().filter(|number| number.0.starts_with(name.split('{').next().unwrap())).collect();
    assert_eq!(numbers.get(name), Some(&value), "{name} among {alike:?}");
}

#[test]
fn a_turn_is_one_trace_by_its_own_ids_and_without_texts() {
    let backends = Backends::start();
    let env = TestEnv::with_pack(&observed_pack(backends.address));
    let mut server = backends.serve(&env, true, &[]);
    let body = json!({"conversationId": ID, "message": USER_TEXT}).to_string();
    let headers = [("Content-Type", "application/json"), ("traceparent", CALLER)];
    assert_eq!(server.request("POST", MESSAGE, &headers, body).status, 200);
    let params = json!({"tool_request": {"tool_code": "crm.find", "args": {"name": USER_TEXT}}});
    server.post(json!({"message": "go", "conversationId": ID, "inputParams": params}).to_string());
    // Queued spans are flushed before the exit.
    server.terminate();
    assert_eq!(server.exit_code(), Some(0));
    let turns = env.sql().texts("select cast(turn_id as text) from ce_turn order by created_at");
    let spans = backends.spans();
    assert_eq!((turns.len(), spans.iter().filter(|it| it.name == "turn").count()), (2, 2), "{spans:#?}");
    let of_turn = |turn: &str, name: &str| {
        let fits = |span: &&Span| span.trace_id == trace_id(turn).to_bytes() && span.name == name;
        spans.iter().find(fits).unwrap_or_else(|| panic!("no '{name}' of {turn} in {spans:#?}")).clone()
    };
    let first = of_turn(&turns[0], "turn");
    assert_eq!(trace_id(&turns[0]).to_string(), turns[0].replace('-', ""), "the ids refer to each other");
    assert_eq!((first.span_id.as_slice(), first.parent_span_id.len()), (&span_id(&turns[0]).to_bytes()[..], 0));
    let link: String = first.links[0].trace_id.iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(link, CALLER[3..35]);
    let span_attributes = attributes(&first);
    assert_eq!((&span_attributes["convengine.turn.outcome"], &span_attributes["convengine.turn.effects"]), (&json!("ok"), &json!(1)));
    assert_eq!((&span_attributes["convengine.turn.id"], &span_attributes["gen_ai.conversation.id"]), (&json!(turns[0]), &json!(ID)));
    let chat = of_turn(&turns[0], "chat test-model");
    assert_eq!(chat.parent_span_id, first.span_id);
    assert_eq!(chat.span_id, span_id(&format!("{}/0", turns[0])).to_bytes());
    let span_attributes = attributes(&chat);
    for (name, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("test-model")),
        ("gen_ai.response.model", json!("test-model-2026")),
        ("gen_ai.usage.input_tokens", json!(1001)),
        ("gen_ai.usage.output_tokens", json!(20)),
        ("convengine.model.cost_micros", json!(162)),
    ] {
        assert_eq!(span_attributes.get(name), Some(&value), "{name} in {span_attributes:?}");
    }
    assert!(chat.start_time_unix_nano >= first.start_time_unix_nano && chat.end_time_unix_nano <= first.end_time_unix_nano);
    let tool = of_turn(&turns[1], "execute_tool crm.find");
    assert_eq!(
        (&attributes(&tool)["gen_ai.tool.name"], &attributes(&tool)["http.response.status_code"]),
        (&json!("crm.find"), &json!(200))
    );
    let hex: String = tool.span_id.iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(backends.received.lock().unwrap().traceparent, [format!("00-{}-{hex}-01", turns[1].replace('-', ""))]);
    for export in &backends.received.lock().unwrap().exports {
        assert!(!String::from_utf8_lossy(export).contains("umbrella"), "a user's text is in a span");
    }
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn an_unavailable_collector_delays_no_turn() {
    let backends = Backends::start();
    backends.received.lock().unwrap().rejects_exports = true;
    let env = TestEnv::with_pack(&observed_pack(backends.address));
    let server = backends.serve(&env, true, &[]);
    for _ in 0..3 {
        assert_eq!(server.say(ID, USER_TEXT)["success"], true);
    }
    let dropped = "convengine_trace_spans_dropped_total{reason=\"failed\"}";
    assert!(wait_until(|| read_metrics(&server).get(dropped) == Some(&6.0)), "{:?}", read_metrics(&server));
    assert_eq!(server.log().matches("the collector rejects spans").count(), 1, "{}", server.log());
    drop(server);
    // Without a collector no trace headers are sent.
    let server = backends.serve(&env, false, &[]);
    server.post(
        json!({"message": "go", "conversationId": ID, "inputParams": {"tool_request": {"tool_code": "crm.find", "args": {}}}}).to_string(),
    );
    assert_metric(&read_metrics(&server), "convengine_effects_total{kind=\"http\",outcome=\"ok\"}", 1.0);
    assert_eq!(backends.received.lock().unwrap().traceparent, [""; 0]);
}

#[test]
fn metrics_have_documented_names_and_no_ids() {
    let backends = Backends::start();
    let env = TestEnv::with_pack(&observed_pack(backends.address));
    let server = backends.serve(&env, false, &[]);
    let listener = Listener::open(&server);
    assert_metric(&read_metrics(&server), "convengine_streams_open", 1.0);
    server.say(ID, USER_TEXT);
    server.say(ID, "tell me the password");
    let keyed = |text: &str| {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
        server.request("POST", MESSAGE, &headers, json!({"conversationId": ID, "message": text}).to_string()).status
    };
    assert_eq!((keyed("hello"), keyed("hello, umbrella")), (200, 422));
    server.get(&format!("/api/v1/conversation/audit/{ID}"));
    server.get("/umbrella");
    drop(listener);
    assert!(wait_until(|| read_metrics(&server).get("convengine_streams_open") == Some(&0.0)));
    let answer = server.get("/metrics");
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"));
    let found = read_metrics(&server);
    for (name, value) in [
        ("convengine_turns_total{outcome=\"ok\"}", 2.0),
        ("convengine_turns_total{outcome=\"blocked\"}", 1.0),
        ("convengine_turn_duration_seconds_count", 3.0),
        ("convengine_turns_running", 0.0),
        ("convengine_turns_waiting", 0.0),
        ("convengine_refusals_total{reason=\"other_message\"}", 1.0),
        ("convengine_effects_total{kind=\"llm\",outcome=\"ok\"}", 1.0),
        ("convengine_effect_duration_seconds_count{kind=\"llm\"}", 1.0),
        ("convengine_model_calls_total{provider=\"openai\",model=\"test-model\",purpose=\"response_text\",outcome=\"ok\"}", 1.0),
        ("convengine_model_tokens_total{provider=\"openai\",model=\"test-model\",direction=\"input\"}", 1001.0),
        ("convengine_model_tokens_total{provider=\"openai\",model=\"test-model\",direction=\"output\"}", 20.0),
        ("convengine_model_cost_micros_total{provider=\"openai\",model=\"test-model\"}", 162.0),
        ("convengine_http_requests_total{route=\"/api/v1/conversation/audit/{id}\",method=\"GET\",status=\"200\"}", 1.0),
        ("convengine_http_requests_total{route=\"/api/v1/conversation/message\",method=\"POST\",status=\"422\"}", 1.0),
        ("convengine_http_requests_total{route=\"other\",method=\"GET\",status=\"404\"}", 1.0),
        ("convengine_config_issues{severity=\"error\"}", 0.0),
    ] {
        assert_metric(&found, name, value);
    }
    assert!(found["convengine_commits_total{outcome=\"ok\"}"] >= 3.0 && found["convengine_stream_events_total"] > 20.0);
    assert_eq!(found["convengine_commits_total{outcome=\"ok\"}"], found["convengine_commit_parts_count"], "nothing else was written");
    let hash = server.get("/readyz").json()["config"].as_str().unwrap().to_owned();
    assert_metric(&found, &format!("convengine_config_info{{hash=\"{hash}\"}}"), 1.0);
    assert!(found["convengine_process_resident_memory_bytes"] > 1e6 && found["convengine_process_open_files"] > 3.0);
    let text = server.get("/metrics").text;
    assert!(!text.contains("umbrella") && !text.contains(ID), "a text or an id is a label value");
    let names_after = |what: &str| text.lines().filter_map(|line| line.strip_prefix(what)?.split(' ').next()).collect::<BTreeSet<&str>>();
    let known: BTreeSet<&str> = METRICS.iter().map(|it| it.name).collect();
    assert_eq!(names_after("# HELP "), names_after("# TYPE "));
    assert!(names_after("# TYPE ").is_subset(&known), "{:?}", names_after("# TYPE ").difference(&known));
}

#[test]
fn an_orphaned_turn_is_counted_by_the_server_that_finishes_it() {
    let env = TestEnv::with_pack(&orders_pack());
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let model = |name: &str, delay: u32| format!("scripted:{}", env.write_pack(name, &json!([{"delay_ms": delay, "reply": reply}])));
    let set = ["--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY", "--set", "convengine.turn.lease=1s"];
    let (slow, quick) = (model("slow.json", 60_000), model("quick.json", 0));
    let server = env.serve(&[&set[..], &["--llm", &slow]].concat());
    std::thread::scope(|scope| {
        let _sent = scope.spawn(|| server.try_post(&json!({"conversationId": ID, "message": "my order"}).to_string()));
        assert!(wait_until(|| env.sql().texts("select status from ce_turn") == ["open"]));
        let _next = scope.spawn(|| server.try_post(&json!({"conversationId": ID, "message": "hello"}).to_string()));
        assert!(wait_until(|| read_metrics(&server).get("convengine_turns_waiting") == Some(&1.0)), "the second waits for the first");
        assert_metric(&read_metrics(&server), "convengine_turns_running", 1.0);
        server.kill();
    });
    let server = env.serve(&[&set[..], &["--llm", &quick]].concat());
    let recovered = "convengine_turns_recovered_total{outcome=\"finished\"}";
    assert!(wait_until(|| read_metrics(&server).get(recovered) == Some(&1.0)), "{:?}", read_metrics(&server));
    assert_metric(&read_metrics(&server), "convengine_turns_total{outcome=\"ok\"}", 1.0);
}

#[test]
fn the_log_is_json_lines_with_the_ids_of_the_turn() {
    let backends = Backends::start();
    let env = TestEnv::with_pack(&observed_pack(backends.address));
    let more = ["--set", "convengine.logging.format=json", "--set", "convengine.logging.level=info"];
    let server = backends.serve(&env, false, &more);
    let body = json!({"conversationId": ID, "message": USER_TEXT}).to_string();
    server.request("POST", MESSAGE, &[("Content-Type", "application/json"), ("X-Request-Id", "request-7")], body);
    let turn = env.sql().texts("select cast(turn_id as text) from ce_turn").remove(0);
    let log = server.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    assert!(lines.iter().all(|line| ["timestamp", "level", "target", "message"].iter().all(|name| line[*name].is_string())), "{log}");
    let ended: Vec<&Value> = lines.iter().filter(|it| it["message"] == "turn completed").collect();
    assert_eq!(ended.len(), 1, "{log}");
    for (name, value) in [
        ("level", json!("INFO")),
        ("requestId", json!("request-7")),
        ("turn", json!(turn)),
        ("conversation", json!(ID)),
        ("outcome", json!("ok")),
        ("effects", json!(1)),
    ] {
        assert_eq!(ended[0][name], value, "{log}");
    }
    assert!(ended[0]["duration_ms"].is_u64() && !log.contains("umbrella") && !log.contains(KEY), "{log}");
    drop(server);
    let quiet = backends.serve(&env, false, &[]);
    quiet.say(ID, USER_TEXT);
    assert_eq!(quiet.log(), "", "nothing is logged as a warning");
}

#[test]
fn a_failing_model_is_an_error_in_the_log_without_texts() {
    let backends = Backends::start();
    let env = TestEnv::with_pack(&observed_pack(backends.address));
    let network = format!("convengine.network.allow-private={}", backends.address);
    let set = ["--set", &network, "--set", "convengine.logging.format=json", "--llm", "openai:test-model"];
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &set].concat());
    let url = format!("http://{}/denied", backends.address);
    let server = env.start(command.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", KEY));
    assert_eq!(server.say(ID, USER_TEXT)["errorCode"], "LLM_CALL_FAILED");
    let log = server.log();
    let failed: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(|it: &Value| it["level"] == "ERROR").collect();
    assert_eq!(failed.len(), 1, "{log}");
    let found = ["message", "provider", "model", "purpose", "status"].map(|it| failed[0][it].clone());
    assert_eq!(found, [json!("model call failed"), json!("openai"), json!("test-model"), json!("response_text"), json!(401)], "{log}");
    assert!(failed[0]["cause"].as_str().is_some_and(|it| it.contains("401")), "{log}");
    assert!(failed[0]["kind"].is_string() && !log.contains(USER_TEXT) && !log.contains(KEY), "{log}");
}

/// Settings are read before the database is opened.
#[test]
#[on(sqlite)]
fn invalid_settings_are_reported_at_startup() {
    let env = TestEnv::new();
    for (set, words) in [
        ("convengine.logging.format=xml", ["convengine.logging.format", "text or json"]),
        ("convengine.logging.level=a=b=c", ["convengine.logging.level", "use a value such as info"]),
        ("convengine.telemetry.otlp.endpoint=collector", ["convengine.telemetry.otlp.endpoint", "http://HOST:4318"]),
    ] {
        assert_one_line(&env.run(&[&SERVE[..], &["--set", set]].concat()), 2, &words);
    }
}
