//! Intents matched by embeddings of their phrases: embedded at publishing by a stub, compared at a turn, and left out without a provider.

use std::sync::atomic::Ordering;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::embedding_stub::EmbeddingStub;
use crate::flows::{Session, desk, publish, save_draft};
use crate::harness::{REGEX_ONLY, Server, TestEnv, orders_pack, wait_until};

/// A desk for bicycles: the stub knows that "puncture" and "flat tyre" are near.
fn bicycles() -> Value {
    let mut document = desk("Desk");
    for (intent, phrases) in [["mend my bicycle", "repair the tyre"], ["let me in", "open up"], ["farewell", "see you"]].iter().enumerate()
    {
        document["intents"][intent]["phrases"] = json!(phrases);
    }
    document
}

const MESSAGE: &str = "a puncture of my bike";

/// Plays a message on the published version; returns the session, and what was traced.
fn play(server: &Server, document_version: u64) -> (Session, Value) {
    let (session, _) = Session::start_simulated(server, &json!({"version": document_version}));
    session.say(server, MESSAGE);
    let lexical = session.find_trace(server, "intent.lexical").unwrap_or_default();
    (session, lexical)
}

#[test]
fn phrases_are_embedded_at_publishing_and_compared_with_messages() {
    let (stub, env) = (EmbeddingStub::start(), TestEnv::with_pack(&orders_pack()));
    let server = stub.serve(&env, "embed=openai:large");
    save_draft(&server, &bicycles());
    assert_eq!(stub.take_calls(), [], "saving embeds nothing");
    assert_eq!(publish(&server, &bicycles()), 1);
    let texts: Vec<usize> = stub.take_calls().iter().map(|it| it.texts.len()).collect();
    assert_eq!(texts, [6], "all phrases in one call");
    assert_eq!(publish(&server, &bicycles()), 2);
    assert_eq!(stub.take_calls(), [], "they are stored");

    let (session, lexical) = play(&server, 2);
    assert_eq!((&lexical["embedded"], &lexical["nearest"][0]["intent"]), (&json!(true), &json!("count")), "{lexical}");
    assert!(lexical["nearest"][0]["similarity"].as_f64().is_some_and(|it| it > 0.3), "{lexical}");
    assert_eq!(stub.take_calls().iter().map(|it| it.texts.clone()).collect::<Vec<_>>(), [[MESSAGE.to_owned()]]);

    stub.is_down.store(true, Ordering::SeqCst);
    let (failed, by_words) = play(&server, 2);
    assert!(failed.find_trace(&server, "intent.similarity_failed").is_some());
    assert_eq!((&by_words["embedded"], &by_words["nearest"][0]["similarity"]), (&Value::Null, &Value::Null), "{by_words}");

    drop(server);
    let server = env.serve(&REGEX_ONLY);
    session.assert_replays(&env, &server);
    failed.assert_replays(&env, &server);
    let (_, without) = play(&server, 2);
    assert_eq!(without, by_words, "without a provider");
}

#[test]
fn a_version_runs_by_words_until_its_phrases_are_embedded() {
    let (stub, env) = (EmbeddingStub::start(), TestEnv::with_pack(&orders_pack()));
    let server = stub.serve(&env, "embed=openai:large");
    stub.is_down.store(true, Ordering::SeqCst);
    assert_eq!(publish(&server, &bicycles()), 1, "a model that is down does not prevent publishing");
    assert!(wait_until(|| server.log().contains("cannot embed the phrases of intents")), "{}", server.log());
    let (session, lexical) = play(&server, 1);
    assert_eq!(lexical["embedded"], Value::Null);
    assert!(session.find_trace(&server, "intent.similarity_failed").is_none(), "it is not tried");

    drop(server);
    stub.is_down.store(false, Ordering::SeqCst);
    let server = stub.serve(&env, "embed=ollama:small");
    assert!(wait_until(|| play(&server, 1).1["embedded"] == json!(true)), "{}", server.log());
    assert_eq!(env.sql().texts("select distinct model from cv_phrase_vector"), ["ollama:small"]);
}
