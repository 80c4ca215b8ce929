//! Whether each invariant detects its violation.

use std::collections::BTreeSet;
use std::sync::Arc;

use convengine_core::config::{Config, Tables};
use convengine_core::pack::Pack;
use convengine_core::turn::{EffectClass, FaultReport, HistoryRow, Map, NoticeBody, Request, VerboseNotice, Write};
use convengine_player::{CorePlayer, Suspend};
use convengine_tests::invariants::{Beside, INVARIANTS, Rows, Scene, breaches};
use convengine_tests::simulate::fault::{Fault, KEY, SECRET, repeatable};
use convengine_tests::simulate::run::{Run, disturbed, undisturbed};
use convengine_tests::talk;
use serde_json::{Value, json};

/// The turn that executes a pending action: its configuration, the turn, and the turn with a crash after and before the completion.
fn agreed() -> (Arc<Config>, Run, [Run; 2]) {
    let case = talk("transfer_confirmed.talk").unwrap();
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    for turn in 0..case.pack.turns.len() {
        let expected = undisturbed(&mut player, turn).unwrap();
        if let Some(at) = expected.run.answered.iter().position(|it| !repeatable(&it.effect)) {
            let crashed = [Fault::CrashAfter, Fault::CrashBefore].map(|it| disturbed(&mut player, &expected, at, it).unwrap());
            return (Arc::clone(&player.config), expected.run, crashed);
        }
        player.commit(&expected.run.outcome);
    }
    panic!("no turn of the talk executes an action");
}

/// A turn to change, and what it is compared with.
#[derive(Clone, Copy)]
struct Told<'t> {
    config: &'t Arc<Config>,
    run: &'t Run,
    beside: Beside<'t>,
    fault: Option<Fault>,
}

impl Told<'_> {
    /// The invariants that the turn violates after a change.
    fn broken(&self, change: impl FnOnce(&mut Run)) -> Vec<&'static str> {
        self.with_rows(&Rows::default(), change)
    }

    /// As `violations`, in a pack with these rows.
    fn with_rows(&self, rows: &Rows, change: impl FnOnce(&mut Run)) -> Vec<&'static str> {
        let Told { config, run, beside, fault } = *self;
        let mut changed = run.clone();
        change(&mut changed);
        let scene = Scene { config, rows, usual: &BTreeSet::new(), run: &changed, beside, fault };
        breaches(&scene).into_iter().map(|it| it.0).collect()
    }
}

/// The invariants that have detected a violation.
#[derive(Default)]
struct Bitten(BTreeSet<&'static str>);

impl Bitten {
    fn by(&mut self, name: &'static str, found: &[&'static str]) {
        assert!(found.contains(&name), "{name} does not notice; {found:?} do");
        self.0.insert(name);
    }
}

#[test]
fn each_invariant_bites() {
    let (config, run, [after, doubtful]) = agreed();
    let (mut detections, alone) = (Bitten::default(), Beside::default());
    let usual = Beside { meant: Some(&run), ..alone };
    let fixture = Told { config: &config, run: &run, beside: alone, fault: None };
    let late = Told { beside: usual, fault: Some(Fault::Late), ..fixture };
    assert!(fixture.broken(|_| {}).is_empty() && late.broken(|_| {}).is_empty());
    detections.by("I1", &fixture.broken(|it| it.outcome.payload = None));
    detections.by("I1", &late.broken(|it| say(it, " ")));
    detections.by("I1", &fixture.broken(|it| drop(it.notices.remove(0))));
    detections.by("I2", &Told { fault: None, ..late }.broken(twice));
    detections.by("I2", &fixture.broken(|it| it.answered[0].effect.key = "x".to_owned()));
    detections.by("I3", &fixture.broken(|it| param(it, "policy_decision", "RECLASSIFY_INTENT")));
    detections.by("I3", &fixture.broken(|it| param(it, "dialogue_act", "NEGATE")));
    detections.by("I3", &fixture.broken(|it| it.answered.iter_mut().for_each(|it| it.step = None)));
    detections.by("I3", &fixture.broken(|it| it.answered.iter_mut().for_each(|it| it.effect.class = EffectClass::Irreversible)));
    detections.by("I5", &fixture.broken(|it| it.outcome.state.push('2')));
    detections.by("I5", &fixture.broken(|it| drop(it.notices.pop())));
    detections.by("I6", &fixture.broken(|it| it.answered = it.answered.iter().cycle().take(101).cloned().collect()));
    detections.by("I6", &fixture.broken(|it| fill(&mut it.journal.input.event.params, 4_200)));
    detections.by("I6", &fixture.broken(|it| prompt(it, 48_001)));
    detections.by("I7", &fixture.broken(failed));
    detections.by("I8", &late.broken(|it| say(it, "Hello {{customer")));
    detections.by("I8", &late.broken(|it| say(it, "Hello customer}}")));
    let crashed = Told { run: &after, fault: Some(Fault::CrashAfter), ..late };
    assert!(crashed.broken(|_| {}).is_empty());
    detections.by("I9", &crashed.broken(|it| it.torn = Some("other notices".to_owned())));
    detections.by("I9", &crashed.broken(|it| it.answered[0].effect.key.push('9')));
    detections.by("I9", &crashed.broken(|it| it.outcome.intent.push('9')));
    let in_doubt = Told { run: &doubtful, fault: Some(Fault::CrashBefore), ..late };
    assert!(in_doubt.broken(|_| {}).is_empty());
    detections.by("I3", &in_doubt.broken(|it| param(it, "dialogue_act", "NEGATE")));
    what_may_be_seen(&mut detections, fixture);
    assert!(detections.0.iter().copied().eq(INVARIANTS.map(|it| it.0)), "an invariant without a violation");
}

