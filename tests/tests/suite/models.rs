//! A server with a model provider: streamed replies, stored calls, and errors without a usable model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::agent_stream::whole_reply;
use crate::ai_agents::helper;
use crate::flows::{reply_texts, send, with_changes};
use crate::harness::{OPEN, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack};
use crate::mcp_server_stdio::Process;
use crate::stream::{Event, ID, Listener};

pub const KEY: &str = "sk-suite-0123456789abcdef";

/// The prices of these tests, per million tokens.
pub const PRICES: &str = r#"convengine.llm.prices={"test-model":{"input":0.15,"output":0.6}}"#;

pub type ProviderReply = Box<dyn FnOnce(&mut TcpStream) + Send>;

/// A provider that answers each call with the next of the replies; its thread returns the requests.
pub fn start_provider(answers: Vec<ProviderReply>) -> (String, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests = thread::spawn(move || answers.into_iter().map(|answer| exchange(listener.accept().unwrap().0, answer)).collect());
    (address, requests)
}

fn exchange(mut stream: TcpStream, answer: ProviderReply) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the call has no complete head: {head}");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    assert!(head.contains(&format!("Bearer {KEY}")), "the call is authorized");
    answer(&mut stream);
    serde_json::from_slice(&body).unwrap()
}

pub fn write_head(stream: &mut TcpStream) {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n").unwrap();
}

/// The event of a chunk of a reply.
pub fn delta_event(text: &str) -> String {
    format!("data: {}\n\n", json!({"model": "test-model", "choices": [{"index": 0, "delta": {"content": text}}]}))
}

/// The last events of a reply.
pub fn final_events() -> String {
    let done = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 1001, "completion_tokens": 20}});
    format!("data: {done}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

/// `orders` with a model that writes the reply about orders.
pub fn pack_with_model() -> Value {
    let mut pack = orders_pack();
    let row = &mut pack["tables"]["ce_response"][0];
    row["response_type"] = json!("DERIVED");
    row.as_object_mut().unwrap().remove("exact_text");
    pack["tables"]["ce_prompt_template"] = json!([
        {"template_id": 1, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT",
         "system_prompt": "Answer kindly.", "user_prompt": "The customer writes: {{user_input}}"}
    ]);
    pack
}

/// The arguments of a server with this model.
fn model_arguments(model: &str) -> Vec<String> {
    let words = ["--set", "convengine.flow.dialogueAct.resolute=REGEX_ONLY", "--set", PRICES, "--llm", model];
    SERVE.iter().chain(&words).map(|it| (*it).to_owned()).collect()
}

fn serve(env: &TestEnv, address: &str) -> Server {
    let arguments = model_arguments("openai:test-model");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    env.start(env.command(&arguments).env("OPENAI_BASE_URL", address).env("OPENAI_API_KEY", KEY))
}

fn shown_text(events: &[Event]) -> String {
    events.iter().filter(|it| it.name == "TOKEN").filter_map(|it| it.data["text"].as_str()).collect()
}

fn is_last(event: &Event) -> bool {
    event.name == "STEP_EXIT" && event.data["payload"]["step"] == "PipelineEndGuardStep"
}

#[test]
fn a_reply_is_streamed_and_stored_with_its_cost() {
    let (go, gone) = mpsc::channel::<()>();
    let answer = move |stream: &mut TcpStream| {
        write_head(stream);
        stream.write_all(format!("{}{}", delta_event("It is "), delta_event(&KEY[..9])).as_bytes()).unwrap();
        gone.recv().unwrap();
        stream.write_all(format!("{}{}{}", delta_event(&KEY[9..]), delta_event(" on its way 🙂"), final_events()).as_bytes()).unwrap();
    };
    let (address, requests) = start_provider(vec![Box::new(answer)]);
    let env = TestEnv::with_pack(&pack_with_model());
    let server = serve(&env, &address);
    let mut listener = Listener::open(&server);
    let events = thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(ID, "my order"));
        let before = listener.until(|event| event.name == "TOKEN");
        assert_eq!(shown_text(&before), "It is ");
        assert!(!turn.is_finished(), "the model has not finished yet");
        go.send(()).unwrap();
        let rest = listener.until(is_last);
        assert_eq!(turn.join().unwrap()["payload"], json!({"type": "TEXT", "value": "It is [secret:OPENAI_API_KEY] on its way 🙂"}));
        [before, rest].concat()
    });
    let requests = requests.join().unwrap();
    assert_eq!(requests[0]["messages"][1]["content"], "The customer writes: my order\n\n");
    assert_eq!((&requests[0]["model"], &requests[0]["stream"]), (&json!("test-model"), &json!(true)));
    assert_eq!(shown_text(&events), "It is [secret:OPENAI_API_KEY] on its way 🙂");
    let (tokens, numbered): (Vec<&Event>, Vec<&Event>) = events.iter().partition(|it| it.name == "TOKEN");
    assert!(tokens.iter().all(|token| token.id.is_empty() && token.data["effect"] == 0 && token.data["turn"] == numbered[0].turn()));
    assert!(numbered.iter().enumerate().all(|(index, it)| it.seq() == index), "the other events are numbered as usual");
    assert!(events.iter().position(|it| it.name == "RESOLVE_RESPONSE_LLM_OUTPUT") > events.iter().rposition(|it| it.name == "TOKEN"));
    let columns =
        "concat_ws('|', provider, model, case when success then 1 else 0 end, input_tokens, output_tokens, cost_micros, response_text)";
    let log = env.sql().texts(&format!("select {columns} from ce_llm_call_log"));
    assert_eq!(log, ["openai|test-model|1|1001|20|162|It is [secret:OPENAI_API_KEY] on its way 🙂"]);
    let run = env.run(&["replay", "--conversation", ID]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let everything = env.sql().dump().join("\n") + &server.log() + &run.stdout;
    assert!(!everything.contains(KEY) && !everything.contains("\"TOKEN\""), "neither the key nor a chunk is stored");
}

