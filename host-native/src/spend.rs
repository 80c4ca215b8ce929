//! What models have cost, and whether they may cost more. Without a cap nothing is counted and nothing is stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use convengine_core::turn::{Answer, EffectError, EffectErrorKind, Journal, Reply};

use crate::clock;
use crate::settings::SpendCap;
use crate::settings::spend::day;
use crate::store::turn_rows::TurnRows;
use crate::store::{Pool, spend};

/// What is spent: mostly in the database, and what is not there yet.
#[derive(Debug, Default)]
pub struct Spend {
    cap: Option<SpendCap>,
    unstored: Mutex<Unstored>,
}

#[derive(Debug, Default)]
struct Unstored {
    /// By turns that run.
    turns: BTreeMap<String, u64>,
    /// By turns of which nothing was stored; the next turn that is stored takes it along.
    owed: u64,
}

impl Spend {
    /// Counts for a cap.
    pub fn new(cap: Option<SpendCap>) -> Spend {
        Spend { cap, unstored: Mutex::default() }
    }

    /// Whether a model may be asked.
    ///
    /// # Errors
    /// What the turn is told instead of an answer.
    pub async fn allows(&self, readers: &Pool) -> Result<(), EffectError> {
        let Some(SpendCap { micros, per }) = self.cap else { return Ok(()) };
        // Before what is stored is read: what leaves for the database meanwhile is counted twice rather than not at all.
        let unstored = self.unstored().all();
        let (first, last) = per.days(clock::now());
        let stored = spend::between(readers, &first, &last).await.map_err(|error| {
            tracing::error!(%error, "what was spent cannot be read");
            EffectError::new(EffectErrorKind::Unavailable, "what was spent on models cannot be read, so that none is asked")
        })?;
        if stored.saturating_add(unstored) < micros {
            return Ok(());
        }
        let message = format!("no model is asked: what may be spent in a {} is spent (convengine.llm.spend-cap)", per.name());
        Err(EffectError::new(EffectErrorKind::Limited, message))
    }

    /// Notes what an answer has cost.
    pub fn note(&self, turn: &str, answer: &Answer) {
        let micros = cost(answer);
        if self.cap.is_some() && micros > 0 {
            *self.unstored().turns.entry(turn.to_owned()).or_default() += micros;
        }
    }

    /// Adds what a turn has cost to its rows, and what is owed.
    pub fn leave(&self, journal: &Journal, rows: &mut TurnRows) {
        if self.cap.is_none() {
            return;
        }
        let owed = self.unstored().carry(&journal.input.turn);
        // By the journal: another process may have begun the turn.
        let own: u64 = journal.entries.iter().map(|it| cost(&it.outcome)).sum();
        if own + owed > 0 {
            rows.spend(&day(clock::now()), own + owed);
        }
    }

    /// The rows of a turn are stored.
    pub fn stored(&self, turn: &str) {
        self.unstored().turns.remove(turn);
    }

    /// A turn is gone; unless it is `found` again by whoever finishes it, what it has cost stays owed.
    pub fn gone(&self, turn: &str, found: bool) {
        let mut unstored = self.unstored();
        let micros = unstored.turns.remove(turn).unwrap_or_default();
        if !found {
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

    /// Lets a turn take along what is owed.
    fn carry(&mut self, turn: &str) -> u64 {
        let owed = std::mem::take(&mut self.owed);
        if owed > 0 {
            *self.turns.entry(turn.to_owned()).or_default() += owed;
        }
        owed
    }
}

/// What an answer has cost, in millionths.
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
