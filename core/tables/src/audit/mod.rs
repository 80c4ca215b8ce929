//! The audit: its stages, and which events are recorded.

mod stage;

pub use stage::Stage;

use convengine_config::settings::{AuditLevel, AuditSettings};

/// Whether an event is recorded. (docs/spec/data-and-api.md#7.1) The core publishes every event as a notice, so that numbers and hashes do
/// not depend on these settings; a host asks for each before it stores it.
///
/// ```
/// use convengine_config::{Config, Tables};
/// use convengine_tables::audit::is_recorded;
/// use serde_json::json;
///
/// let tree = json!({"audit": {"level": "ERROR_ONLY"}});
/// let audit = Config::compile(&Tables::default(), &tree).0.settings.audit;
/// assert!(is_recorded(&audit, "STEP_ERROR", "ORDER") && !is_recorded(&audit, "USER_INPUT", "ORDER"));
/// ```
pub fn is_recorded(settings: &AuditSettings, stage: &str, intent: &str) -> bool {
    if !settings.enabled || !matches_level(settings.level, stage) {
        return false;
    }
    let any = |patterns: &[String], text: &str| patterns.iter().any(|pattern| matches_glob(pattern, text));
    let passes = |include: &[String], exclude: &[String], text: &str| {
        let upper = text.trim().to_uppercase();
        (include.is_empty() || any(include, &upper)) && !any(exclude, &upper)
    };
    let filters = [&settings.include_stages, &settings.exclude_stages, &settings.include_intents, &settings.exclude_intents];
    filters.iter().all(|it| it.is_empty())
        || (passes(&settings.include_stages, &settings.exclude_stages, stage)
            && passes(&settings.include_intents, &settings.exclude_intents, intent))
}

fn matches_level(level: AuditLevel, stage: &str) -> bool {
    match level {
        AuditLevel::All => true,
        AuditLevel::Standard => !matches!(stage, "STEP_ENTER" | "STEP_EXIT"),
        AuditLevel::ErrorOnly => ["ERROR", "FAIL", "REJECTED"].iter().any(|it| stage.contains(it)),
        AuditLevel::None => false,
    }
}

/// Matches a pattern in which `*` matches any text, the empty one included. The pattern is about the whole text, and case matters.
///
/// ```
/// use convengine_tables::audit::matches_glob;
///
/// assert!(matches_glob("RULE_*", "RULE_MATCH (RulesStep)") && !matches_glob("RULE", "RULE_MATCH"));
/// ```
pub fn matches_glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, text, expected) in [
            ("RULE_*", "RULE_MATCH (RULESSTEP)", true),
            ("*", "", true),
            ("A*B*C", "A1B2C", true),
            ("A*B*C", "A1C2B", false),
            ("STEP", "STEP_ENTER", false),
            ("*ENTER", "STEP_ENTER", true),
        ] {
            assert_eq!(matches_glob(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn levels_and_lists_decide_together() {
        let list = |pattern: &str| vec![pattern.to_owned()];
        let mut settings = AuditSettings {
            enabled: true,
            level: AuditLevel::Standard,
            include_stages: Vec::new(),
            exclude_stages: list("RULE_NO*"),
            include_intents: Vec::new(),
            exclude_intents: list("SECRET"),
            cache_inspector: false,
        };
        assert!(is_recorded(&settings, "USER_INPUT", "ORDER"));
        assert!(!is_recorded(&settings, "STEP_ENTER", "ORDER"));
        assert!(!is_recorded(&settings, "RULE_NO_MATCH (RulesStep)", "ORDER"));
        assert!(!is_recorded(&settings, "USER_INPUT", "secret"));
        settings.level = AuditLevel::ErrorOnly;
        assert!(is_recorded(&settings, "STEP_ERROR", "ORDER") && !is_recorded(&settings, "USER_INPUT", "ORDER"));
    }
}
