//! Model budgets of assistants by month, and of AI agents by day: the estimated cost is reserved before a call and settled with the actual cost.
//! (docs/spec/flows.md#12.3)

use std::collections::BTreeMap;

use convengine_core::turn::{Effect, EffectError, EffectErrorDetail, EffectErrorKind, EffectResult, LlmRequest};
use tokio::sync::Mutex;

use super::plan;
use crate::clock;
use crate::config::active::ActiveConfig;
use crate::runtime::spend_cap::cost_micros;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::{ProgramKey, session};

/// Microcents per millionth of a currency unit.
const MICROCENTS_PER_MICRO: u64 = 100;

/// Reserved and actual costs of turns that are not stored yet, in microcents, by program and turn.
#[derive(Debug, Default)]
pub struct Budget(Mutex<BTreeMap<ProgramKey, BTreeMap<String, u64>>>);

/// The reserved cost of a call.
#[derive(Debug)]
pub struct BudgetReservation {
    program: ProgramKey,
    turn: String,
    amount: u64,
}

impl Budget {
    /// Reserves the estimated cost of a call. Returns `None` without a cap. Serialized, so that two calls cannot reserve the same budget.
    ///
    /// # Errors
    /// Returns an error for the turn when the budget is exceeded or cannot be read.
    pub async fn reserve(
        &self,
        host: &Host,
        configured: &ActiveConfig,
        effect: &Effect,
        request: &LlmRequest,
    ) -> Result<Option<BudgetReservation>, EffectError> {
        let Some(flow) = configured.config.flow() else { return Ok(None) };
        let program = ProgramKey::of_flow(flow);
        let Some((cap, start)) = plan::spend_cap(&flow.document.settings, clock::now()) else { return Ok(None) };
        let amount = host.models.estimate_cost(request).saturating_mul(MICROCENTS_PER_MICRO);
        let mut held = self.0.lock().await;
        let stored = session::sum_usage(&host.readers, &host.workspace, "llm", start, Some(program.as_str())).await;
        let stored = stored.map_err(|error| {
            tracing::error!(%error, "cannot read the spend of an assistant");
            EffectError::new(EffectErrorKind::Unavailable, "what was spent on models cannot be read, so that none is asked")
        })?;
        let of_turns = held.entry(program.clone()).or_default();
        let taken = of_turns.values().sum::<u64>().saturating_add(u64::try_from(stored).unwrap_or(0));
        if taken >= cap || taken.saturating_add(amount) > cap {
            let message = "what may be spent on models this month, or this day for an AI agent, does not suffice for the call";
            return Err(EffectError::new(EffectErrorKind::Limited, message).with_detail(EffectErrorDetail::BUDGET));
        }
        // An effect key is the turn id, a slash and a number.
        let turn = effect.key.rsplit_once('/').map_or(effect.key.as_str(), |it| it.0).to_owned();
        *of_turns.entry(turn.clone()).or_default() += amount;
        Ok(Some(BudgetReservation { program, turn, amount }))
    }

    /// Replaces the reserved cost of a call with its actual cost.
    pub async fn settle(&self, reserved: BudgetReservation, answer: &EffectResult) {
        let mut held = self.0.lock().await;
        if let Some(amount) = held.get_mut(&reserved.program).and_then(|it| it.get_mut(&reserved.turn)) {
            *amount = amount.saturating_sub(reserved.amount).saturating_add(cost_micros(answer).saturating_mul(MICROCENTS_PER_MICRO));
        }
    }

    /// Releases the costs of a turn that was stored or dropped.
    pub async fn release_turn(&self, program: &ProgramKey, turn: &str) {
        let mut held = self.0.lock().await;
        if let Some(of_turns) = held.get_mut(program) {
            of_turns.remove(turn);
            if of_turns.is_empty() {
                held.remove(program);
            }
        }
    }
}
