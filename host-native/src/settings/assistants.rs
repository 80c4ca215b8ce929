//! How much assistants may be used: `convengine.assistants`. (`convoship.md` 12.2)

use std::time::Duration;

use serde_json::Value;

use super::{Rate, boolean};
use crate::assistant::plan::Plan;

/// Calls of a public assistant in a minute, where nothing is said.
const PUBLIC: u32 = 60;

/// How often assistants may be called, and what the plan has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assistants {
    /// Calls of an assistant on the public routes; nothing for as many as one likes.
    pub public: Option<Rate>,
    /// Calls of an assistant in the simulator.
    pub simulator: Option<Rate>,
    /// What may be used in a month.
    pub plan: Plan,
    /// Whether this process fires the timers of sessions.
    pub timers: bool,
}

impl Default for Assistants {
    fn default() -> Self {
        Assistants { public: per_minute(PUBLIC), simulator: None, plan: Plan::default(), timers: true }
    }
}

impl Assistants {
    /// Reads the settings from a normalised tree.
    pub fn read(tree: &Value, problems: &mut Vec<String>) -> Assistants {
        let mut count = |key: &str, usual: u32| {
            let text = match tree.pointer(&format!("/assistants/{key}")) {
                None | Some(Value::Null) => return usual,
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            text.trim().parse().unwrap_or_else(|_| {
                problems.push(format!("convengine.assistants.{key}: '{text}' is no whole number: write one, or 0 for no limit"));
                usual
            })
        };
        let (public, simulator) = (count("rpm", PUBLIC), count("simulator-rpm", 0));
        let (sessions, imports) = (count("sessions-per-month", 0), count("imports-per-month", 0));
        let some = |it: u32| Some(it).filter(|it| *it > 0);
        Assistants {
            public: per_minute(public),
            simulator: per_minute(simulator),
            plan: Plan { sessions: some(sessions), imports: some(imports) },
            timers: boolean(tree, "/assistants/timers", true, problems),
        }
    }
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
            (Assistants::read(&json!({"assistants": tree}), &mut problems), problems)
        };
        assert_eq!(read(json!({})), (Assistants::default(), Vec::new()));
        let (found, problems) = read(json!({"rpm": 0, "simulator-rpm": "5", "sessions-per-month": 2, "imports-per-month": "1"}));
        assert_eq!((found.public, found.simulator.map(|it| it.burst), problems.len()), (None, Some(5), 0));
        assert_eq!(found.plan, Plan { sessions: Some(2), imports: Some(1) });
        assert_eq!(read(json!({"rpm": "many"})).1.len(), 1);
    }
}
