//! What start-up, import and lint report about a configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The check of everything that compiling itself finds.
const COMPILE: &str = "compile";

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works, but probably not as meant.
    Warning,
    /// Left out, or certain to fail.
    Error,
}

/// One problem of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// Where, as `ce_rule[3].match_pattern` (the number is the row's id) or `convengine.flow…`.
    pub path: String,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub hint: String,
    /// Which check found it; `compile` for what compiling finds.
    pub rule: &'static str,
}

impl Issue {
    /// An error.
    pub fn error(path: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) -> Issue {
        Issue { severity: Severity::Error, path: path.into(), reason: reason.into(), hint: hint.into(), rule: COMPILE }
    }

    /// A warning.
    pub fn warning(path: impl Into<String>, reason: impl Into<String>, hint: impl Into<String>) -> Issue {
        Issue { severity: Severity::Warning, ..Issue::error(path, reason, hint) }
    }

    /// Whether it leaves something out.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Names the check that found it.
    pub(crate) fn of(self, rule: &'static str) -> Issue {
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
        if self.rule == COMPILE { Ok(()) } else { write!(f, " ({})", self.rule) }
    }
}
