//! Expressions of flow documents. (`convoship.md` 2.5)

use serde_json::Value;

use super::names::Names;
use super::path::Path;

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr;

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// `E001`, `E002` or `E003`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoValue(pub String);

impl Expr {
    /// Compiles an expression of an assistant's graph.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn parse(_source: &str) -> Result<Expr, Wrong> {
        Ok(Expr)
    }

    /// Its value; nothing where a name is not defined.
    ///
    /// # Errors
    /// Why it has none.
    pub fn value(&self, _names: &dyn Names) -> Result<Option<Value>, NoValue> {
        Ok(None)
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn holds(&self, _names: &dyn Names) -> Result<bool, NoValue> {
        Ok(false)
    }

    /// Whether it is the word `default` or `else`.
    pub fn is_default(&self) -> bool {
        false
    }

    /// The paths that it reads.
    pub fn reads(&self) -> Vec<Path> {
        Vec::new()
    }
}