#[test]
fn a_reply_that_breaks_off_is_reset_and_retried() {
    let broken: ProviderReply = Box::new(|stream| {
        write_head(stream);
        stream.write_all((delta_event("It was ") + &delta_event("lost")).as_bytes()).unwrap();
    });
    let whole: ProviderReply = Box::new(|stream| {
        write_head(stream);
        stream.write_all((delta_event("It is here.") + &final_events()).as_bytes()).unwrap();
    });
    let (address, requests) = start_provider(vec![broken, whole]);
    let env = TestEnv::with_pack(&pack_with_model());
    // A call log of the original has no columns for usage and cost.
    for column in ["input_tokens", "output_tokens", "cost_micros"] {
        env.sql().run(&format!("alter table ce_llm_call_log drop column {column}"));
    }
    let server = serve(&env, &address);
    let mut listener = Listener::open(&server);
    assert_eq!(server.say(ID, "my order")["payload"]["value"], "It is here.");
    assert_eq!(requests.join().unwrap().len(), 2);
    let events = listener.until(is_last);
    let reset = events.iter().position(|it| it.data["reset"] == true).expect("a reset");
    assert_eq!((shown_text(&events[..reset]).as_str(), shown_text(&events[reset..]).as_str()), ("It was lost", "It is here."));
    assert_eq!(env.sql().texts("select response_text from ce_llm_call_log"), ["It is here."]);
}

