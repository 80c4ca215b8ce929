//! Rules that loop, cascade or override each other within a pass, and rules that change the state too early.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::{ANY, Issue, Phase, UNKNOWN};

use super::context::{LintContext, Rule, scope};
use super::paths::paths_of;

/// The maximum rounds of a pass.
const MAX_ROUNDS: usize = 5;

/// Tables whose rows use a state, so it must not be skipped.
const STATE_TABLES: [&str; 5] = ["ce_response", "ce_prompt_template", "ce_pending_action", "ce_mcp_tool", "ce_mcp_planner"];

/// Initial states, which rules may leave immediately.
const INITIAL_STATES: [&str; 2] = [UNKNOWN, "IDLE"];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let transitions = Transitions::new(context);
    check_loops(&transitions, findings);
    check_cascades(context, &transitions, findings);
    check_overridden(context, findings);
    for rule in &context.rules {
        findings.extend(check_intent(context, rule));
        findings.extend(check_failed_tools(rule));
    }
    check_pending_actions(context, &transitions, findings);
}

/// Unconditional state transitions, by phase, intent and state.
struct Transitions<'g, 't>(BTreeMap<(Phase, &'g str, &'g str), &'g Rule<'t>>);

impl<'g, 't> Transitions<'g, 't> {
    fn new(context: &'g LintContext<'t>) -> Self {
        let is_transition =
            |rule: &&Rule<'t>| rule.is_unconditional() && rule.state != ANY && rule.target_state().is_some_and(|to| to != rule.state);
        // The last rule of a scope wins.
        Transitions(
            context
                .rules
                .iter()
                .filter(is_transition)
                .map(|rule| ((rule.phase, rule.intent.as_str(), rule.state.as_str()), rule))
                .collect(),
        )
    }

    /// Returns the rule that leaves a state in a pass of this phase.
    fn next_rule(&self, phase: Phase, intent: &str, state: &str) -> Option<&'g Rule<'t>> {
        [intent, ANY].iter().find_map(|intent| self.0.get(&(phase, *intent, state)).copied())
    }

    /// Returns the rules of a cycle that begins with this one; empty if there is none.
    fn cycle_from(&self, first: &'g Rule<'t>) -> Vec<&'g Rule<'t>> {
        let mut cycle = vec![first];
        let mut state = first.target_state();
        while let Some(to) = state.filter(|_| cycle.len() <= MAX_ROUNDS) {
            if to == first.state {
                return cycle;
            }
            let Some(next) = self.next_rule(first.phase, &first.intent, &to) else { break };
            cycle.push(next);
            state = next.target_state();
        }
        Vec::new()
    }
}

fn check_loops(transitions: &Transitions<'_, '_>, findings: &mut Vec<Issue>) {
    for rule in transitions.0.values() {
        let cycle = transitions.cycle_from(rule);
        // Each cycle is found from each of its rules and reported once.
        if cycle.iter().map(|it| it.row.id()).min() != Some(rule.row.id()) {
            continue;
        }
        let states: Vec<&str> = cycle.iter().chain([rule]).map(|it| it.state.as_str()).collect();
        let reason = format!("the states loop within one pass ({}) until the round limit is reached", states.join(" to "));
        findings.push(Issue::warning(rule.path("action_value"), reason, "add a condition to one of the rules").with_rule("rule-loop"));
    }
}

/// Reports an unconditional rule that leaves a state in the same pass in which another rule sets it, if other rows use the state.
fn check_cascades(context: &LintContext<'_>, transitions: &Transitions<'_, '_>, findings: &mut Vec<Issue>) {
    let used: BTreeSet<String> = STATE_TABLES.iter().flat_map(|table| context.rows(table)).map(|it| scope(it).1).collect();
    let mut reported = BTreeSet::new();
    for rule in &context.rules {
        let Some(state) = rule.target_state().filter(|state| *state != rule.state && used.contains(state)) else { continue };
        let Some(next) = transitions.next_rule(rule.phase, &rule.intent, &state) else { continue };
        let is_beginning = rule.is_unconditional() && INITIAL_STATES.contains(&state.as_str());
        let loops = rule.state == ANY || !transitions.cycle_from(next).is_empty();
        if is_beginning || (loops && rule.is_unconditional()) || !reported.insert(next.row.id()) {
            continue;
        }
        let reason = format!(
            "applies to every message: it runs after {} in the same pass and leaves '{state}' before the turn responds",
            rule.path("action_value")
        );
        let hint = "add a condition, such as $.inputParams.pending_action_result == 'EXECUTED'";
        findings.push(Issue::warning(next.path("match_pattern"), reason, hint).with_rule("same-pass-cascade"));
    }
}

