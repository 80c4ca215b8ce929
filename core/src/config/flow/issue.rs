//! What publishing a flow document reports. (`convoship.md` 11)

use std::fmt;

use serde::Serialize;

/// How bad an issue of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Good to know.
    Info,
    /// Works, but probably not as meant.
    Warning,
    /// Blocks publishing.
    Error,
}

/// One problem of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentIssue {
    /// The code, as `G008`; it is stable.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Weight,
    /// JSON pointer to the place.
    pub path: String,
    /// The graph, where it is within one.
    pub graph: Option<String>,
    /// The node, where it is within one.
    pub node: Option<String>,
    /// The name of the node, or of what else it is about.
    pub name: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl DocumentIssue {
    /// An error at a place.
    pub fn error(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> DocumentIssue {
        let (path, message) = (path.into(), message.into());
        DocumentIssue { code, severity: Weight::Error, path, graph: None, node: None, name: None, message, fix: None }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> DocumentIssue {
        DocumentIssue { severity: Weight::Warning, ..DocumentIssue::error(code, path, message) }
    }

    /// A hint at a place.
    pub fn info(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> DocumentIssue {
        DocumentIssue { severity: Weight::Info, ..DocumentIssue::error(code, path, message) }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn fix(self, fix: impl Into<String>) -> DocumentIssue {
        DocumentIssue { fix: Some(fix.into()), ..self }
    }

    /// Whether it blocks publishing.
    pub fn is_error(&self) -> bool {
        self.severity == Weight::Error
    }
}

impl fmt::Display for DocumentIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Weight::Info => "info",
            Weight::Warning => "warning",
            Weight::Error => "error",
        };
        write!(f, "{severity} {} {}: {}", self.code, self.path, self.message)?;
        self.fix.as_ref().map_or(Ok(()), |fix| write!(f, "; {fix}"))
    }
}