/// I1, I4: what the rows of a pack may make visible, and nothing else.
fn what_may_be_seen(detections: &mut Bitten, fixture: Told<'_>) {
    let late = Told { fault: Some(Fault::Late), ..fixture };
    detections.by("I4", &fixture.broken(|it| say(it, SECRET)));
    detections.by("I4", &late.broken(|it| drop(it.outcome.context.as_mut().unwrap().insert("sent".to_owned(), KEY.into()))));
    detections.by("I4", &fixture.broken(|it| progress(it, SECRET, json!({}))));
    detections.by("I4", &fixture.broken(|it| progress(it, "sorry", json!({"stepInfo": {"A": {"text": SECRET}}}))));
    assert!(
        !fixture.broken(|it| progress(it, "sorry", json!({"stepInfo": {"A": {"error": SECRET}}}))).contains(&"I4"),
        "step errors may be visible there"
    );
    detections.by("I4", &late.broken(|it| progress(it, "sorry", json!({"error": KEY}))));
    let responses = json!([
        {"response_id": 1, "exact_text": "Sorry: {{context.pending_action_runtime.reason}}"},
        {"response_id": 2, "exact_text": "{{inputParams.reason}}"}, {"response_id": 3, "exact_text": "{\"a\": \"{{intent}}\"}"},
    ]);
    let verbose = json!([{"verbose_id": 7, "message": "{{errorMessage}}"}]);
    let pack = json!({"name": "n", "tables": {"ce_response": responses, "ce_verbose": verbose}});
    let rows = Rows::of(&serde_json::from_value::<Pack>(pack).unwrap());
    let of_row = |id: i64, text: &'static str| late.with_rows(&rows, |it| (made_by(it, id), say(it, text)).1);
    assert!(!of_row(1, SECRET).contains(&"I4") && !of_row(2, " ").contains(&"I1"), "the rows allow it");
    detections.by("I4", &of_row(2, SECRET));
    detections.by("I1", &of_row(1, " "));
    detections.by("I1", &of_row(3, " "));
    detections.by("I4", &late.with_rows(&rows, |it| (failed(it), it.outcome.fault.as_mut().unwrap().message = SECRET.to_owned()).1));
    assert!(!fixture.with_rows(&rows, |it| progress(it, SECRET, json!({}))).contains(&"I4"), "the row of the message allows it");
}

/// I2: the turn after a fault.
#[test]
fn what_a_fault_left_in_doubt_is_done_again_after_a_yes_alone() {
    let (config, run, [_, doubtful]) = agreed();
    let next = |before, usually| {
        let beside = Beside { meant: None, usually, before: Some(before) };
        Told { config: &config, run: &run, beside, fault: Some(Fault::CrashBefore) }
    };
    let anew = |it: &mut Run| param(it, "dialogue_act", "NEW_REQUEST");
    assert!(next(&doubtful, None).broken(|_| {}).is_empty(), "the message is a confirmation");
    assert!(next(&doubtful, None).broken(anew).contains(&"I2"));
    assert!(!next(&doubtful, Some(&run)).broken(anew).contains(&"I2"), "the turn writes whatever the turn before it did");
    assert!(!next(&run, None).broken(anew).contains(&"I2"), "nothing was in doubt");
    assert!(next(&run, Some(&run)).broken(twice).contains(&"I2"));
}

