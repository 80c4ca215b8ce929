//! The corpus over HTTP: a real server on loopback, and its stored rows.

use convengine_player::{ServerOptions, play_http_with};
use convengine_tests::{Case, corpus, http_only_recordings, known_differences, server_binary};

use crate::harness::TestEnv;

/// Packs that expect SQLite's error messages, or its schema name `main`: on PostgreSQL the tests of queries
/// and of the schema cover the same.
pub const SQLITE_ONLY: [&str; 3] = ["s35_mcp_db_tool", "inventory_lookup", "s23_rest_errors"];

fn playable(mut cases: Vec<Case>) -> Vec<Case> {
    if TestEnv::new().sql().is_postgres() {
        cases.retain(|it| !SQLITE_ONLY.contains(&it.pack.name.as_str()));
    }
    cases
}

#[test]
fn every_pack_is_as_expected_over_http() {
    let binary = server_binary().unwrap();
    let cases = playable(corpus().unwrap());
    let (left, right) = cases.split_at(cases.len() / 2);
    let run = |cases: &[Case]| {
        let explained = known_differences().unwrap();
        let played = |it: &Case| {
            let env = TestEnv::with_tables();
            let around = ServerOptions { database: Some(env.database_url()), ..ServerOptions::default() };
            play_http_with(&it.pack, &binary, &it.path, &around, &explained)
        };
        cases.iter().map(played).filter(|it| !it.has_passed()).map(|it| format!("{it:#?}")).collect::<Vec<_>>()
    };
    let failed = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(right));
        let mut failed = run(left);
        failed.extend(other.join().unwrap());
        failed
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Other paths, other methods and invalid bodies; rows that change while the server runs.
#[test]
fn recordings_of_other_paths_are_as_expected_over_http() {
    let (binary, explained) = (server_binary().unwrap(), known_differences().unwrap());
    for case in playable(http_only_recordings().unwrap()) {
        let env = TestEnv::with_tables();
        let around = ServerOptions { database: Some(env.database_url()), ..ServerOptions::default() };
        let report = play_http_with(&case.pack, &binary, &case.path, &around, &explained);
        assert!(report.has_passed(), "{report:#?}");
        assert_eq!(report.turns.len(), case.pack.turns.len());
    }
}
