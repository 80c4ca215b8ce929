//! Turn durability: `convengine.turn` and `convengine.audit.persistence.mode` (docs/decisions/0015-one-transaction-per-turn.md).

use std::time::Duration;

use convengine_core::turn::MAX_SCRIPT_TIMEOUT_MS;

use super::groups::groups;
use super::value::{FromText, choose, scalar, whole};

/// How many turns run in the background at once, unless it is set.
pub const DEFAULT_BACKGROUND_TURNS: usize = 32;

/// The environment variable for the time limit of scripts.
const SCRIPT_TIMEOUT_VARIABLE: &str = "PYTHON_NODE_TIMEOUT_SECONDS";

/// What is stored of a turn before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journaling {
    /// The start and each completion as it arrives; waits for storage only before effects that write.
    Normal,
    /// As `Normal`, but always waits for storage.
    Strict,
    /// Nothing until an effect is about to write.
    Off,
}

/// When audit rows are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditMode {
    /// The rows of a slice, while the next effect runs.
    Immediate,
    /// Together with the turn.
    DeferredBulk,
    /// Never: they are derived by replay on request.
    Derived,
}

/// Settings of `convengine.turn` and `convengine.audit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnSettings {
    /// Maximum duration of a turn.
    pub max_duration: Duration,
    /// How long the lease of a process on an open turn lasts unless renewed.
    pub lease: Duration,
    /// How many turns run in the background at once.
    pub max_background: usize,
    /// What is stored before the turn ends.
    pub journaling: Journaling,
    /// When audit rows are stored.
    pub audit: AuditMode,
    /// Whether audit rows are stored with `_meta`.
    pub audit_meta: bool,
    /// How long tools may take.
    pub tools: ToolTimeouts,
    /// Time limit of scripts, and the default of those without one; 2 s by default and 30 s at most when absent.
    pub script_timeout: Option<Duration>,
}

impl Default for TurnSettings {
    fn default() -> Self {
        TurnSettings {
            max_duration: Duration::from_secs(120),
            // Outlasts the time for which turns wait for the database.
            lease: Duration::from_secs(45),
            max_background: DEFAULT_BACKGROUND_TURNS,
            journaling: Journaling::Normal,
            audit: AuditMode::DeferredBulk,
            audit_meta: false,
            tools: ToolTimeouts::default(),
            script_timeout: None,
        }
    }
}

groups! {
    /// `tools.*`: how long tools and tasks may take, whatever their rows and nodes say.
    #[derive(Copy, PartialEq, Eq)]
    pub struct ToolTimeouts {
        /// One call of any kind; retries have their own.
        #[serde(rename = "timeout")]
        pub call: Duration as "scalar" = Duration::from_secs(60),
        /// A query.
        #[serde(rename = "sql-timeout")]
        pub sql: Duration as "scalar" = Duration::from_secs(10),
    }

    /// `turn.*`
    pub(super) struct TurnTree {
        max_duration: Duration as "scalar" = TurnSettings::default().max_duration,
        lease: Duration as "scalar" = TurnSettings::default().lease,
        max_background: usize as "whole::<_, _, 1, 1_000>" = TurnSettings::default().max_background,
        journal: Journaling as "scalar" = TurnSettings::default().journaling,
    }

    /// `audit.*`, beside what the core reads.
    pub(super) struct AuditTree {
        persistence: PersistenceTree,
        persist_meta: bool as "scalar",
    }

    struct PersistenceTree {
        mode: Option<AuditMode> as "scalar",
    }
}

impl FromText for Journaling {
    fn from_text(text: &str) -> Result<Journaling, String> {
        choose(text, &[("normal", Journaling::Normal), ("strict", Journaling::Strict), ("off", Journaling::Off)])
    }
}

impl FromText for AuditMode {
    fn from_text(text: &str) -> Result<AuditMode, String> {
        let modes = [("IMMEDIATE", AuditMode::Immediate), ("DEFERRED_BULK", AuditMode::DeferredBulk), ("DERIVED", AuditMode::Derived)];
        choose(text, &modes)
    }
}

impl TurnSettings {
    pub(super) fn new(
        turn: &TurnTree,
        audit: &AuditTree,
        tools: ToolTimeouts,
        script_timeout: Option<Duration>,
        problems: &mut Vec<String>,
    ) -> TurnSettings {
        TurnSettings {
            max_duration: turn.max_duration,
            lease: turn.lease,
            max_background: turn.max_background,
            journaling: turn.journal,
            audit: audit.persistence.mode.unwrap_or(TurnSettings::default().audit),
            audit_meta: audit.persist_meta,
            tools,
            script_timeout: read_script_timeout(script_timeout, problems),
        }
    }
}

/// Reads the time limit of scripts: a setting, or else the variable of the original product, in seconds.
fn read_script_timeout(of_setting: Option<Duration>, problems: &mut Vec<String>) -> Option<Duration> {
    let variable = std::env::var(SCRIPT_TIMEOUT_VARIABLE).ok().filter(|_| of_setting.is_none());
    let of_variable = variable.and_then(|text| {
        let seconds = text.trim().parse::<u64>().ok().filter(|seconds| *seconds > 0);
        if seconds.is_none() {
            problems.push(format!("{SCRIPT_TIMEOUT_VARIABLE}: '{text}' is not a number of seconds; set 1 to 30"));
        }
        seconds.map(Duration::from_secs)
    });
    let found = of_setting.or(of_variable)?;
    let longest = Duration::from_millis(MAX_SCRIPT_TIMEOUT_MS.into());
    if found > longest {
        let message =
            format!("convengine.assistants.script-timeout: {} ms is too long; set at most {} ms", found.as_millis(), longest.as_millis());
        problems.push(message);
    }
    Some(found.min(longest))
}

#[cfg(test)]
mod tests {
    use super::super::tree::read_test_tree;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn durations_and_names_are_read_or_rejected() {
        let read = |tree: Value| {
            let (tree, mut problems) = read_test_tree(&tree);
            (TurnSettings::new(&tree.turn, &tree.audit, tree.tools, None, &mut problems), problems)
        };
        let tree = json!({"turn": {"max-duration": "2m", "lease": 1500, "max-background": "5", "journal": "strict"}, "audit": {"persistence": {"mode": "derived"}, "persist-meta": "yes"}, "tools": {"timeout": "5s"}});
        let (turns, problems) = read(tree);
        let expected = TurnSettings {
            max_duration: Duration::from_secs(120),
            lease: Duration::from_millis(1_500),
            max_background: 5,
            journaling: Journaling::Strict,
            audit: AuditMode::Derived,
            audit_meta: true,
            tools: ToolTimeouts { call: Duration::from_secs(5), ..ToolTimeouts::default() },
            script_timeout: None,
        };
        assert_eq!((turns, problems.len()), (expected, 0));
        let tree = json!({"turn": {"max-duration": "soon", "lease": 0, "max-background": 0, "journal": "some"}, "audit": {"persistence": {"mode": 5}, "persist-meta": "some"}});
        let (turns, problems) = read(tree);
        assert_eq!((turns, problems.len()), (TurnSettings::default(), 6));
        assert!(problems.iter().any(|it| it.starts_with("convengine.turn.max-duration: 'soon' is not a duration")), "{problems:?}");
    }
}
