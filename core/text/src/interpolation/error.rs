//! The errors of templates.

/// An error in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterpolationError {
    /// `T001`, `T002` or `T006`.
    pub code: &'static str,
    /// What is wrong and at which character.
    pub message: String,
}

/// Builds a syntax error (`T001`).
pub(super) fn syntax_error(message: String) -> InterpolationError {
    InterpolationError { code: "T001", message }
}
