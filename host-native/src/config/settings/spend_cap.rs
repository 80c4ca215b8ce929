//! The cap on model cost: `convengine.llm.spend-cap`.

use convengine_core::turn::Millis;
use serde_json::Value;

use super::llm::{parse_number, to_millionths};
use crate::clock;

/// A maximum cost per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendCap {
    /// The amount in millionths of the currency of the prices.
    pub micros: u64,
    /// The period.
    pub per: SpendPeriod,
}

/// A calendar period in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendPeriod {
    /// A day.
    Day,
    /// A month.
    Month,
}

impl SpendCap {
    /// Reads the settings from a normalized tree.
    pub(super) fn from_tree(tree: &Value, problems: &mut Vec<String>) -> Option<SpendCap> {
        let cap = tree.pointer("/llm/spend-cap").filter(|it| !it.is_null())?;
        let amount = cap.get("amount").and_then(parse_number).and_then(to_millionths);
        if amount.is_none() {
            let line = "missing or invalid amount; set a number in the currency of the prices, such as 20 or 0.5";
            problems.push(format!("convengine.llm.spend-cap.amount: {line}"));
        }
        let per = match cap.get("per").and_then(Value::as_str).map(str::trim) {
            Some("day") => Some(SpendPeriod::Day),
            Some("month") => Some(SpendPeriod::Month),
            _ => {
                problems.push("convengine.llm.spend-cap.per: missing or unknown period; use day or month".to_owned());
                None
            }
        };
        Some(SpendCap { micros: amount?, per: per? })
    }
}

impl SpendPeriod {
    /// The first and last day of the period that contains a time, as `2026-01-31`.
    pub fn date_range(self, at: Millis) -> (String, String) {
        let today = utc_day(at);
        match self {
            SpendPeriod::Day => (today.clone(), today),
            SpendPeriod::Month => {
                let month = today.get(..7).unwrap_or_default();
                (format!("{month}-01"), format!("{month}-31"))
            }
        }
    }

    /// The name of the period.
    pub fn name(self) -> &'static str {
        match self {
            SpendPeriod::Day => "day",
            SpendPeriod::Month => "month",
        }
    }
}

/// The UTC date of a time, as `2026-01-31`.
pub fn utc_day(at: Millis) -> String {
    clock::format_iso(at).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cap_is_an_amount_and_a_period() {
        let read = |cap: Value| {
            let mut problems = Vec::new();
            (SpendCap::from_tree(&json!({"llm": {"spend-cap": cap}}), &mut problems), problems.len())
        };
        assert_eq!(read(Value::Null), (None, 0));
        assert_eq!(read(json!({"amount": "0.5", "per": "day"})), (Some(SpendCap { micros: 500_000, per: SpendPeriod::Day }), 0));
        assert_eq!(read(json!({"amount": 20, "per": "month"})), (Some(SpendCap { micros: 20_000_000, per: SpendPeriod::Month }), 0));
        for (cap, lines) in
            [(json!({"amount": -1, "per": "day"}), 1), (json!({"amount": 1}), 1), (json!(5), 2), (json!({"per": "week"}), 2)]
        {
            assert_eq!(read(cap.clone()), (None, lines), "{cap}");
        }
        let at = 1_767_323_045_678;
        assert_eq!(SpendPeriod::Day.date_range(at), ("2026-01-02".to_owned(), "2026-01-02".to_owned()));
        assert_eq!(SpendPeriod::Month.date_range(at), ("2026-01-01".to_owned(), "2026-01-31".to_owned()));
    }
}