/// Reports the first of two rules with the same condition and target: it has no effect.
fn check_overridden(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let mut last: BTreeMap<(Phase, &str, &str, bool, &str, &str), &Rule<'_>> = BTreeMap::new();
    for rule in context.rules.iter().filter(|rule| stays_true(rule)) {
        let sets_state = rule.action.target_state().is_some();
        if !sets_state && rule.action.target_intent().is_none() {
            continue;
        }
        let key = (rule.phase, rule.intent.as_str(), rule.state.as_str(), sets_state, rule.kind.as_str(), rule.pattern.trim());
        if let Some(earlier) = last.insert(key, rule) {
            let reason = format!("no effect: {} has the same condition and runs later", rule.path("match_pattern"));
            findings.push(
                Issue::warning(earlier.path("action_value"), reason, "remove one of the rules, or change its condition")
                    .with_rule("shadowed-row"),
            );
        }
    }
}

/// Whether the condition stays true after rules change the state.
fn stays_true(rule: &Rule<'_>) -> bool {
    match rule.kind.as_str() {
        "EXACT" | "REGEX" => true,
        _ => !paths_of(&rule.pattern)
            .iter()
            .any(|path| path.is_empty() || ["intent", "state", "inputParams"].iter().any(|fact| path.starts_with(fact))),
    }
}

fn check_intent(context: &LintContext<'_>, rule: &Rule<'_>) -> Option<Issue> {
    let intent = rule.target_intent()?;
    (intent != UNKNOWN && !context.intents.contains(&intent)).then(|| {
        let hint = "enable it in ce_intent, or correct the code";
        Issue::warning(rule.path("action_value"), format!("unknown or disabled intent '{intent}'"), hint).with_rule("unknown-intent")
    })
}

/// Reports conditions that do not distinguish failed from successful tool calls: both have a final answer.
fn check_failed_tools(rule: &Rule<'_>) -> Option<Issue> {
    if rule.phase != Phase::PostAgentMcp || rule.target_state().is_none() || !rule.kind.ends_with("JSON_PATH") {
        return None;
    }
    let read = paths_of(&rule.pattern);
    let names = |part: &str| read.iter().any(|path| path.contains(part));
    (names("mcp.finalAnswer") && !names("mcp.lifecycle") && !names("mcp.toolExecutionError")).then(|| {
        let hint = "add @.context.mcp.lifecycle.error == false";
        Issue::warning(rule.path("match_pattern"), "also true after a failed tool call, which also has a final answer", hint)
            .with_rule("completes-on-error")
    })
}

/// Reports unconditional rules that leave the state of a pending action without checking its result.
fn check_pending_actions(context: &LintContext<'_>, transitions: &Transitions<'_, '_>, findings: &mut Vec<Issue>) {
    let pending: BTreeSet<(String, String)> = context.rows("ce_pending_action").iter().map(scope).collect();
    let states: BTreeSet<&str> = pending.iter().map(|it| it.1.as_str()).collect();
    for rule in transitions.0.values() {
        let has_pending = |intent: &str| pending.contains(&(intent.to_owned(), rule.state.clone()));
        let is_pending =
            if rule.intent == ANY { states.contains(rule.state.as_str()) } else { has_pending(&rule.intent) || has_pending(ANY) };
        if is_pending {
            let reason = "leaves the state of a pending action on every message, even if the action was rejected or failed";
            let hint = "add the condition $.inputParams.pending_action_result == 'EXECUTED'";
            findings.push(Issue::warning(rule.path("match_pattern"), reason, hint).with_rule("confirm-without-result"));
        }
    }
}
