//! Order of models, retries and fallback.

use std::time::Duration;

use convengine_core::turn::{EffectErrorKind, LlmMode};
use convengine_settings::LlmSettings;
use serde_json::json;
use tokio::time::Instant;

use super::provider::Provider;
use super::server::{ScriptedResponse, Server, response_with_length};
use super::{call, far_deadline, generate, into_result, models, settings};

const PROVIDER: Provider = Provider::OpenAi;

fn ok_response(text: &str) -> ScriptedResponse {
    response_with_length(200, "", &PROVIDER.answer(text))
}

fn error_response(status: u16, headers: &str) -> ScriptedResponse {
    response_with_length(status, headers, &PROVIDER.error("x", "busy"))
}

fn settings_with_retries(server: &Server, words: &[&str]) -> LlmSettings {
    LlmSettings { max_attempts: 3, ..settings(&server.address, words) }
}

/// Returns the model names that a server received.
fn requested_models(server: &Server) -> Vec<String> {
    server.requests().iter().map(|request| request.body["model"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn a_purpose_takes_precedence_over_its_group_and_the_rest() {
    let server = Server::new(vec![ok_response("x")]).await;
    let words = ["openai:rest", "extraction=openai:group", "summary=openai:summary", "policy=openai:policy", "agent=openai:agent"];
    let models = models(&settings(&server.address, &words));
    for purpose in ["policy", "summary", "extract", "intent_match", "agent", "response_text", "something_new"] {
        generate(&models, &call(purpose, LlmMode::Text)).await.expect("an answer");
    }
    assert_eq!(requested_models(&server), ["policy", "summary", "group", "group", "agent", "rest", "rest"]);
    let off = super::models(&settings(&server.address, &["policy=off", "openai:rest"]));
    let error = generate(&off, &call("policy", LlmMode::Text)).await.expect_err("the purpose is off");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (EffectErrorKind::Unsupported, "no language model is set up: start the server with --llm")
    );
    let some = super::models(&settings(&server.address, &["policy=openai:a"]));
    assert_eq!(generate(&some, &call("agent", LlmMode::Text)).await.expect_err("no model").kind, EffectErrorKind::Unsupported);
}

#[tokio::test]
async fn a_busy_model_is_retried_before_the_next_one() {
    for again in [
        error_response(429, ""),
        error_response(500, ""),
        error_response(529, ""),
        error_response(408, ""),
        ScriptedResponse { bytes: Vec::new(), keeps_open: false },
    ] {
        let server = Server::new(vec![again.clone(), again.clone(), ok_response("third")]).await;
        let reply =
            generate(&models(&settings_with_retries(&server, &["openai:a"])), &call("agent", LlmMode::Text)).await.expect("an answer");
        assert_eq!((reply.text.as_str(), requested_models(&server)), ("third", vec!["a".to_owned(); 3]));
        let server = Server::new(vec![again.clone(), again.clone(), again.clone(), ok_response("other")]).await;
        let reply =
            generate(&models(&settings_with_retries(&server, &["openai:a", "openai:b", "openai:c"])), &call("agent", LlmMode::Text)).await;
        assert_eq!(
            (reply.expect("an answer").text.as_str(), requested_models(&server)),
            ("other", ["a", "a", "a", "b"].map(str::to_owned).to_vec())
        );
    }
    let server =
        Server::new(vec![error_response(503, ""), error_response(503, ""), error_response(503, ""), error_response(429, "")]).await;
    let error = generate(&models(&settings_with_retries(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text))
        .await
        .expect_err("all are busy");
    assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Limited, "openai:b: status 429: busy"), "the last one's error");
    assert_eq!(requested_models(&server).len(), 6);
}

#[tokio::test]
async fn non_retryable_failures_are_not_retried() {
    for last in [error_response(400, ""), error_response(401, ""), error_response(404, ""), response_with_length(200, "", "{}")] {
        let server = Server::new(vec![last, ok_response("other")]).await;
        let reply = generate(&models(&settings_with_retries(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text))
            .await
            .expect("an answer");
        assert_eq!((reply.text.as_str(), requested_models(&server)), ("other", ["a", "b"].map(str::to_owned).to_vec()));
    }
    let server = Server::new(vec![
        response_with_length(200, "", &PROVIDER.answer_with_reason("", "content_filter").to_string()),
        ok_response("other"),
    ])
    .await;
    let error = generate(&models(&settings_with_retries(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text))
        .await
        .expect_err("a refusal");
    assert_eq!((error.kind, requested_models(&server).len()), (EffectErrorKind::Refused, 1), "no second opinion on a refusal");
}

#[tokio::test]
async fn retry_after_is_honored_unless_it_exceeds_the_deadline() {
    let server = Server::new(vec![error_response(429, "Retry-After: 3600\r\n"), ok_response("other")]).await;
    let start = Instant::now();
    let reply = generate(&models(&settings_with_retries(&server, &["openai:a", "openai:b"])), &call("agent", LlmMode::Text))
        .await
        .expect("an answer");
    assert_eq!((reply.text.as_str(), requested_models(&server)), ("other", ["a", "b"].map(str::to_owned).to_vec()));
    let server = Server::new(vec![error_response(429, "Retry-After: 3600\r\n")]).await;
    let error = generate(&models(&settings_with_retries(&server, &["openai:a"])), &call("agent", LlmMode::Text))
        .await
        .expect_err("too long a wait");
    assert_eq!((error.kind, error.retry_after_ms, requested_models(&server).len()), (EffectErrorKind::Limited, Some(3_600_000), 1));
    assert!(start.elapsed() < Duration::from_secs(30), "nothing was waited for");
    let server = Server::new(vec![error_response(429, "Retry-After: 0.2\r\n"), ok_response("again")]).await;
    let start = Instant::now();
    let reply = generate(&models(&settings_with_retries(&server, &["openai:a"])), &call("agent", LlmMode::Text)).await.expect("an answer");
    assert_eq!((reply.text.as_str(), requested_models(&server).len()), ("again", 2));
    assert!(start.elapsed() >= Duration::from_millis(200), "not before its time");
}

#[tokio::test]
async fn scripted_models_combine_with_remote_ones() {
    let folder = std::env::temp_dir().join(format!("convengine-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("rules.json");
    let rules = json!([{"purpose": "agent", "replies": ["scripted"]}, {"purpose": "embed", "reply": [1, 2]}]);
    std::fs::write(&file, rules.to_string()).expect("a file");
    let script = format!("scripted:{}", file.display());
    let server = Server::new(vec![ok_response("modelled")]).await;
    let text = async |words: &[&str], purpose: &str| {
        let answer = generate(&models(&settings_with_retries(&server, words)), &call(purpose, LlmMode::Text)).await;
        answer.map_or_else(|error| error.message, |reply| reply.text)
    };
    assert_eq!(text(&[&script, "policy=openai:x"], "agent").await, "scripted");
    assert_eq!(text(&[&script, "policy=openai:x"], "policy").await, "modelled");
    assert_eq!(text(&[&script, "openai:x"], "summary").await, "modelled", "no rule answers, the next one does");
    assert_eq!(text(&["openai:x", &script], "agent").await, "modelled");
    let alone = text(&[&script], "summary").await;
    assert_eq!(alone, "no scripted rule answers this call (purpose summary, message 'hello')", "the script's own error");
    assert_eq!(server.requests().len(), 3);
    let request = convengine_core::turn::EmbedRequest { texts: vec!["a".to_owned()] };
    let vectors = models(&settings_with_retries(&server, &["openai:x", &script])).embed(&request, far_deadline()).await.result;
    assert!(matches!(vectors, convengine_core::turn::EffectResult::Ok(_)), "{vectors:?}");
    std::fs::remove_dir_all(folder).expect("the folder");
}

#[tokio::test]
async fn unsupported_parameters_are_omitted_from_then_on() {
    let refused = |text: &str| response_with_length(400, "", &PROVIDER.error("invalid_request_error", text));
    let server = Server::new(vec![
        refused("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        refused("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."),
        ok_response("one"),
        ok_response("two"),
    ])
    .await;
    let models = models(&settings(&server.address, &["openai:o"]));
    assert_eq!(generate(&models, &call("agent", LlmMode::Text)).await.expect("an answer").text, "one");
    assert_eq!(generate(&models, &call("agent", LlmMode::Text)).await.expect("an answer").text, "two");
    let sent = |body: &serde_json::Value| ["max_tokens", "max_completion_tokens", "temperature"].map(|member| body.get(member).is_some());
    let sent: Vec<[bool; 3]> = server.requests().iter().map(|it| sent(&it.body)).collect();
    assert_eq!(sent, [[true, false, true], [false, true, true], [false, true, false], [false, true, false]]);
    let server = Server::new(vec![refused("the prompt about the temperature is too long")]).await;
    let error = into_result(
        super::models(&settings(&server.address, &["openai:o"])).generate(&call("agent", LlmMode::Text), None, far_deadline()).await.result,
    );
    assert_eq!((error.expect_err("refused").status, server.requests().len()), (Some(400), 1), "not every word counts");
}
