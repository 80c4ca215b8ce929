//! Assistants on the pages of their deployments: authentication, visibility, rate limits. (docs/spec/flows-http.md#1, #4)

use std::thread;
use std::time::Instant;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::{WITH_KEYS, key};
use crate::flows::{
    DEPLOYED, JSON, ORIGIN, SIMULATED, Session, assert_refused, deploy, desk, publish, reply_texts, save_draft, send, serve_desk,
    with_changes,
};
use crate::harness::{Answer, REGEX_ONLY, Server, TestEnv};

/// A server with the published desk and the token of its deployment.
pub fn with_shop(more: &[&str]) -> (TestEnv, Server, String) {
    let (env, server) = serve_desk(&desk("Desk"), more);
    publish(&server, &desk("Desk"));
    let token = deploy(&server, false);
    (env, server, token)
}

pub fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    server.request("POST", path, &[headers, &[JSON]].concat(), body.to_string())
}

fn number(answer: &Answer, name: &str) -> u64 {
    answer.header(name).parse().unwrap_or_else(|_| panic!("{name}: {answer:?}"))
}

#[test]
fn only_a_token_with_its_origin_opens_the_public_routes() {
    let (env, server, token) = with_shop(&[]);
    let bearer = format!("Bearer {token}");
    let turns = format!("{DEPLOYED}/{}/turns", Session::start_deployed(&server, &token, &[]).0.id);
    let cut = &bearer[..bearer.len() - 1];
    for path in [DEPLOYED, &turns] {
        for authorization in [None, Some("Bearer cdp_x"), Some(cut), Some("Basic x"), Some(token.as_str()), Some("Bearer ")] {
            let headers: Vec<(&str, &str)> = authorization.map(|it| ("Authorization", it)).into_iter().chain([ORIGIN]).collect();
            let answer = post(&server, path, &headers, &json!({"type": "session.end"}));
            assert_refused(&answer, 401, "unauthorized");
            assert!(answer.header("www-authenticate").starts_with("Bearer"), "{answer:?}");
        }
        for origin in ["https://evil.example", "http://shop.example", "https://shop.example:444", "null", "http://localhost:3000", ""] {
            let headers = [("Authorization", bearer.as_str()), ("Origin", origin)];
            assert_refused(&post(&server, path, &headers, &json!({"type": "session.end"})), 403, "origin_not_allowed");
        }
        assert_refused(&post(&server, path, &[("Authorization", &bearer)], &json!({"type": "session.end"})), 403, "origin_not_allowed");
    }
    assert_refused(&server.request("GET", "/v1/agents", &[("Authorization", &bearer), ORIGIN], ""), 401, "unauthorized");
    drop(server);
    // A key does not open them, whatever its scopes.
    let admin = key(&env, &["--scope", "converse,read,admin"]);
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS, &["--set", "convengine.admin-token=the-administrator"]].concat());
    for wrong in [admin.as_str(), "the-administrator"] {
        let authorization = format!("Bearer {wrong}");
        assert_refused(&post(&server, DEPLOYED, &[("Authorization", &authorization), ORIGIN], &json!({})), 401, "unauthorized");
        assert_refused(&post(&server, DEPLOYED, &[("X-API-Key", wrong), ORIGIN], &json!({})), 401, "unauthorized");
    }
    assert_eq!(reply_texts(&Session::start_deployed(&server, &token, &[]).1), ["Welcome to Desk."], "the token is still accepted");
    assert_eq!(server.request("GET", "/v1/agents", &[("Authorization", &bearer)], "").status, 401);
}

#[test]
fn pages_use_the_live_version() {
    let (env, server, token) = with_shop(&[]);
    let (session, first) = Session::start_deployed(&server, &token, &[]);
    assert_eq!((reply_texts(&first), first.get("debug")), (vec!["Welcome to Desk."], None));
    publish(&server, &desk("Two"));
    save_draft(&server, &desk("Draft"));
    assert_eq!(reply_texts(&Session::start_deployed(&server, &token, &[]).1), ["Welcome to Two."]);
    assert_eq!(reply_texts(&session.say(&server, "more please")), ["Desk 1"], "a running session stays on its version");
    let state = session.state(&server);
    assert_eq!((&state["channel"], &state["vars"]["count"]), (&json!("web"), &json!(1)), "admins see the version");
    assert_eq!(session.assert_replays(&env, &server), 2);
    let (simulated, _) = Session::start_simulated(&server, &json!({}));
    let other = deploy(&server, false);
    let headers = |token: &str| vec![("Authorization".to_owned(), format!("Bearer {token}"))];
    for (id, token) in [(&session.id, &other), (&simulated.id, &token), (&"x".to_owned(), &token)] {
        let headers = headers(token);
        let answer = post(
            &server,
            &format!("{DEPLOYED}/{id}/turns"),
            &[(headers[0].0.as_str(), headers[0].1.as_str()), ORIGIN],
            &json!({"type": "user.message", "text": "more please"}),
        );
        assert_refused(&answer, 404, "not_found");
    }
    assert_eq!(session.state(&server)["turn"], 1);
}

