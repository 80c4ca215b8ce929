//! `ce_rule`: conditions and actions by phase and scope. (docs/spec/data-and-api.md#6)

mod action;

use std::collections::{BTreeMap, BTreeSet};

use convengine_text::json::path::JsonPath;
use convengine_text::regex::Regex;
use convengine_turn::{Candidate, Verdict};

use super::code::{ANY, is_same_code, to_upper_code};
use super::column::{
    CREATED_AT, DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, json, keyword, pattern, word,
};
use super::issue::Issue;
use super::parts::Patterns;
use super::phase::Phase;
use super::profile::Profile;
use super::row::{TableRow, by_priority};
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub use action::{RuleAction, SetDialogueAct};

pub(crate) static RULE: TableShape = TableShape {
    name: "ce_rule",
    help: "Conditions with an action, which run at a phase of the turn. See [rules](../spec/data-and-api.md#6).",
    columns: &[
        integer("rule_id", "id of the row"),
        keyword::<Phase>("phase", "when the rule runs ([6.1](../spec/data-and-api.md#6.1))").with_default(r#""PRE_RESPONSE_RESOLUTION""#),
        INTENT_CODE.with_help("scope: intent; null is `ANY`"),
        STATE_CODE.with_help("scope: state; null is `ANY`"),
        word("rule_type", &["EXACT", "REGEX", "JSON_PATH", "CONTEXT_JSON_PATH"], "kind of condition ([6.4](../spec/data-and-api.md#6.4))"),
        pattern("match_pattern", "the condition"),
        word("action", &action::NAMES, "what the rule does ([6.6](../spec/data-and-api.md#6.6))"),
        json("action_value", "argument of the action"),
        PRIORITY.with_default("100"),
        DESCRIPTION,
        ENABLED,
        CREATED_AT,
    ],
};

/// When a rule applies.
#[derive(Debug, Clone)]
pub enum RuleCondition {
    /// Always.
    Always,
    /// The trimmed message equals this, ignoring case.
    Exact(String),
    /// The regular expression matches somewhere in the message.
    Regex(Regex),
    /// The path is true for the facts of the turn.
    JsonPath(JsonPath),
    /// The path matches a value of the context.
    ContextJsonPath(JsonPath),
}

/// A rule row.
#[derive(Debug, Clone)]
pub struct Rule {
    /// `rule_id`.
    pub id: i64,
    /// `rule_type` as stored.
    pub rule_type: String,
    /// `state_code` as stored; `ANY` when it is null.
    pub state_code: String,
    /// `match_pattern` as stored.
    pub pattern: String,
    /// `action` as stored.
    pub action_name: String,
    /// `action_value` as stored.
    pub action_value: Option<String>,
    /// `phase` as stored.
    pub phase: String,
    /// The compiled condition.
    pub condition: RuleCondition,
    /// The compiled action.
    pub action: RuleAction,
}

/// Rules by phase and scope.
#[derive(Debug, Clone, Default)]
pub struct Rules(BTreeMap<Phase, ScopeIndex<Rule>>);

impl Rules {
    pub(super) fn compile(
        tables: &Tables,
        scopes: &Scopes,
        profile: &Profile,
        regexes: &mut Patterns<'_>,
        issues: &mut Vec<Issue>,
    ) -> Rules {
        let mut rules = Rules::default();
        let rows = by_priority(scopes.rows(tables, &RULE, issues));
        for row in rows {
            match compile(&row, regexes) {
                Ok((phase, _)) if !profile.has_phase(phase) => {
                    let reason = format!("the rule never runs: the profile '{}' has no such phase", profile.name);
                    issues.push(Issue::warning(row.path("phase"), reason, profile.hint("name another phase")));
                }
                Ok((phase, rule)) => rules.0.entry(phase).or_default().add(&row, rule),
                Err(issue) => issues.push(issue),
            }
        }
        rules
    }

    /// Iterates over the rules of a phase that apply to an intent and a state: the narrowest scope first, then by priority.
    pub fn eligible(&self, phase: Phase, intent: &str, state: &str) -> impl Iterator<Item = &Rule> + use<'_> {
        self.0.get(&phase).map(|it| it.applicable(intent, state)).into_iter().flatten()
    }

    /// Returns the rules of a phase in other scopes as candidates.
    pub fn out_of_scope(&self, phase: Phase, intent: &str, state: &str) -> Vec<Candidate> {
        self.0.get(&phase).map(|it| it.out_of_scope(intent, state, Rule::candidate)).unwrap_or_default()
    }
}

impl Rule {
    /// The rule as a candidate of an explanation.
    pub fn candidate(&self, verdict: Verdict) -> Candidate {
        Candidate::for_row("ce_rule", self.id, &self.pattern, verdict)
    }
}

/// The states that enabled rules are for or set, in upper case.
pub(super) fn state_codes(tables: &Tables) -> BTreeSet<String> {
    let rules = tables.enabled_rows_of(&RULE);
    let scoped = rules.iter().filter_map(|it| it.code("state_code"));
    let set = rules.iter().filter_map(|rule| RuleAction::from_row(rule).ok()?.target_state().map(str::to_owned));
    scoped.chain(set).map(|it| to_upper_code(&it)).collect()
}

fn compile(row: &TableRow<'_>, regexes: &mut Patterns<'_>) -> Result<(Phase, Rule), Issue> {
    let phase_name = row.code("phase").unwrap_or_else(|| Phase::PreResponseResolution.name().to_owned());
    let Some(phase) = Phase::parse(Some(&phase_name)) else {
        return Err(row.error("phase", format!("'{phase_name}' is not a phase"), "it names one, such as PRE_RESPONSE_RESOLUTION"));
    };
    let rule_type = row.code("rule_type").unwrap_or_default();
    let pattern = row.text("match_pattern").unwrap_or_default();
    let rule = Rule {
        id: row.id(),
        condition: compile_condition(row, &rule_type, &pattern, regexes)?,
        action: RuleAction::from_row(row)?,
        state_code: row.text("state_code").unwrap_or_else(|| ANY.to_owned()),
        phase: phase_name,
        rule_type,
        pattern,
        action_name: row.code("action").unwrap_or_default(),
        action_value: row.text("action_value"),
    };
    Ok((phase, rule))
}

fn compile_condition(row: &TableRow<'_>, rule_type: &str, pattern: &str, regexes: &mut Patterns<'_>) -> Result<RuleCondition, Issue> {
    let invalid = |reason: String| row.error("match_pattern", reason, "the pattern is corrected");
    match to_upper_code(rule_type).as_str() {
        _ if pattern.trim().is_empty() => Err(invalid("is blank".to_owned())),
        "EXACT" if is_same_code(pattern, ANY) => Ok(RuleCondition::Always),
        "EXACT" => Ok(RuleCondition::Exact(pattern.trim().to_lowercase())),
        "REGEX" => regexes.compile(pattern).map(RuleCondition::Regex).map_err(invalid),
        "JSON_PATH" => JsonPath::compile(pattern).map(RuleCondition::JsonPath).map_err(invalid),
        "CONTEXT_JSON_PATH" => JsonPath::compile(pattern).map(RuleCondition::ContextJsonPath).map_err(invalid),
        _ => Err(row.error("rule_type", row.unknown_word("rule_type"), "the type is one of these")),
    }
}
