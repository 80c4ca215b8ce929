//! Model budgets of assistants by month, and of AI agents by day: the estimated cost is reserved before a call and corrected with the actual
//! cost. (docs/spec/flows.md#12.3)

use convengine_core::config::Config;
use convengine_core::turn::{EffectError, EffectErrorDetail, EffectErrorKind, Millis};
use convengine_effects::llm::ModelAnswer;
use convengine_storage::assistant::{ProgramKey, draft, session};
use convengine_storage::counter::{self, CounterKey, Increment};
use serde_json::Value;

use super::plan::{self, DocumentCaps};
use crate::Content;
use crate::spend_cap::{charged_micros, unreadable};

/// Microcents per millionth of a currency unit.
const MICROCENTS_PER_MICRO: u64 = 100;

/// The reserved cost of a call. A call that ends without a known cost, or whose turn is cancelled, is charged what was reserved.
#[derive(Debug)]
pub struct BudgetReservation {
    counter: CounterKey,
    micros: u64,
}

/// The budget of a document.
#[derive(Debug)]
pub struct Budget {
    counter: CounterKey,
    /// In microcents.
    cap: i64,
}

impl Budget {
    /// Returns the budget of the document of a turn; `None` without a cap.
    pub fn of_turn(content: &Content, config: &Config, now: Millis) -> Option<Budget> {
        let flow = config.flow()?;
        Budget::new(content, &ProgramKey::of_flow(flow), DocumentCaps::from_settings(&flow.document.settings), now)
    }

    /// Returns the budget of a document outside of turns, as its draft sets it; `None` without a cap.
    pub async fn of_draft(content: &Content, key: &ProgramKey, now: Millis) -> sqlx::Result<Option<Budget>> {
        let Some(draft) = draft::find(&content.readers, key.as_str()).await? else { return Ok(None) };
        let document: Value = serde_json::from_str(&draft.document).unwrap_or_default();
        Ok(Budget::new(content, key, DocumentCaps::from_draft(&document), now))
    }

    fn new(content: &Content, key: &ProgramKey, caps: DocumentCaps, now: Millis) -> Option<Budget> {
        let (cap, period) = plan::spend_cap(caps, now)?;
        let counter = CounterKey { workspace: content.workspace.clone(), kind: "llm", reference: key.as_str().to_owned(), period };
        Some(Budget { counter, cap: i64::try_from(cap).unwrap_or(i64::MAX) })
    }

    /// Returns what was used before the counter existed.
    async fn sum_used(&self, content: &Content) -> sqlx::Result<i64> {
        let CounterKey { workspace, kind, reference, period } = &self.counter;
        session::sum_usage(&content.readers, workspace, kind, *period, Some(reference)).await
    }
}

/// Reserves the estimated cost of a call in millionths of a currency unit.
///
/// # Errors
/// Returns an error for the turn when the budget is exceeded or cannot be read.
pub async fn reserve(content: &Content, budget: Budget, micros: u64) -> Result<BudgetReservation, EffectError> {
    let amount = microcents(micros);
    let increment = Increment { amount, fitting: amount, limit: budget.cap };
    let reserved = counter::reserve(&content.readers, &budget.counter, increment, budget.sum_used(content)).await;
    if reserved.map_err(|it| unreadable(&it))? {
        return Ok(BudgetReservation { counter: budget.counter, micros });
    }
    let message = "the remaining model budget of this month, or of this day for an AI agent, does not cover the call";
    Err(EffectError::new(EffectErrorKind::Limited, message).with_detail(EffectErrorDetail::BUDGET))
}

/// Replaces the reserved cost of a call with its actual cost.
pub async fn settle(content: &Content, reserved: BudgetReservation, answer: &ModelAnswer) {
    let difference = microcents(charged_micros(answer, reserved.micros)) - microcents(reserved.micros);
    if difference != 0
        && let Err(error) = counter::adjust(&content.readers, &reserved.counter, difference).await
    {
        tracing::warn!(%error, "cannot correct the spend of a document; its estimate stays");
    }
}

/// Returns the remaining budget in microcents; `None` without a cap.
pub async fn find_remaining(content: &Content, config: &Config, now: Millis) -> sqlx::Result<Option<i64>> {
    let Some(budget) = Budget::of_turn(content, config, now) else { return Ok(None) };
    let used = match counter::find(&content.readers, &budget.counter).await? {
        Some(used) => used,
        None => budget.sum_used(content).await?,
    };
    Ok(Some(budget.cap.saturating_sub(used).max(0)))
}

fn microcents(micros: u64) -> i64 {
    i64::try_from(micros.saturating_mul(MICROCENTS_PER_MICRO)).unwrap_or(i64::MAX)
}
