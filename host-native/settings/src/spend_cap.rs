//! The cap on model cost: `convengine.llm.spend-cap`.

use convengine_core::turn::Millis;
use convengine_host_base::clock;
use serde::Deserialize;

use super::value::{FromText, choose, millionths, scalar};

/// A maximum cost per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SpendCap {
    /// The amount in millionths of the currency of the prices.
    #[serde(rename = "amount", deserialize_with = "millionths")]
    pub micros: u64,
    /// The period.
    #[serde(deserialize_with = "scalar")]
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

impl FromText for SpendPeriod {
    fn from_text(text: &str) -> Result<SpendPeriod, String> {
        choose(text, &[("day", SpendPeriod::Day), ("month", SpendPeriod::Month)])
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
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn a_cap_is_an_amount_and_a_period() {
        let read = |cap: Value| {
            let (tree, problems) = read_test_tree(&json!({"llm": {"spend-cap": cap}}));
            (tree.llm.spend_cap, problems.len())
        };
        assert_eq!(read(Value::Null), (None, 0));
        assert_eq!(read(json!({"amount": "0.5", "per": "day"})), (Some(SpendCap { micros: 500_000, per: SpendPeriod::Day }), 0));
        assert_eq!(read(json!({"amount": 20, "per": "month"})), (Some(SpendCap { micros: 20_000_000, per: SpendPeriod::Month }), 0));
        for (cap, lines) in
            [(json!({"amount": -1, "per": "day"}), 1), (json!({"amount": 1}), 1), (json!(5), 1), (json!({"per": "week"}), 2)]
        {
            assert_eq!(read(cap.clone()), (None, lines), "{cap}");
        }
        let at = 1_767_323_045_678;
        assert_eq!(SpendPeriod::Day.date_range(at), ("2026-01-02".to_owned(), "2026-01-02".to_owned()));
        assert_eq!(SpendPeriod::Month.date_range(at), ("2026-01-01".to_owned(), "2026-01-31".to_owned()));
    }
}
