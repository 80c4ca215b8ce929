//! Text patterns of policy and classifier rows: REGEX, EXACT, CONTAINS and STARTS_WITH. (docs/decisions/0027-policy-rows.md)

use convengine_text::regex::{Regex, StepLimit};
use convengine_turn::{Candidate, TOO_MANY_STEPS, Verdict};

/// A compiled pattern for user text; matching ignores case.
#[derive(Debug, Clone)]
pub enum TextMatcher {
    /// The regular expression matches somewhere in the text.
    Regex(Regex),
    /// The trimmed text equals this.
    Exact(String),
    /// The text contains this.
    Contains(String),
    /// The text starts with this.
    StartsWith(String),
}

impl TextMatcher {
    /// Compiles a pattern; `rule_type` is in upper case, and an unknown one gives `None`.
    pub fn compile(rule_type: &str, pattern: &str) -> Option<Result<TextMatcher, String>> {
        TextMatcher::compile_with(rule_type, pattern, &mut Regex::new)
    }

    /// Compiles a pattern; `regex` compiles a regular expression.
    pub(super) fn compile_with(
        rule_type: &str,
        pattern: &str,
        regex: &mut dyn FnMut(&str) -> Result<Regex, String>,
    ) -> Option<Result<TextMatcher, String>> {
        Some(match rule_type {
            "REGEX" => regex(pattern).map(TextMatcher::Regex),
            "EXACT" => Ok(TextMatcher::Exact(pattern.trim().to_lowercase())),
            "CONTAINS" => Ok(TextMatcher::Contains(pattern.to_lowercase())),
            "STARTS_WITH" => Ok(TextMatcher::StartsWith(pattern.to_lowercase())),
            _ => return None,
        })
    }

    /// Returns the candidate of a row, with the verdict of its pattern on a text.
    pub(super) fn candidate(&self, text: &str, row: impl FnOnce(Verdict) -> Candidate) -> Candidate {
        match self.matches(text, &text.to_lowercase()) {
            Ok(true) => row(Verdict::Matched),
            Ok(false) => row(Verdict::NotMatched).with_reason("the message does not match the pattern"),
            Err(StepLimit) => row(Verdict::Failed).with_reason(TOO_MANY_STEPS),
        }
    }

    /// Whether a text matches; `lower` is the text in lower case.
    ///
    /// # Errors
    /// [`StepLimit`] when a regular expression exceeds its step limit.
    pub fn matches(&self, text: &str, lower: &str) -> Result<bool, StepLimit> {
        match self {
            TextMatcher::Regex(regex) => regex.is_match(text),
            TextMatcher::Exact(pattern) => Ok(lower.trim() == pattern),
            TextMatcher::Contains(pattern) => Ok(lower.contains(pattern.as_str())),
            TextMatcher::StartsWith(pattern) => Ok(lower.starts_with(pattern.as_str())),
        }
    }
}
