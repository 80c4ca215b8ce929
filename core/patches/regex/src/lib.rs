//! What `jsonpath-rust` needs of the crate `regex`, by the engine that the product has already.
//!
//! The crate itself would turn on all features of the engine below both, which makes the browser's engine a tenth larger. Only the evaluator
//! of `jsonpath-rust` searches for patterns, and the product has its own.

use std::fmt;

/// A pattern.
#[derive(Debug, Clone)]
pub struct Regex(fancy_regex::Regex);

/// What is wrong with a pattern.
#[derive(Debug, Clone)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The syntax error.
    pub fn new(pattern: &str) -> Result<Regex, Error> {
        fancy_regex::Regex::new(pattern).map(Regex).map_err(|it| Error(it.to_string()))
    }

    /// Whether the pattern occurs in a text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }

    /// Returns the first occurrence.
    #[must_use]
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.find(text).ok().flatten().map(|it| it.as_str())
    }
}
