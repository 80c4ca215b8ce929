//! Made-up credentials, origins and webhooks: how many an address may try, and what they cost.

use convengine_test_macros::test;
use serde_json::json;

use crate::access::{key, refusal_message};
use crate::chains::sign;
use crate::flows::{DEPLOYED, JSON, ORIGIN};
use crate::harness::{Answer, REGEX_ONLY, SERVE, Server, TestEnv, orders_pack};
use crate::stream::ID;

/// The log target of statements on SQLite.
const STATEMENT: &str = "sqlx::query";

const ADMIN: &str = "the-token-of-the-administrator";

/// The default of `convengine.security.guessing.failures`.
const FAILURES: usize = 100;

/// How many of each kind are sent.
const COUNT: usize = 200;

const LIST: &str = "/api/v1/conversation";

/// Settings of a server that asks for keys and does not forget an address while a test runs.
const SETTINGS: [&str; 6] = [
    "--set",
    "convengine.security.mode=keys",
    "--set",
    "convengine.security.guessing.window=1h",
    "--set",
    "convengine.admin-token=the-token-of-the-administrator",
];

/// Invented credentials of every kind, by a number.
fn invented_credentials(server: &Server, number: usize) -> [Answer; 5] {
    let key = format!("ce_{number:012x}_{number:064x}");
    let bearer = |prefix: &str| format!("Bearer {prefix}{number:043}");
    let resume = format!("/v1/workflow-chains/desk/runs/{ID}/resume");
    let link = format!("/v1/public/ai-agents/cap_{number:043}/messages?conversation_id={ID}");
    [
        server.request("GET", LIST, &[("X-API-Key", &key)], ""),
        server.request("POST", DEPLOYED, &[("Authorization", &bearer("cdp_")), ORIGIN, JSON], "{}"),
        server.request("POST", &resume, &[("Authorization", &bearer("crt_")), JSON], "{}"),
        server.request("GET", &link, &[], ""),
        server.request("GET", "/v1/agents", &[("Authorization", &bearer("administrator"))], ""),
    ]
}

/// Statements are in the log on SQLite.
#[test]
#[on(sqlite)]
fn invented_credentials_cost_no_statement_and_leave_no_line() {
    let env = TestEnv::with_pack(&orders_pack());
    let admin = key(&env, &["--scope", "admin"]);
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &SETTINGS].concat());
    let server = env.start(command.env("RUST_LOG", format!("info,{STATEMENT}=debug")));
    let count_statements = || server.log().matches(STATEMENT).count();
    let with_key = || server.request("GET", LIST, &[("X-API-Key", &admin)], "").status;
    assert_eq!(with_key(), 200);
    let before = count_statements();
    let mut statuses = Vec::new();
    for number in 0..COUNT {
        statuses.extend(invented_credentials(&server, number).map(|it| it.status));
        let origin = format!("https://evil-{number}.example");
        let preflight = [("Origin", origin.as_str()), ("Access-Control-Request-Method", "POST")];
        assert_eq!(server.request("OPTIONS", DEPLOYED, &preflight, "").header("access-control-allow-origin"), "");
        assert_eq!(server.get("/readyz").status, 200);
        for (name, signature) in [vec![], sign("a-made-up-secret", None, "{}")].into_iter().enumerate() {
            let headers: Vec<(&str, &str)> = signature.iter().map(|(name, value)| (*name, value.as_str())).chain([JSON]).collect();
            let answer = server.request("POST", &format!("/v1/public/chains/chain-{name}/ingress"), &headers, "{}");
            assert!([401, 404, 503].contains(&answer.status), "{answer:?}");
        }
    }
    // The remainder is that of background tasks, and of the few lookups of what another process may have made.
    let statements = count_statements() - before;
    assert!(statements < 3 * COUNT, "{statements} statements for {} requests", 9 * COUNT);
    assert!(statuses[..FAILURES].iter().all(|it| *it == 401), "{statuses:?}");
    assert!(statuses[FAILURES..].iter().all(|it| *it == 429), "{statuses:?}");
    assert_eq!(with_key(), 200, "what is known still counts");
    assert_eq!(server.request("GET", "/v1/agents", &[("Authorization", &format!("Bearer {ADMIN}"))], "").status, 200);
    assert_eq!(server.get(LIST).status, 401, "a request without credentials is not a guess");
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains(STATEMENT) && line.contains("credentials")).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("127.0.0.1"), "{lines:?}");
    let metrics = server.request("GET", "/metrics", &[("X-API-Key", &admin)], "").text;
    for (outcome, count) in [("refused", FAILURES), ("throttled", 5 * COUNT - FAILURES)] {
        let line = format!("convengine_rejected_credentials_total{{outcome=\"{outcome}\"}} {count}");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}

#[test]
fn an_address_that_guesses_learns_when_to_retry() {
    let env = TestEnv::with_pack(&orders_pack());
    let proxied = ["--set", "convengine.http.trusted-proxies=127.0.0.1", "--set", "convengine.security.guessing.failures=3"];
    let server = env.serve(&[&REGEX_ONLY[..], &SETTINGS, &proxied].concat());
    let wrong = format!("ce_{:012x}_{:064x}", 1, 1);
    let guess = |client: &str| server.request("GET", LIST, &[("X-API-Key", &wrong), ("X-Forwarded-For", client)], "");
    for _ in 0..3 {
        assert_eq!(guess("2001:db8:0:1::1").status, 401);
    }
    let refused = guess("2001:db8:0:1:ffff::2");
    assert_eq!(refused.status, 429, "the whole network: {refused:?}");
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|it| (1..=3600).contains(&it)), "{refused:?}");
    assert!(refusal_message(&refused).contains("too many invalid credentials"), "{refused:?}");
    let of_assistants = [("Authorization", "Bearer cdp_made-up"), ("X-Forwarded-For", "2001:db8:0:1::3"), ORIGIN, JSON];
    let refused = server.request("POST", DEPLOYED, &of_assistants, "{}");
    assert_eq!((refused.status, &refused.json()["error"]["scope"]), (429, &json!("address")), "{refused:?}");
    assert_eq!([guess("2001:db8:0:2::1").status, guess("192.0.2.1").status], [401; 2], "other addresses");
}

#[test]
fn what_another_process_makes_is_known_soon() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &SETTINGS].concat());
    for number in 0..3 {
        assert_eq!(invented_credentials(&server, number).map(|it| it.status), [401; 5]);
        let fresh = key(&env, &["--scope", "read"]);
        assert_eq!(server.request("GET", LIST, &[("X-API-Key", &fresh)], "").status, 200, "{number}");
    }
}
