//! Limits and quotas of assistants: `convengine.assistants` (docs/spec/flows.md#12.2).

use std::time::Duration;

use serde_json::Value;

use super::{Rate, read_bool};
use crate::runtime::assistant::plan::Plan;

/// Default rate limit of a visitor of a deployment in calls per minute.
const DEFAULT_PUBLIC_RPM: u32 = 60;

/// Default rate limit of an address that calls a deployment, which several visitors may share.
const DEFAULT_ADDRESS_RPM: u32 = 300;

/// Rate limits and monthly quotas of assistants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AssistantSettings {
    /// Rate limit per visitor on the public routes; absent for no limit.
    pub public: Option<Rate>,
    /// Rate limit per address and deployment on the public routes; absent for no limit.
    pub public_address: Option<Rate>,
    /// Rate limit per assistant in the simulator; absent for no limit.
    pub simulator: Option<Rate>,
    /// Monthly quotas.
    pub plan: Plan,
    /// Whether this process fires the timers of sessions.
    pub timers: bool,
    /// Share of an AI agent's evals that have to pass before it is published; 0 runs none.
    pub eval_pass_threshold: f64,
}

/// All evals have to pass.
const DEFAULT_EVAL_PASS_THRESHOLD: f64 = 1.0;

impl Default for AssistantSettings {
    fn default() -> Self {
        AssistantSettings {
            public: per_minute(DEFAULT_PUBLIC_RPM),
            public_address: per_minute(DEFAULT_ADDRESS_RPM),
            simulator: None,
            plan: Plan::default(),
            timers: true,
            eval_pass_threshold: DEFAULT_EVAL_PASS_THRESHOLD,
        }
    }
}

impl AssistantSettings {
    /// Reads the settings from a normalized tree.
    pub fn from_tree(tree: &Value, problems: &mut Vec<String>) -> AssistantSettings {
        let mut count = |key: &str, usual: u32| {
            let text = match tree.pointer(&format!("/assistants/{key}")) {
                None | Some(Value::Null) => return usual,
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            text.trim().parse().unwrap_or_else(|_| {
                problems.push(format!("convengine.assistants.{key}: '{text}' is not a whole number; set a number, or 0 for no limit"));
                usual
            })
        };
        let (public, simulator) = (count("rpm", DEFAULT_PUBLIC_RPM), count("simulator-rpm", 0));
        let address = count("rpm-per-address", DEFAULT_ADDRESS_RPM);
        let (sessions, imports) = (count("sessions-per-month", 0), count("imports-per-month", 0));
        let non_zero = |it: u32| Some(it).filter(|it| *it > 0);
        AssistantSettings {
            public: per_minute(public),
            public_address: per_minute(address),
            simulator: per_minute(simulator),
            plan: Plan { sessions: non_zero(sessions), imports: non_zero(imports) },
            timers: read_bool(tree, "/assistants/timers", true, problems),
            eval_pass_threshold: read_threshold(tree, problems),
        }
    }
}

fn read_threshold(tree: &Value, problems: &mut Vec<String>) -> f64 {
    let text = match tree.pointer("/assistants/eval-pass-threshold") {
        None | Some(Value::Null) => return DEFAULT_EVAL_PASS_THRESHOLD,
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    text.trim().parse().ok().filter(|it| (0.0..=1.0).contains(it)).unwrap_or_else(|| {
        problems.push(format!("convengine.assistants.eval-pass-threshold: '{text}' is no share; set a number from 0 to 1"));
        DEFAULT_EVAL_PASS_THRESHOLD
    })
}

fn per_minute(count: u32) -> Option<Rate> {
    (count > 0).then_some(Rate { count, per: Duration::from_secs(60), burst: count })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn public_assistants_are_limited_and_the_simulator_is_not() {
        let read = |tree: Value| {
            let mut problems = Vec::new();
            (AssistantSettings::from_tree(&json!({"assistants": tree}), &mut problems), problems)
        };
        assert_eq!(read(json!({})), (AssistantSettings::default(), Vec::new()));
        let (found, problems) =
            read(json!({"rpm": 0, "rpm-per-address": 7, "simulator-rpm": "5", "sessions-per-month": 2, "imports-per-month": "1"}));
        assert_eq!((found.public, found.simulator.map(|it| it.burst), problems.len()), (None, Some(5), 0));
        assert_eq!(found.public_address.map(|it| it.burst), Some(7));
        assert_eq!(found.plan, Plan { sessions: Some(2), imports: Some(1) });
        assert_eq!(read(json!({"rpm": "many"})).1.len(), 1);
    }

    #[test]
    fn the_pass_threshold_is_a_share() {
        for (given, threshold, problems) in [
            (json!(null), 1.0, 0),
            (json!(0.5), 0.5, 0),
            (json!("0"), 0.0, 0),
            (json!(1), 1.0, 0),
            (json!(1.5), 1.0, 1),
            (json!("NaN"), 1.0, 1),
            (json!("all"), 1.0, 1),
        ] {
            let mut found = Vec::new();
            let read = AssistantSettings::from_tree(&json!({"assistants": {"eval-pass-threshold": given}}), &mut found);
            assert_eq!((read.eval_pass_threshold.to_bits(), found.len()), (f64::to_bits(threshold), problems), "{given}");
        }
    }
}
