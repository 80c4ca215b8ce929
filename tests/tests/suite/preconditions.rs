//! Authors who work on one draft at once: `ETag`, `If-Match` and `If-None-Match`.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::ai_agents::helper;
use crate::flows::{JSON, assert_refused, desk, with_changes};
use crate::harness::{Answer, REGEX_ONLY, Server, TestEnv, orders_pack};
use crate::workflows::front;

/// The paths of a document of each kind, with its document.
fn documents() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("/v1/agents/desk/flow", "/v1/agents/desk/publish", desk("Desk")),
        ("/v1/workflows/front/draft", "/v1/workflows/front/publish", front("Front")),
        ("/v1/ai-agents/helper/draft", "/v1/ai-agents/helper/publish", helper("Helper")),
    ]
}

fn put(server: &Server, path: &str, document: &Value, condition: (&str, &str)) -> Answer {
    server.request("PUT", path, &[JSON, condition], document.to_string())
}

#[test]
fn the_draft_of_somebody_else_is_not_overwritten() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    for (path, publish, document) in documents() {
        let named = |name: &str| with_changes(document.clone(), &[("/name", json!(name))]);
        assert_refused(&put(&server, path, &named("A"), ("If-Match", "*")), 412, "draft_conflict");
        assert_refused(&put(&server, path, &named("A"), ("If-Match", "\"1\"")), 412, "draft_conflict");
        assert_eq!(server.get(path).status, 404, "nothing was created");
        let created = put(&server, path, &named("A"), ("If-None-Match", "*"));
        assert_eq!((created.status, created.header("etag")), (200, "\"1\""), "{created:?}");
        assert_refused(&put(&server, path, &named("B"), ("If-None-Match", "*")), 412, "draft_conflict");
        // Two authors read the same draft; the second to save is refused.
        let tag = server.get(path).header("etag").to_owned();
        let saved = put(&server, path, &named("B"), ("If-Match", &tag));
        assert_eq!((saved.status, saved.header("etag")), (200, "\"2\""), "{saved:?}");
        assert_refused(&put(&server, path, &named("C"), ("If-Match", &tag)), 412, "draft_conflict");
        assert_eq!(server.get(path).json()["name"], "B");
        // Nor is it published unseen.
        assert_refused(&server.request("POST", publish, &[("If-Match", &tag)], ""), 412, "draft_conflict");
        for form in ["2", "two", "\"1\", \"2\"", "\"1", ""] {
            assert_refused(&put(&server, path, &named("C"), ("If-Match", form)), 400, "invalid_precondition");
        }
        for form in ["W/\"2\"", "\"two\"", "\"0\"", "\"-1\"", "\"02\"", "\"99999999999999999999\"", "\"a\", \"b\""] {
            assert_refused(&put(&server, path, &named("C"), ("If-Match", form)), 412, "draft_conflict");
        }
        assert_refused(&put(&server, path, &named("C"), ("If-None-Match", "\"2\"")), 400, "invalid_precondition");
        assert_eq!(put(&server, path, &named("C"), ("If-Match", "*")).header("etag"), "\"3\"");
        assert_eq!(put(&server, path, &named("D"), ("X-Other", "1")).header("etag"), "\"4\"", "without a condition the last save wins");
    }
    let published = server.request("POST", documents()[0].1, &[("If-Match", server.get(documents()[0].0).header("etag"))], "");
    assert_eq!(published.status, 201, "{published:?}");
    let restore = |tag: &str| server.request("POST", "/v1/agents/desk/versions/1/restore", &[("If-Match", tag)], "");
    assert_refused(&restore("\"1\""), 412, "draft_conflict");
    assert_eq!(restore(server.get(documents()[0].0).header("etag")).status, 200);
}

#[test]
fn of_authors_who_save_at_once_one_wins() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let (path, _, document) = documents().remove(0);
    let save = |condition: (&str, &str)| {
        let answers: Vec<u16> = std::thread::scope(|scope| {
            let saves: Vec<_> = (0..8).map(|_| scope.spawn(|| put(&server, path, &document, condition).status)).collect();
            saves.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        answers.iter().filter(|status| **status == 200).count()
    };
    assert_eq!(save(("If-None-Match", "*")), 1);
    assert_eq!(save(("If-Match", "\"1\"")), 1);
    assert_eq!(server.get(path).header("etag"), "\"2\"");
}
