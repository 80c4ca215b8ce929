//! Order of models, retries and fallback.

use std::time::Duration;

use convengine_core::turn::{EffectErrorKind, LlmMode};
use serde_json::json;
use tokio::time::Instant;

use super::provider::Provider;
use super::server::{Sent, Server, whole};
use super::{Listener, ask, call, far, models, reply, settings};
use crate::settings::Llm;

const SOUND: Provider = Provider::OpenAi;

fn fine(text: &str) -> Sent {
    whole(200, "", &SOUND.answer(text))
}

fn busy(status: u16, headers: &str) -> Sent {
    whole(status, headers, &SOUND.error("x", "busy"))
}

fn patient(server: &Server, words: &[&str]) -> Llm {
    Llm { max_attempts: 3, ..settings(&server.address, words) }
}

/// Returns the model names that a server received.
fn asked(server: &Server) -> Vec<String> {
    server.got().iter().map(|it| it.body["model"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn a_purpose_wins_over_its_group_and_that_over_the_rest() {
    let server = Server::new(vec![fine("x")]).await;
    let words = ["openai:rest", "extraction=openai:group", "summary=openai:summary", "policy=openai:policy", "agent=openai:agent"];
    let models = models(&settings(&server.address, &words));
    for purpose in ["policy", "summary", "extract", "intent_match", "agent", "response_text", "something_new"] {
        ask(&models, &call(purpose, LlmMode::Text)).await.expect("an answer");
    }
    assert_eq!(asked(&server), ["policy", "summary", "group", "group", "agent", "rest", "rest"]);
    let off = super::models(&settings(&server.address, &["policy=off", "openai:rest"]));
    let error = ask(&off, &call("policy", LlmMode::Text)).await.expect_err("the purpose is off");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (EffectErrorKind::Unsupported, "no language model is set up: start the server with --llm")
    );
    let some = super::models(&settings(&server.address, &["policy=openai:a"]));
    assert_eq!(ask(&some, &call("agent", LlmMode::Text)).await.expect_err("no model").kind, EffectErrorKind::Unsupported);
}

#[tokio::test]
async fn a_busy_model_is_asked_again_and_then_the_next_one() {
    for again in [busy(429, ""), busy(500, ""), busy(529, ""), busy(408, ""), Sent { bytes: Vec::new(), hangs: false }] {
        let server = Server::new(vec![again.clone(), again.clone(), fine("third")]).await;
        let reply = ask(&models(&patient(&server, &["openai:a"])), &call("agent", LlmMode::Text)).await.expect("an answer");
        assert_eq!((reply.text.as_str(), asked(&server)), ("third", vec!["a".to_owned(); 3]));
        let server = Server::new(vec![again.clone(), again.clone(), again.clone(), fine("other")]).await;
        let reply = ask(&models(&patient(&server, &["openai:a", "openai:b", "openai:c"])), &call("agent", LlmMode::Text)).await;
        assert_eq!((reply.expect("an answer").text.as_str(), asked(&server)), ("other", ["a", "a", "a", "b"].map(str::to_owned).to_vec()));
    }
    let server = Server::new(vec![busy(503, ""), busy(503, ""), busy(503, ""), busy(429, "")]).await;
    let error = ask(&models(&patient(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text)).await.expect_err("all are busy");
    assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Limited, "openai:b: status 429: busy"), "the last one's error");
    assert_eq!(asked(&server).len(), 6);
}

#[tokio::test]
async fn what_would_fail_again_is_not_asked_again() {
    for last in [busy(400, ""), busy(401, ""), busy(404, ""), whole(200, "", "{}")] {
        let server = Server::new(vec![last, fine("other")]).await;
        let reply = ask(&models(&patient(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text)).await.expect("an answer");
        assert_eq!((reply.text.as_str(), asked(&server)), ("other", ["a", "b"].map(str::to_owned).to_vec()));
    }
    let server = Server::new(vec![whole(200, "", &SOUND.ended("", "content_filter").to_string()), fine("other")]).await;
    let error = ask(&models(&patient(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text)).await.expect_err("a refusal");
    assert_eq!((error.kind, asked(&server).len()), (EffectErrorKind::Refused, 1), "no second opinion on a refusal");
}

#[tokio::test]
async fn a_wait_that_a_model_asks_for_is_kept_or_not_begun() {
    let server = Server::new(vec![busy(429, "Retry-After: 3600\r\n"), fine("other")]).await;
    let start = Instant::now();
    let reply = ask(&models(&patient(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text)).await.expect("an answer");
    assert_eq!((reply.text.as_str(), asked(&server)), ("other", ["a", "b"].map(str::to_owned).to_vec()));
    let server = Server::new(vec![busy(429, "Retry-After: 3600\r\n")]).await;
    let error = ask(&models(&patient(&server, &["openai:a"])), &call("agent", LlmMode::Text)).await.expect_err("too long a wait");
    assert_eq!((error.kind, error.retry_after_ms, asked(&server).len()), (EffectErrorKind::Limited, Some(3_600_000), 1));
    assert!(start.elapsed() < Duration::from_secs(30), "nothing was waited for");
    let server = Server::new(vec![busy(429, "Retry-After: 0.2\r\n"), fine("again")]).await;
    let start = Instant::now();
    let reply = ask(&models(&patient(&server, &["openai:a"])), &call("agent", LlmMode::Text)).await.expect("an answer");
    assert_eq!((reply.text.as_str(), asked(&server).len()), ("again", 2));
    assert!(start.elapsed() >= Duration::from_millis(200), "not before its time");
}

#[tokio::test]
async fn scripts_stand_beside_models() {
    let folder = std::env::temp_dir().join(format!("convengine-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("rules.json");
    let rules = json!([{"purpose": "agent", "replies": ["scripted"]}, {"purpose": "embed", "reply": [1, 2]}]);
    std::fs::write(&file, rules.to_string()).expect("a file");
    let script = format!("scripted:{}", file.display());
    let server = Server::new(vec![fine("modelled")]).await;
    let text = async |words: &[&str], purpose: &str| {
        let answer = ask(&models(&patient(&server, words)), &call(purpose, LlmMode::Text)).await;
        answer.map_or_else(|error| error.message, |reply| reply.text)
    };
    assert_eq!(text(&[&script, "policy=openai:x"], "agent").await, "scripted");
    assert_eq!(text(&[&script, "policy=openai:x"], "policy").await, "modelled");
    assert_eq!(text(&[&script, "openai:x"], "summary").await, "modelled", "no rule answers, the next one does");
    assert_eq!(text(&["openai:x", &script], "agent").await, "modelled");
    let alone = text(&[&script], "summary").await;
    assert_eq!(alone, "no scripted rule answers this call (purpose summary, message 'hello')", "the script's own error");
    assert_eq!(server.got().len(), 3);
    let request = convengine_core::turn::EmbedRequest { texts: vec!["a".to_owned()] };
    let vectors = models(&patient(&server, &["openai:x", &script])).embed(&request, far()).await;
    assert!(matches!(vectors, convengine_core::turn::Answer::Ok(_)), "{vectors:?}");
    std::fs::remove_dir_all(folder).expect("the folder");
}

#[tokio::test]
async fn a_model_that_takes_less_is_asked_for_less_from_then_on() {
    let refused = |text: &str| whole(400, "", &SOUND.error("invalid_request_error", text));
    let server = Server::new(vec![
        refused("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        refused("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."),
        fine("one"),
        fine("two"),
    ])
    .await;
    let models = models(&settings(&server.address, &["openai:o"]));
    let listener = Listener::new();
    assert_eq!(ask(&models, &call("agent", LlmMode::Text)).await.expect("an answer").text, "one");
    assert_eq!(ask(&models, &call("agent", LlmMode::Text)).await.expect("an answer").text, "two");
    drop(listener);
    let sent = |body: &serde_json::Value| ["max_tokens", "max_completion_tokens", "temperature"].map(|it| body.get(it).is_some());
    let sent: Vec<[bool; 3]> = server.got().iter().map(|it| sent(&it.body)).collect();
    assert_eq!(sent, [[true, false, true], [false, true, true], [false, true, false], [false, true, false]]);
    let server = Server::new(vec![refused("the prompt about the temperature is too long")]).await;
    let error = reply(super::models(&settings(&server.address, &["openai:o"])).llm(&call("agent", LlmMode::Text), None, far()).await);
    assert_eq!((error.expect_err("refused").status, server.got().len()), (Some(400), 1), "not every word counts");
}
