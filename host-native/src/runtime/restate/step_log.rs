//! The results that the cluster has journaled in a turn, with which the journal of the turn is compared at its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Completion, EffectId, EffectResult, Journal};

/// Which effects have completed, in the order of the cluster's journal, and whether each succeeded.
#[derive(Debug, Clone, Default)]
pub struct StepLog(Arc<Mutex<Vec<(EffectId, bool)>>>);

impl StepLog {
    /// Adds a result of the cluster's journal.
    pub fn add(&self, completion: &Completion) {
        self.lock().push((completion.id, is_ok(&completion.outcome)));
    }

    /// Compares the journal of a turn, which is stored, with that of the cluster. A turn that is cancelled ignores results after that.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn check(&self, journal: &Journal) -> Result<(), String> {
        let steps = self.lock();
        let entries: Vec<(EffectId, bool)> = journal.entries.iter().map(|it| (it.effect, is_ok(&it.outcome))).collect();
        let is_equal = if journal.canceled.is_some() { steps.starts_with(&entries) } else { *steps == entries };
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
