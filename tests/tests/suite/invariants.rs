//! Whether each invariant detects its violation.

use std::collections::BTreeSet;
use std::sync::Arc;

use convengine_core::config::{Config, Tables};
use convengine_core::pack::Pack;
use convengine_core::turn::{EffectClass, FaultReport, HistoryRow, Map, NoticeBody, Request, VerboseNotice, Write};
use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::invariants::{INVARIANTS, PackRows, RelatedRuns, TurnUnderTest, find_violations};
use convengine_tests::simulate::fault::{Fault, KEY, SECRET, is_repeatable};
use convengine_tests::simulate::run::{TurnRun, run_baseline, run_with_fault};
use convengine_tests::talk;
use serde_json::{Value, json};

/// The turn that executes a pending action: its configuration, the turn, and the turn with a crash after and before the completion.
fn confirmed_turn() -> (Arc<Config>, TurnRun, [TurnRun; 2]) {
    let case = talk("transfer_confirmed.talk").unwrap();
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for turn in 0..case.pack.turns.len() {
        let expected = run_baseline(&mut player, turn).unwrap();
        if let Some(at) = expected.run.answered.iter().position(|it| !is_repeatable(&it.effect)) {
            let crashed = [Fault::CrashAfter, Fault::CrashBefore].map(|fault| run_with_fault(&mut player, &expected, at, fault).unwrap());
            return (Arc::clone(&player.config), expected.run, crashed);
        }
        player.commit(&expected.run.outcome);
    }
    panic!("no turn of the talk executes an action");
}

/// A turn to change, and what it is compared with.
#[derive(Clone, Copy)]
struct Fixture<'t> {
    config: &'t Arc<Config>,
    run: &'t TurnRun,
    beside: RelatedRuns<'t>,
    fault: Option<Fault>,
}

impl Fixture<'_> {
    /// The invariants that the turn violates after a change.
    fn violations(&self, change: impl FnOnce(&mut TurnRun)) -> Vec<&'static str> {
        self.violations_with_rows(&PackRows::default(), change)
    }

    /// As `violations`, in a pack with these rows.
    fn violations_with_rows(&self, rows: &PackRows, change: impl FnOnce(&mut TurnRun)) -> Vec<&'static str> {
        let Fixture { config, run, beside, fault } = *self;
        let mut changed = run.clone();
        change(&mut changed);
        let scene = TurnUnderTest { config, rows, baseline_replies: &BTreeSet::new(), run: &changed, related: beside, fault };
        find_violations(&scene).into_iter().map(|it| it.0).collect()
    }
}

/// The invariants that have detected a violation.
#[derive(Default)]
struct Detections(BTreeSet<&'static str>);

impl Detections {
    fn assert_detects(&mut self, name: &'static str, found: &[&'static str]) {
        assert!(found.contains(&name), "{name} does not notice; {found:?} do");
        self.0.insert(name);
    }
}

#[test]
#[on(no_database)]
fn each_invariant_detects_its_violation() {
    let (config, run, [after, doubtful]) = confirmed_turn();
    let (mut detections, alone) = (Detections::default(), RelatedRuns::default());
    let usual = RelatedRuns { undisturbed: Some(&run), ..alone };
    let fixture = Fixture { config: &config, run: &run, beside: alone, fault: None };
    let late = Fixture { beside: usual, fault: Some(Fault::Late), ..fixture };
    assert!(fixture.violations(|_| {}).is_empty() && late.violations(|_| {}).is_empty());
    detections.assert_detects("I1", &fixture.violations(|it| it.outcome.payload = None));
    detections.assert_detects("I1", &late.violations(|it| set_reply(it, " ")));
    detections.assert_detects("I1", &fixture.violations(|run| drop(run.notices.remove(0))));
    detections.assert_detects("I2", &Fixture { fault: None, ..late }.violations(repeat_write));
    detections.assert_detects("I2", &fixture.violations(|it| it.answered[0].effect.key = "x".to_owned()));
    detections.assert_detects("I3", &fixture.violations(|it| set_param(it, "policy_decision", "RECLASSIFY_INTENT")));
    detections.assert_detects("I3", &fixture.violations(|it| set_param(it, "dialogue_act", "NEGATE")));
    detections.assert_detects("I3", &fixture.violations(|run| run.answered.iter_mut().for_each(|answered| answered.step = None)));
    detections.assert_detects(
        "I3",
        &fixture.violations(|run| run.answered.iter_mut().for_each(|answered| answered.effect.class = EffectClass::Irreversible)),
    );
    detections.assert_detects("I5", &fixture.violations(|it| it.outcome.state.push('2')));
    detections.assert_detects("I5", &fixture.violations(|run| drop(run.notices.pop())));
    detections.assert_detects("I6", &fixture.violations(|run| run.answered = run.answered.iter().cycle().take(101).cloned().collect()));
    detections.assert_detects("I6", &fixture.violations(|it| fill_incompressible(&mut it.journal.input.event.params, 4_200)));
    detections.assert_detects("I6", &fixture.violations(|it| set_prompt(it, 48_001)));
    detections.assert_detects("I7", &fixture.violations(fail_turn));
    detections.assert_detects("I8", &late.violations(|it| set_reply(it, "Hello {{customer")));
    detections.assert_detects("I8", &late.violations(|it| set_reply(it, "Hello customer}}")));
    let crashed = Fixture { run: &after, fault: Some(Fault::CrashAfter), ..late };
    assert!(crashed.violations(|_| {}).is_empty());
    detections.assert_detects("I9", &crashed.violations(|run| run.crash_difference = Some("other notices".to_owned())));
    detections.assert_detects("I9", &crashed.violations(|it| it.answered[0].effect.key.push('9')));
    detections.assert_detects("I9", &crashed.violations(|it| it.outcome.intent.push('9')));
    let in_doubt = Fixture { run: &doubtful, fault: Some(Fault::CrashBefore), ..late };
    assert!(in_doubt.violations(|_| {}).is_empty());
    detections.assert_detects("I3", &in_doubt.violations(|it| set_param(it, "dialogue_act", "NEGATE")));
    check_visible_data(&mut detections, fixture);
    assert!(detections.0.iter().copied().eq(INVARIANTS.map(|it| it.0)), "an invariant without a violation");
}

