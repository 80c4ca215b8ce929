//! Turns on a Restate cluster are those of the database runtime: the corpus through `serve --runtime restate` and a worker. All on
//! PostgreSQL, which both share.

mod operations;
mod rows;

use std::collections::BTreeSet;
use std::time::Duration;

use convengine_core::pack::Pack;
use convengine_host::ops::journal_export::load_turns;
use convengine_host::ops::replay::{Recording, ReplayReport};
use convengine_player::restate::RestateOptions;
use convengine_player::{HttpPlayer, ServerOptions, play_http};
use convengine_test_macros::test;
use convengine_tests::soak::restate::{RestateSoak, run};
use convengine_tests::{Case, corpus, flows, known_differences, restate_binary, root, server_binary};
use tokio::runtime::Runtime;

use crate::database::database_kind;
use crate::harness::{SECRETS_KEY, TestEnv};
use crate::running::is_long_run;
use crate::turn_cluster::SharedNode;

/// Packs that expect SQLite's error messages, or its schema name `main`; `http.rs` plays them on SQLite.
const SQLITE_ONLY: [&str; 2] = ["s35_mcp_db_tool", "inventory_lookup"];

/// Every how many packs one is played; `cargo xtask soak corpus` plays all of them.
const STRIDE: usize = 12;

/// Replays a conversation as the command does, in this process.
fn replay(env: &TestEnv, conversation: &str) -> ReplayReport {
    Runtime::new().unwrap().block_on(async {
        let (pool, id, turns) = load_turns(&env.settings(), conversation).await.unwrap();
        Recording::load(&pool, &id, turns).await.unwrap().replay(None, &|| false).unwrap()
    })
}

