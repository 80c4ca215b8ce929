//! Knowledge bases with a model for embeddings, served by a stub: batches, both lists, another model, and no model.

use std::sync::atomic::Ordering;

use convengine_core::knowledge::{KnowledgeIndex, Source, SourceFormat, fuse, rank_keyword, rank_vector};
use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::embedding_stub::{EmbeddingStub, embed_with};
use crate::flows::{Session, desk, save_draft, send};
use crate::harness::{Server, TestEnv, orders_pack, wait_until};
use crate::knowledge::knowing_desk;
use crate::running::{Environment, environment};

const KNOWLEDGE: &str = "/v1/agents/desk/knowledge";

const WORDS: [&str; 8] = ["bicycle", "cancel", "contract", "discount", "invoice", "repair", "battery", "delivery"];

/// A document of so many chunks.
fn sections(count: usize) -> String {
    let section = |number: usize| {
        let words: String = (0..160).map(|position| format!("{} ", WORDS[(number * 3 + position * position / 7) % WORDS.len()])).collect();
        format!("# Section {number}\n\n{words}\n\n")
    };
    (1..=count).map(section).collect()
}

fn put(server: &Server, id: &str, text: &str) -> Value {
    let answer = send(server, "POST", KNOWLEDGE, &json!({"id": id, "title": "Shop", "text": text, "format": "markdown", "locale": "en"}));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn search(server: &Server, query: &str) -> Value {
    let answer = server.get(&format!("{KNOWLEDGE}/search?q={}&top_k=50", query.replace(' ', "%20")));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn wait_for_model(server: &Server, id: &str, model: &str) {
    let source = || server.get(&format!("{KNOWLEDGE}/{id}")).json();
    assert!(wait_until(|| source()["embedding"] == json!({"model": model, "error": null})), "{} {}", source(), server.log());
}

/// What the core finds, in the form of a list of the answer: chunks with their scores.
fn expected_lists(sources: &[(&str, &str)], model: &str, query: &str) -> [Vec<(String, f64)>; 3] {
    let mut index = KnowledgeIndex::new();
    for (id, text) in sources {
        let (id, text) = ((*id).to_owned(), (*text).to_owned());
        let (title, locale) = ("Shop".to_owned(), "en".to_owned());
        index.add(&Source { id, title, text, url: None, locale, format: SourceFormat::Markdown, unreadable_pages: 0 });
    }
    let found = index.search(query, None, 50);
    let keyword = rank_keyword(&found.stats, &found.candidates, 50);
    let embeddings: Vec<_> = index.chunks().map(|chunk| (chunk.id.clone(), embed_with(model, &chunk.embedding_text()))).collect();
    let vector = rank_vector(&embed_with(model, query), embeddings.iter().map(|row| (row.0.as_str(), row.1.as_slice())), 50);
    let fused = fuse(&keyword, &vector, 0.5).into_iter().map(|it| (it.chunk, it.rrf)).take(50).collect();
    [keyword, vector, fused].map(|list: Vec<(String, f64)>| list.into_iter().map(|hit| (hit.0, (hit.1 * 1e6).round() / 1e6)).collect())
}

fn lists(answer: &Value) -> [Vec<(String, f64)>; 3] {
    ["keyword", "vector", "fused"].map(|list| {
        let hits = answer[list].as_array().unwrap().iter();
        hits.map(|hit| (hit["chunk_id"].as_str().unwrap().to_owned(), hit["score"].as_f64().unwrap())).collect()
    })
}

/// Makes the creation of an extension fail, as on a server that lacks it, or for a user that may not create one.
fn forbid_extensions(env: &TestEnv) {
    env.sql().run(
        "create function refuse() returns event_trigger language plpgsql as $$ begin raise exception 'no extensions'; end $$;
         create event trigger refuse on ddl_command_start when tag in ('CREATE EXTENSION') execute function refuse()",
    );
}

fn serve_embedded(model: &str) -> (EmbeddingStub, TestEnv, Server) {
    let (stub, env) = (EmbeddingStub::start(), TestEnv::with_pack(&orders_pack()));
    if environment() == Environment::Postgres {
        forbid_extensions(&env);
    }
    let server = stub.serve(&env, model);
    save_draft(&server, &desk("Desk"));
    (stub, env, server)
}

#[test]
#[on(sqlite, postgres, pgvector)]
fn knowledge_is_embedded_in_batches_and_again_by_another_model() {
    let (stub, env, server) = serve_embedded("embed=openai:large");
    let (long, short) = (sections(150), "How to mend a flat tyre.");
    let chunks = put(&server, "long", &long)["chunks"].as_u64().unwrap();
    assert!((129..=192).contains(&chunks), "three batches: {chunks}");
    wait_for_model(&server, "long", "openai:large");
    let calls = stub.take_calls();
    let sizes: Vec<usize> = calls.iter().map(|it| it.texts.len()).collect();
    assert_eq!(sizes, [64, 64, usize::try_from(chunks).unwrap() - 128]);
    assert!(calls.iter().all(|call| call.path == "/v1/embeddings" && call.model == "large"));
    put(&server, "short", short);
    wait_for_model(&server, "short", "openai:large");
    assert_eq!(stub.take_calls().iter().map(|it| it.texts.len()).collect::<Vec<_>>(), [1], "only the new source");

    let sources = [("long", long.as_str()), ("short", short)];
    for query in ["puncture of my bike", "cancel the contract", "zebra"] {
        let answer = search(&server, query);
        assert_eq!(lists(&answer), expected_lists(&sources, "large", query), "{query}");
        let keyword = answer["keyword"].as_array().unwrap().is_empty();
        assert_eq!(answer["lists"], if keyword { json!(["vector"]) } else { json!(["keyword", "vector"]) }, "{query}");
        assert_eq!(stub.take_calls().iter().map(|it| it.texts.clone()).collect::<Vec<_>>(), [[query.to_owned()]], "one call a search");
    }
    let is_in_memory = server.log().contains("vectors are searched in memory, up to 50,000 chunks");
    assert_eq!(is_in_memory, environment() == Environment::Postgres, "only without the extension: {}", server.log());
    if environment() == Environment::Pgvector {
        assert_eq!(env.sql().texts("select extname::text from pg_extension where extname = 'vector'"), ["vector"]);
    }

    drop(server);
    let server = stub.serve(&env, "embed=ollama:small");
    wait_for_model(&server, "long", "ollama:small");
    wait_for_model(&server, "short", "ollama:small");
    let calls = stub.take_calls();
    assert_eq!(calls.iter().map(|it| it.texts.len() as u64).sum::<u64>(), chunks + 1);
    assert!(calls.iter().all(|call| call.path == "/api/embed" && call.model == "small" && call.texts.len() <= 64));
    assert_eq!(env.sql().texts("select distinct model from cs_knowledge_vector"), ["ollama:small"]);
    let query = "puncture of my bike";
    assert_eq!(lists(&search(&server, query)), expected_lists(&sources, "small", query));
}

#[test]
#[on(sqlite, postgres, pgvector)]
fn knowledge_is_found_by_words_while_the_model_is_down() {
    let (stub, env, server) = serve_embedded("embed=openai:large");
    put(&server, "a", "How to mend a flat tyre.");
    wait_for_model(&server, "a", "openai:large");
    stub.is_down.store(true, Ordering::SeqCst);
    assert_eq!(put(&server, "b", "Bicycles cost nothing.")["status"], "ready");
    let state = || server.get(&format!("{KNOWLEDGE}/b")).json();
    let is_reported = || state()["embedding"]["error"].as_str().is_some_and(|error| error.contains("the model is being moved"));
    assert!(wait_until(is_reported), "{}", state());
    assert_eq!((&state()["status"], &state()["embedding"]["model"]), (&json!("ready"), &Value::Null));
    let answer = search(&server, "bicycle");
    assert_eq!((&answer["lists"], &answer["vector"], &answer["fused"][0]["chunk_id"]), (&json!(["keyword"]), &json!([]), &json!("b#1")));

    stub.is_down.store(false, Ordering::SeqCst);
    assert_eq!(lists(&search(&server, "bicycle"))[1].len(), 1, "what is embedded is found");
    // Instead of a minute.
    env.sql().run("update cs_knowledge_source set embedding_retry_at = 0");
    wait_for_model(&server, "b", "openai:large");
    assert_eq!(search(&server, "bicycle")["lists"], json!(["keyword", "vector"]));
}

#[test]
#[on(sqlite, postgres, pgvector)]
fn knowledge_that_is_replaced_has_no_vectors() {
    let (_stub, env, server) = serve_embedded("embed=openai:large");
    put(&server, "a", &sections(5));
    wait_for_model(&server, "a", "openai:large");
    let rows = || env.sql().texts("select count(*) || '' from cs_knowledge_vector");
    assert_eq!(rows(), ["5"]);
    put(&server, "a", "How to mend a flat tyre.");
    assert!(wait_until(|| lists(&search(&server, "puncture"))[1].len() == 1), "{}", search(&server, "puncture"));
    assert_eq!(rows(), ["1"]);
    assert_eq!(server.request("DELETE", &format!("{KNOWLEDGE}/a"), &[], "").status, 204);
    assert_eq!((rows(), lists(&search(&server, "puncture"))), (vec!["0".to_owned()], [vec![], vec![], vec![]]));
}

/// A millionth for each token of the model.
const PRICES: &str = r#"convengine.llm.prices={"large":{"input":1,"output":0}}"#;

#[test]
#[on(sqlite, postgres, pgvector)]
fn embeddings_are_charged_and_refused_when_the_cap_or_the_budget_is_reached() {
    let (stub, env) = (EmbeddingStub::start(), TestEnv::with_pack(&orders_pack()));
    if environment() == Environment::Postgres {
        forbid_extensions(&env);
    }
    let cap = ["--set", PRICES, "--set", "convengine.llm.spend-cap.amount=1", "--set", "convengine.llm.spend-cap.per=day"];
    let server = stub.serve_with(&env, "embed=openai:large", &cap);
    let mut document = knowing_desk();
    document["settings"]["monthly_llm_spend_cap_cents"] = json!(100);
    save_draft(&server, &document);
    put(&server, "a", "Once more please: how to mend a flat tyre.");
    wait_for_model(&server, "a", "openai:large");
    let number = |sql: &str| env.sql().texts(sql)[0].parse::<i64>().unwrap();
    let used = |kind: &str| number(&format!("select cast(used as text) from cs_counter where kind = '{kind}'"));
    let spent = used("spend.day");
    assert!(spent > 5, "{spent} millionths");
    assert_eq!(used("llm"), 100 * spent, "the same in microcents");
    assert_eq!(number("select cast(sum(micros) as text) from cv_spend"), spent);
    assert_eq!(number("select cast(sum(amount) as text) from cs_usage_events where kind = 'llm' and ref = 'desk'"), 100 * spent);
    assert_eq!(search(&server, "puncture")["lists"], json!(["vector"]));
    assert!(used("spend.day") > spent, "a query has a cost as well");

    stub.take_calls();
    for (reached, reason) in [("spend.day", "convengine.llm.spend-cap"), ("llm", "does not cover the call")] {
        env.sql().run("update cs_counter set used = 0");
        env.sql().run(&format!("update cs_counter set used = 100000000 where kind = '{reached}'"));
        let answer = search(&server, "tyre");
        assert_eq!((&answer["lists"], &answer["fused"][0]["chunk_id"]), (&json!(["keyword"]), &json!("a#1")), "{answer}");
        put(&server, reached, "Bicycles cost nothing.");
        let state = || server.get(&format!("{KNOWLEDGE}/{reached}")).json();
        assert!(wait_until(|| state()["embedding"]["error"].as_str().is_some_and(|error| error.contains(reason))), "{}", state());
        let (session, _) = Session::start_simulated(&server, &json!({}));
        session.say(&server, "more please");
        let trace = session.find_trace(&server, "knowledge.search").unwrap();
        assert!(trace["vector_error"].as_str().is_some_and(|it| it.contains(reason)) && trace["lists"] == json!(["keyword"]), "{trace}");
    }
    assert_eq!(stub.take_calls(), [], "no model is called");
    env.sql().run("update cs_counter set used = 0");
    env.sql().run("update cs_knowledge_source set embedding_retry_at = 0");
    wait_for_model(&server, "llm", "openai:large");
    assert_eq!(search(&server, "bicycle")["lists"], json!(["keyword", "vector"]));
}
