//! Talks with assistants: each plays in the core and over HTTP, and both answer alike.

use std::path::PathBuf;

use convengine_server::pack_file;
use convengine_server::play::{CorePlayer, HttpPlayer, PackReport, Suspend, play_core, play_http};
use convengine_tests::{binary, explained, root};
use serde_json::Value;

/// Members of answers that say when something was, or how long it took.
const VOLATILE: [&str; 2] = ["since", "ms"];

fn talks() -> Vec<PathBuf> {
    let files = std::fs::read_dir(root().join("tests/packs/flow")).unwrap().map(|it| it.unwrap().path());
    let mut talks: Vec<PathBuf> = files.filter(|it| it.extension().is_some_and(|it| it == "talk")).collect();
    talks.sort();
    assert!(!talks.is_empty());
    talks
}

/// An answer without what no two runs have in common.
fn lasting(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(members) => {
            members.retain(|name, _| !VOLATILE.contains(&name.as_str()));
            members.values_mut().for_each(|it| *it = lasting(it.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| *it = lasting(it.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    answer
}

#[test]
fn a_talk_is_as_expected_in_the_core_and_over_http() {
    for path in talks() {
        let pack = pack_file::read(&path).unwrap();
        let mut explained = explained().unwrap();
        let reports: [PackReport; 2] =
            [play_core(&pack, Suspend::Never, &mut explained), play_http(&pack, &binary().unwrap(), &path, &mut explained)];
        for (report, place) in reports.iter().zip(["in the core", "over HTTP"]) {
            assert!(report.passed(), "{} {place}: {report:#?}", path.display());
            assert_eq!(report.turns.len(), pack.turns.len(), "{} {place}", path.display());
        }
    }
}

#[test]
fn a_talk_has_the_same_answers_in_the_core_and_over_http() {
    for path in talks() {
        let pack = pack_file::read(&path).unwrap();
        let mut core = CorePlayer::new(&pack, Suspend::Always);
        let mut http = HttpPlayer::start(&pack, &binary().unwrap(), &path).unwrap();
        for turn in 0..pack.turns.len() {
            let place = format!("{} turn {turn}", path.display());
            let expected = core.play(turn).unwrap_or_else(|error| panic!("{place}: {error:#}")).played;
            let found = http.play(turn).unwrap_or_else(|error| panic!("{place}: {error:#}"));
            assert_eq!(found.status, expected.status, "{place}: {}", found.json);
            let (found, expected) = (lasting(found.json), lasting(expected.json));
            assert!(found == expected, "{place}:\n{found:#}\n{expected:#}");
        }
    }
}