/// Plays packs on both runtimes; returns the number of turns.
fn play(cases: Vec<Case>) -> usize {
    let (binary, node, explained) = (server_binary().unwrap(), SharedNode::get(), known_differences().unwrap());
    let playable = cases.into_iter().filter(|case| !SQLITE_ONLY.contains(&case.pack.name.as_str()));
    let mut differing = Vec::new();
    let mut played = 0;
    for case in playable.step_by(if is_long_run() { 1 } else { STRIDE }) {
        let play_on = |restate: Option<RestateOptions>| {
            let (env, program) = (TestEnv::with_tables(), restate.is_some().then(|| binary.clone()));
            let key = format!("convengine.secrets-key=file:{}", env.write("key", SECRETS_KEY));
            let options = ServerOptions { database: Some(env.database_url()), settings: vec![key], restate, program };
            let report = play_http(&case.pack, &case.path, &options, &explained);
            // The journals replay in this process to the state hashes that the worker stored. A run may go on after the last turn of its pack.
            for conversation in env.sql().texts("select distinct conversation_id from ce_turn where status <> 'open'") {
                let replayed = replay(&env, &conversation);
                // Some packs bring audit rows of no turn, which are reported apart.
                let turns: Vec<&String> = replayed.lines.iter().filter(|line| line.starts_with("turn ")).collect();
                assert!(!turns.is_empty() && turns.iter().all(|line| line.contains(" equal sha256 ")), "{}: {replayed:?}", case.pack.name);
            }
            report
        };
        let on_restate = {
            let _turn = node.take_turn();
            play_on(Some(node.options(None)))
        };
        let on_database = play_on(None);
        if let Some(failure) = on_database.failure.as_ref().filter(|it| it.contains("publish_blocked")) {
            // The pack has a document with errors, which no server publishes.
            assert_eq!(on_restate.failure.as_ref(), Some(failure));
            continue;
        }
        assert!(on_restate.failure.is_none(), "{on_restate:?}");
        played += on_restate.turns.len();
        // What a pack expects of virtual time differs on any server.
        if format!("{on_restate:?}") != format!("{on_database:?}") {
            differing.push(format!("{on_restate:#?}\non the database:\n{on_database:#?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    played
}

#[test]
#[on(postgres)]
fn packs_of_tables_are_played_as_on_the_database() {
    assert!(play(corpus().unwrap()) > 20);
}

#[test]
#[on(postgres)]
fn packs_of_flows_are_played_as_on_the_database() {
    assert!(play(flows().unwrap()) > 10);
}

/// The answer of a call of which nobody knows whether it was executed.
const IN_DOUBT: &str = "ERROR the server stopped before the answer was known";

/// Every how many crash points a worker is killed.
const CRASH_STRIDE: usize = 5;

/// Plays the pack with a worker that is killed at a crossing of a crash point, with rows of its turns or without; returns whether it was, and
/// the number of calls in doubt.
fn play_with_crash(pack: &Pack, path: &std::path::Path, crash_at: u32, has_rows: bool) -> (bool, usize) {
    let env = TestEnv::with_tables();
    let node = SharedNode::get();
    let _turn = node.take_turn();
    let settings = vec![format!("convengine.restate.conversation-rows={has_rows}")];
    let (restate, program) = (Some(node.options(Some(crash_at))), Some(server_binary().unwrap()));
    let options = ServerOptions { database: Some(env.database_url()), restate, settings, program };
    let mut player = HttpPlayer::start(pack, path, &options).unwrap();
    let mut in_doubt = 0;
    for (number, turn) in pack.turns.iter().enumerate() {
        let played = player.play(number).unwrap();
        let (text, expected) = (&played.json["payload"]["value"], &turn.expect.as_ref().unwrap()["json"]["payload"]["value"]);
        let is_doubtful = text == IN_DOUBT;
        assert!(text == expected || is_doubtful, "crash at {crash_at}, turn {number}: {}", played.json);
        in_doubt += usize::from(is_doubtful);
    }
    let calls = player.server().calls().all();
    let calls_to = |path: &str| calls.iter().filter(|call| call.path.starts_with(path)).collect::<Vec<_>>();
    let gifts = calls_to("/gifts").len();
    assert!(gifts <= 1 && (gifts == 1 || in_doubt == 1), "crash at {crash_at}: {gifts} gifts were sent");
    // A payment is idempotent: it may be sent again, under its key.
    let keys: BTreeSet<_> = calls_to("/payments").iter().map(|it| it.idempotency_key.clone()).collect();
    assert!(keys.len() == 1 && !keys.contains(&None), "crash at {crash_at}: payments under the keys {keys:?}");
    let numbers = env.sql().texts("select number::text from ce_turn order by number");
    assert_eq!(numbers, if has_rows { vec!["1", "2", "3", "4", "5"] } else { vec![] }, "crash at {crash_at}");
    (player.server().worker_restarts() > 0, in_doubt)
}

#[test]
#[on(postgres)]
fn turns_of_a_killed_worker_are_finished_once() {
    let path = root().join("tests/packs/tools/writes_in_doubt.json");
    let pack = Pack::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let _node = SharedNode::get();
    for has_rows in [true, false] {
        let (mut kills, mut in_doubt) = (0, 0);
        for crossing in (1_u32..).step_by(CRASH_STRIDE) {
            let (was_killed, doubts) = play_with_crash(&pack, &path, crossing, has_rows);
            if !was_killed {
                break;
            }
            kills += 1;
            in_doubt += doubts;
        }
        assert!(kills >= if has_rows { 5 } else { 3 }, "only {kills} workers were killed");
        assert!(in_doubt > 0 || !has_rows, "no worker was killed with a call in doubt");
    }
}

/// A twentieth of `cargo xtask soak restate`.
#[test]
#[on(postgres)]
fn processes_of_a_cluster_killed_under_load_lose_and_double_nothing() {
    let (convengine, restate, database) = (server_binary().unwrap(), restate_binary().unwrap(), database_kind());
    let (time, interval) = (Duration::from_secs(60), Duration::from_secs(5));
    let soak = RestateSoak { convengine: &convengine, restate: &restate, database: &database, connections: 6, time, interval, seed: 2 };
    let seen = run(&soak).unwrap();
    assert_eq!(seen.failures, [""; 0], "{seen:?}");
    assert!(seen.acknowledged > 0 && seen.chaos.kills.iter().all(|it| *it > 0), "{seen:?}");
    assert!(!seen.chaos.adding.is_zero() && !seen.chaos.removing.is_zero(), "{seen:?}");
}
