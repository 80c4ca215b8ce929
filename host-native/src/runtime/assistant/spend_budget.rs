//! Model budgets of assistants by month, and of AI agents by day: the estimated cost is reserved before a call and corrected with the actual
//! cost. (docs/spec/flows.md#12.3)

use convengine_core::config::Config;
use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind, LlmRequest, Millis};

use super::plan;
use crate::clock;
use crate::effects::llm::ModelAnswer;
use crate::runtime::spend_cap::{charged_micros, unreadable};
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::{ProgramKey, session};
use crate::storage::counter::{self, CounterKey, Increment};

/// Microcents per millionth of a currency unit.
const MICROCENTS_PER_MICRO: u64 = 100;

/// The reserved cost of a call. A call that ends without a known cost, or whose turn is cancelled, is charged what was reserved.
#[derive(Debug)]
pub struct BudgetReservation {
    counter: CounterKey,
    micros: u64,
}

/// The budget of a document.
struct Budget {
    counter: CounterKey,
    /// In microcents.
    cap: i64,
}

impl Budget {
    /// Returns the budget of a document now; `None` without a cap.
    fn find(host: &Host, config: &Config, now: Millis) -> Option<Budget> {
        let flow = config.flow()?;
        let (cap, period) = plan::spend_cap(&flow.document.settings, now)?;
        let reference = ProgramKey::of_flow(flow).as_str().to_owned();
        let counter = CounterKey { workspace: host.workspace.clone(), kind: "llm", reference, period };
        Some(Budget { counter, cap: i64::try_from(cap).unwrap_or(i64::MAX) })
    }

    /// Returns what was used before the counter existed.
    async fn sum_used(&self, host: &Host) -> sqlx::Result<i64> {
        let CounterKey { workspace, kind, reference, period } = &self.counter;
        session::sum_usage(&host.readers, workspace, kind, *period, Some(reference)).await
    }
}

/// Reserves the estimated cost of a call. Returns `None` without a cap.
///
/// # Errors
/// Returns an error for the turn when the budget is exceeded or cannot be read.
pub async fn reserve(host: &Host, config: &Config, request: &LlmRequest) -> Result<Option<BudgetReservation>, EffectError> {
    let Some(budget) = Budget::find(host, config, clock::now()) else { return Ok(None) };
    let micros = host.models.estimate_cost(request);
    let amount = microcents(micros);
    let increment = Increment { amount, fitting: amount, limit: budget.cap };
    let reserved = counter::reserve(&host.readers, &budget.counter, increment, budget.sum_used(host)).await;
    if reserved.map_err(|it| unreadable(&it))? {
        return Ok(Some(BudgetReservation { counter: budget.counter, micros }));
    }
    let message = "what may be spent on models this month, or this day for an AI agent, does not suffice for the call";
    Err(EffectError::new(EffectErrorKind::Limited, message).with_detail(EffectErrorDetail::BUDGET))
}

/// Replaces the reserved cost of a call with its actual cost.
pub async fn settle(host: &Host, reserved: BudgetReservation, answer: &ModelAnswer) {
    let difference = microcents(charged_micros(answer, reserved.micros)) - microcents(reserved.micros);
    if difference != 0
        && let Err(error) = counter::adjust(&host.readers, &reserved.counter, difference).await
    {
        tracing::warn!(%error, "cannot correct the spend of a document; its estimate stays");
    }
}

/// Returns the remaining budget in microcents; `None` without a cap.
///
/// # Errors
/// Returns any database error.
pub async fn find_remaining(host: &Host, config: &Config, now: Millis) -> sqlx::Result<Option<i64>> {
    let Some(budget) = Budget::find(host, config, now) else { return Ok(None) };
    let used = match counter::find(&host.readers, &budget.counter).await? {
        Some(used) => used,
        None => budget.sum_used(host).await?,
    };
    Ok(Some(budget.cap.saturating_sub(used).max(0)))
}

fn microcents(micros: u64) -> i64 {
    i64::try_from(micros.saturating_mul(MICROCENTS_PER_MICRO)).unwrap_or(i64::MAX)
}
