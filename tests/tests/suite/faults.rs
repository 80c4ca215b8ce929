//! A twentieth of the simulated faults, and whether each invariant notices when it does not hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Answer, Class, FaultReport, HistoryRow, Request, Write};
use convengine_server::play::{CorePlayer, Suspend};
use convengine_tests::invariants::{INVARIANTS, Rows, Scene, breaches};
use convengine_tests::simulate::all_of;
use convengine_tests::simulate::fault::{Fault, SECRET, repeatable};
use convengine_tests::simulate::run::{Run, disturbed, undisturbed};
use convengine_tests::{corpus, talk};

#[test]
fn a_twentieth_of_the_faults_breaks_nothing() {
    // No effect has fewer faults than there are remainders, so that every pack with effects has a case.
    let figures = all_of(&corpus().unwrap(), |pack, number| (pack + number).is_multiple_of(20)).unwrap();
    let violations: Vec<_> = figures.iter().flat_map(|it| &it.violations).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    let untried: Vec<&str> = figures.iter().filter(|it| it.is_untried()).map(|it| it.pack.as_str()).collect();
    assert!(untried.is_empty(), "effects and no case: {untried:?}");
    let cases: usize = figures.iter().map(|it| it.all()).sum();
    assert!(cases >= 750, "only {cases} cases");
}

/// The turn in which a pending action is carried out, with its configuration.
fn agreed() -> (Arc<Config>, Run, Run) {
    let case = talk("transfer_confirmed.talk").unwrap();
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for turn in 0..case.pack.turns.len() {
        let meant = undisturbed(&mut player, turn).unwrap();
        if let Some(at) = meant.run.answered.iter().position(|it| !repeatable(&it.effect)) {
            let after = disturbed(&mut player, &meant, at, Fault::CrashAfter).unwrap();
            return (Arc::clone(&player.config), meant.run, after);
        }
        player.commit(&meant.run.outcome);
    }
    panic!("no turn of the talk carries anything out");
}

/// The invariants that a turn breaks after a change.
fn broken(config: &Arc<Config>, run: &Run, meant: Option<&Run>, fault: Option<Fault>, change: impl FnOnce(&mut Run)) -> Vec<&'static str> {
    let mut changed = run.clone();
    change(&mut changed);
    let (rows, usual) = (Rows { print_errors: false, print_nothing: false }, BTreeSet::new());
    let scene = Scene { config, rows, usual: &usual, run: &changed, meant, fault };
    breaches(&scene).into_iter().map(|it| it.0).collect()
}

#[test]
fn each_invariant_bites() {
    let (config, run, after) = agreed();
    let told = |change: fn(&mut Run)| broken(&config, &run, None, None, change);
    let mut bitten = vec![];
    let mut bites = |name: &'static str, found: Vec<&'static str>| {
        assert!(found.contains(&name), "{name} does not notice; {found:?} do");
        bitten.push(name);
    };
    assert!(told(|_| {}).is_empty());
    bites("I1", told(|it| it.outcome.payload = None));
    let late = |change: fn(&mut Run)| broken(&config, &run, Some(&run), Some(Fault::Late), change);
    bites("I1", late(|it| it.outcome.payload.iter_mut().for_each(|it| it.value = " ".to_owned())));
    bites("I1", told(|it| drop(it.notices.remove(0))));
    bites("I2", broken(&config, &run, Some(&run), None, twice));
    bites("I2", told(|it| it.answered[0].effect.key = "x".to_owned()));
    bites("I3", told(|it| param(it, "policy_decision", "RECLASSIFY_INTENT")));
    bites("I3", told(|it| param(it, "dialogue_act", "NEGATE")));
    bites("I3", told(unapproved));
    bites("I4", told(|it| it.outcome.payload.iter_mut().for_each(|it| it.value = format!("no: {SECRET}"))));
    bites("I5", told(|it| it.outcome.state.push('2')));
    bites("I5", told(|it| drop(it.notices.pop())));
    bites("I6", told(|it| it.answered = it.answered.iter().cycle().take(101).cloned().collect()));
    bites("I7", told(failed));
    bites("I8", late(|it| it.outcome.payload.iter_mut().for_each(|it| it.value = "Hello {{customer".to_owned())));
    let crashed = |change: fn(&mut Run)| broken(&config, &after, Some(&run), Some(Fault::CrashAfter), change);
    assert!(crashed(|_| {}).is_empty());
    bites("I9", crashed(|it| it.torn = Some("other notices".to_owned())));
    bites("I9", crashed(|it| it.answered[0].effect.key.push('9')));
    bites("I9", crashed(|it| it.outcome.intent.push('9')));
    bitten.dedup();
    assert_eq!(bitten, INVARIANTS.map(|it| it.0), "an invariant that nothing is shown to break");
}

/// The write is asked for a second time, under a key of its own.
fn twice(run: &mut Run) {
    let mut again = run.answered.iter().find(|it| matches!(it.effect.request, Request::Task(_))).unwrap().clone();
    again.effect.id.0 += 1;
    again.effect.key = format!("{}/{}", run.input.turn, again.effect.id.0);
    run.answered.push(again);
}

/// A parameter is another one in the step that carries something out.
fn param(run: &mut Run, name: &str, value: &str) {
    for step in run.answered.iter_mut().filter_map(|it| it.step.as_mut()) {
        step.session["inputParams"][name] = value.into();
    }
}

/// Something that cannot be taken back is asked for outside of any pending action.
fn unapproved(run: &mut Run) {
    for it in &mut run.answered {
        (it.effect.class, it.step) = (Class::Irreversible, None);
    }
}

/// The turn fails and leaves a row of the history all the same.
fn failed(run: &mut Run) {
    run.outcome.payload = None;
    run.outcome.fault = Some(FaultReport { code: "LLM_CALL_FAILED".to_owned(), message: "sorry".to_owned(), recoverable: true });
    let history = HistoryRow { user_input: "hi".to_owned(), assistant_output: "{}".to_owned(), created_at: 2 };
    run.outcome.writes.push(Write::History(history));
}

#[test]
fn a_crash_leaves_a_write_in_doubt_and_does_not_repeat_it() {
    let case = talk("transfer_confirmed.talk").unwrap();
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for turn in 0..case.pack.turns.len() {
        let meant = undisturbed(&mut player, turn).unwrap();
        if let Some(at) = meant.run.answered.iter().position(|it| !repeatable(&it.effect)) {
            let run = disturbed(&mut player, &meant, at, Fault::CrashBefore).unwrap();
            let writes: Vec<_> = run.answered.iter().filter(|it| !repeatable(&it.effect)).collect();
            assert_eq!(writes.len(), 1);
            assert!(matches!(writes[0].answer, Answer::Error(_)) && writes[0].effect.key == meant.run.answered[at].effect.key);
            return;
        }
        player.commit(&meant.run.outcome);
    }
    panic!("no turn of the talk carries anything out");
}
