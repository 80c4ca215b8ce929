//! The errors of expressions.

/// A syntax error in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprError {
    /// `E001`, `E002` or `E003`.
    pub code: &'static str,
    /// What is wrong and at which character.
    pub message: String,
}

/// The error of an evaluation that produced no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalError(pub String);
