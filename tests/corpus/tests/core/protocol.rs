//! The turn protocol as a host sees it: misuse, divergence, cancellation and rescue.

use std::borrow::Cow;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Pack, Scripted};
use convengine_core::turn::{CancelReason, Completion, Divergence, Journal, NoticeBody, RescuedTurn, Slice, Turn, TurnError};
use convengine_corpus::demo;

/// The first turn of a pack that calls a model, at its first wait.
fn first_wait() -> (Pack, Arc<Config>, Turn, Slice) {
    let pack = demo("model_acts.json").unwrap().pack;
    let config = Arc::new(Config::compile(&pack.tables, &pack.settings).0);
    let message = pack.message(0).unwrap();
    let (turn, slice) = Turn::start(message.into_input(&Conversations::default(), config.program()), Arc::clone(&config)).unwrap();
    assert!(slice.end.is_none() && slice.effects.len() == 1, "the first turn of the pack does not call a model");
    (pack, config, turn, slice)
}

fn answer(pack: &Pack, slice: &Slice) -> Completion {
    let effect = &slice.effects[0];
    Completion { id: effect.id, at: 1, outcome: Scripted::from_pack(pack).answer(&effect.request).0 }
}

/// Answers all effects; returns the journal.
fn finish_turn() -> (Pack, Arc<Config>, Journal) {
    let (pack, config, mut turn, mut slice) = first_wait();
    while slice.end.is_none() {
        slice = turn.resume(vec![answer(&pack, &slice)]).unwrap();
    }
    (pack, config, turn.journal().clone())
}

#[test]
fn a_turn_may_move_between_threads() {
    fn send<T: Send>(_: &T) {}
    let (_, _, turn, _) = first_wait();
    send(&turn);
}

#[test]
fn keys_name_turn_and_effect() {
    let (_, _, turn, slice) = first_wait();
    assert_eq!(slice.effects[0].key, format!("{}/0", turn.journal().input.turn));
}

