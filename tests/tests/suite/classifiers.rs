//! Trained classifiers: stored at publishing, import and refresh, read at a start, and trained again when they cannot be read.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::database::Sql;
use crate::flows::{JSON, Session, desk, publish, save_draft, serve_desk};
use crate::harness::{OPEN, REGEX_ONLY, Server, TestEnv, orders_pack};

const MESSAGE: &str = "could you open it for me please";

/// The stored classifiers, each with its bytes.
fn stored(sql: &mut Sql) -> Vec<(String, String)> {
    let bytes = sql.hex_expression("bytes");
    sql.texts("select hash from cv_classifier order by hash")
        .into_iter()
        .zip(sql.texts(&format!("select {bytes} from cv_classifier order by hash")))
        .collect()
}

/// What a new session of the published desk makes of a message.
fn lexical_match(server: &Server) -> Value {
    let (session, _) = Session::start_simulated(server, &json!({"version": 1}));
    session.say(server, MESSAGE);
    session.find_trace(server, "intent.lexical").unwrap_or_else(|| panic!("{:?}", server.audit(&session.id)))
}

#[test]
fn publishing_stores_the_classifier_and_a_start_reads_it() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let mut sql = env.sql();
    assert_eq!(stored(&mut sql), []);
    assert_eq!(publish(&server, &desk("Desk")), 1);
    let published = stored(&mut sql);
    assert_eq!(published.len(), 1);
    let matched = lexical_match(&server);
    assert!(matched["nearest"][0]["confidence"].as_f64().is_some_and(|it| it > 0.0), "{matched}");
    assert_eq!(publish(&server, &desk("Another name")), 2);
    assert_eq!(stored(&mut sql), published, "the phrases are the same");
    drop(server);

    let start = || env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    sql.run("update cv_classifier set used_at = 0, created_at = 0");
    assert_eq!(lexical_match(&start()), matched);
    assert_eq!(
        sql.texts("select cast(created_at as text) from cv_classifier where used_at > 0"),
        ["0"],
        "it is read, and its day recorded"
    );

    let broken = sql.bytes_literal("434c5831");
    sql.run(&format!("update cv_classifier set bytes = {broken}"));
    assert_eq!(lexical_match(&start()), matched);
    assert_eq!(stored(&mut sql), published, "it is trained again");

    sql.run("delete from cv_classifier");
    assert_eq!(lexical_match(&start()), matched);
    assert_eq!(stored(&mut sql), published);
}

#[test]
fn a_changed_draft_is_trained_by_its_first_session() {
    let (env, server) = serve_desk(&desk("Desk"), &[]);
    let mut sql = env.sql();
    assert_eq!(stored(&mut sql), [], "saving does not train");
    Session::start_simulated(&server, &json!({}));
    assert_eq!(stored(&mut sql).len(), 1);
    let mut changed = desk("Desk");
    changed["intents"][0]["phrases"] = json!(["one more please"]);
    save_draft(&server, &changed);
    Session::start_simulated(&server, &json!({}));
    assert_eq!(stored(&mut sql).len(), 2);
    changed["settings"]["lexical_match"] = json!({"enabled": false});
    changed["intents"][0]["phrases"] = json!(["two more please"]);
    publish(&server, &changed);
    assert_eq!(stored(&mut sql).len(), 2, "it uses no classifier");
}

#[test]
fn tables_are_trained_by_import_and_refresh_and_retention_deletes_what_is_unused() {
    let example = |id: u32, intent: &str, text: &str| json!({"classifier_id": id, "rule_type": "EXAMPLE", "pattern": text, "intent_code": intent, "priority": 30});
    let mut pack = orders_pack();
    pack["tables"]["ce_intent_classifier"] =
        json!([example(1, "ORDERS", "where is my parcel"), example(2, "ORDERS", "track a parcel"), example(3, "OTHER", "tell me a joke")]);
    let env = TestEnv::with_pack(&pack);
    let mut sql = env.sql();
    let imported = stored(&mut sql);
    assert_eq!(imported.len(), 1);
    let broken = sql.bytes_literal("00");
    sql.run(&format!("update cv_classifier set bytes = {broken}"));
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(stored(&mut sql), imported, "the start has trained it again");
    sql.run("update ce_intent_classifier set pattern = 'where are my parcels' where classifier_id = 1");
    let refreshed = server.request("POST", "/api/v1/cache/refresh", &[JSON], "{}");
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    assert_eq!(stored(&mut sql).len(), 2);
    drop(server);

    sql.run(&format!("update cv_classifier set used_at = 0 where hash = '{}'", imported[0].0));
    let output = env.run(&["retention", "--set", "convengine.retention.calls=1"]);
    assert!(output.code == 0 && output.stdout.contains("unused classifiers: 1"), "{output:?}");
    let left = stored(&mut sql);
    assert!(left.len() == 1 && left[0].0 != imported[0].0);
}
