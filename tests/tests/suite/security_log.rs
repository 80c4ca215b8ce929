//! The security log: who has done what that matters to security.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::{WITH_KEYS, key};
use crate::flows::{JSON, desk};
use crate::harness::{Answer, REGEX_ONLY, Server, TestEnv, orders_pack};

const LOG: &str = "/api/v1/security-log";

const SECRET: &str = "hunter2-of-the-log";

/// The entries of a query, oldest first, as action, actor, subject and outcome.
fn entries(server: &Server, key: &str, query: &str) -> Vec<(String, String, String, String)> {
    let answer = server.request("GET", &format!("{LOG}{query}"), &[("X-API-Key", key)], "");
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let entry = |record: &Value| (text(record, "action"), text(record, "actor"), text(record, "subject"), text(record, "outcome"));
    answer.json()["entries"].as_array().unwrap().iter().rev().map(entry).collect()
}

fn entry(action: &str, actor: &str, subject: &str, outcome: &str) -> (String, String, String, String) {
    (action.to_owned(), actor.to_owned(), subject.to_owned(), outcome.to_owned())
}

#[test]
fn changes_of_administrators_are_logged_with_their_outcome_and_without_values() {
    let env = TestEnv::with_pack(&orders_pack());
    let (admin, reader) = (key(&env, &["--scope", "admin"]), key(&env, &["--scope", "read"]));
    let actor = format!("key {}", &admin[3..15]);
    let token = "the-token-of-the-administrator";
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS, &["--set", &format!("convengine.admin-token={token}")]].concat());
    let send = |method: &str, path: &str, body: &Value| -> Answer {
        server.request(method, path, &[JSON, ("X-API-Key", &admin)], body.to_string())
    };
    assert_eq!(send("POST", "/v1/secrets", &json!({"name": "CRM_KEY", "value": SECRET})).status, 201);
    assert_eq!(send("POST", "/v1/secrets", &json!({"name": "CRM_KEY", "value": "short"})).status, 422);
    assert!(send("PUT", "/v1/agents/desk/flow", &desk("Desk")).status < 300);
    assert!(send("POST", "/v1/agents/desk/publish", &json!({})).status < 300);
    let deployed = send("POST", "/v1/agents/desk/deployments", &json!({"name": "shop", "origins": ["https://shop.example"]}));
    assert_eq!(deployed.status, 201, "{deployed:?}");
    let bearer = ("Authorization", "Bearer the-token-of-the-administrator");
    assert_eq!(server.request("DELETE", "/v1/secrets/CRM_KEY", &[bearer], "").status, 204);
    let found = entries(&server, &admin, &format!("?actor={}", actor.replace(' ', "+")));
    let deployments = "/v1/agents/desk/deployments";
    let with_id = format!("{deployments} {}", deployed.json()["id"].as_str().unwrap());
    assert_eq!(
        found,
        [
            entry("secret.store", &actor, "/v1/secrets", "started"),
            entry("secret.store", &actor, "/v1/secrets CRM_KEY", "succeeded"),
            entry("secret.store", &actor, "/v1/secrets", "started"),
            entry("secret.store", &actor, "/v1/secrets", "refused"),
            entry("document.publish", &actor, "/v1/agents/desk/publish", "started"),
            entry("document.publish", &actor, "/v1/agents/desk/publish", "succeeded"),
            entry("deployment.create", &actor, deployments, "started"),
            entry("deployment.create", &actor, &with_id, "succeeded"),
        ]
    );
    let deleted = entries(&server, &admin, "?action=secret.delete");
    assert_eq!(deleted.last(), Some(&entry("secret.delete", "administrator", "/v1/secrets/CRM_KEY", "succeeded")));
    // Pages follow one another.
    let page = server.request("GET", &format!("{LOG}?limit=3"), &[("X-API-Key", &admin)], "").json();
    let next =
        server.request("GET", &format!("{LOG}?limit=3&after={}", page["next"].as_str().unwrap()), &[("X-API-Key", &admin)], "").json();
    assert_eq!((&page["entries"][0]["address"], &page["entries"][0]["actorName"]), (&json!("127.0.0.1"), &json!("administrator")));
    assert_eq!(next["entries"][2]["action"], "document.publish", "{page} {next}");
    let all = server.request("GET", &format!("{LOG}?limit=200"), &[("X-API-Key", &admin)], "").text;
    assert!([SECRET, &admin[16..], token, deployed.json()["token"].as_str().unwrap()].iter().all(|it| !all.contains(it)), "{all}");
    assert_eq!(server.request("GET", LOG, &[("X-API-Key", &reader)], "").status, 403);
    let metrics = server.request("GET", "/metrics", &[("X-API-Key", &admin)], "").text;
    assert!(metrics.contains("convengine_security_events_total{action=\"document.publish\",outcome=\"succeeded\"} 1"), "{metrics}");
}

#[test]
fn commands_are_logged_once_they_have_succeeded() {
    let env = TestEnv::with_pack(&orders_pack());
    let admin = key(&env, &["--scope", "admin"]);
    let pack = env.write_pack("pack.json", &orders_pack());
    for (command, code) in [
        (vec!["import", &pack, "--dry-run"], 0),
        (vec!["import", "no-such-file.json"], 2),
        (vec!["import", &pack], 0),
        (vec!["export"], 0),
        (vec!["key", "revoke", "000000000000"], 1),
    ] {
        let output = env.run(&command);
        assert_eq!(output.code == 0, code == 0, "{command:?}: {output:?}");
    }
    let server = env.serve(&REGEX_ONLY);
    let id = &admin[3..15];
    assert_eq!(
        entries(&server, &admin, "?actor=command"),
        [
            entry("key.create", "command", &format!("{id} test"), "succeeded"),
            entry("config.import", "command", &pack, "succeeded"),
            entry("config.export", "command", "", "succeeded"),
        ]
    );
    drop(server);
    assert_eq!(env.run(&["retention", "--set", "convengine.retention.security-log=1"]).code, 0);
    env.sql().run("update cv_security_log set at = 1 where action = 'key.create'");
    assert_eq!(env.run(&["retention", "--set", "convengine.retention.security-log=1"]).code, 0);
    assert_eq!(
        env.sql().texts("select action from cv_security_log order by id"),
        ["config.import", "config.export", "retention.sweep", "retention.sweep"]
    );
}
