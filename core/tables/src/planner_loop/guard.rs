//! Checks whether a planned call is allowed, before the tool is looked up. (docs/spec/tools.md#1.5)

use convengine_config::settings::NextToolSettings;

use super::semantic;

/// Placeholder for the predecessor of the first tool.
pub(super) const START_TOOL: &str = "__START__";

/// The tag by which a planner marks an operation that is forbidden to the user.
const RESTRICTED_TAG: &str = "POLICY_RESTRICTED_OPERATION";

/// Whether a plan's tag forbids it.
pub(super) fn is_restricted(tag: Option<&str>) -> bool {
    tag.is_some_and(|it| it.eq_ignore_ascii_case(RESTRICTED_TAG))
}

/// The reason why a tool may not follow the current one, if any.
pub(super) fn refusal_reason(settings: &NextToolSettings, current: &str, next: &str) -> Option<&'static str> {
    if !semantic::can_follow(current, next) {
        return Some("SEMANTIC_PIPELINE_SEQUENCE_GUARD_BLOCKED");
    }
    let allowed = settings.allowed.get(&current.trim().to_uppercase()).filter(|it| !it.is_empty());
    let is_allowed = match allowed {
        Some(allowed) => allowed.contains(&next.trim().to_uppercase()),
        None => !settings.fail_closed,
    };
    (settings.enabled && !is_allowed).then_some("NEXT_TOOL_GUARDRAIL_BLOCKED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_tools_follow() {
        let lists = [(START_TOOL, vec!["A.ONE".to_owned()]), ("A.ONE", vec!["A.TWO".to_owned()]), ("A.TWO", vec![])];
        let allowed = lists.into_iter().map(|(from, to)| (from.to_owned(), to)).collect();
        let mut settings = NextToolSettings { enabled: true, fail_closed: false, allowed };
        let blocked = Some("NEXT_TOOL_GUARDRAIL_BLOCKED");
        assert_eq!((refusal_reason(&settings, START_TOOL, " a.one"), refusal_reason(&settings, START_TOOL, "a.two")), (None, blocked));
        assert_eq!((refusal_reason(&settings, "a.one", "A.two"), refusal_reason(&settings, "a.one", "a.one")), (None, blocked));
        assert_eq!((refusal_reason(&settings, "a.two", "x"), refusal_reason(&settings, "x", "y")), (None, None));
        settings.fail_closed = true;
        assert_eq!((refusal_reason(&settings, "a.two", "x"), refusal_reason(&settings, "x", "y")), (blocked, blocked));
        settings.enabled = false;
        assert_eq!(refusal_reason(&settings, START_TOOL, "a.two"), None);
    }

    #[test]
    fn the_steps_of_a_database_question_follow_each_other() {
        let settings = NextToolSettings { enabled: false, fail_closed: true, allowed: Default::default() };
        let blocked = Some("SEMANTIC_PIPELINE_SEQUENCE_GUARD_BLOCKED");
        let refusal = |current: &str, next: &str| refusal_reason(&settings, current, next);
        assert_eq!(
            (refusal("db.semantic.interpret", "DB.Semantic.Query"), refusal("db.semantic.interpret", "postgres.query")),
            (None, blocked)
        );
        assert_eq!((refusal("db.semantic.query", "postgres.query"), refusal("db.semantic.query", "a.b")), (None, blocked));
        assert_eq!((refusal(START_TOOL, "postgres.query"), refusal("a.b", "db.semantic.query")), (None, None));
        assert!(is_restricted(Some("policy_restricted_operation")) && !is_restricted(Some("READ")) && !is_restricted(None));
    }
}
