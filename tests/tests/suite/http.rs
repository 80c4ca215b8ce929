//! The corpus over HTTP: a real server on loopback, and what it stored.

use convengine_server::play::play_http;
use convengine_tests::{binary, corpus, explained};

#[test]
fn every_pack_is_as_expected_over_http() {
    let binary = binary().unwrap();
    let cases = corpus().unwrap();
    let (left, right) = cases.split_at(cases.len() / 2);
    let run = |cases: &[convengine_tests::Case]| {
        let mut explained = explained().unwrap();
        let reports = cases.iter().map(|it| play_http(&it.pack, &binary, &it.path, &mut explained));
        reports.filter(|it| !it.passed()).map(|it| format!("{it:#?}")).collect::<Vec<_>>()
    };
    let failed = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(right));
        let mut failed = run(left);
        failed.extend(other.join().unwrap());
        failed
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
