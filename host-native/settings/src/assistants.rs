//! Limits and quotas of assistants: `convengine.assistants` (docs/spec/flows.md#12.2).

use std::time::Duration;

use serde::de::{Deserializer, Error};

use super::Rate;
use super::groups::groups;
use super::value::{scalar, whole};
use crate::search_memory::{DEFAULT_MEMORY_MB, SearchMemory};

/// Default rate limit of a visitor of a deployment in calls per minute.
const DEFAULT_PUBLIC_RPM: u32 = 60;

/// Default rate limit of an address that calls a deployment, which several visitors may share.
const DEFAULT_ADDRESS_RPM: u32 = 300;

/// Monthly quotas; absent means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sessions started by deployments.
    pub sessions: Option<u32>,
    /// Imported documents.
    pub imports: Option<u32>,
}

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
    /// What searches of knowledge bases may keep in memory.
    pub search_memory: SearchMemory,
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
            search_memory: SearchMemory::default(),
        }
    }
}

groups! {
    /// `assistants.*`
    pub(super) struct AssistantTree {
        rpm: u32 as "limit" = DEFAULT_PUBLIC_RPM,
        rpm_per_address: u32 as "limit" = DEFAULT_ADDRESS_RPM,
        simulator_rpm: u32 as "limit",
        sessions_per_month: u32 as "limit",
        imports_per_month: u32 as "limit",
        pub(super) script_timeout: Option<Duration> as "scalar",
        timers: bool as "scalar" = true,
        eval_pass_threshold: f64 as "share" = DEFAULT_EVAL_PASS_THRESHOLD,
        knowledge_memory_mb: u64 as "whole::<_, _, 16, 65_536>" = DEFAULT_MEMORY_MB,
    }
}

impl AssistantSettings {
    pub(super) fn new(tree: &AssistantTree) -> AssistantSettings {
        let non_zero = |limit: u32| Some(limit).filter(|limit| *limit > 0);
        AssistantSettings {
            public: per_minute(tree.rpm),
            public_address: per_minute(tree.rpm_per_address),
            simulator: per_minute(tree.simulator_rpm),
            plan: Plan { sessions: non_zero(tree.sessions_per_month), imports: non_zero(tree.imports_per_month) },
            timers: tree.timers,
            eval_pass_threshold: tree.eval_pass_threshold,
            search_memory: SearchMemory::from_mebibytes(tree.knowledge_memory_mb),
        }
    }
}

/// Deserializes a number of which 0 is no limit.
fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let text: String = scalar(deserializer)?;
    text.parse().map_err(|_| D::Error::custom(format!("'{text}' is not a whole number; set a number, or 0 for no limit")))
}

/// Deserializes a share, from 0 to 1.
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text: String = scalar(deserializer)?;
    let share = text.parse().ok().filter(|it| (0.0..=1.0).contains(it));
    share.ok_or_else(|| D::Error::custom(format!("'{text}' is not a share; set a number from 0 to 1")))
}

fn per_minute(count: u32) -> Option<Rate> {
    (count > 0).then_some(Rate { count, per: Duration::from_secs(60), burst: count })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn public_assistants_are_limited_and_the_simulator_is_not() {
        let read = |tree: Value| {
            let (tree, problems) = read_test_tree(&json!({"assistants": tree}));
            (AssistantSettings::new(&tree.assistants), problems)
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
    fn the_memory_of_searches_is_bounded() {
        for (given, mebibytes, problems) in [(json!(null), 512, 0), (json!(64), 64, 0), (json!("1024"), 1024, 0), (json!(15), 512, 1)] {
            let tree = if given.is_null() { json!({}) } else { json!({"knowledge-memory-mb": given}) };
            let (tree, found) = read_test_tree(&json!({"assistants": tree}));
            let read = AssistantSettings::new(&tree.assistants).search_memory;
            assert_eq!((read, found.len()), (SearchMemory::from_mebibytes(mebibytes), problems), "{given}");
        }
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
            let (tree, found) = read_test_tree(&json!({"assistants": {"eval-pass-threshold": given}}));
            let read = AssistantSettings::new(&tree.assistants);
            assert_eq!((read.eval_pass_threshold.to_bits(), found.len()), (f64::to_bits(threshold), problems), "{given}");
        }
    }
}
