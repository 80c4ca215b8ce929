//! Rules that undo, overtake or outrun each other within a pass, and rules that move on too early.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::reads;
use super::ground::{Ground, Rule, scope};
use crate::config::{ANY, Issue, Phase, UNKNOWN};

/// Rounds of a pass.
const ROUNDS: usize = 5;

/// Tables whose rows have something to do in a state.
const STAYING: [&str; 5] = ["ce_response", "ce_prompt_template", "ce_pending_action", "ce_mcp_tool", "ce_mcp_planner"];

/// Where conversations begin; rules may lead on from here at once.
const BEGINNINGS: [&str; 2] = [UNKNOWN, "IDLE"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let ways = Ways::of(ground);
    loops(&ways, found);
    cascades(ground, &ways, found);
    overruled(ground, found);
    for rule in &ground.rules {
        found.extend(unknown_intent(ground, rule));
        found.extend(on_error(rule));
    }
    without_result(ground, &ways, found);
}

/// Rules that lead from one state to another at every message.
struct Ways<'g, 't>(BTreeMap<(Phase, &'g str, &'g str), &'g Rule<'t>>);

impl<'g, 't> Ways<'g, 't> {
    fn of(ground: &'g Ground<'t>) -> Self {
        let leads = |it: &&Rule<'t>| it.unconditional() && it.state != ANY && it.sets_state().is_some_and(|to| to != it.state);
        // Of several in one scope the last one decides.
        Ways(ground.rules.iter().filter(leads).map(|it| ((it.phase, it.intent.as_str(), it.state.as_str()), it)).collect())
    }

    /// The rule that leads on from a state in a pass of this phase.
    fn from(&self, phase: Phase, intent: &str, state: &str) -> Option<&'g Rule<'t>> {
        [intent, ANY].iter().find_map(|intent| self.0.get(&(phase, *intent, state)).copied())
    }

    /// The rules on a circle that begins with this one; empty when there is none.
    fn circle(&self, first: &'g Rule<'t>) -> Vec<&'g Rule<'t>> {
        let mut circle = vec![first];
        let mut state = first.sets_state();
        while let Some(to) = state.filter(|_| circle.len() <= ROUNDS) {
            if to == first.state {
                return circle;
            }
            let Some(next) = self.from(first.phase, &first.intent, &to) else { break };
            circle.push(next);
            state = next.sets_state();
        }
        Vec::new()
    }
}

fn loops(ways: &Ways<'_, '_>, found: &mut Vec<Issue>) {
    for rule in ways.0.values() {
        let circle = ways.circle(rule);
        // Each circle is found from each of its rules, and told once.
        if circle.iter().map(|it| it.row.id()).min() != Some(rule.row.id()) {
            continue;
        }
        let states: Vec<&str> = circle.iter().chain([rule]).map(|it| it.state.as_str()).collect();
        let reason = format!("the states go round in one pass, {}, until its rounds are used up", states.join(" to "));
        found.push(Issue::warning(rule.path("action_value"), reason, "give one of the rules a condition").of("rule-loop"));
    }
}

/// A rule at every message in a state that another rule has only just set; a state that nothing waits for may be passed through.
fn cascades(ground: &Ground<'_>, ways: &Ways<'_, '_>, found: &mut Vec<Issue>) {
    let awaited: BTreeSet<String> = STAYING.iter().flat_map(|table| ground.rows(table)).map(|it| scope(it).1).collect();
    let mut told = BTreeSet::new();
    for rule in &ground.rules {
        let Some(state) = rule.sets_state().filter(|it| *it != rule.state && awaited.contains(it)) else { continue };
        let Some(next) = ways.from(rule.phase, &rule.intent, &state) else { continue };
        let is_beginning = rule.unconditional() && BEGINNINGS.contains(&state.as_str());
        let goes_round = rule.state == ANY || !ways.circle(next).is_empty();
        if is_beginning || (goes_round && rule.unconditional()) || !told.insert(next.row.id()) {
            continue;
        }
        let reason = format!(
            "applies to every message, so it follows {} in the same pass: '{state}' is left before it is answered",
            rule.path("action_value")
        );
        let hint = "test what has to happen first, such as $.inputParams.pending_action_result == 'EXECUTED'";
        found.push(Issue::warning(next.path("match_pattern"), reason, hint).of("same-pass-cascade"));
    }
}

