//! Work that nobody waits for, and users who do not wait for it (docs/guide/server.md, chapter "Work in the background").

use std::thread;
use std::time::{Duration, Instant};

use convengine_test_macros::test;
use serde_json::json;

use crate::flows::{Session, reply_texts, serve_desk, with_input_timeout};
use crate::harness::{OPEN, REGEX_ONLY, wait_until};
use crate::observability::read_metrics;
use crate::stream::ID;

/// The sessions whose timers become due while no server runs.
const SESSIONS: usize = 160;

#[test]
fn timers_that_are_due_together_delay_no_message() {
    let (env, server) = serve_desk(&with_input_timeout(600_000), &[]);
    let start = || (0..SESSIONS / 4).for_each(|_| drop(Session::start_simulated(&server, &json!({}))));
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(start))));
    let (waits, _) = Session::start_simulated(&server, &json!({}));
    waits.say(&server, "log in");
    drop(server);
    let far = 4_102_444_800_000_i64;
    env.sql().run(&format!("update cs_timer set due = case when session_id = '{}' then {far} else 1 end", waits.id));
    // It is due last.
    env.sql().run("update cs_timer set due = 2 where id = 'no_input'");
    let due = || env.sql().texts("select cast(count(*) as text) from cs_timer where due < 10")[0].parse::<usize>().unwrap();
    assert_eq!(due(), SESSIONS + 1);

    let limits = ["--set", "convengine.turn.max-background=1", "--set", "convengine.database.background-connections=1"];
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN, &limits].concat());
    let begin = Instant::now();
    // Neither a conversation nor a session whose own timer is behind all others waits for them.
    assert_eq!(reply_texts(&waits.say(&server, "1234")), ["Thank you."]);
    server.say(ID, "my order");
    assert!(due() > SESSIONS / 2, "the timers are still being fired");
    let (mut slowest, mut answered) = (Duration::ZERO, 0);
    let are_fired = wait_until(|| {
        let sent = Instant::now();
        server.say(ID, "my order");
        (slowest, answered) = (slowest.max(sent.elapsed()), answered + 1);
        due() == 0
    });
    assert!(are_fired, "{} timers are left", due());
    let whole = begin.elapsed();
    assert!(answered > 10 && slowest < whole / 3, "{answered} messages, one of which took {slowest:?} of {whole:?}");
    let statuses = env.sql().texts(&format!("select distinct status from cs_session where session_id <> '{}'", waits.id));
    assert_eq!(statuses, ["abandoned"]);

    let metrics = read_metrics(&server);
    assert!(metrics["convengine_turn_wait_seconds_count{class=\"background\"}"] >= SESSIONS as f64, "{metrics:?}");
    assert!(metrics["convengine_database_connection_wait_seconds_count{class=\"background\"}"] > 0.0);
    assert!(metrics["convengine_writer_wait_seconds_count{class=\"background\"}"] > 0.0);
    assert!(metrics["convengine_writer_wait_seconds_count{class=\"user\"}"] > 0.0);
    assert!(!metrics.contains_key("convengine_refusals_total{reason=\"busy\"}"), "no message was refused");
    let gauge = |name: &str| wait_until(|| read_metrics(&server).get(name) == Some(&0.0));
    assert!(gauge("convengine_background_turns_running") && gauge("convengine_timer_lag_seconds"));
    assert!(gauge("convengine_writer_queue{class=\"background\"}") && gauge("convengine_schedules_failing"));
}
