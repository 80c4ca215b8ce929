//! The mixed load of `cargo xtask soak load`, the runs of `cargo xtask soak runs`, the work of `cargo xtask soak background`, the streams of
//! `cargo xtask soak streams` and the storms of `cargo xtask soak storm`, short: every reply, every run and every event is correct; speed is not
//! checked.

use std::rc::Rc;
use std::time::Duration;

use convengine_test_macros::test;
use convengine_tests::server_binary;
use convengine_tests::soak::background::{self, BackgroundLoad};
use convengine_tests::soak::load::{Until, run_load};
use convengine_tests::soak::runs::RunLoad;
use convengine_tests::soak::{Mix, runs, storm, streams};

use crate::database::database_kind;

#[test]
fn concurrent_conversations_of_five_packs_are_answered_as_if_alone() {
    let mix = Rc::new(Mix::start(&server_binary().unwrap(), &database_kind(), &[]).unwrap());
    let seen = run_load(&mix, 8, Until::Conversations(40)).unwrap();
    assert_eq!((seen.failures, seen.failure_examples.as_slice()), (0, [].as_slice()));
    assert_eq!(seen.conversations, 40);
    let stored = "select cast(count(*) as text) from ce_turn";
    let turns: usize = mix.servers.iter().map(|server| server.database.query(stored).unwrap()[0][0].parse::<usize>().unwrap()).sum();
    assert_eq!(turns, seen.micros.len());
    let long = "select cast(count(*) as text) from (select 1 from ce_turn group by conversation_id having count(*) > 30) as long";
    let long: usize = mix.servers.iter().map(|server| server.database.query(long).unwrap()[0][0].parse::<usize>().unwrap()).sum();
    assert_eq!(long, 20, "half of the conversations");
}

#[test]
fn each_of_many_streams_receives_its_conversation_whole_and_in_order() {
    let seen = streams::run_streams(&server_binary().unwrap(), &database_kind(), 250, 1).unwrap();
    assert_eq!((seen.failures, seen.failure_examples.as_slice()), (0, [].as_slice()));
    assert_eq!((seen.streams, seen.stomp), (250, 50));
    assert!(seen.resumed > 0 && seen.events > seen.turns * 10, "{seen:?}");
}

#[test]
fn every_one_of_many_runs_ends_and_every_sleeper_wakes_up() {
    let [sleep, spread, idle] = [12, 4, 1].map(Duration::from_secs);
    let load = RunLoad { sleep, spread, idle, ..RunLoad::new(100, 200, 4) };
    let seen = runs::measure_runs(&server_binary().unwrap(), &database_kind(), &load).unwrap();
    assert_eq!(seen.failures, [""; 0]);
    assert_eq!((seen.runs, seen.sleepers), (100, 200));
    assert!(seen.lag_ms[0] > 0, "nobody wakes up early, and everybody's time is known: {seen:?}");
}

/// On SQLite only one process uses the database.
#[test]
#[on(postgres)]
fn work_in_the_background_and_a_lost_tenant_refuse_no_user() {
    // Long enough for machines that do other things as well.
    let [start, calm] = [30, 2].map(Duration::from_secs);
    let load = BackgroundLoad { timers: 100, chains: 5, chunks: 200, start, calm };
    let seen = background::run_background(&server_binary().unwrap(), &database_kind(), load).unwrap();
    assert_eq!((seen.refused, seen.failures), (0, Vec::new()));
    assert!(seen.turns[1] > 0 && seen.chains >= 5, "{:?} turns, {} chains", seen.turns, seen.chains);
}

/// On SQLite only one process uses the database.
#[test]
#[on(postgres)]
fn turns_of_a_server_killed_in_a_storm_are_finished_once() {
    let seen = storm::run_storm(&server_binary().unwrap(), &database_kind(), 60, Duration::from_secs(15)).unwrap();
    assert_eq!(seen.failures, [""; 0]);
    assert_eq!((seen.turns, seen.recovered), ([60, 20], 20), "healthy servers keep their turns");
}

/// On SQLite only one process uses the database.
#[test]
#[on(postgres)]
fn servers_killed_under_load_lose_and_double_nothing() {
    let seen = storm::run_kills(&server_binary().unwrap(), &database_kind(), 4, Duration::from_secs(20), Duration::from_secs(5)).unwrap();
    assert_eq!(seen.failures, [""; 0]);
    assert!(seen.kills > 0 && seen.acknowledged > 0, "{seen:?}");
}
