//! The talks of flow documents and chains in the core: whole, saved as JSON after every completion, and canceled wherever they wait.

use std::sync::Arc;

use convengine_core::turn::{CancelReason, Journal, Outcome, Turn};
use convengine_player::{CorePlayer, PackReport, Suspend, play_core};
use convengine_tests::{flows, known_differences};
use serde_json::{Value, json};

#[test]
fn every_talk_is_as_expected() {
    let explained = known_differences().unwrap();
    let reports: Vec<PackReport> = flows().unwrap().iter().map(|it| play_core(&it.pack, Suspend::Never, &explained)).collect();
    let failed: Vec<String> = reports.iter().filter(|it| !it.has_passed()).map(|it| format!("{it:#?}")).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(reports.len() > 60, "only {} talks were played", reports.len());
}

#[test]
fn a_talk_is_named_after_what_it_shows() {
    for case in flows().unwrap() {
        let file = case.path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(file == case.pack.name || file == "bank", "{file} is named {}", case.pack.name);
        assert!(!case.pack.about.is_empty(), "{file} does not say what it is about");
    }
}

#[test]
fn a_turn_saved_after_every_completion_ends_the_same() {
    let mut suspensions = 0;
    for case in flows().unwrap() {
        let mut whole = CorePlayer::new(&case.pack, Suspend::Never);
        let mut saved = CorePlayer::new(&case.pack, Suspend::Always);
        for turn in 0..case.pack.turns.len() {
            let a = whole.play(turn).unwrap();
            let b = saved.play(turn).unwrap_or_else(|error| panic!("{} turn {turn}: {error:#}", case.pack.name));
            assert_eq!((&a.hash, &a.state_hash), (&b.hash, &b.state_hash), "{} turn {turn}", case.pack.name);
            assert_eq!(a.journal, b.journal, "{} turn {turn}", case.pack.name);
            suspensions += b.journal.entries.len();
        }
    }
    assert!(suspensions > 60, "only {suspensions} suspensions were tried");
}

#[test]
fn a_turn_canceled_while_it_waits_leaves_the_session_at_its_root() {
    let mut waits = 0;
    for case in flows().unwrap() {
        let mut player = CorePlayer::new(&case.pack, Suspend::Never);
        for number in 0..case.pack.turns.len() {
            let whole = player.play(number).unwrap();
            for answered in 0..whole.journal.entries.len() {
                let label = format!("{} turn {number} after {answered} answers", case.pack.name);
                let mut journal = whole.journal.clone();
                journal.entries.truncate(answered);
                let why = if answered.is_multiple_of(2) { CancelReason::Timeout } else { CancelReason::Lost };
                let outcome = cancel_and_replay(journal, &player, why);
                let reply = outcome.flow.as_deref().cloned().unwrap_or_default();
                let reason = if why == CancelReason::Timeout { "turn_timeout" } else { "turn_lost" };
                waits += 1;
                if player.config.chain().is_some() {
                    check_canceled_run(&reply["run"], reason, &label);
                    continue;
                }
                assert_eq!(reply["debug"]["stop_reason"], json!(reason), "{label}");
                assert!(reply["messages"].as_array().is_some_and(|it| !it.is_empty()), "{label}");
                // A message that did not reach the desk leaves the conversation with the person.
                if reply["status"] == "handed_off" {
                    assert_eq!(reply["awaiting"]["kind"], "handoff", "{label}");
                    continue;
                }
                assert_eq!((&reply["status"], &reply["awaiting"]), (&json!("awaiting_input"), &json!(null)), "{label}");
                let root = player.config.flow().map(|it| it.document.root.as_str()).unwrap_or_default();
                assert_eq!(outcome.state.split('/').next(), Some(root), "{label} is at {}", outcome.state);
            }
        }
    }
    assert!(waits > 60, "only {waits} waits were tried");
}

/// Asserts that the attempt of a run that was being made has failed, and that the run ends or continues by itself.
fn check_canceled_run(run: &Value, reason: &str, label: &str) {
    let attempts = ["primary_trace", "branch_trace"].map(|it| run[it].as_array().cloned().unwrap_or_default()).concat();
    let failed = attempts.iter().filter(|it| it["status"] == "failed" && it["error"]["code"] == reason).count();
    assert_eq!(failed, 1, "{label}: {attempts:#?}");
    assert!(!attempts.iter().any(|it| it["status"] == "waiting"), "{label}");
    match run["status"].as_str() {
        Some("failed") => assert_eq!(run["error"]["code"], reason, "{label}"),
        Some("sleeping") => assert!(run["wake_at"].is_string(), "{label}"),
        status => assert_eq!(status, Some("running"), "{label}"),
    }
}

/// Cancels a turn and asserts that its journal replays the cancellation.
fn cancel_and_replay(journal: Journal, player: &CorePlayer, why: CancelReason) -> Outcome {
    let (mut turn, _) = Turn::restore(journal, Arc::clone(&player.config)).unwrap();
    let outcome = turn.cancel(why, turn.now() + 7).unwrap().end.unwrap();
    let (_, replayed) = Turn::restore(turn.journal().clone(), Arc::clone(&player.config)).unwrap();
    assert_eq!(replayed.end.as_ref(), Some(&outcome));
    outcome
}
