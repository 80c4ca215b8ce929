//! Tracks model cost against the global spend cap. Without a cap, nothing is tracked or stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, Journal, Reply};

use crate::clock;
use crate::config::settings::SpendCap;
use crate::config::settings::spend_cap::utc_day;
use crate::storage::turn_rows::TurnRows;
use crate::storage::{Pool, spend};

/// The spend cap with the costs that are not stored yet.
#[derive(Debug, Default)]
pub struct SpendTracker {
    cap: Option<SpendCap>,
    unstored: Mutex<UnstoredCosts>,
}

#[derive(Debug, Default)]
struct UnstoredCosts {
    /// Costs of running turns.
    by_turn: BTreeMap<String, u64>,
    /// Costs of turns that were not stored, carried over to the next stored turn.
    carried_over: u64,
}

impl SpendTracker {
    /// Creates a tracker for a cap.
    pub fn new(cap: Option<SpendCap>) -> SpendTracker {
        SpendTracker { cap, unstored: Mutex::default() }
    }

    /// Checks whether the cap allows a model call.
    ///
    /// # Errors
    /// Returns an error for the turn when the cap is reached or the spend cannot be read.
    pub async fn check_cap(&self, readers: &Pool) -> Result<(), EffectError> {
        let Some(SpendCap { micros, per }) = self.cap else { return Ok(()) };
        // Read before the stored costs: costs stored in between are counted twice rather than missed.
        let unstored = self.lock_unstored().total();
        let (first, last) = per.date_range(clock::now());
        let stored = spend::sum_between(readers, &first, &last).await.map_err(|error| {
            tracing::error!(%error, "cannot read the model spend");
            EffectError::new(EffectErrorKind::Unavailable, "what was spent on models cannot be read, so that none is asked")
        })?;
        if stored.saturating_add(unstored) < micros {
            return Ok(());
        }
        let message = format!("no model is asked: what may be spent in a {} is spent (convengine.llm.spend-cap)", per.name());
        Err(EffectError::new(EffectErrorKind::Limited, message))
    }

    /// Records the cost of an answer.
    pub fn record(&self, turn: &str, answer: &EffectResult) {
        let micros = cost_micros(answer);
        if self.cap.is_some() && micros > 0 {
            *self.lock_unstored().by_turn.entry(turn.to_owned()).or_default() += micros;
        }
    }

    /// Adds the cost of a turn, and carried-over costs, to its rows.
    pub fn add_to_rows(&self, journal: &Journal, rows: &mut TurnRows) {
        if self.cap.is_none() {
            return;
        }
        let owed = self.lock_unstored().assign_carried_over(&journal.input.turn);
        // From the journal, because another process may have started the turn.
        let own: u64 = journal.entries.iter().map(|it| cost_micros(&it.outcome)).sum();
        if own + owed > 0 {
            rows.add_spend(&utc_day(clock::now()), own + owed);
        }
    }

    /// Records that the rows of a turn are stored.
    pub fn mark_stored(&self, turn: &str) {
        self.lock_unstored().by_turn.remove(turn);
    }

    /// Records that a turn was dropped. Its costs are carried over unless it `is_recoverable`, because its row is stored.
    pub fn release(&self, turn: &str, is_recoverable: bool) {
        let mut unstored = self.lock_unstored();
        let micros = unstored.by_turn.remove(turn).unwrap_or_default();
        if !is_recoverable {
            unstored.carried_over += micros;
        }
    }

    fn lock_unstored(&self) -> MutexGuard<'_, UnstoredCosts> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnstoredCosts {
    fn total(&self) -> u64 {
        self.by_turn.values().sum::<u64>().saturating_add(self.carried_over)
    }

    /// Assigns the carried-over costs to a turn and returns them.
    fn assign_carried_over(&mut self, turn: &str) -> u64 {
        let owed = std::mem::take(&mut self.carried_over);
        if owed > 0 {
            *self.by_turn.entry(turn.to_owned()).or_default() += owed;
        }
        owed
    }
}

/// Returns the cost of an answer in millionths of a currency unit.
pub fn cost_micros(answer: &EffectResult) -> u64 {
    match answer {
        EffectResult::Ok(Reply::Llm(reply)) => reply.usage.as_ref().and_then(|it| it.cost_micros).unwrap_or(0),
        EffectResult::Ok(_) | EffectResult::Error(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::spend_cap::SpendPeriod;
    use convengine_core::turn::{LlmReply, Usage};

    fn answer_costing(micros: u64) -> EffectResult {
        let usage = Some(Usage { input_tokens: 1, output_tokens: 1, cost_micros: Some(micros) });
        EffectResult::Ok(Reply::Llm(LlmReply {
            text: String::new(),
            provider: String::new(),
            model: String::new(),
            usage,
            tool_calls: Vec::new(),
        }))
    }

    #[test]
    fn costs_of_lost_turns_are_carried_over_and_counted_once() {
        let spend = SpendTracker::new(Some(SpendCap { micros: 10, per: SpendPeriod::Day }));
        spend.record("a", &answer_costing(3));
        spend.record("a", &answer_costing(2));
        spend.record("b", &answer_costing(4));
        assert_eq!(spend.lock_unstored().total(), 9);
        spend.release("a", false);
        assert_eq!(spend.lock_unstored().total(), 9);
        assert_eq!(spend.lock_unstored().carried_over, 5);
        assert_eq!(spend.lock_unstored().assign_carried_over("b"), 5);
        spend.release("b", false);
        assert_eq!(spend.lock_unstored().carried_over, 9, "it was not stored either");
        assert_eq!(spend.lock_unstored().assign_carried_over("c"), 9);
        spend.mark_stored("c");
        spend.record("d", &answer_costing(1));
        spend.release("d", true);
        assert_eq!(spend.lock_unstored().total(), 0);
        let free = SpendTracker::new(None);
        free.record("a", &answer_costing(3));
        assert_eq!(free.lock_unstored().total(), 0);
    }
}