#[test]
fn a_failing_model_fails_the_turn_and_its_error_stays_internal() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key"}}).to_string();
    let refuses: ProviderReply = Box::new(move |stream| {
        write!(stream, "HTTP/1.1 401 X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    });
    let (address, requests) = start_provider(vec![refuses]);
    let env = TestEnv::with_pack(&pack_with_model());
    let server = serve(&env, &address);
    let answer = server.say(ID, "my order");
    assert_eq!((&answer["success"], &answer["errorCode"]), (&json!(false), &json!("LLM_CALL_FAILED")), "{answer}");
    assert!(!answer.to_string().contains("API key"), "{answer}");
    assert_eq!(requests.join().unwrap().len(), 1, "an authentication error is not retried");
    let log = env.sql().texts("select concat_ws('|', provider, case when success then 1 else 0 end, error_message) from ce_llm_call_log");
    assert_eq!(log, ["UNKNOWN|0|openai:test-model: status 401: Incorrect API key provided: [secret:OPENAI_API_KEY]"]);
    let everything = env.sql().dump().join("\n") + &server.log();
    assert!(!everything.contains(KEY));
}

#[test]
fn named_providers_answer_beside_each_other() {
    let of_openai = start_provider(vec![whole_reply(json!({"content": "From OpenAI."}))]);
    let of_groq = start_provider(vec![whole_reply(json!({"content": "From Groq."})), whole_reply(json!({"content": "Again."}))]);
    let env = TestEnv::with_pack(&orders_pack());
    let groq = |member: &str, value: &str| format!("convengine.llm.providers.groq.{member}={value}");
    let settings =
        [groq("base-url", &of_groq.0), groq("api-key", &format!("file:{}", env.write("groq.key", KEY))), groq("models", r#"["llama-3"]"#)];
    let words: Vec<&str> = settings.iter().flat_map(|it| ["--set", it.as_str()]).chain(["--llm", "openai:test-model"]).collect();
    let command = &mut env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &words].concat());
    let server = env.start(command.env("OPENAI_BASE_URL", &of_openai.0).env("OPENAI_API_KEY", KEY));
    let save = |model: &str| {
        let document = with_changes(helper("A shop"), &[("/model", json!(model))]);
        send(&server, "PUT", "/v1/ai-agents/helper/draft", &document).json()["issues"].to_string()
    };
    let say = || send(&server, "POST", "/v1/runtime/ai-agents/helper/turn", &json!({"text": "hello"})).json();
    for (model, code) in [("grok:x", "A012"), ("groq:other", "A005"), ("groq", "write groq:llama-3")] {
        assert!(save(model).contains(code), "{model}");
    }
    let refused = send(&server, "POST", "/v1/ai-agents/helper/publish", &json!({}));
    assert!(refused.status == 422 && refused.text.contains("A005"), "{refused:?}");
    for (model, provider, text) in
        [("default", "openai", "From OpenAI."), ("groq:llama-3", "groq", "From Groq."), ("groq/llama-3", "groq", "Again.")]
    {
        assert_eq!(save(model), "[]", "{model}");
        let answer = say();
        assert_eq!((reply_texts(&answer), &answer["debug"]["effective_agent_provider"]), (vec![text], &json!(provider)), "{answer}");
    }
    let requests = of_groq.1.join().unwrap();
    assert_eq!((&requests[0]["model"], &requests[1]["model"]), (&json!("llama-3"), &json!("llama-3")));
    assert_eq!(of_openai.1.join().unwrap().len(), 1);
    let log = server.log() + &env.sql().dump().join("\n");
    assert!(!log.contains(KEY));
    assert_one_line(&env.run(&[&SERVE[..], &words[..6], &["--llm", "grok:x"]].concat()), 2, &["'grok:x'", "groq[:MODEL]"]);
}

#[test]
fn lint_and_import_know_the_providers_of_the_settings() {
    let env = TestEnv::with_pack(&orders_pack());
    let models = r#"convengine.llm.providers.groq.models=["llama-3"]"#;
    let words = ["--set", "convengine.llm.providers.groq.base-url=http://127.0.0.1:1/v1", "--set", models];
    let mut process = Process::start(&env, &[&REGEX_ONLY[..], &words].concat());
    process.initialize();
    for (model, code, hint) in [
        ("groq", "A005", "groq:llama-3"),
        ("groq:other", "A005", "convengine.llm.providers.groq.models"),
        ("openai", "A005", "openai:MODEL"),
        ("grok:x", "A012", "convengine.llm.providers.grok"),
        ("openai:gpt-5", "A012", "--llm openai:gpt-5"),
    ] {
        let document = with_changes(helper("A shop"), &[("/model", json!(model))]);
        let file = env.write_pack("helper.json", &json!({"name": "n", "documents": [document]}));
        let run = |command: &[&str]| env.run(&[command, &[file.as_str()], &words].concat());
        let is_error = i32::from(code == "A005");
        let linted = run(&["lint"]);
        assert!(linted.code == is_error && linted.stdout.contains(code) && linted.stdout.contains(hint), "{model}: {linted:?}");
        let imported = run(&["import", "--strict"]);
        assert!(imported.code == is_error && imported.stderr.contains(code) && imported.stderr.contains(hint), "{model}: {imported:?}");
        let answer = process.request("tools/call", json!({"name": "lint", "arguments": {"document": document}}));
        let issues = answer["result"]["structuredContent"]["issues"].to_string();
        assert!(issues.contains(code) && issues.contains(hint), "{model}: {answer}");
    }
    let document = with_changes(helper("A shop"), &[("/model", json!("grok:x"))]);
    let unknown = env.run(&["lint", &env.write_pack("helper.json", &json!({"name": "n", "documents": [document]}))]);
    assert!(unknown.code == 0 && !unknown.stdout.contains("A012"), "without models, those of the server are unknown: {unknown:?}");
}

#[test]
fn unusable_models_are_reported_at_startup() {
    let env = TestEnv::with_pack(&orders_pack());
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command: Command = env.command(&[&SERVE[..], arguments].concat());
        for variable in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "CONVENGINE_LLM"] {
            command.env_remove(variable);
        }
        env.run_command(command.envs(variables.iter().copied()))
    };
    assert_one_line(&run(&["--llm", "openai:x"], &[]), 2, &["OPENAI_API_KEY", "OPENAI_BASE_URL"]);
    assert_one_line(&run(&["--llm", "anthropic:x"], &[]), 2, &["ANTHROPIC_API_KEY"]);
    assert_one_line(&run(&["--llm", "openai"], &[("OPENAI_API_KEY", KEY)]), 2, &["openai:MODEL", "OPENAI_MODEL"]);
    assert_one_line(&run(&["--llm", "polite=off"], &[]), 2, &["'polite'", "policy", "extraction", "embed"]);
    assert_one_line(&run(&["--llm", "policy=oracle"], &[]), 2, &["'oracle'", "anthropic[:MODEL]"]);
    assert_one_line(&run(&["--llm", "openai:x"], &[("OPENAI_BASE_URL", "nowhere")]), 2, &["OPENAI_BASE_URL"]);
    assert_one_line(&run(&[], &[("CONVENGINE_LLM", "policy=off, oracle")]), 2, &["'oracle'"]);
    assert_one_line(&run(&["--set", "convengine.llm.max-attempts=0"], &[]), 2, &["convengine.llm.max-attempts"]);
    let file = env.write("settings.toml", "llm = [\"policy=off\", \"sibyl\"]\n");
    assert_one_line(&run(&["--settings", &file], &[]), 2, &["'sibyl'"]);
    assert_one_line(&run(&["--settings", &file], &[("CONVENGINE_LLM", "oracle")]), 2, &["'oracle'"]);
    let file = env.write("settings.toml", "llm = [5]\n");
    assert_one_line(&run(&["--settings", &file], &[]), 2, &["list of strings"]);
}