/// Changes the reply of the turn.
fn say(run: &mut Run, text: &str) {
    run.outcome.payload.as_mut().unwrap().value = text.to_owned();
}

/// Sets the response row of the reply.
fn made_by(run: &mut Run, id: i64) {
    for notice in &mut run.notices {
        if let NoticeBody::Audit { stage, payload } = &mut notice.body
            && stage == "ASSISTANT_OUTPUT"
        {
            payload["responseId"] = id.into();
        }
    }
}

/// Replaces the last notice by a progress message with this text and metadata.
fn progress(run: &mut Run, text: &str, metadata: Value) {
    let notice = json!({"verbose_id": 7, "step": "A", "determinant": "B", "intent": "I", "state": "S", "level": "INFO", "text": text,
        "metadata": metadata});
    let notice: VerboseNotice = serde_json::from_value(notice).unwrap();
    run.notices.last_mut().unwrap().body = NoticeBody::Verbose(Box::new(notice));
}

/// Adds parameters that still have this many bytes when compressed.
fn fill(params: &mut Map, bytes: u64) {
    let mut number = 1_u64;
    let mut letters = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from((number >> 33) % 90).unwrap())
    };
    let text: String = (0..bytes).map(|_| letters()).collect();
    params.insert("text".to_owned(), text.into());
}

/// Makes the last effect a model call with a prompt of this many characters.
fn prompt(run: &mut Run, characters: usize) {
    let request = json!({"kind": "llm", "purpose": "dialogue_act", "mode": "text", "system": "", "user": "x".repeat(characters),
        "context": {}, "user_text": ""});
    run.answered.last_mut().unwrap().effect.request = serde_json::from_value(request).unwrap();
}

/// Requests the write a second time, under its own key.
fn twice(run: &mut Run) {
    let mut again = run.answered.iter().find(|it| matches!(it.effect.request, Request::Task(_))).unwrap().clone();
    again.effect.id.0 += 1;
    again.effect.key = format!("{}/{}", run.input.turn, again.effect.id.0);
    run.answered.push(again);
}

/// Changes an input parameter in the steps that execute an action.
fn param(run: &mut Run, name: &str, value: &str) {
    for step in run.answered.iter_mut().filter_map(|it| it.step.as_mut()) {
        step.session["inputParams"][name] = value.into();
    }
}

/// Fails the turn, which still writes a history row.
fn failed(run: &mut Run) {
    run.outcome.payload = None;
    run.outcome.fault = Some(FaultReport { code: "LLM_CALL_FAILED".to_owned(), message: "sorry".to_owned(), recoverable: true });
    let history = HistoryRow { user_input: "hi".to_owned(), assistant_output: "{}".to_owned(), created_at: 2 };
    run.outcome.writes.push(Write::History(history));
}

/// A sensitive message, and what may count as an approval.
#[test]
fn only_a_yes_or_an_approval_lets_a_sensitive_message_through() {
    let (_, run, _) = agreed();
    let guarded =
        json!({"flow": {"guardrail": {"enabled": true, "requireApprovalForSensitiveActions": true, "sensitivePatterns": ["(?i)wire"]}}});
    let config = Arc::new(Config::compile(&Tables::default(), &guarded).0);
    assert_eq!(config.sensitive_patterns.is_sensitive("wire it"), Ok(true));
    let is_blocked = |text: &str, params: Value, context: Value| {
        let found = Told { config: &config, run: &run, beside: Beside::default(), fault: None }.broken(|it| {
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
    assert!(is_blocked("wire it", json!({}), json!({})));
    assert!(is_blocked("wire it", json!({"approval_granted": false}), json!({})));
    assert!(is_blocked("wire it", json!({"approval_granted": "yes"}), json!({})));
    assert!(!is_blocked("wire it", json!({"approval_granted": true}), json!({})));
    assert!(is_blocked("wire it", json!({}), json!({"approval": {"granted": false}})));
    assert!(!is_blocked("wire it", json!({}), json!({"approval": {"granted": true}})));
    assert!(is_blocked("wire it", json!({}), waiting.clone()), "another message while one is pending");
    assert!(!is_blocked("send it", json!({}), waiting));
}
