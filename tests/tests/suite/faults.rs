//! A twentieth of the simulated faults, and whether each invariant notices when it does not hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use convengine_core::config::{Config, Tables};
use convengine_core::turn::{Answer, Class, Effect, EffectId, FaultReport, HistoryRow, Map, Request, SleepRequest, Write};
use convengine_server::play::{CorePlayer, Suspend};
use convengine_tests::invariants::{Beside, INVARIANTS, Rows, Scene, breaches};
use convengine_tests::simulate::all_of;
use convengine_tests::simulate::fault::{Fault, SECRET, of_effect, repeatable};
use convengine_tests::simulate::run::{Run, disturbed, undisturbed};
use convengine_tests::{corpus_with_extension, talk};
use serde_json::{Value, json};

/// Every so manieth case is played.
const PART: usize = 20;

/// So that every pack with effects has a case.
#[test]
fn no_effect_has_fewer_faults_than_there_are_parts() {
    let effect = Effect {
        id: EffectId(0),
        key: "t/0".to_owned(),
        class: Class::Pure,
        deadline_ms: 1,
        stream: false,
        repeatable: true,
        request: Request::Sleep(SleepRequest::of(1)),
    };
    assert!(of_effect(&effect).len() >= PART);
}

#[test]
fn a_twentieth_of_the_faults_breaks_nothing() {
    let figures = all_of(&corpus_with_extension().unwrap(), |pack, number| (pack + number).is_multiple_of(PART)).unwrap();
    let violations: Vec<_> = figures.iter().flat_map(|it| &it.violations).collect();
    assert!(violations.is_empty(), "{violations:#?}");
    let untried: Vec<&str> = figures.iter().filter(|it| it.is_untried()).map(|it| it.pack.as_str()).collect();
    assert!(untried.is_empty(), "effects and no case: {untried:?}");
    let cases: usize = figures.iter().map(|it| it.all()).sum();
    assert!(cases >= 750, "only {cases} cases");
}

/// The turn in which a pending action is carried out: its configuration, the turn, and the turn with a crash after and before the answer.
fn agreed() -> (Arc<Config>, Run, [Run; 2]) {
    let case = talk("transfer_confirmed.talk").unwrap();
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for turn in 0..case.pack.turns.len() {
        let meant = undisturbed(&mut player, turn).unwrap();
        if let Some(at) = meant.run.answered.iter().position(|it| !repeatable(&it.effect)) {
            let crashed = [Fault::CrashAfter, Fault::CrashBefore].map(|it| disturbed(&mut player, &meant, at, it).unwrap());
            return (Arc::clone(&player.config), meant.run, crashed);
        }
        player.commit(&meant.run.outcome);
    }
    panic!("no turn of the talk carries anything out");
}

/// The invariants that a turn breaks after a change.
fn broken(config: &Arc<Config>, run: &Run, meant: Option<&Run>, fault: Option<Fault>, change: impl FnOnce(&mut Run)) -> Vec<&'static str> {
    beside(config, run, Beside { meant, ..Beside::default() }, fault, change)
}

fn beside(config: &Arc<Config>, run: &Run, beside: Beside<'_>, fault: Option<Fault>, change: impl FnOnce(&mut Run)) -> Vec<&'static str> {
    let mut changed = run.clone();
    change(&mut changed);
    let (rows, usual) = (Rows { print_errors: false, print_nothing: false }, BTreeSet::new());
    let scene = Scene { config, rows, usual: &usual, run: &changed, beside, fault };
    breaches(&scene).into_iter().map(|it| it.0).collect()
}

#[test]
fn each_invariant_bites() {
    let (config, run, [after, doubtful]) = agreed();
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
    bites("I3", told(|it| it.answered.iter_mut().for_each(|it| it.step = None)));
    bites("I3", told(|it| it.answered.iter_mut().for_each(|it| it.effect.class = Class::Irreversible)));
    bites("I3", broken(&config, &doubtful, Some(&run), Some(Fault::CrashBefore), |it| param(it, "dialogue_act", "NEGATE")));
    let next = |before, change: fn(&mut Run)| {
        let turns = Beside { before: Some(before), usually: Some(&run), meant: None };
        beside(&config, &run, turns, Some(Fault::CrashBefore), change)
    };
    assert!(next(&run, |_| {}).is_empty());
    bites("I2", next(&run, twice));
    assert!(next(&doubtful, |_| {}).is_empty(), "the message is a yes");
    let anew = Beside { before: Some(&doubtful), ..Beside::default() };
    bites("I2", beside(&config, &run, anew, Some(Fault::CrashBefore), |it| param(it, "dialogue_act", "NEW_REQUEST")));
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
    bitten.sort_unstable();
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

/// The turn fails and leaves a row of the history all the same.
fn failed(run: &mut Run) {
    run.outcome.payload = None;
    run.outcome.fault = Some(FaultReport { code: "LLM_CALL_FAILED".to_owned(), message: "sorry".to_owned(), recoverable: true });
    let history = HistoryRow { user_input: "hi".to_owned(), assistant_output: "{}".to_owned(), created_at: 2 };
    run.outcome.writes.push(Write::History(history));
}

/// A sensitive message, with what may stand in for an approval.
#[test]
fn only_a_yes_or_an_approval_lets_a_sensitive_message_through() {
    let (_, run, _) = agreed();
    let guarded =
        json!({"flow": {"guardrail": {"enabled": true, "requireApprovalForSensitiveActions": true, "sensitivePatterns": ["(?i)wire"]}}});
    let config = Arc::new(Config::compile(&Tables::default(), &guarded).0);
    assert_eq!(config.sensitive.find("wire it"), Ok(true));
    let held = |text: &str, params: Value, context: Value| {
        let found = broken(&config, &run, None, None, |it| {
            it.input.event.text = Some(text.to_owned());
            it.input.event.params = serde_json::from_value(params).unwrap();
            let context: Map = serde_json::from_value(context).unwrap();
            it.input.session.conversation.as_mut().unwrap().context.extend(context.clone());
            for step in it.answered.iter_mut().filter_map(|it| it.step.as_mut()) {
                step.session["context"].as_object_mut().unwrap().extend(context.clone());
            }
        });
        found.contains(&"I3")
    };
    let waiting = json!({"guardrail_pending": {"text": "wire it"}});
    assert!(held("wire it", json!({}), json!({})));
    assert!(held("wire it", json!({"approval_granted": false}), json!({})));
    assert!(held("wire it", json!({"approval_granted": "yes"}), json!({})));
    assert!(!held("wire it", json!({"approval_granted": true}), json!({})));
    assert!(held("wire it", json!({}), json!({"approval": {"granted": false}})));
    assert!(!held("wire it", json!({}), json!({"approval": {"granted": true}})));
    assert!(held("wire it", json!({}), waiting.clone()), "another message while one waits");
    assert!(!held("send it", json!({}), waiting));
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
