//! Turns on a Restate cluster are those of the database runtime: the corpus through `serve --runtime restate` and a worker.

use std::path::PathBuf;

use convengine_player::{ServerOptions, play_http_with};
use convengine_tests::{Case, corpus, flows, known_differences, server_binary};

use crate::harness::{SECRETS_KEY, TestEnv};

/// Every how many packs one is played.
const STRIDE: usize = 12;

/// Packs that expect SQLite's error messages, or its schema name `main`, as over HTTP.
const SQLITE_ONLY: [&str; 3] = ["s35_mcp_db_tool", "inventory_lookup", "s23_rest_errors"];

/// Returns the program, which `cargo xtask test` installs.
fn restate_binary() -> PathBuf {
    let platform = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let target = server_binary().unwrap().ancestors().nth(2).unwrap().to_owned();
    target.join(format!("restate/node_modules/@restatedev/restate-server-{platform}/bin/restate-server"))
}

fn stride() -> usize {
    std::env::var("CONVENGINE_RESTATE_STRIDE").ok().and_then(|it| it.parse().ok()).unwrap_or(STRIDE)
}

/// Plays packs on both runtimes; returns the number of turns.
fn play(cases: Vec<Case>) -> usize {
    let (binary, restate, mut explained) = (server_binary().unwrap(), restate_binary(), known_differences().unwrap());
    assert!(restate.is_file(), "Restate is not installed; run `cargo xtask restate` once");
    let playable = cases.into_iter().filter(|it| !SQLITE_ONLY.contains(&it.pack.name.as_str()));
    let mut differing = Vec::new();
    let mut played = 0;
    for case in playable.step_by(stride()) {
        let mut play_on = |restate: Option<PathBuf>| {
            let env = TestEnv::with_tables();
            let key = format!("convengine.secrets-key=file:{}", env.write("key", SECRETS_KEY));
            let options = ServerOptions { database: Some(env.database_url()), settings: vec![key], restate };
            let report = play_http_with(&case.pack, &binary, &case.path, &options, &mut explained);
            // The journals replay in this process to the state hashes that the worker stored.
            for conversation in env.sql().texts("select distinct conversation_id from ce_turn") {
                let replayed = env.run(&["replay", "--conversation", &conversation]);
                // Some packs bring audit rows of no turn, which are reported apart.
                let is_equal = |it: &str| it.contains(" equal sha256 ");
                assert!(!replayed.stdout.is_empty() && replayed.stdout.lines().all(is_equal), "{}: {replayed:?}", case.pack.name);
            }
            report
        };
        let (on_restate, on_database) = (play_on(Some(restate.clone())), play_on(None));
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
fn packs_of_tables_are_played_as_on_the_database() {
    assert!(play(corpus().unwrap()) > 20);
}

#[test]
fn packs_of_flows_are_played_as_on_the_database() {
    assert!(play(flows().unwrap()) > 10);
}