#[test]
fn notices_are_numbered_without_gaps() {
    let (pack, _, mut turn, mut slice) = first_wait();
    let mut numbers: Vec<u32> = slice.notices.iter().map(|it| it.seq).collect();
    while slice.end.is_none() {
        slice = turn.resume(vec![answer(&pack, &slice)]).unwrap();
        numbers.extend(slice.notices.iter().map(|it| it.seq));
    }
    assert_eq!(numbers, (0..u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
}

#[test]
fn an_effect_is_answered_only_once() {
    let (pack, _, mut turn, slice) = first_wait();
    let completion = answer(&pack, &slice);
    let again = Completion { id: completion.id, ..completion.clone() };
    let error = turn.resume(vec![completion, again]).unwrap_err();
    assert!(matches!(error, TurnError::UnknownEffect { .. }), "{error}");
}

#[test]
fn the_clock_never_goes_back() {
    let (pack, _, mut turn, slice) = first_wait();
    let before = turn.now();
    let _ = turn.resume(vec![Completion { at: before - 5_000, ..answer(&pack, &slice) }]).unwrap();
    assert_eq!(turn.now(), before);
}

#[test]
fn a_journal_replays_to_the_same_end() {
    let (_, config, journal) = finish_turn();
    let (turn, slice) = Turn::restore(journal.clone(), config).unwrap();
    assert!(slice.end.is_some());
    assert_eq!(turn.journal(), &journal);
}

#[test]
fn a_changed_prompt_is_reported_with_both_texts() {
    let (pack, _, journal) = finish_turn();
    let config = with_another_prompt(&pack);
    let error = Turn::restore(journal, config).unwrap_err();
    let TurnError::Diverged(diverged) = &error else { panic!("{error}") };
    assert!(diverged.difference.contains("user: ") && diverged.difference.contains("became \"Now: "), "{}", diverged.difference);
}

#[test]
fn a_journal_of_another_protocol_is_refused() {
    let (_, config, mut journal) = finish_turn();
    journal.header.protocol += 1;
    assert!(matches!(Turn::restore(journal, config), Err(TurnError::Protocol { .. })));
}

fn with_another_prompt(pack: &Pack) -> Arc<Config> {
    let mut tables = pack.tables.clone();
    let row = serde_json::json!({"config_id": 900, "config_type": "DialogueActStep", "config_key": "USER_PROMPT", "config_value": "Now: {{user_input}}"});
    tables.0.entry("ce_config".to_owned()).or_default().push(row.as_object().unwrap().clone());
    let (config, issues) = Config::compile(&tables, &pack.settings);
    assert!(issues.iter().all(|it| !it.path.contains("USER_PROMPT")), "{issues:?}");
    Arc::new(config)
}

/// A configuration with which the turns of the pack call no model.
fn without_models(pack: &Pack) -> Arc<Config> {
    let mut settings = pack.settings.clone();
    settings["flow"]["dialogueAct"]["resolute"] = serde_json::json!("REGEX_ONLY");
    Arc::new(Config::compile(&pack.tables, &settings).0)
}

/// The stages of a slice, with the payload of each.
fn audits(slice: &Slice) -> Vec<(&str, Cow<'_, serde_json::Value>)> {
    let bodies = slice.notices.iter().map(|it| &it.body);
    bodies
        .filter_map(|body| if let NoticeBody::Audit { stage, payload } = body { Some((&**stage, payload.to_value())) } else { None })
        .collect()
}

#[test]
fn a_canceled_turn_reports_its_position_and_fails() {
    let (pack, _, mut turn, slice) = first_wait();
    let at = turn.now() + 120_000;
    let end = turn.cancel(CancelReason::Timeout, at).unwrap();
    let audits = audits(&end);
    let [(cancelled, where_it_stood), (failure, why)] = audits.as_slice() else { panic!("{audits:?}") };
    assert_eq!((*cancelled, *failure), ("TURN_CANCELLED", "ENGINE_KNOWN_FAILURE"));
    assert_eq!(**where_it_stood, serde_json::json!({"reason": "TIMEOUT", "step": "PolicyEnforcementStep", "openEffects": 1}));
    assert_eq!((&why["errorCode"], &why["recoverable"]), (&serde_json::json!("TURN_TIMEOUT"), &serde_json::json!(true)));
    assert!(end.notices.iter().all(|it| it.at == at) && turn.now() == at);
    let late = turn.resume(vec![answer(&pack, &slice)]).unwrap();
    assert_eq!(late, Slice::default(), "a late completion continued the turn");
    assert!(turn.journal().entries.is_empty());
}

#[test]
fn the_clock_of_a_canceled_turn_does_not_go_back() {
    let (_, _, mut turn, _) = first_wait();
    let now = turn.now();
    let _ = turn.cancel(CancelReason::Lost, now - 1).unwrap();
    assert_eq!(turn.journal().canceled.map(|it| (it.reason, it.at)), Some((CancelReason::Lost, now)));
}

#[test]
fn an_ended_turn_is_not_canceled() {
    let (_, config, journal) = finish_turn();
    let (mut turn, _) = Turn::restore(journal.clone(), config).unwrap();
    assert_eq!(turn.cancel(CancelReason::Timeout, i64::MAX).unwrap(), Slice::default());
    assert_eq!(turn.journal(), &journal);
}

#[test]
fn a_matching_journal_is_rescued_as_it_is_restored() {
    let (_, config, mut journal) = finish_turn();
    journal.entries.pop();
    let (restored, expected) = Turn::restore(journal.clone(), Arc::clone(&config)).unwrap();
    let RescuedTurn { turn, slice, divergence: diverged } = Turn::rescue(&journal, config).unwrap();
    assert_eq!((slice, diverged), (expected, None));
    assert_eq!(turn.journal(), restored.journal());
}

/// Rescues a journal that diverges, cancels the turn, and does both again with the resulting journal.
fn rescue_and_cancel(journal: &Journal, config: &Arc<Config>) -> (Slice, Slice) {
    let RescuedTurn { mut turn, slice, divergence: diverged } = Turn::rescue(journal, Arc::clone(config)).unwrap();
    let Some(TurnError::Diverged(at)) = diverged else { panic!("{diverged:?}") };
    assert!(slice.end.is_none() && !turn.has_ended(), "a diverged turn ended");
    let last = turn.cancel(CancelReason::Lost, turn.now()).unwrap();
    assert_eq!(last.end.as_ref().unwrap().fault.as_ref().unwrap().code, "TURN_LOST");
    assert_eq!(
        (&turn.journal().entries, &turn.journal().header),
        (&journal.entries, &journal.header),
        "a model call is missing from the log"
    );
    let saved: Journal = serde_json::from_str(&serde_json::to_string(turn.journal()).unwrap()).unwrap();
    let error = Turn::restore(saved.clone(), Arc::clone(config)).unwrap_err();
    assert!(matches!(&error, TurnError::Diverged(it) if is_same_position(it, &at)), "{error}");
    let again = Turn::rescue(&saved, Arc::clone(config)).unwrap();
    assert!(matches!(&again.divergence, Some(TurnError::Diverged(it)) if is_same_position(it, &at)), "{:?}", again.divergence);
    let notices: Vec<_> = slice.notices.iter().chain(&last.notices).cloned().collect();
    assert_eq!(again.slice.notices, notices);
    assert_eq!(again.slice.end, last.end);
    assert_eq!(serde_json::json!(again.turn.journal()), serde_json::json!(saved));
    assert!(again.slice.effects.is_empty());
    (slice, last)
}

fn is_same_position(left: &Divergence, right: &Divergence) -> bool {
    left == right
}

#[test]
fn a_turn_that_requests_something_else_can_only_be_canceled() {
    let (pack, _, journal) = finish_turn();
    let (slice, last) = rescue_and_cancel(&journal, &with_another_prompt(&pack));
    assert_eq!(slice.effects.len(), 1, "the turn stops at the diverging request");
    assert_eq!(*audits(&last)[0].1, serde_json::json!({"reason": "LOST", "step": "DialogueActStep", "openEffects": 1}));
}

#[test]
fn a_turn_does_not_end_before_its_journal() {
    let (pack, _, journal) = finish_turn();
    assert!(!journal.entries.is_empty());
    let (slice, last) = rescue_and_cancel(&journal, &without_models(&pack));
    assert!(slice.effects.is_empty());
    assert_eq!(audits(&last)[0].1["openEffects"], serde_json::json!(0));
    let writes = last.end.unwrap().writes;
    assert!(
        writes.iter().all(|write| match write {
            convengine_core::turn::Write::Conversation(row) => row.last_assistant.is_none(),
            write => matches!(write, convengine_core::turn::Write::LlmCall(_)),
        }),
        "{writes:?}"
    );
}

#[test]
fn a_turn_runs_the_program_of_its_configuration() {
    let (pack, config, journal) = finish_turn();
    let mut settings = pack.settings.clone();
    settings["pipeline"] = serde_json::json!({"profile": "v1"});
    let other = Arc::new(Config::compile(&pack.tables, &settings).0);
    assert_ne!(config.program(), other.program());
    let (requested, configured) = (config.program(), other.program());
    assert_eq!(Turn::restore(journal.clone(), Arc::clone(&other)).err(), Some(TurnError::Program { requested, configured }));
    assert_eq!(Turn::start(journal.input, other).err(), Some(TurnError::Program { requested, configured }));
}
