//! Parsers of external input are given arbitrary inputs; inputs that were found once stay here.

use std::time::Duration;

use convengine_player::{CorePlayer, Suspend};
use convengine_tests::demo;
use convengine_tests::fuzz::supervise;
use convengine_tests::fuzz::{TARGETS, Target, on_a_small_stack};

/// The time for each target.
const TIME: Duration = Duration::from_secs(30);

/// The same inputs in every run: a failure is caused by a change. `cargo xtask soak fuzz` looks for new inputs.
const SEED: u64 = 7;

/// Inputs that once broke their target.
fn found() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        // A frame that arrives byte by byte was parsed anew with each byte.
        ("stomp", b"SEND\nx:".repeat(8_000)),
        ("stomp", [b"SEND\ncontent-length:60000\n\n".to_vec(), vec![0; 50_000]].concat()),
        // A time outside the range of nanoseconds.
        ("journal", late_journal()),
    ]
}

/// A journal of a turn in the far future.
fn late_journal() -> Vec<u8> {
    let pack = demo("model_acts.json").unwrap().pack;
    let mut journal = CorePlayer::new(&pack, Suspend::Never).play(0).unwrap().journal;
    journal.input.at = 72_036_854_775_807;
    serde_json::to_vec(&journal).unwrap()
}

#[test]
fn what_was_found_once_is_not_found_again() {
    for (name, input) in found() {
        let target = Target::named(name).unwrap();
        let outcome = on_a_small_stack(|| Ok(target.hold(&input))).unwrap();
        assert!(outcome.is_ok(), "{name}: {outcome:?}: {}", input.escape_ascii());
    }
}

/// The program beside the tests, in whose processes the inputs are parsed, because an input may kill its process.
#[test]
fn no_input_of_half_a_minute_breaks_a_reader() {
    let program = convengine_tests::binary().unwrap().with_file_name("soak");
    let targets: Vec<&Target> = TARGETS.iter().collect();
    let reports = supervise::hold(&program, &targets, SEED, TIME).unwrap();
    assert_eq!(reports.len(), targets.len());
    for report in &reports {
        println!("{report}");
        assert!(report.finding.is_none(), "{report}");
        assert!(report.figures.0 > 100, "too few inputs: {report}");
    }
}