/// I1, I4: what the rows of a pack may make visible, and nothing else.
fn check_visible_data(detections: &mut Detections, fixture: Fixture<'_>) {
    let late = Fixture { fault: Some(Fault::Late), ..fixture };
    detections.assert_detects("I4", &fixture.violations(|it| set_reply(it, SECRET)));
    detections
        .assert_detects("I4", &late.violations(|run| drop(run.outcome.context.as_mut().unwrap().insert("sent".to_owned(), KEY.into()))));
    detections.assert_detects("I4", &fixture.violations(|run| set_progress(run, SECRET, json!({}))));
    detections.assert_detects("I4", &fixture.violations(|run| set_progress(run, "sorry", json!({"stepInfo": {"A": {"text": SECRET}}}))));
    assert!(
        !fixture.violations(|run| set_progress(run, "sorry", json!({"stepInfo": {"A": {"error": SECRET}}}))).contains(&"I4"),
        "step errors may be visible there"
    );
    detections.assert_detects("I4", &late.violations(|run| set_progress(run, "sorry", json!({"error": KEY}))));
    let responses = json!([
        {"response_id": 1, "exact_text": "Sorry: {{context.pending_action_runtime.reason}}"},
        {"response_id": 2, "exact_text": "{{inputParams.reason}}"}, {"response_id": 3, "exact_text": "{\"a\": \"{{intent}}\"}"},
    ]);
    let verbose = json!([{"verbose_id": 7, "message": "{{errorMessage}}"}]);
    let pack = json!({"name": "n", "tables": {"ce_response": responses, "ce_verbose": verbose}});
    let rows = PackRows::from_pack(&serde_json::from_value::<Pack>(pack).unwrap());
    let of_row = |id: i64, text: &'static str| late.violations_with_rows(&rows, |run| (set_response_row(run, id), set_reply(run, text)).1);
    assert!(!of_row(1, SECRET).contains(&"I4") && !of_row(2, " ").contains(&"I1"), "the rows allow it");
    detections.assert_detects("I4", &of_row(2, SECRET));
    detections.assert_detects("I1", &of_row(1, " "));
    detections.assert_detects("I1", &of_row(3, " "));
    detections.assert_detects(
        "I4",
        &late.violations_with_rows(&rows, |run| (fail_turn(run), run.outcome.fault.as_mut().unwrap().message = SECRET.to_owned()).1),
    );
    assert!(
        !fixture.violations_with_rows(&rows, |run| set_progress(run, SECRET, json!({}))).contains(&"I4"),
        "the row of the message allows it"
    );
}

/// I2: the turn after a fault.
#[test]
#[on(no_database)]
fn a_write_in_doubt_is_repeated_only_after_a_confirmation() {
    let (config, run, [_, doubtful]) = confirmed_turn();
    let next = |before, usually| {
        let beside = RelatedRuns { undisturbed: None, after_undisturbed: usually, previous: Some(before) };
        Fixture { config: &config, run: &run, beside, fault: Some(Fault::CrashBefore) }
    };
    let anew = |it: &mut TurnRun| set_param(it, "dialogue_act", "NEW_REQUEST");
    assert!(next(&doubtful, None).violations(|_| {}).is_empty(), "the message is a confirmation");
    assert!(next(&doubtful, None).violations(anew).contains(&"I2"));
    assert!(!next(&doubtful, Some(&run)).violations(anew).contains(&"I2"), "the turn writes whatever the turn before it did");
    assert!(!next(&run, None).violations(anew).contains(&"I2"), "nothing was in doubt");
    assert!(next(&run, Some(&run)).violations(repeat_write).contains(&"I2"));
}

