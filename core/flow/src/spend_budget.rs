//! The spend budget for model calls: of an assistant for a month, of an AI agent for a day (docs/spec/flows.md#12.3).

use convengine_config::flow::document::FlowSettings;
use convengine_turn::{EffectError, EffectErrorDetail, EffectErrorKind, Usage};
use serde_json::{Value, json};

use super::Walker;

/// Microcents per cent.
const MICROCENTS_PER_CENT: i64 = 1_000_000;

/// The remaining budget, reduced while the turn runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpendBudget {
    /// In microcents; `None` without a cap.
    remaining_microcents: Option<i64>,
    /// The cap, in microcents.
    cap_microcents: i64,
    /// Whether the low budget has been traced.
    is_low_reported: bool,
}

impl SpendBudget {
    /// Reads the remaining budget from the event; the whole cap when the host does not count.
    pub fn from_event(event: &Value, settings: &FlowSettings) -> SpendBudget {
        let Some(cents) = settings.monthly_llm_spend_cap_cents.or(settings.daily_spend_cap_cents) else { return SpendBudget::default() };
        let cap = i64::try_from(cents).unwrap_or(i64::MAX).saturating_mul(MICROCENTS_PER_CENT);
        let left = event.get("budget_left").and_then(Value::as_i64).unwrap_or(cap);
        SpendBudget { remaining_microcents: Some(left), cap_microcents: cap, is_low_reported: false }
    }
}

impl Walker<'_> {
    /// Checks that a model may be called.
    ///
    /// # Errors
    /// Returns `Limited` with the detail `BUDGET` when the budget is used up.
    pub(super) fn check_budget(&mut self, purpose: &str) -> Result<(), EffectError> {
        let SpendBudget { remaining_microcents: Some(left), cap_microcents: cap, is_low_reported: is_reported } = self.record.budget else {
            return Ok(());
        };
        if left <= 0 {
            self.warn("budget.reached", json!({"purpose": purpose}));
            let error = EffectError::new(EffectErrorKind::Limited, "spend budget exhausted; model call refused");
            return Err(error.with_detail(EffectErrorDetail::BUDGET));
        }
        // Traced once when a fifth is left.
        if left <= cap / 5 && !is_reported {
            self.record.budget.is_low_reported = true;
            self.trace("budget.low", json!({"left_microcents": left, "cap_microcents": cap}));
        }
        Ok(())
    }

    /// Subtracts the cost of a call.
    pub(super) fn record_cost(&mut self, usage: Usage) {
        // 1 micro-unit is 100 microcents.
        let microcents = usage.cost_micros.unwrap_or(0).saturating_mul(100);
        self.state.usage.cost_microcents += microcents;
        if let Some(left) = &mut self.record.budget.remaining_microcents {
            *left = left.saturating_sub(i64::try_from(microcents).unwrap_or(i64::MAX));
        }
    }
}
