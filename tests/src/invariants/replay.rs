//! I5 and I9: the journal is sufficient to replay and to recover a turn.

use std::sync::Arc;

use convengine_core::turn::{Turn, state_hash};

use super::TurnUnderTest;
use crate::simulate::fault::{Fault, is_repeatable};
use crate::simulate::run::TurnRun;

/// I5: the journal, read back from its text, yields the same notices, outcome and state hash.
pub(super) fn check_replay(scene: &TurnUnderTest<'_>) -> Option<String> {
    let run = scene.run;
    let saved = serde_json::to_string(&run.journal).ok()?;
    let journal = match serde_json::from_str(&saved) {
        Ok(journal) => journal,
        Err(error) => return Some(format!("the journal cannot be read: {error}")),
    };
    let slice = match Turn::restore(journal, Arc::clone(scene.config)) {
        Ok((_, slice)) => slice,
        Err(error) => return Some(error.to_string()),
    };
    let Some(outcome) = slice.end else { return Some("the replay has no end".to_owned()) };
    if slice.notices != run.notices {
        return Some("the replay publishes different notices".to_owned());
    }
    let hashes = (state_hash(&outcome, &slice.notices), state_hash(&run.outcome, &run.notices));
    (outcome != run.outcome || hashes.0 != hashes.1).then(|| "the replay has a different outcome".to_owned())
}

/// I9: a restored turn equals the interrupted one, and ends as without the crash if no effect is in doubt.
pub(super) fn check_recovery(scene: &TurnUnderTest<'_>) -> Option<String> {
    if let Some(torn) = &scene.run.crash_difference {
        return Some(format!("the restored turn has {torn}"));
    }
    let (fault, baseline) = scene.fault.zip(scene.related.undisturbed)?;
    let is_in_doubt = || scene.run.answered.iter().zip(&baseline.answered).any(|(a, b)| a.answer != b.answer && !is_repeatable(&a.effect));
    match fault {
        Fault::CrashAfter => find_difference(scene.run, baseline),
        Fault::CrashBefore if !is_in_doubt() => find_difference(scene.run, baseline),
        _ => None,
    }
}

fn find_difference(run: &TurnRun, baseline: &TurnRun) -> Option<String> {
    if run.notices != baseline.notices {
        return Some("the turn publishes different notices than without the crash".to_owned());
    }
    if run.answered.iter().map(|it| &it.effect).ne(baseline.answered.iter().map(|it| &it.effect)) {
        return Some("the turn requests different effects than without the crash".to_owned());
    }
    (run.outcome != baseline.outcome).then(|| "the turn has a different outcome than without the crash".to_owned())
}
