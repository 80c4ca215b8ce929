//! A tenant whose database is down, or who takes too much, is alone with it: the others are served.

use convengine_test_macros::test;
use convengine_tests::soak::database::DatabaseKind;
use serde_json::{Value, json};

use crate::database::database_kind;
use crate::flows::{DEPLOYED, JSON, ORIGIN};
use crate::harness::{Answer, MESSAGE, OPEN, Server, client, orders_pack, wait_until};
use crate::stream::ID;
use crate::tenants::{KEYS, TwoTenants};

/// A header by which a proxy shows itself.
const FORWARDED: (&str, &str) = ("X-Forwarded-For", "192.0.2.1");

fn send(server: &Server, tenant: &str) -> Answer {
    let headers = [("Content-Type", "application/json"), ("X-Tenant", tenant)];
    server.request("POST", MESSAGE, &headers, json!({"conversationId": ID, "message": "my order"}).to_string())
}

/// Asserts that only one of two tenants is down, and who gets its name.
fn assert_only_b_is_down(server: &Server) {
    let outside = server.request("GET", "/readyz", &[FORWARDED], "");
    assert_eq!((outside.status, outside.json()), (200, json!({"status": "DEGRADED", "tenants": 2, "down": 1})));
    let inside = server.get("/readyz");
    let problems = inside.json()["problems"].clone();
    assert_eq!((inside.status, problems.as_array().map(Vec::len), &problems[0]["tenant"]), (200, Some(1), &json!("b")), "{inside:?}");
    assert!(problems[0]["reason"].as_str().unwrap().contains("database"), "{inside:?}");
}

fn assert_unavailable(answer: &Answer) {
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"), "{answer:?}");
}

fn all_serve(server: &Server) -> bool {
    server.get("/readyz").json() == json!({"status": "UP", "tenants": 2})
}

#[test]
fn a_tenant_that_is_down_at_the_start_is_taken_up_when_it_is_back() {
    let two = TwoTenants::with_pack(&orders_pack());
    two.b.take_database_away();
    let server = two.serve(&[]);
    assert_eq!(send(&server, "a").json()["payload"]["value"], "Your order is on its way.");
    let refused = send(&server, "b");
    assert_unavailable(&refused);
    assert!(refused.json()["message"].as_str().unwrap().contains("not available"), "{refused:?}");
    assert_eq!(send(&server, "c").status, 400, "unknown tenant");
    assert_only_b_is_down(&server);
    assert!(server.log().contains("tenant=\"b\""), "{}", server.log());
    two.b.bring_database_back();
    assert!(wait_until(|| all_serve(&server)), "{}", server.log());
    assert_eq!(send(&server, "b").json()["payload"]["value"], "Your order is on its way.");
    assert_eq!(two.b.sql().texts("select 'x' from ce_turn").len(), 1);
}

/// On SQLite a running server keeps its file open, so it cannot be taken away.
#[test]
#[on(postgres)]
fn a_tenant_whose_database_goes_down_is_alone_with_it() {
    let two = TwoTenants::with_pack(&orders_pack());
    let server = two.serve(&OPEN);
    let down = || {
        let metrics = server.request("GET", "/metrics", &[("X-Tenant", "a")], "").text;
        metrics.lines().find_map(|line| line.strip_prefix("convengine_tenants_down ")).map(str::to_owned)
    };
    assert!(wait_until(|| down().as_deref() == Some("0")));
    assert_eq!([send(&server, "a").status, send(&server, "b").status], [200, 200]);
    two.b.take_database_away();
    assert!(wait_until(|| server.get("/readyz").json()["down"] == 1), "{}", server.log());
    assert_eq!(send(&server, "a").status, 200);
    assert_unavailable(&send(&server, "b"));
    assert_only_b_is_down(&server);
    assert_eq!(down().as_deref(), Some("1"), "every tenant sees how many are down, and no name");
    two.b.bring_database_back();
    assert!(wait_until(|| all_serve(&server)), "{}", server.log());
    assert!(wait_until(|| send(&server, "b").status == 200), "{}", server.log());
}

