//! States that are never reached, rules in phases that never run, and states without a response.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::{Ground, Rule, classifier_state, meet, scope};
use crate::config::{ANY, Arbitration, Issue, Phase, Row, UNKNOWN, around, upper};

/// States that the engine sets without a row: no intent, a new intent, several intents.
const GIVEN: [&str; 4] = [UNKNOWN, ANY, "IDLE", "INTENT_COLLISION"];

/// Tables whose rows depend on a state.
const WAITING: [&str; 7] =
    ["ce_response", "ce_pending_action", "ce_mcp_tool", "ce_mcp_planner", "ce_prompt_template", "ce_output_schema", "ce_rule"];

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<Issue>) {
    unreachable(context, findings);
    let transitions = Ways::of(context);
    for rule in &context.rules {
        findings.extend(transitions.bootstrap(rule));
    }
    if !context.rows("ce_response").is_empty() {
        for rule in &context.rules {
            findings.extend(transitions.rule_without_answer(context, rule));
        }
        transitions.classifiers_without_answer(context, findings);
    }
}

/// How conversations enter and leave states.
struct Ways<'g> {
    /// The states that classifiers set, by intent, with the path of the first row.
    classified: BTreeMap<String, BTreeMap<String, String>>,
    /// Scopes that a rule may leave, in any phase.
    moved: BTreeSet<(&'g str, &'g str)>,
    /// Scopes that a rule may leave on any message, even if a classifier chose the intent.
    led_on: BTreeSet<(&'g str, &'g str)>,
    /// The states that rules set in a scope if a classifier chose the intent.
    twins: BTreeSet<(&'g str, &'g str, String)>,
    /// Scopes in which rules change the intent.
    switched: BTreeSet<(&'g str, &'g str)>,
    /// Scopes that a rule leaves on every message.
    left: BTreeSet<(&'g str, &'g str)>,
    /// Intents that rules set.
    set: BTreeSet<String>,
    /// States with a response.
    answered: BTreeSet<String>,
}

/// Reports states that nothing sets. Tasks can set any state, and models any state that their prompts mention.
fn unreachable(context: &Ground<'_>, findings: &mut Vec<Issue>) {
    if context.has_tasks {
        return;
    }
    let mut reached: BTreeSet<String> = context.rules.iter().filter_map(Rule::sets_state).collect();
    reached.extend(of_classifiers(context).iter().map(classifier_state));
    reached.extend(GIVEN.map(str::to_owned));
    reached.extend(told(context));
    let mut dependents: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for row in WAITING.iter().flat_map(|table| context.rows(table)) {
        let state = scope(row).1;
        if !reached.contains(&state) {
            dependents.entry(state).or_insert_with(|| (row.path("state_code"), 0)).1 += 1;
        }
    }
    for (state, (path, count)) in dependents {
        let rows = if count == 1 { "1 row depends".to_owned() } else { format!("{count} rows depend") };
        let reason = format!("no rule or classifier sets the state '{state}', on which {rows}");
        let hint = "add a rule with SET_STATE, or mention the state in the llm_hint of the intent if a model sets it";
        findings.push(Issue::warning(path, reason, hint).of("unreachable-state"));
    }
}

/// Returns the words of the texts that prompts include.
fn told(context: &Ground<'_>) -> BTreeSet<String> {
    let columns = [
        ("ce_intent", ["description", "llm_hint"]),
        ("ce_config", ["config_value", "config_value"]),
        ("ce_prompt_template", ["system_prompt", "user_prompt"]),
    ];
    let texts = columns.iter().flat_map(|(table, columns)| context.rows(table).iter().flat_map(|row| columns.map(|it| row.text(it))));
    let words = |text: String| text.split(|it: char| !(it.is_alphanumeric() || it == '_')).map(str::to_owned).collect::<Vec<_>>();
    texts.flatten().flat_map(words).collect()
}

