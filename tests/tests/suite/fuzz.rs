//! Parsers of external input are given arbitrary inputs; inputs that were found once stay here.

use std::path::Path;

use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::demo;
use convengine_tests::fuzz::supervise;
use convengine_tests::fuzz::{FuzzLimit, TARGETS, Target, with_server_stack};

/// The generated inputs of each target.
const INPUTS: usize = 2_000;

/// The same inputs in every run: a failure is caused by a change. `cargo xtask soak fuzz` looks for new inputs.
const SEED: u64 = 7;

/// Inputs that once broke their target.
fn regressions() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        // A frame that arrives byte by byte was parsed anew with each byte.
        ("stomp", b"SEND\nx:".repeat(8_000)),
        ("stomp", [b"SEND\ncontent-length:60000\n\n".to_vec(), vec![0; 50_000]].concat()),
        // A frame whose escapes make it longer than a frame may be was taken for one that cannot be read back.
        ("stomp", [b"SEND\n".to_vec(), [b"a:", &b":".repeat(40_000)[..], b"\n\n\0"].concat()].concat()),
        // A time outside the range of nanoseconds.
        ("journal", far_future_journal()),
    ]
}

/// A journal of a turn in the far future.
fn far_future_journal() -> Vec<u8> {
    let pack = demo("model_acts.json").unwrap().pack;
    let mut journal = CorePlayer::new(&pack, Suspend::Never).play(0).unwrap().journal;
    journal.input.at = 72_036_854_775_807;
    serde_json::to_vec(&journal).unwrap()
}

#[test]
#[on(no_database)]
fn past_findings_stay_fixed() {
    for (name, input) in regressions() {
        let target = Target::find(name).unwrap();
        let outcome = with_server_stack(|| Ok(target.check(&input))).unwrap();
        assert!(outcome.is_ok(), "{name}: {outcome:?}: {}", input.escape_ascii());
    }
}

/// The inputs are parsed in processes of their own, because an input may kill its process.
#[test]
#[on(no_database)]
fn thousands_of_inputs_break_no_parser() {
    let program = Path::new(env!("CARGO_BIN_EXE_test-tools"));
    let targets: Vec<&Target> = TARGETS.iter().collect();
    let reports = supervise::run_targets(program, &targets, SEED, FuzzLimit::Inputs(INPUTS)).unwrap();
    assert_eq!(reports.len(), targets.len());
    for report in &reports {
        println!("{report}");
        assert!(report.finding.is_none(), "{report}");
        assert!(report.counts.0 > INPUTS as u64, "too few inputs: {report}");
    }
}