/// On SQLite a running server keeps its file open, so it cannot be taken away.
#[test]
#[on(postgres)]
fn no_user_is_refused_before_an_outage_of_another_tenant_is_noticed() {
    let two = TwoTenants::with_pack(&orders_pack());
    let server = two.serve(&[]);
    assert_eq!([send(&server, "a").status, send(&server, "b").status], [200, 200]);
    for _ in 0..3 {
        two.b.take_database_away();
        let refused: Vec<Answer> = (0..20).map(|_| send(&server, "a")).filter(|it| it.status != 200).collect();
        assert!(refused.is_empty(), "{refused:?}");
        two.b.bring_database_back();
        assert!(wait_until(|| all_serve(&server)), "{}", server.log());
    }
}

/// On SQLite a running server keeps its file open, so it cannot be taken away.
#[test]
#[on(postgres)]
fn each_log_line_about_an_outage_names_the_tenant_and_tasks_log_it_once() {
    let two = TwoTenants::with_pack(&orders_pack());
    let server = two.serve(&OPEN);
    assert_eq!([send(&server, "a").status, send(&server, "b").status], [200, 200]);
    two.b.take_database_away();
    assert!(wait_until(|| server.get("/readyz").json()["down"] == 1), "{}", server.log());
    assert_unavailable(&send(&server, "b"));
    // The task that tries often. On PostgreSQL the others wait until it succeeds.
    let task = match database_kind() {
        DatabaseKind::Sqlite => "read session timers",
        DatabaseKind::Postgres(_) => "renew the leases of open turns",
    };
    let (failing, working) = (format!("cannot {task}"), format!("can {task} again"));
    assert!(wait_until(|| server.log().contains(&failing)), "{}", server.log());
    two.b.bring_database_back();
    assert!(wait_until(|| all_serve(&server) && server.log().contains(&working)), "{}", server.log());
    let log = server.log();
    // Tasks of the driver's pool belong to no tenant.
    let is_about_it =
        |line: &&str| !line.contains("sqlx_core::pool::connection") && (line.contains("database") || line.contains("connect"));
    let lines: Vec<&str> = log.lines().filter(is_about_it).collect();
    let unnamed: Vec<&&str> = lines.iter().filter(|it| !it.contains("\"b\"")).collect();
    assert!(!lines.is_empty() && unnamed.is_empty(), "{unnamed:#?}");
    assert_eq!(log.matches(&failing).count(), 1, "{log}");
    assert!(log.matches("cannot read session timers").count() <= 1, "{log}");
}

#[test]
fn a_server_without_a_tenant_that_serves_is_not_ready() {
    let two = TwoTenants::with_pack(&orders_pack());
    two.a.take_database_away();
    two.b.take_database_away();
    let server = two.serve(&[]);
    let (ready, alive) = (server.get("/readyz"), server.get("/healthz"));
    assert_eq!((&ready.json()["status"], &ready.json()["down"], alive.status), (&json!("DOWN"), &json!(2), 200), "{ready:?}");
    assert_unavailable(&ready);
    assert_eq!(server.request("GET", "/readyz", &[FORWARDED], "").json(), json!({"status": "DOWN", "tenants": 2, "down": 2}));
    two.a.bring_database_back();
    assert!(wait_until(|| server.get("/readyz").status == 200), "{}", server.log());
    assert_eq!(send(&server, "a").status, 200);
    two.b.bring_database_back();
}

#[test]
fn a_key_does_not_tell_outsiders_which_tenant_is_down() {
    let two = TwoTenants::with_pack(&orders_pack());
    let (a, b) = (two.key("a", "read"), two.key("b", "read"));
    two.b.take_database_away();
    let server = two.serve(&KEYS);
    let list = |key: &str| server.request("GET", "/api/v1/conversation", &[("X-API-Key", key)], "");
    assert_eq!(list(&a).status, 200);
    let (down, unknown) = (list(&b), list(&b.replace("ce_b_", "ce_c_")));
    assert_unavailable(&down);
    assert_unavailable(&unknown);
    assert_eq!(down.json()["message"], unknown.json()["message"]);
    two.b.bring_database_back();
    assert!(wait_until(|| all_serve(&server)), "{}", server.log());
    assert_eq!([list(&b).status, list(&b.replace("ce_b_", "ce_c_")).status], [200, 401]);
}

