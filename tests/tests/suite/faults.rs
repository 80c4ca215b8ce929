//! A twentieth of the simulated faults.

use convengine_core::turn::{Effect, EffectClass, EffectId, EffectResult, Request, SleepRequest};
use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::simulate::fault::{Fault, faults_for, is_repeatable};
use convengine_tests::simulate::run::{run_baseline, run_with_fault};
use convengine_tests::simulate::simulate_all;
use convengine_tests::{Case, corpus, extension_cases, flows, talk};

/// Only every n-th case is played.
const SAMPLE_STEP: usize = 20;

/// So that the sample covers every pack with effects.
#[test]
#[on(no_database)]
fn every_kind_of_effect_has_enough_faults_to_be_sampled() {
    let effect = Effect {
        id: EffectId(0),
        key: "t/0".to_owned(),
        class: EffectClass::Pure,
        deadline_ms: 1,
        stream: false,
        repeatable: true,
        request: Request::Sleep(SleepRequest::new(1)),
    };
    assert!(faults_for(&effect).len() >= SAMPLE_STEP);
}

/// Simulates faults in every n-th case; returns how many cases that were.
fn simulate_sample(packs: &[Case], step: usize) -> usize {
    let figures = simulate_all(packs, |pack, number| (pack + number).is_multiple_of(step)).unwrap();
    let violations: Vec<_> = figures.iter().flat_map(|it| &it.violations).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    let untried: Vec<&str> = figures.iter().filter(|it| it.is_untried()).map(|it| it.pack.as_str()).collect();
    assert!(untried.is_empty(), "effects without a case: {untried:?}");
    figures.iter().map(|it| it.total_cases()).sum()
}

#[test]
#[on(no_database)]
fn a_twentieth_of_the_faults_breaks_nothing() {
    let packs: Vec<Case> = corpus().unwrap().into_iter().chain(flows().unwrap()).collect();
    let cases = simulate_sample(&packs, SAMPLE_STEP);
    assert!(cases >= 1_500, "only {cases} cases");
}

#[test]
#[on(no_database)]
#[ignore = "needs the example extension; `cargo xtask test` builds it"]
fn no_fault_of_an_extension_breaks_anything() {
    assert!(simulate_sample(&extension_cases().unwrap(), 1) > 0);
}

#[test]
#[on(no_database)]
fn a_crash_leaves_a_write_in_doubt_and_does_not_repeat_it() {
    let case = talk("transfer_confirmed.talk").unwrap();
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for turn in 0..case.pack.turns.len() {
        let expected = run_baseline(&mut player, turn).unwrap();
        if let Some(at) = expected.run.answered.iter().position(|it| !is_repeatable(&it.effect)) {
            let run = run_with_fault(&mut player, &expected, at, Fault::CrashBefore).unwrap();
            let writes: Vec<_> = run.answered.iter().filter(|it| !is_repeatable(&it.effect)).collect();
            assert_eq!(writes.len(), 1);
            assert!(matches!(writes[0].answer, EffectResult::Error(_)) && writes[0].effect.key == expected.run.answered[at].effect.key);
            return;
        }
        player.commit(&expected.run.outcome);
    }
    panic!("no turn of the talk executes an action");
}
