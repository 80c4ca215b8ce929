//! Failures of providers.

use std::time::Duration;

use convengine_core::turn::{EffectError, EffectErrorKind, LlmMode};
use convengine_settings::LlmTimeouts;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::provider::{ALL, Provider};
use super::server::{ScriptedResponse, Server, chunked_response, response_until_close, response_with_length};
use super::{TestSubscriber, call, far_deadline, generate, into_result, models, settings};
use crate::llm::transport::MAX_BODY_BYTES;

/// Returns the error for an answer.
async fn generate_error(provider: Provider, mode: LlmMode, answer: ScriptedResponse) -> EffectError {
    let server = Server::new(vec![answer]).await;
    let models = models(&settings(&server.address, &[provider.model_spec()]));
    let error = generate(&models, &call("response_json", mode)).await.expect_err("no answer");
    assert_eq!(server.requests().len(), 1);
    error
}

#[tokio::test]
async fn each_error_has_its_kind_status_and_message() {
    for provider in ALL {
        for (status, name, kind) in [
            (400, "invalid_request_error", EffectErrorKind::Refused),
            (401, "authentication_error", EffectErrorKind::Denied),
            (403, "permission_error", EffectErrorKind::Denied),
            (404, "not_found_error", EffectErrorKind::NotFound),
            (429, "rate_limit_error", EffectErrorKind::Limited),
            (500, "api_error", EffectErrorKind::Unavailable),
            (529, "overloaded_error", EffectErrorKind::Unavailable),
        ] {
            let headers = if status == 429 { "Retry-After: 7\r\n" } else { "" };
            let found =
                generate_error(provider, LlmMode::Text, response_with_length(status, headers, &provider.error(name, "not like this")))
                    .await;
            assert_eq!((found.kind, found.status), (kind, Some(status)), "{provider:?}");
            assert_eq!(found.message, format!("{}: status {status}: not like this", provider.model_spec()));
            assert_eq!(found.retry_after_ms, (status == 429).then_some(7000));
        }
        for body in ["<html><h1>502 Bad\r\nGateway</h1></html>", "", "[]", "\u{1}"] {
            let found = generate_error(provider, LlmMode::Text, response_with_length(502, "", body)).await;
            assert_eq!((found.kind, found.status), (EffectErrorKind::Unavailable, Some(502)));
            assert!(!found.message.contains('\n') && found.message.contains("status 502"), "{found}");
        }
        let found = generate_error(provider, LlmMode::Text, response_with_length(400, "", &provider.error("x", &"é".repeat(5000)))).await;
        assert_eq!(found.message.chars().count(), provider.model_spec().len() + 2 + 500);
        let found = generate_error(provider, LlmMode::Text, response_with_length(400, "", &"x".repeat(MAX_BODY_BYTES + 1))).await;
        assert_eq!(found.message, format!("{}: status 400", provider.model_spec()), "an oversized body is not used as a message");
    }
}

#[tokio::test]
async fn an_answer_in_another_form_cannot_be_used() {
    for provider in ALL {
        for body in ["{}", "[]", "null", "42", "hello", r#"{"choices":[],"content":7,"message":null,"done":true}"#] {
            let found = generate_error(provider, LlmMode::Text, response_with_length(200, "", body)).await;
            assert_eq!(found.kind, EffectErrorKind::Invalid, "{provider:?} {body}: {found}");
        }
        let found = generate_error(provider, LlmMode::Text, response_with_length(200, "", &provider.answer(""))).await;
        assert_eq!(found.message, format!("{}: the answer cannot be used: it is empty", provider.model_spec()));
        let found =
            generate_error(provider, LlmMode::Text, ScriptedResponse { bytes: b"nonsense\r\n\r\n".to_vec(), keeps_open: false }).await;
        assert_eq!(found.kind, EffectErrorKind::Unavailable);
        let found = generate_error(provider, LlmMode::Text, response_with_length(302, "Location: /elsewhere\r\n", "")).await;
        assert_eq!((found.kind, found.status), (EffectErrorKind::Refused, Some(302)), "the key is not sent to another server");
    }
}