#[test]
fn users_may_send_only_user_events() {
    let (_place, server, token) = with_shop(&[]);
    let (session, _) = Session::start_deployed(&server, &token, &[]);
    for event in [
        json!({"type": "timer.fired", "timer_id": "session"}),
        json!({"type": "approval.decision", "call_id": "c", "approved": true}),
        json!({"type": "handoff.message", "text": "hi"}),
        json!({"type": "session.start"}),
        json!({"type": "no.such"}),
    ] {
        assert_refused(&session.send_event(&server, &event), 403, "event_not_allowed");
    }
    assert_refused(&session.send_event(&server, &json!({"type": "user.message"})), 422, "invalid_event");
    assert_refused(&session.send_event(&server, &json!({})), 422, "invalid_event");
    let message =
        json!({"type": "user.message", "text": "more please", "event_id": "e", "version": 9, "assistant": "x", "deployment": "x"});
    let first = session.send_event(&server, &message);
    assert_eq!((first.status, reply_texts(&first.json())), (200, vec!["Desk 1"]), "a user cannot set members of the server");
    let again = session.send_event(&server, &message);
    assert_eq!((again.text, again.headers["x-replayed"].to_str().unwrap()), (first.text, "true"));
    assert_eq!(session.send_event(&server, &json!({"type": "user.button", "button_id": "b"})).status, 200);
    let end = session.send_event(&server, &json!({"type": "session.end"}));
    assert_eq!((end.status, &end.json()["status"]), (200, &json!("completed")));
    let closed = session.send_event(&server, &message);
    assert_eq!((closed.status, closed.header("x-replayed")), (200, "true"), "a repeated event is answered even after the end");
    let late = session.send_event(&server, &json!({"type": "user.message", "text": "hi"}));
    assert_refused(&late, 409, "session_completed");
    assert_eq!(late.json()["error"]["session_id"], json!(session.id));
}

#[test]
fn debug_data_is_shown_where_the_deployment_allows_it() {
    let (_place, server, closed) = with_shop(&[]);
    let open = deploy(&server, true);
    for (token, header, shown) in [
        (&closed, Some("1"), false),
        (&open, None, false),
        (&open, Some("0"), false),
        (&open, Some("true"), false),
        (&open, Some("1"), true),
    ] {
        let headers: Vec<(&str, &str)> = header.map(|it| ("X-Debug", it)).into_iter().collect();
        let (session, first) = Session::start_deployed(&server, token, &headers);
        assert_eq!(first.get("debug").is_some(), shown, "{header:?}: {first}");
        assert_eq!(session.say(&server, "more please").get("debug").is_some(), shown, "{header:?}");
    }
}

/// The response to a preflight request.
fn preflight(server: &Server, path: &str, origin: &str) -> Answer {
    let requested = "authorization,content-type,x-debug";
    let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", requested)];
    server.request("OPTIONS", path, &headers, "")
}

#[test]
fn deployment_origins_may_call_only_the_public_routes_from_browsers() {
    let (_place, server, token) = with_shop(&[]);
    let allowed = |path: &str, origin: &str| preflight(&server, path, origin).header("access-control-allow-origin").to_owned();
    let turns = format!("{DEPLOYED}/x/turns");
    for path in [DEPLOYED, &turns] {
        let before = preflight(&server, path, ORIGIN.1);
        assert!((200..300).contains(&before.status), "{before:?}");
        assert_eq!(before.header("access-control-allow-origin"), ORIGIN.1);
        for word in ["authorization", "content-type", "x-debug"] {
            assert!(before.header("access-control-allow-headers").contains(word), "{before:?}");
        }
        assert_eq!([allowed(path, "https://evil.example"), allowed(path, "http://shop.example")], ["", ""]);
    }
    for path in ["/v1/agents", "/v1/secrets", SIMULATED, "/v1/agents/desk/flow", crate::harness::MESSAGE] {
        assert_eq!(allowed(path, ORIGIN.1), "", "{path}");
    }
    let bearer = format!("Bearer {token}");
    let answer = post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({}));
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (201, ORIGIN.1));
    for word in ["x-replayed", "x-ratelimit-remaining", "retry-after"] {
        assert!(answer.header("access-control-expose-headers").contains(word), "{answer:?}");
    }
}

