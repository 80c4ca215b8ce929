//! What assistants with a cap may still spend on models this month: kept back before a model is asked, and settled with what it has cost.
//! (`convoship.md` 12.3)

use std::collections::BTreeMap;

use convengine_core::turn::{Answer, Effect, EffectError, EffectErrorDetail, EffectErrorKind, LlmRequest};
use tokio::sync::Mutex;

use super::plan;
use crate::clock;
use crate::configured::Configured;
use crate::drive::Host;
use crate::spend::cost;
use crate::store::assistant::session;

/// Millionths of a cent in a millionth of a unit.
const PER_MICRO: u64 = 100;

/// What calls of turns that are not stored yet have cost or may cost, in millionths of a cent, by assistant and turn.
#[derive(Debug, Default)]
pub struct Purse(Mutex<BTreeMap<String, BTreeMap<String, u64>>>);

/// What a call may cost at most.
#[derive(Debug)]
pub struct Held {
    assistant: String,
    turn: String,
    amount: u64,
}

impl Purse {
    /// Keeps back what a call may cost; nothing where there is no cap. One after the other: two calls must not both get the rest.
    ///
    /// # Errors
    /// What the turn is told instead of an answer: there is not as much left, or nobody knows.
    pub async fn hold(
        &self,
        host: &Host,
        configured: &Configured,
        effect: &Effect,
        request: &LlmRequest,
    ) -> Result<Option<Held>, EffectError> {
        let Some(document) = configured.config.flow.as_ref().map(|it| &it.document) else { return Ok(None) };
        let Some(cap) = document.settings.monthly_llm_spend_cap_cents.map(|it| it.saturating_mul(plan::MICROCENTS)) else {
            return Ok(None);
        };
        let amount = host.models.estimate(request).saturating_mul(PER_MICRO);
        let mut held = self.0.lock().await;
        let stored = session::used(&host.readers, &host.workspace, "llm", plan::month(clock::now()), Some(&document.id)).await;
        let stored = stored.map_err(|error| {
            tracing::error!(%error, "what an assistant has spent cannot be read");
            EffectError::new(EffectErrorKind::Unavailable, "what was spent on models cannot be read, so that none is asked")
        })?;
        let of_turns = held.entry(document.id.clone()).or_default();
        let taken = of_turns.values().sum::<u64>().saturating_add(u64::try_from(stored).unwrap_or(0));
        if taken >= cap || taken.saturating_add(amount) > cap {
            let message = "what the assistant may spend on models this month does not suffice for the call";
            return Err(EffectError::new(EffectErrorKind::Limited, message).detailed(EffectErrorDetail::BUDGET));
        }
        // The key of a call is that of its turn with a number.
        let turn = effect.key.rsplit_once('/').map_or(effect.key.as_str(), |it| it.0).to_owned();
        *of_turns.entry(turn.clone()).or_default() += amount;
        Ok(Some(Held { assistant: document.id.clone(), turn, amount }))
    }

    /// Keeps back what a call has cost in the place of what it might have.
    pub async fn settle(&self, kept: Held, answer: &Answer) {
        let mut held = self.0.lock().await;
        if let Some(amount) = held.get_mut(&kept.assistant).and_then(|it| it.get_mut(&kept.turn)) {
            *amount = amount.saturating_sub(kept.amount).saturating_add(cost(answer).saturating_mul(PER_MICRO));
        }
    }

    /// A turn is stored with what it has cost, or is gone.
    pub async fn ended(&self, assistant: &str, turn: &str) {
        let mut held = self.0.lock().await;
        if let Some(of_turns) = held.get_mut(assistant) {
            of_turns.remove(turn);
            if of_turns.is_empty() {
                held.remove(assistant);
            }
        }
    }
}
