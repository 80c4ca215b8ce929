//! The monthly spend budget of an assistant for model calls (docs/spec/flows.md#12.3).

use serde_json::{Value, json};

use super::Walk;
use crate::config::flow::document::FlowSettings;
use crate::turn::{EffectError, EffectErrorDetail, EffectErrorKind, Usage};

/// Microcents per cent.
const MICROCENTS: i64 = 1_000_000;

/// The remaining budget, reduced while the turn runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    /// In microcents; `None` without a cap.
    left: Option<i64>,
    /// The monthly cap, in microcents.
    cap: i64,
    /// Whether the low budget has been traced.
    told: bool,
}

impl Budget {
    /// Reads the remaining budget from the event; the whole cap when the host does not count.
    pub fn of(event: &Value, settings: &FlowSettings) -> Budget {
        let Some(cents) = settings.monthly_llm_spend_cap_cents else { return Budget::default() };
        let cap = i64::try_from(cents).unwrap_or(i64::MAX).saturating_mul(MICROCENTS);
        let left = event.get("budget_left").and_then(Value::as_i64).unwrap_or(cap);
        Budget { left: Some(left), cap, told: false }
    }
}

impl Walk<'_> {
    /// Checks that a model may be called.
    ///
    /// # Errors
    /// Returns `Limited` with the detail `BUDGET` when the budget is used up.
    pub(super) fn may_ask(&mut self, purpose: &str) -> Result<(), EffectError> {
        let Budget { left: Some(left), cap, told: is_reported } = self.budget else { return Ok(()) };
        if left <= 0 {
            self.warn("budget.reached", json!({"purpose": purpose}));
            let error = EffectError::new(EffectErrorKind::Limited, "what the assistant may spend on models this month is spent");
            return Err(error.detailed(EffectErrorDetail::BUDGET));
        }
        // Traced once when a fifth is left.
        if left <= cap / 5 && !is_reported {
            self.budget.told = true;
            self.trace("budget.low", json!({"left_microcents": left, "cap_microcents": cap}));
        }
        Ok(())
    }

    /// Subtracts the cost of a call.
    pub(super) fn spend(&mut self, usage: Usage) {
        // 1 micro-unit is 100 microcents.
        let microcents = usage.cost_micros.unwrap_or(0).saturating_mul(100);
        self.state.usage.cost_microcents += microcents;
        if let Some(left) = &mut self.budget.left {
            *left = left.saturating_sub(i64::try_from(microcents).unwrap_or(i64::MAX));
        }
    }
}