#[test]
fn a_public_assistant_is_limited_to_sixty_calls_a_minute_and_the_simulator_is_not() {
    let (_place, server, token) = with_shop(&[]);
    let bearer = format!("Bearer {token}");
    let missing = format!("{DEPLOYED}/x/turns");
    let call = || post(&server, &missing, &[("Authorization", &bearer), ORIGIN], &json!({"type": "session.end"}));
    let began = Instant::now();
    let (session, _) = Session::start_deployed(&server, &token, &[]);
    let second = call();
    assert_eq!((second.status, number(&second, "x-ratelimit-limit")), (404, 60), "a rejected call counts too");
    // One comes back each second.
    let most = 58 + began.elapsed().as_secs();
    assert!((57..=most).contains(&number(&second, "x-ratelimit-remaining")), "{second:?}");
    assert!(number(&second, "x-ratelimit-reset") > 1_600_000_000, "{second:?}");
    let mut count = 2;
    let refused = loop {
        let answer = call();
        count += 1;
        if answer.status != 404 {
            break answer;
        }
        assert!(count < 1000, "the limit was never reached");
    };
    let took = began.elapsed().as_secs();
    assert!((61..=62 + took).contains(&count), "{count} calls in {took} s");
    assert_refused(&refused, 429, "rate_limited");
    let error = &refused.json()["error"];
    assert_eq!((&error["scope"], &error["limit"]), (&json!("visitor"), &json!(60)), "{error}");
    assert_eq!(error["reset"].as_u64(), Some(number(&refused, "x-ratelimit-reset")));
    assert_eq!((number(&refused, "x-ratelimit-limit"), number(&refused, "x-ratelimit-remaining")), (60, 0));
    assert!((1..=2).contains(&number(&refused, "retry-after")), "{refused:?}");
    assert_eq!(refused.header("access-control-allow-origin"), ORIGIN.1, "the page can read it");
    assert_eq!(session.state(&server)["status"], "active");
    for _ in 0..70 {
        let answer = send(&server, "POST", &format!("{SIMULATED}/{}/turns", session.id), &json!({}));
        assert_eq!(answer.status, 422, "{answer:?}");
    }
}

#[test]
fn every_response_has_rate_limit_headers() {
    let (_place, server, token) = with_shop(&["--set", "convengine.assistants.simulator-rpm=500"]);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    let simulated = server.get(&format!("{SIMULATED}/{}", session.id));
    assert_eq!(number(&simulated, "x-ratelimit-limit"), 500);
    let bearer = format!("Bearer {token}");
    let stands = |answer: &Answer| {
        assert!(number(answer, "x-ratelimit-limit") >= number(answer, "x-ratelimit-remaining"), "{answer:?}");
        number(answer, "x-ratelimit-reset");
    };
    for path in ["/v1/runtime/assistants/none/sessions/x", &format!("{SIMULATED}/x")] {
        stands(&server.get(path));
    }
    let unlimited = |answer: &Answer| {
        assert_eq!(["x-ratelimit-limit", "x-ratelimit-remaining"].map(|header| answer.header(header)), ["4294967295"; 2], "{answer:?}");
        number(answer, "x-ratelimit-reset");
    };
    for path in ["/v1/agents", "/v1/secrets", "/v1/agents/none/flow"] {
        unlimited(&server.get(path));
    }
    unlimited(&send(&server, "PUT", "/v1/agents/desk/flow", &json!({})));
    for headers in [vec![], vec![ORIGIN], vec![("Authorization", bearer.as_str())]] {
        unlimited(&post(&server, DEPLOYED, &headers, &json!({})));
    }
    stands(&post(&server, DEPLOYED, &[("Authorization", bearer.as_str()), ORIGIN], &json!({})));
}

