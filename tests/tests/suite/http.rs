//! The corpus over HTTP: a real server on loopback, and what it stored.

use convengine_server::play::{Around, play_http_in};
use convengine_tests::{Case, binary, corpus, explained};

use crate::running::Place;

/// Packs that expect what SQLite says of a query, word for word: on PostgreSQL the tests of queries stand for them.
const WORDS_OF_SQLITE: [&str; 2] = ["s35_mcp_db_tool", "inventory_lookup"];

#[test]
fn every_pack_is_as_expected_over_http() {
    let binary = binary().unwrap();
    let mut cases = corpus().unwrap();
    if Place::new().sql().is_postgres() {
        cases.retain(|it| !WORDS_OF_SQLITE.contains(&it.pack.name.as_str()));
    }
    let (left, right) = cases.split_at(cases.len() / 2);
    let run = |cases: &[Case]| {
        let mut explained = explained().unwrap();
        let played = |it: &Case| {
            let place = Place::ready();
            let around = Around { database: Some(place.database()), ..Around::default() };
            play_http_in(&it.pack, &binary, &it.path, &around, &mut explained)
        };
        cases.iter().map(played).filter(|it| !it.passed()).map(|it| format!("{it:#?}")).collect::<Vec<_>>()
    };
    let failed = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(right));
        let mut failed = run(left);
        failed.extend(other.join().unwrap());
        failed
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