impl<'g> Ways<'g> {
    fn of(context: &'g Ground<'_>) -> Ways<'g> {
        let scopes = |matches: &dyn Fn(&Rule<'_>) -> bool| {
            context.rules.iter().filter(|it| matches(it)).map(|it| (it.intent.as_str(), it.state.as_str())).collect::<BTreeSet<_>>()
        };
        let sets_intent = |it: &Rule<'_>| it.action == "SET_INTENT";
        Ways {
            classified: classified(context),
            moved: scopes(&|it| it.moves()),
            led_on: scopes(&|it| it.moves() && it.phase != Phase::PostAgentIntent && !it.waits_for_words()),
            twins: context
                .rules
                .iter()
                .filter(|it| it.phase != Phase::PostAgentIntent)
                .filter_map(|it| Some((it.intent.as_str(), it.state.as_str(), it.sets_state()?)))
                .collect(),
            switched: scopes(&sets_intent),
            left: scopes(&|it| it.moves() && it.unconditional()),
            set: context.rules.iter().filter(|it| sets_intent(it)).map(|it| upper(&it.value)).collect(),
            answered: context.rows("ce_response").iter().map(|it| scope(it).1).collect(),
        }
    }

    /// Reports a rule in a phase that runs after the model, for an intent that a classifier chooses, or the other way round.
    fn bootstrap(&self, rule: &Rule<'_>) -> Option<Issue> {
        let target = rule.sets_state()?;
        let states = self.classified.get(&rule.intent);
        let (reason, hint) = if rule.phase == Phase::PostAgentIntent {
            let has_twin = |state: &str| {
                around(&rule.intent, state).iter().any(|(intent, state)| self.twins.contains(&(*intent, *state, target.clone())))
            };
            let is_stuck = |it: &&String| meet(&rule.state, it) && **it != target && !is_in(&self.led_on, &rule.intent, it) && !has_twin(it);
            let state = states?.keys().find(is_stuck)?;
            let reason = format!(
                "classifiers choose '{}' with the state '{state}', but this phase runs only if a model chose the intent",
                rule.intent
            );
            (reason, "add the rule to the phase POST_CLASSIFIER_INTENT as well, or use PRE_RESPONSE_RESOLUTION")
        } else if rule.phase == Phase::PostClassifierIntent && rule.intent != ANY && states.is_none() && !self.set.contains(&rule.intent) {
            let reason = format!("no classifier chooses '{}', so the rule never runs", rule.intent);
            (reason, "use the phase POST_AGENT_INTENT, or add a classifier row")
        } else {
            return None;
        };
        Some(Issue::warning(rule.path("phase"), reason, hint).of("bootstrap-phase-unreachable"))
    }

    fn rule_without_answer(&self, context: &Ground<'_>, rule: &Rule<'_>) -> Option<Issue> {
        let state = rule.sets_state().filter(|it| it != "INTENT_COLLISION")?;
        let is_left = is_in(&self.left, &rule.intent, &state)
            || is_in(&self.switched, &rule.intent, &rule.state)
            || is_in(&self.switched, &rule.intent, &state);
        let answers = if rule.intent == ANY {
            self.answered.contains(&state) || self.answered.contains(ANY)
        } else {
            context.answers(&rule.intent, &state)
        };
        (!is_left && !answers).then(|| without_answer(rule.path("action_value"), &rule.intent, &state))
    }

    fn classifiers_without_answer(&self, context: &Ground<'_>, findings: &mut Vec<Issue>) {
        for (intent, states) in &self.classified {
            let is_unanswered = |it: &(&String, &String)| !context.answers(intent, it.0) && !is_in(&self.moved, intent, it.0);
            findings.extend(states.iter().filter(is_unanswered).map(|(state, path)| without_answer(path.clone(), intent, state)));
        }
    }
}

fn without_answer(path: String, intent: &str, state: &str) -> Issue {
    let reason = format!("no response matches the intent '{intent}' in the state '{state}'");
    Issue::warning(path, reason, "add a response for this state or for ANY, or correct the state").of("state-without-answer")
}

/// Returns the classifiers that set a state.
fn of_classifiers<'g, 't>(context: &'g Ground<'t>) -> &'g [Row<'t>] {
    match context.profile.arbitration {
        Arbitration::ClassifierFirst => context.rows("ce_intent_classifier"),
        Arbitration::AgentFirst => &[],
    }
}

fn classified(context: &Ground<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut classified: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for row in of_classifiers(context) {
        let Some(intent) = row.code("intent_code").map(|it| upper(&it)).filter(|it| context.intents.contains(it)) else { continue };
        classified.entry(intent).or_default().entry(classifier_state(row)).or_insert_with(|| row.path("state_code"));
    }
    classified
}

fn is_in(scopes: &BTreeSet<(&str, &str)>, intent: &str, state: &str) -> bool {
    around(intent, state).iter().any(|it| scopes.contains(it))
}