/// Of two rules with one condition that set the same thing, the first has no effect.
fn overruled(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let mut last: BTreeMap<(Phase, &str, &str, &str, &str, &str), &Rule<'_>> = BTreeMap::new();
    for rule in ground.rules.iter().filter(|it| matches!(it.action.as_str(), "SET_STATE" | "SET_INTENT") && stays_true(it)) {
        let key = (rule.phase, rule.intent.as_str(), rule.state.as_str(), rule.action.as_str(), rule.kind.as_str(), rule.pattern.trim());
        if let Some(earlier) = last.insert(key, rule) {
            let reason = format!("has no effect: {} has the same condition and runs after it", rule.path("match_pattern"));
            found.push(
                Issue::warning(earlier.path("action_value"), reason, "remove one of the two, or change its condition").of("shadowed-row"),
            );
        }
    }
}

/// Whether the condition holds on when rules have changed the state.
fn stays_true(rule: &Rule<'_>) -> bool {
    match rule.kind.as_str() {
        "EXACT" | "REGEX" => true,
        _ => !reads(&rule.pattern)
            .iter()
            .any(|it| it.is_empty() || ["intent", "state", "inputParams"].iter().any(|fact| it.starts_with(fact))),
    }
}

fn unknown_intent(ground: &Ground<'_>, rule: &Rule<'_>) -> Option<Issue> {
    let intent = rule.value.to_uppercase();
    (rule.action == "SET_INTENT" && intent != UNKNOWN && !ground.intents.contains(&intent)).then(|| {
        let hint = "enable it in ce_intent or correct the code";
        Issue::warning(rule.path("action_value"), format!("'{intent}' is no enabled intent"), hint).of("unknown-intent")
    })
}

/// A failed tool has a final answer too.
fn on_error(rule: &Rule<'_>) -> Option<Issue> {
    if rule.phase != Phase::PostAgentMcp || rule.sets_state().is_none() || !rule.kind.ends_with("JSON_PATH") {
        return None;
    }
    let read = reads(&rule.pattern);
    let names = |part: &str| read.iter().any(|it| it.contains(part));
    (names("mcp.finalAnswer") && !names("mcp.lifecycle") && !names("mcp.toolExecutionError")).then(|| {
        let hint = "add @.context.mcp.lifecycle.error == false";
        Issue::warning(rule.path("match_pattern"), "holds after a failed tool too, which has a final answer as well", hint)
            .of("completes-on-error")
    })
}

/// A rule that leaves the state of a pending action, whatever became of the action.
fn without_result(ground: &Ground<'_>, ways: &Ways<'_, '_>, found: &mut Vec<Issue>) {
    let pending: BTreeSet<(String, String)> = ground.rows("ce_pending_action").iter().map(scope).collect();
    let states: BTreeSet<&str> = pending.iter().map(|it| it.1.as_str()).collect();
    for rule in ways.0.values() {
        let of = |intent: &str| pending.contains(&(intent.to_owned(), rule.state.clone()));
        let waits = if rule.intent == ANY { states.contains(rule.state.as_str()) } else { of(&rule.intent) || of(ANY) };
        if waits {
            let reason = "leaves the state of a pending action at every message, also when the action was refused or failed";
            let hint = "test $.inputParams.pending_action_result == 'EXECUTED'";
            found.push(Issue::warning(rule.path("match_pattern"), reason, hint).of("confirm-without-result"));
        }
    }
}
