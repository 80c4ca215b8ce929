//! The packs of the corpus that need a host, in the core with its services; `convengine-corpus` plays all others.

use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::checks::{check_cancellation, check_expectations, check_suspension};
use convengine_tests::{Case, NEEDS_HOST, corpus, flows};

fn cases() -> Vec<Case> {
    corpus().unwrap().into_iter().chain(flows().unwrap()).filter(Case::needs_host).collect()
}

#[test]
#[on(no_database)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn every_pack_is_as_expected() {
    cases().iter().for_each(|case| check_expectations(case).unwrap_or_else(|error| panic!("{}: {error:#}", case.name())));
}

#[test]
#[on(no_database)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_turn_saved_after_every_completion_ends_the_same() {
    cases().iter().for_each(|case| check_suspension(case).unwrap_or_else(|error| panic!("{}: {error:#}", case.name())));
}

#[test]
#[on(no_database)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn a_turn_canceled_while_it_waits_fails_and_replays() {
    cases().iter().for_each(|case| check_cancellation(case).unwrap_or_else(|error| panic!("{}: {error:#}", case.name())));
}

/// A pack that needs no host belongs to the others.
#[test]
#[on(no_database)]
#[ignore = "needs the interpreter of scripts; `cargo xtask test` builds it"]
fn each_of_them_needs_a_host() {
    let cases = cases();
    assert_eq!(cases.len(), NEEDS_HOST.len());
    for case in cases {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        (0..case.pack.turns.len()).for_each(|turn| drop(player.play(turn).unwrap()));
        assert!(player.host_requests > 0, "{}", case.name());
    }
}
