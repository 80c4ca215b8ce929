//! The corpus over HTTP: a real server on loopback, and its stored rows. Each pack is a test.

use std::sync::LazyLock;

use convengine_player::{KnownDifferences, ServerOptions, play_http};
use convengine_test_macros::test_files;
use convengine_tests::{known_differences, read_case};

use crate::harness::TestEnv;

static EXPLAINED: LazyLock<KnownDifferences> = LazyLock::new(|| known_differences().unwrap());

// On PostgreSQL some packs would need other error messages, or another name than `main` for the schema; tests of queries and of the schema
// cover the same there.
test_files! {
    play: ["packs/demo", "packs/pipeline", "packs/recorded", "packs/tools", "packs/v1", "talks"],
    sqlite_only: ["s35_mcp_db_tool", "inventory_lookup"],
}

// Other paths, other methods and invalid bodies; rows that change while the server runs.
test_files! {
    play: ["packs/recorded/rest"],
    sqlite_only: ["s23_rest_errors"],
}

/// Plays a pack.
fn play(file: &str) {
    let case = read_case(file).unwrap();
    let env = TestEnv::with_tables();
    let options = ServerOptions { database: Some(env.database_url()), ..ServerOptions::default() };
    let report = play_http(&case.pack, &case.path, &options, &EXPLAINED);
    assert!(report.has_passed(), "{report:#?}");
    assert_eq!(report.turns.len(), case.pack.turns.len());
}
