//! What models may still cost: an assistant's cap for the month. (`convoship.md` 12.3)

use serde_json::{Value, json};

use super::Walk;
use crate::config::flow::document::FlowSettings;
use crate::turn::{EffectError, EffectErrorDetail, EffectErrorKind, Usage};

/// Millionths of a cent in a cent.
const MICROCENTS: i64 = 1_000_000;

/// What is left when a turn begins, and goes down while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    /// In millionths of a cent; absent without a cap.
    left: Option<i64>,
    cap: i64,
    /// Whether it was said that little is left.
    told: bool,
}

impl Budget {
    /// The budget of a turn: what the host says is left of the cap; all of it where nobody counts.
    pub fn of(event: &Value, settings: &FlowSettings) -> Budget {
        let Some(cents) = settings.monthly_llm_spend_cap_cents else { return Budget::default() };
        let cap = i64::try_from(cents).unwrap_or(i64::MAX).saturating_mul(MICROCENTS);
        let left = event.get("budget_left").and_then(Value::as_i64).unwrap_or(cap);
        Budget { left: Some(left), cap, told: false }
    }
}

impl Walk<'_> {
    /// Whether a model may be asked.
    pub(super) fn may_ask(&mut self, purpose: &str) -> Result<(), EffectError> {
        let Budget { left: Some(left), cap, told } = self.budget else { return Ok(()) };
        if left <= 0 {
            self.warn("budget.reached", json!({"purpose": purpose}));
            let error = EffectError::new(EffectErrorKind::Limited, "what the assistant may spend on models this month is spent");
            return Err(error.detailed(EffectErrorDetail::BUDGET));
        }
        // A fifth is left: time to tell.
        if left <= cap / 5 && !told {
            self.budget.told = true;
            self.trace("budget.low", json!({"left_microcents": left, "cap_microcents": cap}));
        }
        Ok(())
    }

    /// Takes off what a call has cost.
    pub(super) fn spend(&mut self, usage: Usage) {
        // A millionth of a unit is a hundred millionths of its cent.
        let microcents = usage.cost_micros.unwrap_or(0).saturating_mul(100);
        self.state.usage.cost_microcents += microcents;
        if let Some(left) = &mut self.budget.left {
            *left = left.saturating_sub(i64::try_from(microcents).unwrap_or(i64::MAX));
        }
    }
}
