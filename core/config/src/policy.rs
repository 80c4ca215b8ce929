//! `ce_policy`: rules that block messages. (docs/decisions/0027-policy-rows.md)

use convengine_text::regex::StepLimit;
use convengine_turn::{Candidate, Verdict};

use super::code::to_upper_code;
use super::column::{CREATED_AT, DESCRIPTION, ENABLED, PRIORITY, TableShape, integer, pattern, text, word};
use super::issue::Issue;
use super::matcher::TextMatcher;
use super::matcher_set::MatcherSet;
use super::parts::Patterns;
use super::row::{TableRow, by_priority};
use super::tables::Tables;

pub(crate) static POLICY: TableShape = TableShape {
    name: "ce_policy",
    help: "Messages that are blocked before any other step. They apply everywhere.",
    columns: &[
        integer("policy_id", "id of the row"),
        word("rule_type", &["REGEX", "EXACT", "CONTAINS", "STARTS_WITH", "LLM"], ""),
        pattern("pattern", "the pattern, or for `LLM` the rule in words"),
        text("response_text", "the answer, sent verbatim"),
        PRIORITY.with_default("10"),
        DESCRIPTION,
        ENABLED,
        CREATED_AT,
    ],
};

/// A policy row.
#[derive(Debug, Clone)]
pub struct Policy {
    /// `policy_id`.
    pub id: i64,
    /// `rule_type` as stored.
    pub rule_type: String,
    /// `pattern` as stored; for an LLM row, the question for the model.
    pub pattern: String,
    /// The reply to a blocked message, verbatim.
    pub response_text: String,
}

/// All policy rows, pattern rows before LLM rows, each by priority.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// Evaluated without a model.
    patterns: Vec<(TextMatcher, Policy)>,
    index: MatcherSet,
    /// LLM rows; the model is called only when no pattern row blocks.
    pub llm_policies: Vec<Policy>,
    /// Why no turn may run: the path and reason of an invalid row.
    pub unavailable_reason: Option<String>,
}

impl Policies {
    pub(super) fn compile(tables: &Tables, regexes: &mut Patterns<'_>, issues: &mut Vec<Issue>) -> Policies {
        let mut policies = Policies::default();
        let rows = by_priority(tables.enabled_rows_of(&POLICY));
        for row in rows {
            match compile(&row, regexes) {
                Ok((Some(matcher), policy)) => policies.patterns.push((matcher, policy)),
                Ok((None, policy)) => policies.llm_policies.push(policy),
                Err((column, reason)) => {
                    policies.unavailable_reason.get_or_insert(format!("{}: {reason}", row.path(column)));
                    issues.push(Issue::error(row.path(column), reason, "no turn runs until the row is corrected or disabled"));
                }
            }
        }
        policies.index = MatcherSet::new(policies.patterns.iter().map(|it| &it.0));
        policies
    }

    /// Returns the first pattern row that blocks a text.
    ///
    /// # Errors
    /// [`StepLimit`] when an earlier row exceeds its step limit.
    pub fn find_blocking(&self, text: &str) -> Result<Option<&Policy>, StepLimit> {
        let lower = text.to_lowercase();
        for (matcher, policy) in self.index.candidates(text, &lower).into_iter().filter_map(|it| self.patterns.get(it)) {
            if matcher.matches(text, &lower)? {
                return Ok(Some(policy));
            }
        }
        Ok(None)
    }

    /// Returns the verdict on each pattern row for a text; LLM rows are listed as not reached.
    pub fn candidates(&self, text: &str) -> Vec<Candidate> {
        let mut rows: Vec<Candidate> = Vec::new();
        for (matcher, policy) in &self.patterns {
            let decided = rows.last().is_some_and(|it| it.verdict != Verdict::NotMatched);
            rows.push(if decided {
                policy.candidate(Verdict::NotReached)
            } else {
                let judged = matcher.candidate(text, |it| policy.candidate(it));
                if judged.verdict == Verdict::Matched { policy.candidate(Verdict::Won) } else { judged }
            });
        }
        rows.extend(self.llm_policies.iter().map(|it| it.candidate(Verdict::NotReached)));
        rows
    }
}

impl Policy {
    fn candidate(&self, verdict: Verdict) -> Candidate {
        Candidate::for_row("ce_policy", self.id, &self.pattern, verdict)
    }
}

fn compile(row: &TableRow<'_>, regexes: &mut Patterns<'_>) -> Result<(Option<TextMatcher>, Policy), (&'static str, String)> {
    let rule_type = row.code("rule_type").unwrap_or_default();
    let Some(pattern) = row.text("pattern").filter(|pattern| !pattern.trim().is_empty()) else {
        return Err(("pattern", "is blank".to_owned()));
    };
    let matcher = match TextMatcher::compile_with(&to_upper_code(&rule_type), &pattern, &mut |it| regexes.compile(it)) {
        Some(compiled) => Some(compiled.map_err(|reason| ("pattern", reason))?),
        None if to_upper_code(&rule_type) == "LLM" => None,
        None => return Err(("rule_type", row.unknown_word("rule_type"))),
    };
    let response_text = row.text("response_text").unwrap_or_default();
    Ok((matcher, Policy { id: row.id(), rule_type, pattern, response_text }))
}
