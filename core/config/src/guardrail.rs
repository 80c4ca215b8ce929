//! The compiled `flow.guardrail.sensitive-patterns`. (docs/decisions/0032-guardrail-approvals.md)

use convengine_text::regex::Regex;
use convengine_turn::{Candidate, TOO_MANY_STEPS, Verdict};

use super::issue::Issue;
use super::settings::GuardrailSettings;

/// Patterns that mark a message as sensitive.
#[derive(Debug, Clone, Default)]
pub struct SensitivePatterns {
    patterns: Vec<Regex>,
    any_invalid: bool,
}

/// Whether a message is sensitive cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indeterminate;

impl SensitivePatterns {
    pub(super) fn compile(settings: &GuardrailSettings, issues: &mut Vec<Issue>) -> SensitivePatterns {
        let mut found = SensitivePatterns::default();
        for pattern in &settings.sensitive_patterns {
            match Regex::new(pattern) {
                Ok(regex) => found.patterns.push(regex),
                Err(reason) => {
                    let path = "convengine.flow.guardrail.sensitive-patterns";
                    found.any_invalid = true;
                    issues.push(Issue::error(path, format!("'{pattern}': {reason}"), hint(settings)));
                }
            }
        }
        found
    }

    /// Whether a pattern does not compile; a gate that fails closed then requires approval for every message.
    pub fn has_invalid_pattern(&self) -> bool {
        self.any_invalid
    }

    /// Returns the verdict on each pattern for a message.
    pub fn candidates(&self, text: &str) -> Vec<Candidate> {
        let judge = |regex: &Regex| {
            let row = |verdict| Candidate::for_choice("", regex.pattern(), verdict);
            match regex.is_match(text) {
                Ok(true) => row(Verdict::Matched),
                Ok(false) => row(Verdict::NotMatched),
                Err(_) => row(Verdict::Failed).with_reason(TOO_MANY_STEPS),
            }
        };
        self.patterns.iter().map(judge).collect()
    }

    /// Whether a message is sensitive.
    ///
    /// # Errors
    /// When no pattern matches and one exceeds its step limit.
    pub fn is_sensitive(&self, text: &str) -> Result<bool, Indeterminate> {
        if text.trim().is_empty() {
            return Ok(false);
        }
        let answers: Vec<_> = self.patterns.iter().map(|it| it.is_match(text)).collect();
        if answers.contains(&Ok(true)) {
            return Ok(true);
        }
        if answers.iter().any(Result::is_err) { Err(Indeterminate) } else { Ok(false) }
    }
}

fn hint(settings: &GuardrailSettings) -> &'static str {
    if settings.enabled && settings.require_approval && settings.fail_closed {
        "every message requires approval until the pattern is corrected"
    } else {
        "the pattern is skipped until it is corrected"
    }
}
