//! The corpus in the core: whole, saved as JSON after every completion, and canceled wherever it waits.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{self, CancelReason, Journal, Outcome, Turn, state_hash};
use convengine_player::{CorePlayer, PackReport, Suspend, TurnReport, play_core};
use convengine_tests::{corpus, http_only_recordings, known_differences};

#[test]
fn every_pack_is_as_expected() {
    let explained = known_differences().unwrap();
    let cases = corpus().unwrap();
    let reports: Vec<PackReport> = cases.iter().map(|it| play_core(&it.pack, Suspend::Never, &explained)).collect();
    let failed: Vec<String> = reports.iter().filter(|it| !it.has_passed()).map(|it| format!("{it:#?}")).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let unused = explained.unused(cases.iter().chain(&http_only_recordings().unwrap()).map(|it| &it.pack)).unwrap();
    assert_eq!(unused, [""; 0], "these parts of rules change nothing");
    let recorded = |it: &&&TurnReport| !it.explained.is_empty();
    let turns: Vec<&TurnReport> = reports.iter().flat_map(|it| &it.turns).collect();
    assert!(turns.len() > 600, "only {} turns were played", turns.len());
    let (explained, answers) = (turns.iter().filter(recorded).count(), turns.iter().filter(|it| it.is_reply_different).count());
    // The test runner captures `println!`.
    let mut out = std::io::stdout().lock();
    let (packs, equal) = (cases.len(), turns.len() - explained);
    writeln!(out, "{packs} packs, {} turns: {equal} equal, {explained} explained by ruling, 0 unexplained", turns.len()).unwrap();
    let same = turns.len() - answers;
    writeln!(out, "of these turns, {same} have the expected reply and {answers} another one that a ruling explains").unwrap();
    let mut rulings: BTreeMap<&str, usize> = BTreeMap::new();
    turns.iter().flat_map(|it| &it.explained).for_each(|(ruling, count)| *rulings.entry(ruling).or_default() += count);
    rulings.iter().for_each(|(ruling, count)| writeln!(out, "{count:6} {ruling}").unwrap());
}

#[test]
fn a_turn_saved_after_every_completion_ends_the_same() {
    let mut suspensions = 0;
    for case in corpus().unwrap() {
        let mut whole = CorePlayer::new(&case.pack, Suspend::Never);
        let mut saved = CorePlayer::new(&case.pack, Suspend::Always);
        for turn in 0..case.pack.turns.len() {
            let a = whole.play(turn).unwrap();
            let b = saved.play(turn).unwrap_or_else(|error| panic!("{} turn {turn}: {error:#}", case.pack.name));
            assert_eq!(a.hash, b.hash, "{} turn {turn}", case.pack.name);
            assert_eq!(a.state_hash, b.state_hash, "{} turn {turn}", case.pack.name);
            assert_eq!(a.journal, b.journal, "{} turn {turn}", case.pack.name);
            suspensions += b.journal.entries.len();
        }
    }
    assert!(suspensions > 40, "only {suspensions} suspensions were tried");
}

/// Cancels each turn of the corpus wherever it waits, and replays the resulting journal.
#[test]
fn a_turn_canceled_while_it_waits_fails_and_replays() {
    let mut waits = 0;
    for case in corpus().unwrap() {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        for number in 0..case.pack.turns.len() {
            let whole = player.play(number).unwrap();
            for answered in 0..whole.journal.entries.len() {
                let label = format!("{} turn {number} after {answered} answers", case.pack.name);
                let mut journal = whole.journal.clone();
                journal.entries.truncate(answered);
                let why = if answered.is_multiple_of(2) { CancelReason::Timeout } else { CancelReason::Lost };
                let outcome = cancel_and_replay(journal, &player.config, why, &label);
                assert_only_surviving_writes(&outcome, &whole.journal, answered, &label);
                waits += 1;
            }
        }
    }
    assert!(waits > 300, "only {waits} waits were tried");
}

/// Resumes a turn at the end of its journal, cancels it, and replays the new journal from its JSON.
fn cancel_and_replay(journal: Journal, config: &Arc<Config>, why: CancelReason, label: &str) -> Outcome {
    let (mut turn, before) = Turn::restore(journal, Arc::clone(config)).unwrap();
    assert!(before.end.is_none() && !before.effects.is_empty(), "{label}: it does not wait");
    let slice = turn.cancel(why, turn.now() + 7).unwrap();
    assert!(slice.effects.is_empty() && turn.has_ended(), "{label}");
    assert_eq!(turn.cancel(why, 0).unwrap(), turn::Slice::default(), "{label}");
    let notices: Vec<_> = before.notices.into_iter().chain(slice.notices).collect();
    assert!(notices.iter().zip(0..).all(|(it, seq)| it.seq == seq), "{label}: the notices have gaps");
    let outcome = slice.end.unwrap();
    let saved = serde_json::to_string(turn.journal()).unwrap();
    let (again, replayed) = Turn::restore(serde_json::from_str(&saved).unwrap(), Arc::clone(config)).unwrap();
    assert!(again.has_ended() && replayed.effects.is_empty(), "{label}");
    assert_eq!(again.journal(), turn.journal(), "{label}");
    assert_eq!(replayed.notices, notices, "{label}");
    let end = replayed.end.unwrap();
    assert_eq!(state_hash(&end, &replayed.notices), state_hash(&outcome, &notices), "{label}");
    assert_eq!(end, outcome, "{label}");
    outcome
}

/// Of the conversation only its creation, a reset and a block survive; of everything else, only the log of model calls.
fn assert_only_surviving_writes(outcome: &Outcome, whole: &Journal, answered: usize, label: &str) {
    let code = if answered.is_multiple_of(2) { "TURN_TIMEOUT" } else { "TURN_LOST" };
    let fault = outcome.fault.as_ref().unwrap();
    assert_eq!((fault.code.as_str(), fault.recoverable), (code, true), "{label}");
    assert!(outcome.payload.is_none() && outcome.context.is_none(), "{label}");
    let loaded = whole.input.session.conversation.as_ref();
    let was_reset = outcome.writes.iter().any(|it| matches!(it, turn::Write::Reset));
    let mut calls = 0;
    for write in &outcome.writes {
        match write {
            turn::Write::Conversation(row) => {
                let created = loaded.is_none() && row.last_user_text.is_none() && row.last_assistant.is_none();
                assert!(created || was_reset || row.status == "BLOCKED", "{label}: {row:?}");
            }
            turn::Write::LlmCall(_) => calls += 1,
            turn::Write::Reset => {}
            turn::Write::History(_) | turn::Write::Memory(_) | turn::Write::Session { .. } => panic!("{label}: {write:?}"),
        }
    }
    let is_call = |it: &&turn::JournalEntry| it.request.as_ref().is_some_and(|it| it["kind"] == "llm");
    assert_eq!(calls, whole.entries[..answered].iter().filter(is_call).count(), "{label}: model calls were paid for");
    if let Some(row) = loaded.filter(|_| !was_reset) {
        assert_eq!((&outcome.session.context, &outcome.session.params), (&row.context, &row.params), "{label}");
    }
}
