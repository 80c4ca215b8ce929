//! Streamed answers: complete or failed, however they are cut and delivered.

use convengine_core::turn::{EffectError, EffectErrorKind, LlmMode, LlmReply, Usage};
use serde_json::json;

use super::provider::{ALL, Provider};
use super::server::{ScriptedResponse, Server, chunked_response, response_until_close};
use super::{Piece, TestSubscriber, call, far_deadline, into_result, join_since_reset, models, settings};
use crate::llm::Models;

const PIECES: [&str; 4] = ["Gr", "üße 🙂", "\n an \"alle\"", "!"];

async fn generate_streamed(models: &Models, listener: &TestSubscriber) -> Result<LlmReply, EffectError> {
    into_result(models.generate(&call("response_text", LlmMode::Text), Some(listener), far_deadline()).await.result)
}

/// Makes one call per answer.
async fn generate_each(provider: Provider, answers: Vec<ScriptedResponse>, check: impl Fn(usize, Result<LlmReply, EffectError>, String)) {
    let count = answers.len();
    let server = Server::new(answers).await;
    let models = models(&settings(&server.address, &[provider.model_spec()]));
    for number in 0..count {
        let listener = TestSubscriber::new();
        let answer = generate_streamed(&models, &listener).await;
        check(number, answer, listener.published_text());
    }
    assert_eq!(server.requests().len(), count);
}

#[tokio::test]
async fn a_streamed_answer_equals_a_complete_one() {
    for provider in ALL {
        let server = Server::new(vec![response_until_close(provider.stream(&PIECES).as_bytes())]).await;
        let models = models(&settings(&server.address, &[provider.model_spec()]));
        let listener = TestSubscriber::new();
        let reply = generate_streamed(&models, &listener).await.expect("an answer");
        assert_eq!((reply.text, reply.model.as_str()), (PIECES.concat(), "test-model-1"));
        assert_eq!(reply.usage, Some(Usage { input_tokens: 12, output_tokens: 7, cost_micros: None }), "{provider:?}");
        let pieces = listener.take_pieces();
        assert!(!pieces.contains(&Piece::Reset));
        assert_eq!(join_since_reset(&pieces), PIECES.concat());
        assert!(pieces.len() > 1, "not all at once");
        let sent = server.requests().remove(0).body;
        assert_eq!(sent["stream"], true);
        assert_eq!(sent["stream_options"], if provider == Provider::OpenAi { json!({"include_usage": true}) } else { json!(null) });
    }
}

/// A cut before the model has ended its answer is a failure; the text published by then is a prefix of the answer.
async fn assert_every_cut_fails(provider: Provider) {
    let whole = response_until_close(provider.stream(&PIECES).as_bytes());
    let cuts: Vec<ScriptedResponse> =
        (0..=whole.bytes.len()).map(|end| ScriptedResponse { bytes: whole.bytes[..end].to_vec(), keeps_open: false }).collect();
    // Without the line break behind it.
    let ended = ["\"finish_reason\":\"stop\"}]", "\"stop_reason\":\"end_turn\"", "\"done_reason\":\"stop\""];
    let at = ended.iter().find_map(|mark| whole.bytes.windows(mark.len()).position(|bytes| bytes == mark.as_bytes())).expect("an end");
    let last = at + whole.bytes.iter().skip(at).position(|it| *it == b'\n').expect("a line");
    generate_each(provider, cuts, |end, answer, shown| {
        if end >= last {
            assert_eq!(answer.expect("the whole answer").text, PIECES.concat());
            return;
        }
        let error = answer.expect_err("half an answer");
        assert_eq!(error.kind, EffectErrorKind::Unavailable, "{end}: {error}");
        assert!(PIECES.concat().starts_with(&shown), "{end}: {shown}");
    })
    .await;
}

#[tokio::test]
async fn a_truncated_openai_stream_is_a_failure() {
    assert_every_cut_fails(Provider::OpenAi).await;
}

#[tokio::test]
async fn a_truncated_anthropic_stream_is_a_failure() {
    assert_every_cut_fails(Provider::Anthropic).await;
}

#[tokio::test]
async fn a_truncated_ollama_stream_is_a_failure() {
    assert_every_cut_fails(Provider::Ollama).await;
}

/// The same answer in two pieces, split at every position, with either line ending.
async fn assert_every_split_succeeds(provider: Provider) {
    let lines = provider.stream(&PIECES);
    for body in [lines.clone(), lines.replace('\n', "\r\n")] {
        let body = body.as_bytes();
        let splits = (0..=body.len()).map(|at| chunked_response(&[&body[..at], &body[at..]])).collect();
        generate_each(provider, splits, |at, answer, shown| {
            let answer = answer.unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!((answer.text, shown), (PIECES.concat(), PIECES.concat()), "{at}");
            assert_eq!(answer.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((12, 7)), "{at}");
        })
        .await;
    }
    let one_by_one: Vec<&[u8]> = lines.as_bytes().chunks(1).collect();
    generate_each(provider, vec![chunked_response(&one_by_one)], |_, answer, _| {
        assert_eq!(answer.expect("an answer").text, PIECES.concat())
    })
    .await;
}

#[tokio::test]
async fn openai_chunks_may_be_split_anywhere() {
    assert_every_split_succeeds(Provider::OpenAi).await;
}

#[tokio::test]
async fn anthropic_chunks_may_be_split_anywhere() {
    assert_every_split_succeeds(Provider::Anthropic).await;
}

#[tokio::test]
async fn ollama_chunks_may_be_split_anywhere() {
    assert_every_split_succeeds(Provider::Ollama).await;
}

#[tokio::test]
async fn a_broken_attempt_is_reset_and_retried() {
    for provider in ALL {
        let body = provider.stream(&PIECES);
        let half = body.find("alle").expect("the third piece");
        let server = Server::new(vec![response_until_close(&body.as_bytes()[..half]), response_until_close(body.as_bytes())]).await;
        let mut llm = settings(&server.address, &[provider.model_spec()]);
        llm.max_attempts = 2;
        let listener = TestSubscriber::new();
        assert_eq!(generate_streamed(&models(&llm), &listener).await.expect("an answer").text, PIECES.concat());
        let pieces = listener.take_pieces();
        let reset = pieces.iter().position(|piece| *piece == Piece::Reset).expect("a reset");
        let texts = (join_since_reset(&pieces[..reset]), join_since_reset(&pieces[reset..]));
        assert_eq!(texts, ("Grüße 🙂".to_owned(), PIECES.concat()), "{provider:?}");
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn an_error_within_an_answer_ends_it() {
    for provider in ALL {
        let whole = provider.stream(&["Gr"]);
        let begun = whole.split_once("\"Gr\"").expect("the piece").0;
        let begun = &begun[..begun.rfind('\n').map_or(0, |it| it + 1)];
        let error = provider.error("rate_limit_error", "too much");
        let body = if provider == Provider::Ollama { format!("{begun}{error}\n") } else { format!("{begun}data: {error}\n\n") };
        let server = Server::new(vec![response_until_close(body.as_bytes())]).await;
        let error = generate_streamed(&models(&settings(&server.address, &[provider.model_spec()])), &TestSubscriber::new())
            .await
            .expect_err("an error");
        assert!(error.message.ends_with("too much"), "{provider:?}: {error}");
        let kind = if provider == Provider::Ollama { EffectErrorKind::Unavailable } else { EffectErrorKind::Limited };
        assert_eq!(error.kind, kind, "{provider:?}");
    }
}
