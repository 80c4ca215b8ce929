//! Turn durability: `convengine.turn` and `convengine.audit.persistence.mode` (docs/decisions/0015-one-transaction-per-turn.md).

use std::time::Duration;

use convengine_core::turn::MAX_SCRIPT_TIMEOUT_MS;
use serde_json::Value;

use super::read_bool;

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
    /// What is stored before the turn ends.
    pub journaling: Journaling,
    /// When audit rows are stored.
    pub audit: AuditMode,
    /// Whether audit rows are stored with `_meta`.
    pub audit_meta: bool,
    /// Time limit of scripts, and the default of those without one; 2 s by default and 30 s at most when absent.
    pub script_timeout: Option<Duration>,
}

impl Default for TurnSettings {
    fn default() -> Self {
        TurnSettings {
            max_duration: Duration::from_secs(120),
            // Outlasts the time for which turns wait for the database.
            lease: Duration::from_secs(45),
            journaling: Journaling::Normal,
            audit: AuditMode::DeferredBulk,
            audit_meta: false,
            script_timeout: None,
        }
    }
}

impl TurnSettings {
    /// Reads the settings from a normalized tree.
    pub(super) fn from_tree(tree: &Value, problems: &mut Vec<String>) -> TurnSettings {
        let default = TurnSettings::default();
        let max_duration = read_duration(tree, "/turn/max-duration", problems).unwrap_or(default.max_duration);
        let lease = read_duration(tree, "/turn/lease", problems).unwrap_or(default.lease);
        let journaling = [("NORMAL", Journaling::Normal), ("STRICT", Journaling::Strict), ("OFF", Journaling::Off)];
        let journaling = read_choice(tree, "/turn/journal", &journaling, problems).unwrap_or(default.journaling);
        let audit = [("IMMEDIATE", AuditMode::Immediate), ("DEFERRED_BULK", AuditMode::DeferredBulk), ("DERIVED", AuditMode::Derived)];
        let audit = read_choice(tree, "/audit/persistence/mode", &audit, problems).unwrap_or(default.audit);
        let audit_meta = read_bool(tree, "/audit/persist-meta", default.audit_meta, problems);
        TurnSettings { max_duration, lease, journaling, audit, audit_meta, script_timeout: read_script_timeout(tree, problems) }
    }
}

/// Reads the time limit of scripts: a setting, or else the variable of the original product, in seconds.
fn read_script_timeout(tree: &Value, problems: &mut Vec<String>) -> Option<Duration> {
    let of_setting = read_duration(tree, "/assistants/script-timeout", problems);
    let variable = std::env::var(SCRIPT_TIMEOUT_VARIABLE).ok().filter(|_| of_setting.is_none());
    let of_variable = variable.and_then(|text| {
        let seconds = text.trim().parse::<u64>().ok().filter(|it| *it > 0);
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

/// Reads a duration setting: milliseconds, or a number with the unit `ms`, `s`, `m`, `h` or `d`.
pub(super) fn read_duration(tree: &Value, path: &str, problems: &mut Vec<String>) -> Option<Duration> {
    let value = tree.pointer(path).filter(|it| !it.is_null())?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let found = parse_duration(&text);
    if found.is_none() {
        let line = "is not a duration; use milliseconds or a number with ms, s, m, h or d, such as 120s";
        problems.push(format!("{}: '{}' {line}", setting_name(path), text.trim()));
    }
    found
}

/// Parses a duration: milliseconds, or a number with the unit `ms`, `s`, `m`, `h` or `d`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(unit).filter(|it| *it > 0)?;
    Some(Duration::from_millis(millis))
}

fn read_choice<T: Copy>(tree: &Value, path: &str, known: &[(&str, T)], problems: &mut Vec<String>) -> Option<T> {
    let value = tree.pointer(path).filter(|it| !it.is_null())?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let normalized = text.trim().replace('-', "_").to_uppercase();
    let found = known.iter().find(|it| it.0 == normalized).map(|it| it.1);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|it| it.0).collect();
        problems.push(format!("{}: unknown value '{text}'; use one of {}", setting_name(path), names.join(", ")));
    }
    found
}

fn setting_name(path: &str) -> String {
    format!("convengine{}", path.replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_and_names_are_read_or_rejected() {
        let mut problems = Vec::new();
        let tree = json!({"turn": {"max-duration": "2m", "lease": 1500, "journal": "strict"}, "audit": {"persistence": {"mode": "derived"}, "persist-meta": "yes"}});
        let turns = TurnSettings::from_tree(&tree, &mut problems);
        let expected = TurnSettings {
            max_duration: Duration::from_secs(120),
            lease: Duration::from_millis(1_500),
            journaling: Journaling::Strict,
            audit: AuditMode::Derived,
            audit_meta: true,
            script_timeout: None,
        };
        assert_eq!((turns, problems.len()), (expected, 0));
        let tree = json!({"turn": {"max-duration": "soon", "lease": 0, "journal": "some"}, "audit": {"persistence": {"mode": 5}, "persist-meta": "some"}});
        assert_eq!(TurnSettings::from_tree(&tree, &mut problems), TurnSettings::default());
        assert_eq!(problems.len(), 5);
        assert!(problems[0].starts_with("convengine.turn.max-duration: 'soon' is not a duration"), "{problems:?}");
    }
}
