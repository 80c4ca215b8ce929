//! `flow.guardrail.sensitive-patterns`, compiled. (`decisions.md` 9, guardrail)

use super::issue::Issue;
use super::settings::Guardrail;
use crate::text::regex::Regex;

/// What makes a message sensitive.
#[derive(Debug, Clone, Default)]
pub struct SensitivePatterns {
    patterns: Vec<Regex>,
    /// Why a pattern cannot be compiled.
    broken: Option<String>,
}

/// It cannot be said whether a message is sensitive.
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
                    let reason = format!("'{pattern}': {reason}");
                    found.broken.get_or_insert(format!("{path}: {reason}"));
                    issues.push(Issue::error(path, reason, hint(settings)));
                }
            }
        }
        found
    }

    /// Why messages cannot be judged: a pattern that cannot be compiled.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Whether a message is sensitive.
    ///
    /// # Errors
    /// [`Undecided`] when no pattern says yes and one cannot be decided.
    pub fn find(&self, text: &str) -> Result<bool, Undecided> {
        if text.trim().is_empty() {
            return Ok(false);
        }
        let answers: Vec<_> = self.patterns.iter().map(|it| it.find(text)).collect();
        if answers.contains(&Ok(true)) {
            return Ok(true);
        }
        if self.broken.is_some() || answers.iter().any(Result::is_err) { Err(Undecided) } else { Ok(false) }
    }
}

fn hint(settings: &Guardrail) -> &'static str {
    match (settings.enabled && settings.require_approval, settings.fail_closed) {
        (false, _) => "the pattern is left out until it is corrected",
        (true, true) => "every message needs an approval until it is corrected",
        (true, false) => "no turn is answered until it is corrected or removed",
    }
}
