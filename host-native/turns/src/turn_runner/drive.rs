//! Drives a turn to its stored end: resumes it with the completions of its effects until it has an outcome.

use convengine_core::turn::{Outcome, Slice, Turn, TurnError};

use super::runtime::{Clock, Effects, Progress, Publisher, TurnStore};
use crate::crash;
use crate::refusal::Refusal;

/// The runtime of one turn.
#[derive(Debug)]
pub struct TurnRuntime<'r, S, E, C, P> {
    /// Where it is stored.
    pub store: &'r mut S,
    /// Where its effects are executed.
    pub effects: &'r mut E,
    /// Its time.
    pub clock: &'r mut C,
    /// Where it is published.
    pub publisher: &'r mut P,
}

impl<S: TurnStore, E: Effects, C: Clock, P: Publisher> TurnRuntime<'_, S, E, C, P> {
    /// Drives a turn from a slice to its stored end. What a crash must not lose is stored before effects start, where it could otherwise
    /// repeat a write.
    ///
    /// # Errors
    /// Returns a [`Refusal`] when the turn is not stored.
    pub async fn drive(&mut self, turn: &mut Turn, mut slice: Slice) -> Result<Outcome, Refusal> {
        loop {
            self.publisher.add_notices(&mut slice.notices);
            if !slice.effects.is_empty() {
                crash::point("before the journal");
            }
            if !slice.effects.is_empty() || slice.end.is_some() {
                let prepared = self.publisher.read_notices(|notices| self.store.prepare(turn, notices, &slice.effects))?;
                self.store.store(prepared).await?;
            }
            if let Some(outcome) = slice.end {
                self.effects.stop();
                let prepared = self.publisher.read_notices(|notices| self.store.prepare_end(turn, notices, &outcome))?;
                crash::point("before the commit");
                self.store.commit(prepared).await?;
                crash::point("after the commit");
                return Ok(outcome);
            }
            if !slice.effects.is_empty() {
                crash::point("before the effects");
            }
            self.publisher.publish();
            let stopped = if slice.effects.is_empty() { None } else { self.effects.find_cancellation().await? };
            let progress = match stopped {
                Some(reason) => Progress::Cancelled(reason),
                None => {
                    for effect in slice.effects {
                        let tokens = self.publisher.start_effect(&effect);
                        self.effects.start(effect, tokens);
                    }
                    self.effects.next().await?
                }
            };
            slice = match progress {
                Progress::Completed(completion) => {
                    crash::point("after an effect");
                    self.publisher.finish_effect(&completion);
                    turn.resume(vec![completion])?
                }
                Progress::Cancelled(reason) => turn.cancel(reason, self.clock.now().await?)?,
                Progress::Idle => return Err(TurnError::Stalled.into()),
            };
        }
    }
}