/// Changes the reply of the turn.
fn set_reply(run: &mut TurnRun, text: &str) {
    run.outcome.payload.as_mut().unwrap().value = text.to_owned();
}

/// Sets the response row of the reply.
fn set_response_row(run: &mut TurnRun, id: i64) {
    for notice in &mut run.notices {
        if let NoticeBody::Audit { stage, payload } = &mut notice.body
            && stage == "ASSISTANT_OUTPUT"
        {
            let mut changed = payload.to_value().into_owned();
            changed["responseId"] = id.into();
            *payload = changed.into();
        }
    }
}

/// Replaces the last notice by a progress message with this text and metadata.
fn set_progress(run: &mut TurnRun, text: &str, metadata: Value) {
    let notice = json!({"verbose_id": 7, "step": "A", "determinant": "B", "intent": "I", "state": "S", "level": "INFO", "text": text,
        "metadata": metadata});
    let notice: VerboseNotice = serde_json::from_value(notice).unwrap();
    run.notices.last_mut().unwrap().body = NoticeBody::Verbose(Box::new(notice));
}

/// Adds parameters that still have this many bytes when compressed.
fn fill_incompressible(params: &mut Map, bytes: u64) {
    let mut number = 1_u64;
    let mut letters = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from((number >> 33) % 90).unwrap())
    };
    let text: String = (0..bytes).map(|_| letters()).collect();
    params.insert("text".to_owned(), text.into());
}

/// Makes the last effect a model call with a prompt of this many characters.
fn set_prompt(run: &mut TurnRun, characters: usize) {
    let request = json!({"kind": "llm", "purpose": "dialogue_act", "mode": "text", "system": "", "user": "x".repeat(characters),
        "context": {}, "user_text": ""});
    run.answered.last_mut().unwrap().effect.request = serde_json::from_value(request).unwrap();
}

/// Requests the write a second time, under its own key.
fn repeat_write(run: &mut TurnRun) {
    let mut again = run.answered.iter().find(|answered| matches!(answered.effect.request, Request::Task(_))).unwrap().clone();
    again.effect.id.0 += 1;
    again.effect.key = format!("{}/{}", run.input.turn, again.effect.id.0);
    run.answered.push(again);
}

/// Changes an input parameter in the steps that execute an action.
fn set_param(run: &mut TurnRun, name: &str, value: &str) {
    for step in run.answered.iter_mut().filter_map(|it| it.step.as_mut()) {
        step.session["inputParams"][name] = value.into();
    }
}

/// Fails the turn, which still writes a history row.
fn fail_turn(run: &mut TurnRun) {
    run.outcome.payload = None;
    run.outcome.fault = Some(FaultReport { code: "LLM_CALL_FAILED".to_owned(), message: "sorry".to_owned(), recoverable: true });
    let history = HistoryRow { user_input: "hi".to_owned(), assistant_output: "{}".to_owned(), created_at: 2 };
    run.outcome.writes.push(Write::History(history));
}

/// A sensitive message, and what may count as an approval.
#[test]
#[on(no_database)]
fn only_a_confirmation_or_an_approval_admits_a_sensitive_message() {
    let (_, run, _) = confirmed_turn();
    let guarded =
        json!({"flow": {"guardrail": {"enabled": true, "requireApprovalForSensitiveActions": true, "sensitivePatterns": ["(?i)wire"]}}});
    let config = Arc::new(Config::compile(&Tables::default(), &guarded).0);
    assert_eq!(config.sensitive_patterns.is_sensitive("wire it"), Ok(true));
    let is_blocked = |text: &str, params: Value, context: Value| {
        let found = Fixture { config: &config, run: &run, beside: RelatedRuns::default(), fault: None }.violations(|run| {
            run.input.event.text = Some(text.to_owned());
            run.input.event.params = serde_json::from_value(params).unwrap();
            let context: Map = serde_json::from_value(context).unwrap();
            Arc::make_mut(&mut run.input.session.conversation.as_mut().unwrap().context).extend(context.clone());
            for step in run.answered.iter_mut().filter_map(|answered| answered.step.as_mut()) {
                step.session["context"].as_object_mut().unwrap().extend(context.clone());
            }
        });
        found.contains(&"I3")
    };
    let waiting = json!({"guardrail_pending": {"text": "wire it"}});
    assert!(is_blocked("wire it", json!({}), json!({})));
    assert!(is_blocked("wire it", json!({"approval_granted": false}), json!({})));
    assert!(is_blocked("wire it", json!({"approval_granted": "yes"}), json!({})));
    assert!(!is_blocked("wire it", json!({"approval_granted": true}), json!({})));
    assert!(is_blocked("wire it", json!({}), json!({"approval": {"granted": false}})));
    assert!(!is_blocked("wire it", json!({}), json!({"approval": {"granted": true}})));
    assert!(is_blocked("wire it", json!({}), waiting.clone()), "another message while one is pending");
    assert!(!is_blocked("send it", json!({}), waiting));
}