#[tokio::test]
async fn a_truncated_body_is_a_failure() {
    for provider in ALL {
        let (body, sent) = (provider.answer("{\"a\":1}"), |bytes: &[u8]| ScriptedResponse { bytes: bytes.to_vec(), keeps_open: false });
        let (with_length, without) = (response_with_length(200, "", &body).bytes, response_until_close(body.as_bytes()).bytes);
        for cut in (1..=body.len()).step_by(7) {
            for bytes in [&with_length, &without] {
                let found = generate_error(provider, LlmMode::Text, sent(&bytes[..bytes.len() - cut])).await;
                assert_eq!(found.kind, EffectErrorKind::Unavailable, "{provider:?}, without {cut}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn no_body_is_longer_than_the_limit() {
    for provider in ALL {
        let too_long = "x".repeat(MAX_BODY_BYTES);
        let found = generate_error(provider, LlmMode::Text, response_with_length(200, "", &provider.answer(&too_long))).await;
        assert_eq!(found.kind, EffectErrorKind::Invalid);
        assert!(found.message.contains("longer than"), "{found}");
        let server = Server::new(vec![chunked_response(&[provider.stream(&[&too_long]).as_bytes()])]).await;
        let listener = TestSubscriber::new();
        let models = models(&settings(&server.address, &[provider.model_spec()]));
        let found = into_result(models.generate(&call("response_text", LlmMode::Text), Some(&listener), far_deadline()).await.result)
            .expect_err("too long");
        assert!(found.message.contains("longer than"), "{found}");
    }
}

#[tokio::test]
async fn truncated_json_and_refusals_are_failures() {
    for provider in ALL {
        let cut = if provider == Provider::Anthropic { "max_tokens" } else { "length" };
        let half = provider.answer_with_reason("{\"a\":", cut).to_string();
        for mode in [LlmMode::Json, LlmMode::JsonStrict] {
            let found = generate_error(provider, mode, response_with_length(200, "", &half)).await;
            assert_eq!(found.kind, EffectErrorKind::Invalid);
            assert!(found.message.contains("convengine.llm.max-tokens"), "{found}");
        }
        let server = Server::new(vec![response_with_length(200, "", &half)]).await;
        let models = models(&settings(&server.address, &[provider.model_spec()]));
        assert_eq!(
            generate(&models, &call("response_text", LlmMode::Text)).await.expect("a text").text,
            "{\"a\":",
            "a text may end anywhere"
        );
    }
    let mut refused = Provider::OpenAi.answer_with_reason("", "stop");
    refused["choices"][0]["message"]["content"] = json!(null);
    refused["choices"][0]["message"]["refusal"] = json!("I cannot help with that.");
    let found = generate_error(Provider::OpenAi, LlmMode::Json, response_with_length(200, "", &refused.to_string())).await;
    assert_eq!(found.kind, EffectErrorKind::Refused);
    assert!(found.message.ends_with("refuses to answer: I cannot help with that."), "{found}");
    for (provider, reason) in [(Provider::OpenAi, "content_filter"), (Provider::Anthropic, "refusal")] {
        let found = generate_error(
            provider,
            LlmMode::Text,
            response_with_length(200, "", &provider.answer_with_reason("Well", reason).to_string()),
        )
        .await;
        assert_eq!(found.kind, EffectErrorKind::Refused, "{found}");
    }
    let reported = json!({"error": {"message": "no capacity", "code": 503}}).to_string();
    let found = generate_error(Provider::OpenAi, LlmMode::Text, response_with_length(200, "", &reported)).await;
    assert!(found.kind == EffectErrorKind::Unavailable && found.message.contains("no capacity"), "{found}");
}

#[tokio::test]
async fn an_unreachable_address_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    for provider in ALL {
        let found =
            generate(&models(&settings(&address, &[provider.model_spec()])), &call("agent", LlmMode::Text)).await.expect_err("a failure");
        assert_eq!(found.kind, EffectErrorKind::Unavailable);
        assert!(found.message.contains("cannot be reached: "), "{found}");
    }
}

#[tokio::test]
async fn a_slow_model_leaves_time_for_the_next() {
    let slow = ScriptedResponse { keeps_open: true, ..response_until_close(&Provider::OpenAi.stream(&["He"]).as_bytes()[..300]) };
    let (slow, quick) =
        (Server::new(vec![slow]).await, Server::new(vec![response_with_length(200, "", &Provider::Ollama.answer("quick"))]).await);
    let mut llm = settings(&slow.address, &["openai:slow", "ollama:quick"]);
    llm.ollama.address = Some(quick.address.clone());
    let (models, listener, start) = (models(&llm), TestSubscriber::new(), Instant::now());
    let by = start + Duration::from_secs(2);
    let request = call("response_json", LlmMode::Json);
    assert_eq!(into_result(models.generate(&request, None, by).await.result).expect("an answer").text, "quick");
    assert!(start.elapsed() < Duration::from_secs(2), "in time");
    let alone = super::models(&settings(&slow.address, &["openai:slow"]));
    let late = tokio::time::timeout(Duration::from_millis(50), alone.generate(&request, Some(&listener), far_deadline()));
    assert!(late.await.is_err(), "the last one has all the time that the effect has");
}

/// A model that takes the call and never answers, or stops within its answer.
#[tokio::test]
async fn a_hung_model_is_given_up_and_its_attempt_may_be_billed() {
    for provider in ALL {
        let stream = provider.stream(&["He", "llo"]);
        let half = ScriptedResponse { keeps_open: true, ..response_until_close(&stream.as_bytes()[..stream.len() / 2]) };
        let silent = ScriptedResponse { keeps_open: true, ..response_until_close(b"") };
        for (hung, setting) in [(silent, "convengine.llm.response-timeout"), (half, "convengine.llm.idle-timeout")] {
            let hung = Server::new(vec![hung]).await;
            let mut llm = settings(&hung.address, &[provider.model_spec()]);
            llm.max_attempts = 3;
            llm.timeouts = LlmTimeouts { response: Duration::from_millis(300), idle: Duration::from_millis(300), ..llm.timeouts };
            let listener = TestSubscriber::new();
            let request = call("response_text", LlmMode::Text);
            let answer = models(&llm).generate(&request, Some(&listener), far_deadline()).await;
            assert_eq!(answer.billed_attempts, 1);
            let found = into_result(answer.result).expect_err("a failure");
            assert_eq!(found.kind, EffectErrorKind::Timeout, "{found}");
            assert!(found.message.contains(setting), "{found}");
        }
    }
}
