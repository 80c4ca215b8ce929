//! The turn protocol as a host sees it: misuse, divergence, and what a host may do with a turn.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Pack, Scripted};
use convengine_core::turn::{Completion, Journal, Slice, Turn, TurnError};
use convengine_tests::demo;

/// The first turn of a pack that asks a model, at its first wait.
fn waiting() -> (Pack, Arc<Config>, Turn, Slice) {
    let pack = demo("model_acts.json").unwrap().pack;
    let config = Arc::new(Config::compile(&pack.tables, &pack.settings).0);
    let message = pack.message(0).unwrap();
    let (turn, slice) = Turn::start(message.input(&Conversations::default()), Arc::clone(&config)).unwrap();
    assert!(slice.end.is_none() && slice.effects.len() == 1, "the first turn of the pack does not ask a model");
    (pack, config, turn, slice)
}

fn answer(pack: &Pack, slice: &Slice) -> Completion {
    let effect = &slice.effects[0];
    Completion { id: effect.id, at: 1, outcome: Scripted::of(pack).answer(&effect.request).0 }
}

/// Answers until the end; returns the journal.
fn finished() -> (Pack, Arc<Config>, Journal) {
    let (pack, config, mut turn, mut slice) = waiting();
    while slice.end.is_none() {
        slice = turn.resume(vec![answer(&pack, &slice)]).unwrap();
    }
    (pack, config, turn.journal().clone())
}

#[test]
fn a_turn_may_move_between_threads() {
    fn send<T: Send>(_: &T) {}
    let (_, _, turn, _) = waiting();
    send(&turn);
}

#[test]
fn keys_name_turn_and_effect() {
    let (_, _, turn, slice) = waiting();
    assert_eq!(slice.effects[0].key, format!("{}/0", turn.journal().input.turn));
}

#[test]
fn notices_are_numbered_without_gaps() {
    let (pack, _, mut turn, mut slice) = waiting();
    let mut numbers: Vec<u32> = slice.notices.iter().map(|it| it.seq).collect();
    while slice.end.is_none() {
        slice = turn.resume(vec![answer(&pack, &slice)]).unwrap();
        numbers.extend(slice.notices.iter().map(|it| it.seq));
    }
    assert_eq!(numbers, (0..u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
}

#[test]
fn an_answer_counts_once() {
    let (pack, _, mut turn, slice) = waiting();
    let completion = answer(&pack, &slice);
    let again = Completion { id: completion.id, ..completion.clone() };
    let error = turn.resume(vec![completion, again]).unwrap_err();
    assert!(matches!(error, TurnError::UnknownEffect { .. }), "{error}");
    assert!(error.to_string().contains("answer each effect of a slice once"), "{error}");
}

#[test]
fn the_clock_never_goes_back() {
    let (pack, _, mut turn, slice) = waiting();
    let before = turn.now();
    let _ = turn.resume(vec![Completion { at: before - 5_000, ..answer(&pack, &slice) }]).unwrap();
    assert_eq!(turn.now(), before);
}

#[test]
fn a_journal_replays_to_the_same_end() {
    let (_, config, journal) = finished();
    let (turn, slice) = Turn::restore(journal.clone(), config).unwrap();
    assert!(slice.end.is_some());
    assert_eq!(turn.journal(), &journal);
}

#[test]
fn another_prompt_is_named_with_both_texts() {
    let (pack, _, journal) = finished();
    let mut tables = pack.tables.clone();
    let row = serde_json::json!({"config_id": 900, "config_type": "DialogueActStep", "config_key": "USER_PROMPT", "config_value": "Now: {{user_input}}"});
    tables.0.entry("ce_config".to_owned()).or_default().push(row.as_object().unwrap().clone());
    let (config, issues) = Config::compile(&tables, &pack.settings);
    assert!(issues.iter().all(|it| !it.path.contains("USER_PROMPT")), "{issues:?}");
    let error = Turn::restore(journal, Arc::new(config)).unwrap_err();
    let TurnError::Diverged(diverged) = &error else { panic!("{error}") };
    assert!(diverged.difference.contains("user: ") && diverged.difference.contains("became \"Now: "), "{}", diverged.difference);
}

#[test]
fn a_journal_of_another_protocol_is_refused() {
    let (_, config, mut journal) = finished();
    journal.header.protocol += 1;
    assert!(matches!(Turn::restore(journal, config), Err(TurnError::Protocol { .. })));
}