#[test]
fn a_plan_limits_sessions_per_month() {
    let (env, server, token) = with_shop(&["--set", "convengine.assistants.sessions-per-month=2"]);
    Session::start_simulated(&server, &json!({}));
    let bearer = format!("Bearer {token}");
    let (first, _) = Session::start_deployed(&server, &token, &[]);
    let second = post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({}));
    assert_eq!((second.status, number(&second, "x-ratelimit-limit"), number(&second, "x-ratelimit-remaining")), (201, 2, 0), "{second:?}");
    let refused = post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({}));
    assert_refused(&refused, 429, "rate_limited");
    let error = &refused.json()["error"];
    assert_eq!((&error["scope"], &error["limit"]), (&json!("sessions"), &json!(2)), "{error}");
    assert_eq!((number(&refused, "x-ratelimit-limit"), number(&refused, "x-ratelimit-remaining")), (2, 0));
    assert_eq!(error["reset"].as_u64(), Some(number(&refused, "x-ratelimit-reset")));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(number(&refused, "x-ratelimit-reset").abs_diff(now + number(&refused, "retry-after")) <= 2, "{refused:?}");
    let goes_on = first.send_event(&server, &json!({"type": "user.message", "text": "more please"}));
    assert_eq!(reply_texts(&goes_on.json()), ["Desk 1"], "a running session continues");
    assert_eq!(number(&goes_on, "x-ratelimit-limit"), 60, "and counts against no quota");
    assert_eq!(
        Session::start_simulated(&server, &json!({})).1["status"],
        "awaiting_input",
        "simulated sessions do not count against the plan"
    );
    let used =
        "select kind || ' ' || ref || ' ' || cast(sum(amount) as text) from cs_usage_events where kind = 'session' group by kind, ref";
    assert_eq!(env.sql().texts(used), ["session desk 2"]);
    env.sql().run("update cs_usage_events set at = 1");
    env.sql().run("update cs_counter set period = 1");
    assert_eq!(post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({})).status, 201, "in another month");
}

const USED: &str = "select cast(coalesce(sum(amount), 0) as text) from cs_usage_events where kind = 'session'";

#[test]
fn a_plan_is_not_exceeded_by_simultaneous_session_starts() {
    let of_plan = ["--set", "convengine.assistants.sessions-per-month=5", "--set", "convengine.assistants.rpm=0"];
    let (env, server, token) = with_shop(&of_plan);
    // Processes that share a database share its plan.
    let second = env.is_postgres().then(|| env.serve(&[&REGEX_ONLY[..], &of_plan].concat()));
    let bearer = format!("Bearer {token}");
    let servers: Vec<&Server> = std::iter::once(&server).chain(&second).collect();
    let begin = |server: &Server| post(server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({}));
    let answers: Vec<Answer> = thread::scope(|scope| {
        let begun: Vec<_> = (0..30).map(|at| servers[at % servers.len()]).map(|server| scope.spawn(move || begin(server))).collect();
        begun.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (begun, refused): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(|it| it.status == 201);
    assert_eq!((begun.len(), refused.len()), (5, 25));
    refused.iter().for_each(|it| assert_refused(it, 429, "rate_limited"));
    assert_eq!(env.sql().texts(USED), ["5"]);
    assert_eq!(env.sql().texts("select cast(count(*) as text) from cs_session"), ["5"]);
}

#[test]
fn a_failed_session_start_does_not_count_against_the_plan() {
    let (env, server, token) = with_shop(&["--set", "convengine.assistants.sessions-per-month=1"]);
    let bearer = format!("Bearer {token}");
    let begin = || post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &json!({}));
    env.sql().run("alter table cs_session rename to cs_session_away");
    for _ in 0..2 {
        assert_refused(&begin(), 503, "service_unavailable");
    }
    assert_eq!(env.sql().texts(USED), ["0"]);
    env.sql().run("alter table cs_session_away rename to cs_session");
    assert_eq!(begin().status, 201);
    assert_refused(&begin(), 429, "rate_limited");
    let streamed = post(&server, &format!("{DEPLOYED}?stream=true"), &[("Authorization", &bearer), ORIGIN], &json!({}));
    assert_refused(&streamed, 429, "rate_limited");
    assert_eq!(env.sql().texts(USED), ["1"]);
}

#[test]
fn an_assistant_without_a_version_cannot_be_started() {
    let (_place, server, token) = with_shop(&[]);
    save_draft(&server, &with_changes(desk("Shop"), &[("/id", json!("shop"))]));
    assert_refused(&send(&server, "POST", "/v1/agents/shop/deployments", &json!({"name": "x", "origins": []})), 409, "not_published");
    let bearer = format!("Bearer {token}");
    for body in
        [json!({"params": 5}), json!({"locale": 5}), json!({"time_zone": "Mars/Base"}), json!({"user": "u"}), json!({"channel": ""})]
    {
        assert_refused(&post(&server, DEPLOYED, &[("Authorization", &bearer), ORIGIN], &body), 422, "invalid_session");
    }
}