#[test]
fn keys_that_may_be_of_a_tenant_that_is_down_weigh_little_as_guesses_and_are_answered_alike() {
    let two = TwoTenants::with_pack(&orders_pack());
    let (a, b) = (two.key("a", "read"), two.key("b", "read"));
    two.b.take_database_away();
    let few = ["--set", "convengine.security.guessing.failures=3", "--set", "convengine.security.guessing.window=1h"];
    let server = two.serve(&[&KEYS[..], &few, &["--set", "convengine.http.trusted-proxies=127.0.0.1"]].concat());
    let list =
        |client: &str, key: &str| server.request("GET", "/api/v1/conversation", &[("X-API-Key", key), ("X-Forwarded-For", client)], "");
    let nowhere = b.replace("ce_b_", "ce_c_");
    let wrong = format!("ce_a_{:012x}_{:064x}", 1, 1);
    assert_eq!(list("192.0.2.1", &a).status, 200);
    // Ten of them weigh as much as a wrong key.
    for _ in 0..10 {
        assert_unavailable(&list("192.0.2.1", &b));
        assert_unavailable(&list("192.0.2.1", &nowhere));
    }
    assert_eq!([list("192.0.2.1", &wrong).status, list("192.0.2.1", &wrong).status], [401, 429]);
    let of_page = |client: &str| {
        let headers = [("Authorization", "Bearer cdp_made-up"), ("X-Forwarded-For", client), ORIGIN, JSON];
        server.request("POST", DEPLOYED, &headers, "{}")
    };
    for _ in 0..30 {
        assert_eq!(of_page("192.0.2.2").status, 503);
    }
    assert_eq!([list("192.0.2.2", &wrong).status, list("192.0.2.3", &wrong).status], [429, 401], "tokens of pages count, too");
    for client in ["192.0.2.1", "192.0.2.2"] {
        let answers = [list(client, &b), list(client, &nowhere), of_page(client)];
        answers.iter().for_each(assert_unavailable);
        assert_eq!(list(client, &a).status, 200);
    }
    two.b.bring_database_back();
    assert!(wait_until(|| all_serve(&server)), "{}", server.log());
    assert_eq!([list("192.0.2.1", &b).status, list("192.0.2.1", &nowhere).status], [200, 429], "a right key is not shut out");
}

#[test]
fn a_tenant_cannot_take_the_connections_of_others() {
    let two = TwoTenants::with_pack(&orders_pack());
    let server = two.serve(&[&OPEN[..], &["--set", "convengine.tenants.a.share.connections=2"]].concat());
    let listen = |tenant: &str| {
        let address = format!("http://{}/api/v1/conversation/stream/{ID}?tenant={tenant}", server.address);
        client().get(address).send().unwrap()
    };
    let streams = [listen("a"), listen("a")];
    assert!(streams.iter().all(|stream| stream.status() == 200));
    let refused = send(&server, "a");
    assert_unavailable(&refused);
    assert!(refused.text.contains("convengine.share.connections"), "{refused:?}");
    assert_eq!((send(&server, "b").status, listen("b").status().as_u16()), (200, 200));
    drop(streams);
    assert!(wait_until(|| send(&server, "a").status == 200), "a stream that was closed is free again");
}

#[test]
fn the_size_of_the_database_and_used_limits_are_metrics() {
    let two = TwoTenants::with_pack(&orders_pack());
    let limits = [
        "--set",
        "convengine.llm.spend-cap.amount=5",
        "--set",
        "convengine.llm.spend-cap.per=day",
        "--set",
        "convengine.database.capacity-gb=2",
    ];
    let server = two.serve(&[&OPEN[..], &limits].concat());
    let read = |tenant: &str| -> Value {
        let text = server.request("GET", "/metrics", &[("X-Tenant", tenant)], "").text;
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .map(|sample| (sample.0.to_owned(), json!(sample.1)))
            .collect()
    };
    let (a, b) = (read("a"), read("b"));
    let number = |object: &Value, name: &str| object[name].as_str().map(|value| value.parse::<f64>().unwrap());
    assert!(number(&a, "convengine_database_bytes{tenant=\"a\"}").is_some_and(|it| it > 100_000.0), "{a}");
    assert_eq!(number(&a, "convengine_database_limit_bytes{tenant=\"a\"}"), Some(2e9));
    assert_eq!(number(&b, "convengine_database_limit_bytes{tenant=\"b\"}"), Some(2e9));
    assert_eq!(number(&a, "convengine_limit_used_ratio{tenant=\"a\",limit=\"spend_cap\"}"), Some(0.0), "{a}");
}
