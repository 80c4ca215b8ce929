//! The compiled `flow.guardrail.sensitive-patterns`. (docs/decisions/README.md#9)

use super::issue::Issue;
use super::settings::Guardrail;
use crate::text::regex::Regex;
use crate::turn::{Considered, Fate, TOO_MANY_STEPS};

/// Patterns that mark a message as sensitive.
#[derive(Debug, Clone, Default)]
pub struct SensitivePatterns {
    patterns: Vec<Regex>,
    broken: bool,
}

/// Whether a message is sensitive cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undecided;

impl SensitivePatterns {
    pub(super) fn compile(settings: &Guardrail, issues: &mut Vec<Issue>) -> SensitivePatterns {
        let mut found = SensitivePatterns::default();
        for pattern in &settings.sensitive_patterns {
            match Regex::new(pattern) {
                Ok(regex) => found.patterns.push(regex),
                Err(reason) => {
                    let path = "convengine.flow.guardrail.sensitive-patterns";
                    found.broken = true;
                    issues.push(Issue::error(path, format!("'{pattern}': {reason}"), hint(settings)));
                }
            }
        }
        found
    }

    /// Whether a pattern does not compile; a gate that fails closed then requires approval for every message.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns the verdict on each pattern for a message.
    pub fn considered(&self, text: &str) -> Vec<Considered> {
        let judge = |it: &Regex| {
            let row = |fate| Considered::choice("", it.pattern(), fate);
            match it.find(text) {
                Ok(true) => row(Fate::Matched),
                Ok(false) => row(Fate::NotMatched),
                Err(_) => row(Fate::Failed).because(TOO_MANY_STEPS),
            }
        };
        self.patterns.iter().map(judge).collect()
    }

    /// Whether a message is sensitive.
    ///
    /// # Errors
    /// When no pattern matches and one exceeds its step limit.
    pub fn find(&self, text: &str) -> Result<bool, Undecided> {
        if text.trim().is_empty() {
            return Ok(false);
        }
        let answers: Vec<_> = self.patterns.iter().map(|it| it.find(text)).collect();
        if answers.contains(&Ok(true)) {
            return Ok(true);
        }
        if answers.iter().any(Result::is_err) { Err(Undecided) } else { Ok(false) }
    }
}

fn hint(settings: &Guardrail) -> &'static str {
    if settings.enabled && settings.require_approval && settings.fail_closed {
        "every message requires approval until the pattern is corrected"
    } else {
        "the pattern is skipped until it is corrected"
    }
}
