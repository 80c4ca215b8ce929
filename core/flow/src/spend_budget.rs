//! The spend budget for model calls: of an assistant for a month, of an AI agent for a day (docs/spec/flows.md#12.3).

use convengine_config::flow::document::FlowSettings;
use serde_json::Value;

/// Microcents per cent.
const MICROCENTS_PER_CENT: i64 = 1_000_000;

/// What is left of a budget before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetCheck {
    /// The model may be called.
    Enough,
    /// The model may be called, and no more than a fifth is left; both in microcents.
    Low {
        /// What is left.
        left: i64,
        /// The cap.
        cap: i64,
    },
    /// The model may not be called.
    Exhausted,
}

/// The remaining budget, reduced while the turn runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpendBudget {
    /// In microcents; `None` without a cap.
    remaining_microcents: Option<i64>,
    /// The cap, in microcents.
    cap_microcents: i64,
    /// Whether the low budget has been reported.
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

    /// Whether a model may be called. A low budget is reported once.
    pub fn check(&mut self) -> BudgetCheck {
        let Some(left) = self.remaining_microcents else { return BudgetCheck::Enough };
        if left <= 0 {
            return BudgetCheck::Exhausted;
        }
        let cap = self.cap_microcents;
        if left > cap / 5 || std::mem::replace(&mut self.is_low_reported, true) {
            return BudgetCheck::Enough;
        }
        BudgetCheck::Low { left, cap }
    }

    /// Subtracts what a call has cost.
    pub fn spend(&mut self, microcents: u64) {
        if let Some(left) = &mut self.remaining_microcents {
            *left = left.saturating_sub(i64::try_from(microcents).unwrap_or(i64::MAX));
        }
    }
}
