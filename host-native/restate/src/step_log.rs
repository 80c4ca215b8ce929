//! The results that the cluster has journaled in a turn, with which the journal of the turn is compared at its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Completion, EffectId, EffectResult, JournalEntry};

/// Which effects have completed, in the order of the cluster's journal, and whether each succeeded.
#[derive(Debug, Clone, Default)]
pub struct StepLog(Arc<Mutex<Vec<(EffectId, bool)>>>);

impl StepLog {
    /// Adds a result of the cluster's journal.
    pub fn add(&self, completion: &Completion) {
        self.lock().push((completion.id, is_ok(&completion.outcome)));
    }

    /// Compares the journal of a turn, which is about to be stored, with that of the cluster. A turn that is cancelled ignores results after
    /// that.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn check(&self, entries: &[JournalEntry], is_cancelled: bool) -> Result<(), String> {
        let steps = self.lock();
        let entries: Vec<(EffectId, bool)> = entries.iter().map(|it| (it.effect, is_ok(&it.outcome))).collect();
        let is_equal = if is_cancelled { steps.starts_with(&entries) } else { *steps == entries };
        if is_equal {
            return Ok(());
        }
        let at = steps.iter().zip(&entries).take_while(|(step, entry)| step == entry).count();
        Err(format!(
            "the journal of the turn differs from that of the cluster at entry {at}: {:?}, not {:?}",
            entries.get(at),
            steps.get(at)
        ))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(EffectId, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_ok(outcome: &EffectResult) -> bool {
    matches!(outcome, EffectResult::Ok(_))
}

#[cfg(test)]
mod tests {
    use convengine_turns::recovery::interrupted_error;

    use super::*;

    fn entry(id: u32) -> JournalEntry {
        JournalEntry {
            effect: EffectId(id),
            at: 0,
            fingerprint: String::new(),
            request: None,
            outcome: EffectResult::Error(interrupted_error()),
        }
    }

    #[test]
    fn a_lost_added_or_moved_entry_is_a_difference() {
        let log = StepLog::default();
        for it in [entry(1), entry(0)] {
            log.add(&Completion { id: it.effect, at: it.at, outcome: it.outcome });
        }
        assert_eq!(log.check(&[entry(1), entry(0)], false), Ok(()));
        for entries in [&[entry(0), entry(1)][..], &[entry(1)], &[entry(1), entry(0), entry(2)]] {
            assert!(log.check(entries, false).is_err_and(|it| it.contains("differs from that of the cluster")));
        }
        assert_eq!(log.check(&[entry(1)], true), Ok(()), "the turn was cancelled before the second result");
        assert!(log.check(&[entry(0)], true).is_err());
    }
}
