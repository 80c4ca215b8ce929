//! Issues of a configuration, as reported by start-up, import and lint. Those of documents are
//! [`DocumentIssue`](crate::flow::DocumentIssue)s.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rule name of issues found by the compiler itself.
const COMPILE_RULE: &str = "compile";

/// The severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works, but probably not as intended.
    Warning,
    /// Skipped, or certain to fail.
    Error,
}

/// One problem of a configuration.
///
/// ```
/// use convengine_config::Issue;
///
/// let issue = Issue::warning("ce_rule[3].match_pattern", "matches every message", "narrow the pattern").with_rule("matches-everything");
/// let line = "warning ce_rule[3].match_pattern: matches every message; narrow the pattern (matches-everything)";
/// assert_eq!(issue.to_string(), line);
/// assert!(!issue.is_error());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// Its severity.
    pub severity: Severity,
    /// Where, such as `ce_rule[3].match_pattern` (the number is the row id) or `convengine.flow…`.
    pub path: String,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub hint: String,
    /// The rule that found it; `compile` for issues of the compiler.
    pub rule: &'static str,
}

impl Issue {
    /// Creates an error.
    pub fn error(path: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) -> Issue {
        Issue { severity: Severity::Error, path: path.into(), reason: reason.into(), hint: hint.into(), rule: COMPILE_RULE }
    }

    /// Creates a warning.
    pub fn warning(path: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) -> Issue {
        Issue { severity: Severity::Warning, ..Issue::error(path, reason, hint) }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Sets the rule that found it.
    pub fn with_rule(self, rule: &'static str) -> Issue {
        Issue { rule, ..self }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity} {}: {}; {}", self.path, self.reason, self.hint)?;
        if self.rule == COMPILE_RULE { Ok(()) } else { write!(f, " ({})", self.rule) }
    }
}
