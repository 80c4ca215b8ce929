//! Tracks model cost against the global spend cap. Without a cap, nothing is tracked or stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Answer, EffectError, EffectErrorKind, Journal, Reply};

use crate::clock;
use crate::settings::SpendCap;
use crate::settings::spend::day;
use crate::store::turn_rows::TurnRows;
use crate::store::{Pool, spend};

/// The spend cap with the costs that are not stored yet.
#[derive(Debug, Default)]
pub struct Spend {
    cap: Option<SpendCap>,
    unstored: Mutex<Unstored>,
}

#[derive(Debug, Default)]
struct Unstored {
    /// Costs of running turns.
    turns: BTreeMap<String, u64>,
    /// Costs of turns that were not stored, carried over to the next stored turn.
    owed: u64,
}

impl Spend {
    /// Creates a tracker for a cap.
    pub fn new(cap: Option<SpendCap>) -> Spend {
        Spend { cap, unstored: Mutex::default() }
    }

    /// Checks whether the cap allows a model call.
    ///
    /// # Errors
    /// Returns an error for the turn when the cap is reached or the spend cannot be read.
    pub async fn allows(&self, readers: &Pool) -> Result<(), EffectError> {
        let Some(SpendCap { micros, per }) = self.cap else { return Ok(()) };
        // Read before the stored costs: costs stored in between are counted twice rather than missed.
        let unstored = self.unstored().all();
        let (first, last) = per.days(clock::now());
        let stored = spend::between(readers, &first, &last).await.map_err(|error| {
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
    pub fn note(&self, turn: &str, answer: &Answer) {
        let micros = cost(answer);
        if self.cap.is_some() && micros > 0 {
            *self.unstored().turns.entry(turn.to_owned()).or_default() += micros;
        }
    }

    /// Adds the cost of a turn, and carried-over costs, to its rows.
    pub fn leave(&self, journal: &Journal, rows: &mut TurnRows) {
        if self.cap.is_none() {
            return;
        }
        let owed = self.unstored().carry(&journal.input.turn);
        // From the journal, because another process may have started the turn.
        let own: u64 = journal.entries.iter().map(|it| cost(&it.outcome)).sum();
        if own + owed > 0 {
            rows.spend(&day(clock::now()), own + owed);
        }
    }

    /// Records that the rows of a turn are stored.
    pub fn stored(&self, turn: &str) {
        self.unstored().turns.remove(turn);
    }

    /// Records that a turn was dropped. Its costs are carried over unless it `is_recoverable`, because its row is stored.
    pub fn gone(&self, turn: &str, is_recoverable: bool) {
        let mut unstored = self.unstored();
        let micros = unstored.turns.remove(turn).unwrap_or_default();
        if !is_recoverable {
            unstored.owed += micros;
        }
    }

    fn unstored(&self) -> MutexGuard<'_, Unstored> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unstored {
    fn all(&self) -> u64 {
        self.turns.values().sum::<u64>().saturating_add(self.owed)
    }

    /// Assigns the carried-over costs to a turn and returns them.
    fn carry(&mut self, turn: &str) -> u64 {
        let owed = std::mem::take(&mut self.owed);
        if owed > 0 {
            *self.turns.entry(turn.to_owned()).or_default() += owed;
        }
        owed
    }
}

/// Returns the cost of an answer in millionths of a currency unit.
pub fn cost(answer: &Answer) -> u64 {
    match answer {
        Answer::Ok(Reply::Llm(reply)) => reply.usage.as_ref().and_then(|it| it.cost_micros).unwrap_or(0),
        Answer::Ok(_) | Answer::Error(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::spend::Per;
    use convengine_core::turn::{LlmReply, Usage};

    fn costing(micros: u64) -> Answer {
        let usage = Some(Usage { input_tokens: 1, output_tokens: 1, cost_micros: Some(micros) });
        Answer::Ok(Reply::Llm(LlmReply {
            text: String::new(),
            provider: String::new(),
            model: String::new(),
            usage,
            tool_calls: Vec::new(),
        }))
    }

    #[test]
    fn what_a_lost_turn_has_cost_is_owed_and_nothing_is_counted_twice() {
        let spend = Spend::new(Some(SpendCap { micros: 10, per: Per::Day }));
        spend.note("a", &costing(3));
        spend.note("a", &costing(2));
        spend.note("b", &costing(4));
        assert_eq!(spend.unstored().all(), 9);
        spend.gone("a", false);
        assert_eq!(spend.unstored().all(), 9);
        assert_eq!(spend.unstored().owed, 5);
        assert_eq!(spend.unstored().carry("b"), 5);
        spend.gone("b", false);
        assert_eq!(spend.unstored().owed, 9, "it was not stored either");
        assert_eq!(spend.unstored().carry("c"), 9);
        spend.stored("c");
        spend.note("d", &costing(1));
        spend.gone("d", true);
        assert_eq!(spend.unstored().all(), 0);
        let free = Spend::new(None);
        free.note("a", &costing(3));
        assert_eq!(free.unstored().all(), 0);
    }
}
