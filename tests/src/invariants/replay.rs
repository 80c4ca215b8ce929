//! A journal is all that a turn needs. (I5, I9)

use std::sync::Arc;

use convengine_core::turn::{Turn, state_hash};

use super::Scene;
use crate::simulate::fault::{Fault, repeatable};
use crate::simulate::run::Run;

/// I5: the journal, read back from its text, gives the same notices, the same outcome and the same state hash.
pub(super) fn is_equal(scene: &Scene<'_>) -> Option<String> {
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
        return Some("the replay publishes other notices".to_owned());
    }
    let hashes = (state_hash(&outcome, &slice.notices), state_hash(&run.outcome, &run.notices));
    (outcome != run.outcome || hashes.0 != hashes.1).then(|| "the replay comes to another end".to_owned())
}

/// I9: who takes a turn over finds it as it was left, and it ends as if nothing had happened, where nothing is in doubt.
pub(super) fn survives_a_crash(scene: &Scene<'_>) -> Option<String> {
    if let Some(torn) = &scene.run.torn {
        return Some(format!("the turn that was taken up has {torn}"));
    }
    let (fault, meant) = scene.fault.zip(scene.beside.meant)?;
    let is_in_doubt = || scene.run.answered.iter().zip(&meant.answered).any(|(a, b)| a.answer != b.answer && !repeatable(&a.effect));
    match fault {
        Fault::CrashAfter => differs(scene.run, meant),
        Fault::CrashBefore if !is_in_doubt() => differs(scene.run, meant),
        _ => None,
    }
}

fn differs(run: &Run, meant: &Run) -> Option<String> {
    if run.notices != meant.notices {
        return Some("the turn publishes other notices than without the crash".to_owned());
    }
    if run.answered.iter().map(|it| &it.effect).ne(meant.answered.iter().map(|it| &it.effect)) {
        return Some("the turn asks for other effects than without the crash".to_owned());
    }
    (run.outcome != meant.outcome).then(|| "the turn comes to another end than without the crash".to_owned())
}
