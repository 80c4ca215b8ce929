//! Issues of a flow document, as reported by validation and publishing. (docs/spec/flows.md#11)

use std::fmt;

use serde::Serialize;

/// The severity of a document issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentSeverity {
    /// For information.
    Info,
    /// Works, but probably not as intended.
    Warning,
    /// Blocks publishing.
    Error,
}

/// One problem of a document. Tools match on the code and the path; the message and the fix are for people.
///
/// ```
/// use convengine_config::flow::DocumentIssue;
///
/// let issue = DocumentIssue::error("G008", "/graphs/0/nodes/2", "nothing follows the node 'Ask'").with_fix("add an edge");
/// assert_eq!(issue.to_string(), "error G008 /graphs/0/nodes/2: nothing follows the node 'Ask'; add an edge");
/// assert!(issue.is_error());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentIssue {
    /// The stable code, such as `G008`.
    pub code: &'static str,
    /// Its severity.
    pub severity: DocumentSeverity,
    /// JSON Pointer to the location.
    pub path: String,
    /// The id of the enclosing graph.
    pub graph: Option<String>,
    /// The id of the enclosing node.
    pub node: Option<String>,
    /// The name of the node or other item that it is about.
    pub name: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl DocumentIssue {
    /// Creates an error.
    pub fn error(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> DocumentIssue {
        let (path, message) = (path.into(), message.into());
        DocumentIssue { code, severity: DocumentSeverity::Error, path, graph: None, node: None, name: None, message, fix: None }
    }

    /// Creates a warning.
    pub fn warning(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> DocumentIssue {
        DocumentIssue { severity: DocumentSeverity::Warning, ..DocumentIssue::error(code, path, message) }
    }

    /// Creates an informational issue.
    pub fn info(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> DocumentIssue {
        DocumentIssue { severity: DocumentSeverity::Info, ..DocumentIssue::error(code, path, message) }
    }

    /// Sets what to do.
    #[must_use]
    pub fn with_fix(self, fix: impl Into<String>) -> DocumentIssue {
        DocumentIssue { fix: Some(fix.into()), ..self }
    }

    /// Whether it blocks publishing.
    pub fn is_error(&self) -> bool {
        self.severity == DocumentSeverity::Error
    }
}

impl fmt::Display for DocumentIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            DocumentSeverity::Info => "info",
            DocumentSeverity::Warning => "warning",
            DocumentSeverity::Error => "error",
        };
        write!(f, "{severity} {} {}: {}", self.code, self.path, self.message)?;
        self.fix.as_ref().map_or(Ok(()), |fix| write!(f, "; {fix}"))
    }
}
