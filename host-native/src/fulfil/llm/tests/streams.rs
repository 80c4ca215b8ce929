//! Streamed answers: complete or failed, however they are cut and delivered.

use convengine_core::turn::{EffectError, EffectErrorKind, LlmMode, LlmReply, Usage};
use serde_json::json;

use super::provider::{ALL, Provider};
use super::server::{Sent, Server, chunked, until_the_end};
use super::{Listener, call, far, models, reply, settings};
use crate::fulfil::llm::Models;

const PIECES: [&str; 4] = ["Gr", "üße 🙂", "\n an \"alle\"", "!"];

async fn ask(models: &Models, listener: &Listener) -> Result<LlmReply, EffectError> {
    reply(models.llm(&call("response_text", LlmMode::Text), Some(&listener.tokens), far()).await)
}

/// Makes one call per answer.
async fn all(provider: Provider, answers: Vec<Sent>, check: impl Fn(usize, Result<LlmReply, EffectError>, String)) {
    let count = answers.len();
    let server = Server::new(answers).await;
    let models = models(&settings(&server.address, &[provider.word()]));
    for number in 0..count {
        let mut listener = Listener::new();
        let answer = ask(&models, &listener).await;
        check(number, answer, listener.text());
    }
    assert_eq!(server.got().len(), count);
}

#[tokio::test]
async fn an_answer_in_pieces_is_shown_and_read_like_a_whole_one() {
    for provider in ALL {
        let server = Server::new(vec![until_the_end(provider.stream(&PIECES).as_bytes())]).await;
        let models = models(&settings(&server.address, &[provider.word()]));
        let mut listener = Listener::new();
        let reply = ask(&models, &listener).await.expect("an answer");
        assert_eq!((reply.text, reply.model.as_str()), (PIECES.concat(), "test-model-1"));
        assert_eq!(reply.usage, Some(Usage { input_tokens: 12, output_tokens: 7, cost_micros: None }), "{provider:?}");
        let events = listener.heard();
        assert_eq!(events[0]["eventType"], "TOKEN");
        assert_eq!((&events[0]["turn"], &events[0]["effect"]), (&json!("t"), &json!(3)));
        let texts: String = events.iter().map(|it| it["text"].as_str().expect("a text")).collect();
        assert_eq!(texts, PIECES.concat());
        assert!(events.len() > 1, "not all at once");
        let sent = server.got().remove(0).body;
        assert_eq!(sent["stream"], true);
        assert_eq!(sent["stream_options"], if provider == Provider::OpenAi { json!({"include_usage": true}) } else { json!(null) });
    }
}

/// A cut before the last byte is a failure; the text published by then is a prefix of the answer.
async fn cut_everywhere(provider: Provider) {
    let whole = until_the_end(provider.stream(&PIECES).as_bytes());
    let cuts: Vec<Sent> = (0..=whole.bytes.len()).map(|end| Sent { bytes: whole.bytes[..end].to_vec(), hangs: false }).collect();
    let last = cuts.len() - 1;
    all(provider, cuts, |end, answer, shown| {
        if end == last {
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
async fn half_an_answer_of_openai_is_none() {
    cut_everywhere(Provider::OpenAi).await;
}

#[tokio::test]
async fn half_an_answer_of_anthropic_is_none() {
    cut_everywhere(Provider::Anthropic).await;
}

#[tokio::test]
async fn half_an_answer_of_ollama_is_none() {
    cut_everywhere(Provider::Ollama).await;
}

/// The same answer in two pieces, split at every position, with either line ending.
async fn split_everywhere(provider: Provider) {
    let lines = provider.stream(&PIECES);
    for body in [lines.clone(), lines.replace('\n', "\r\n")] {
        let body = body.as_bytes();
        let splits = (0..=body.len()).map(|at| chunked(&[&body[..at], &body[at..]])).collect();
        all(provider, splits, |at, answer, shown| {
            let answer = answer.unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!((answer.text, shown), (PIECES.concat(), PIECES.concat()), "{at}");
            assert_eq!(answer.usage.map(|it| (it.input_tokens, it.output_tokens)), Some((12, 7)), "{at}");
        })
        .await;
    }
    let one_by_one: Vec<&[u8]> = lines.as_bytes().chunks(1).collect();
    all(provider, vec![chunked(&one_by_one)], |_, answer, _| assert_eq!(answer.expect("an answer").text, PIECES.concat())).await;
}

#[tokio::test]
async fn pieces_of_openai_may_be_cut_anywhere() {
    split_everywhere(Provider::OpenAi).await;
}

#[tokio::test]
async fn pieces_of_anthropic_may_be_cut_anywhere() {
    split_everywhere(Provider::Anthropic).await;
}

#[tokio::test]
async fn pieces_of_ollama_may_be_cut_anywhere() {
    split_everywhere(Provider::Ollama).await;
}

#[tokio::test]
async fn an_attempt_that_breaks_off_is_taken_back_and_made_again() {
    for provider in ALL {
        let body = provider.stream(&PIECES);
        let half = body.find("alle").expect("the third piece");
        let server = Server::new(vec![until_the_end(&body.as_bytes()[..half]), until_the_end(body.as_bytes())]).await;
        let mut llm = settings(&server.address, &[provider.word()]);
        llm.max_attempts = 2;
        let mut listener = Listener::new();
        assert_eq!(ask(&models(&llm), &listener).await.expect("an answer").text, PIECES.concat());
        let events = listener.heard();
        let reset = events.iter().position(|it| it["reset"] == true).expect("a reset");
        assert_eq!(events[reset], json!({"eventType": "TOKEN", "turn": "t", "effect": 3, "reset": true}));
        let text = |events: &[serde_json::Value]| events.iter().filter_map(|it| it["text"].as_str()).collect::<String>();
        assert_eq!((text(&events[..reset]).as_str(), text(&events[reset..])), ("Grüße 🙂", PIECES.concat()), "{provider:?}");
        assert_eq!(server.got().len(), 2);
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
        let server = Server::new(vec![until_the_end(body.as_bytes())]).await;
        let error = ask(&models(&settings(&server.address, &[provider.word()])), &Listener::new()).await.expect_err("an error");
        assert!(error.message.ends_with("too much"), "{provider:?}: {error}");
        let kind = if provider == Provider::Ollama { EffectErrorKind::Unavailable } else { EffectErrorKind::Limited };
        assert_eq!(error.kind, kind, "{provider:?}");
    }
}
