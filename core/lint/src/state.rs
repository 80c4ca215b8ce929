//! States that are never reached, rules in phases that never run, and states without a response.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::{ANY, Arbitration, Issue, Phase, TableRow, UNKNOWN, enclosing_scopes, to_upper_code};

use super::context::{LintContext, Rule, classifier_state, overlaps, scope};

/// States that the engine sets without a row: no intent, a new intent, several intents.
const BUILT_IN_STATES: [&str; 4] = [UNKNOWN, ANY, "IDLE", "INTENT_COLLISION"];

/// Tables whose rows depend on a state.
const STATE_TABLES: [&str; 7] =
    ["ce_response", "ce_pending_action", "ce_mcp_tool", "ce_mcp_planner", "ce_prompt_template", "ce_output_schema", "ce_rule"];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    check_unreachable(context, findings);
    let transitions = StateTransitions::new(context);
    for rule in &context.rules {
        findings.extend(transitions.check_phase(rule));
    }
    if !context.rows("ce_response").is_empty() {
        for rule in &context.rules {
            findings.extend(transitions.check_rule_response(context, rule));
        }
        transitions.check_classifier_responses(context, findings);
    }
}

/// How conversations enter and leave states.
struct StateTransitions<'g> {
    /// The states that classifiers set, by intent, with the path of the first row.
    classifier_states: BTreeMap<String, BTreeMap<String, String>>,
    /// Scopes that a rule may leave, in any phase.
    left_by_rules: BTreeSet<(&'g str, &'g str)>,
    /// Scopes that a rule may leave on any message, even if a classifier chose the intent.
    left_without_words: BTreeSet<(&'g str, &'g str)>,
    /// The states that rules set in a scope if a classifier chose the intent.
    set_without_model: BTreeSet<(&'g str, &'g str, String)>,
    /// Scopes in which rules change the intent, by the phase of the rules.
    intent_switches: BTreeMap<Phase, BTreeSet<(&'g str, &'g str)>>,
    /// Scopes that a rule leaves on every message, by its phase.
    left_unconditionally: BTreeMap<Phase, BTreeSet<(&'g str, &'g str)>>,
    /// Intents that rules set.
    intents_of_rules: BTreeSet<String>,
    /// States with a response.
    response_states: BTreeSet<String>,
}

/// Reports states that nothing sets. Tasks can set any state, and models any state that their prompts mention.
fn check_unreachable(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    if context.has_tasks {
        return;
    }
    let mut reached: BTreeSet<String> = context.rules.iter().filter_map(Rule::target_state).collect();
    reached.extend(state_classifiers(context).iter().map(classifier_state));
    reached.extend(BUILT_IN_STATES.map(str::to_owned));
    reached.extend(words_of_prompts(context));
    let mut dependents: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for row in STATE_TABLES.iter().flat_map(|table| context.rows(table)) {
        let state = scope(row).1;
        if !reached.contains(&state) {
            dependents.entry(state).or_insert_with(|| (row.path("state_code"), 0)).1 += 1;
        }
    }
    for (state, (path, count)) in dependents {
        let rows = if count == 1 { "1 row depends".to_owned() } else { format!("{count} rows depend") };
        let reason = format!("no rule or classifier sets the state '{state}', on which {rows}");
        let hint = "add a rule with SET_STATE, or mention the state in the llm_hint of the intent if a model sets it";
        findings.push(Issue::warning(path, reason, hint).with_rule("unreachable-state"));
    }
}

/// Returns the words of the texts that prompts include.
fn words_of_prompts(context: &LintContext<'_>) -> BTreeSet<String> {
    let columns = [
        ("ce_intent", ["description", "llm_hint"]),
        ("ce_config", ["config_value", "config_value"]),
        ("ce_prompt_template", ["system_prompt", "user_prompt"]),
    ];
    let texts =
        columns.iter().flat_map(|(table, columns)| context.rows(table).iter().flat_map(|row| columns.map(|column| row.text(column))));
    let words = |text: String| {
        text.split(|character: char| !(character.is_alphanumeric() || character == '_')).map(str::to_owned).collect::<Vec<_>>()
    };
    texts.flatten().flat_map(words).collect()
}

impl<'g> StateTransitions<'g> {
    fn new(context: &'g LintContext<'_>) -> StateTransitions<'g> {
        let scopes = |matches: &dyn Fn(&Rule<'_>) -> bool| {
            context
                .rules
                .iter()
                .filter(|rule| matches(rule))
                .map(|rule| (rule.intent.as_str(), rule.state.as_str()))
                .collect::<BTreeSet<_>>()
        };
        let scopes_by_phase = |matches: &dyn Fn(&Rule<'_>) -> bool| {
            let mut found: BTreeMap<Phase, BTreeSet<(&'g str, &'g str)>> = BTreeMap::new();
            for rule in context.rules.iter().filter(|rule| matches(rule)) {
                found.entry(rule.phase).or_default().insert((rule.intent.as_str(), rule.state.as_str()));
            }
            found
        };
        StateTransitions {
            classifier_states: states_by_intent(context),
            left_by_rules: scopes(&|it| it.action.may_transition()),
            left_without_words: scopes(&|rule| {
                rule.action.may_transition() && rule.phase != Phase::PostAgentIntent && !rule.requires_words()
            }),
            set_without_model: context
                .rules
                .iter()
                .filter(|it| it.phase != Phase::PostAgentIntent)
                .filter_map(|rule| Some((rule.intent.as_str(), rule.state.as_str(), rule.target_state()?)))
                .collect(),
            intent_switches: scopes_by_phase(&|rule| rule.action.target_intent().is_some()),
            left_unconditionally: scopes_by_phase(&|rule| rule.action.may_transition() && rule.is_unconditional()),
            intents_of_rules: context.rules.iter().filter_map(Rule::target_intent).collect(),
            response_states: context.rows("ce_response").iter().map(|it| scope(it).1).collect(),
        }
    }

    /// Reports a rule in a phase that runs after the model, for an intent that a classifier chooses, or the other way round.
    fn check_phase(&self, rule: &Rule<'_>) -> Option<Issue> {
        let target = rule.target_state()?;
        let states = self.classifier_states.get(&rule.intent);
        let (reason, hint) = if rule.phase == Phase::PostAgentIntent {
            let has_duplicate = |state: &str| {
                enclosing_scopes(&rule.intent, state)
                    .iter()
                    .any(|(intent, state)| self.set_without_model.contains(&(*intent, *state, target.clone())))
            };
            let is_stuck = |state: &&String| {
                overlaps(&rule.state, state)
                    && **state != target
                    && !has_scope(&self.left_without_words, &rule.intent, state)
                    && !has_duplicate(state)
            };
            let state = states?.keys().find(is_stuck)?;
            let reason = format!(
                "classifiers choose '{}' with the state '{state}', but this phase runs only if a model chose the intent",
                rule.intent
            );
            (reason, "add the rule to the phase POST_CLASSIFIER_INTENT as well, or use PRE_RESPONSE_RESOLUTION")
        } else if rule.phase == Phase::PostClassifierIntent
            && rule.intent != ANY
            && states.is_none()
            && !self.intents_of_rules.contains(&rule.intent)
        {
            let reason = format!("no classifier chooses '{}', so the rule never runs", rule.intent);
            (reason, "use the phase POST_AGENT_INTENT, or add a classifier row")
        } else {
            return None;
        };
        Some(Issue::warning(rule.path("phase"), reason, hint).with_rule("bootstrap-phase-unreachable"))
    }

    fn check_rule_response(&self, context: &LintContext<'_>, rule: &Rule<'_>) -> Option<Issue> {
        let state = rule.target_state().filter(|it| it != "INTENT_COLLISION")?;
        // Rules of an earlier phase leave the state with the next message; this one has to be answered before.
        let is_left_at = |rules: &BTreeMap<Phase, BTreeSet<(&str, &str)>>, state: &str| {
            rules.range(rule.phase..).any(|(_, scopes)| has_scope(scopes, &rule.intent, state))
        };
        let is_left = is_left_at(&self.left_unconditionally, &state)
            || is_left_at(&self.intent_switches, &rule.state)
            || is_left_at(&self.intent_switches, &state);
        let answers = if rule.intent == ANY {
            self.response_states.contains(&state) || self.response_states.contains(ANY)
        } else {
            context.has_response(&rule.intent, &state)
        };
        (!is_left && !answers).then(|| missing_response(rule.path("action_value"), &rule.intent, &state))
    }

    fn check_classifier_responses(&self, context: &LintContext<'_>, findings: &mut Vec<Issue>) {
        for (intent, states) in &self.classifier_states {
            let is_unanswered =
                |(state, _): &(&String, &String)| !context.has_response(intent, state) && !has_scope(&self.left_by_rules, intent, state);
            findings.extend(states.iter().filter(is_unanswered).map(|(state, path)| missing_response(path.clone(), intent, state)));
        }
    }
}

fn missing_response(path: String, intent: &str, state: &str) -> Issue {
    let reason = format!("no response matches the intent '{intent}' in the state '{state}'");
    Issue::warning(path, reason, "add a response for this state or for ANY, or correct the state").with_rule("state-without-answer")
}

/// Returns the classifiers that set a state.
fn state_classifiers<'g, 't>(context: &'g LintContext<'t>) -> &'g [TableRow<'t>] {
    match context.profile.arbitration {
        Arbitration::ClassifierFirst => context.rows("ce_intent_classifier"),
        Arbitration::AgentFirst => &[],
    }
}

fn states_by_intent(context: &LintContext<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut classified: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for row in state_classifiers(context) {
        let Some(intent) = row.code("intent_code").map(|it| to_upper_code(&it)).filter(|it| context.intents.contains(it)) else { continue };
        classified.entry(intent).or_default().entry(classifier_state(row)).or_insert_with(|| row.path("state_code"));
    }
    classified
}

fn has_scope(scopes: &BTreeSet<(&str, &str)>, intent: &str, state: &str) -> bool {
    enclosing_scopes(intent, state).iter().any(|it| scopes.contains(it))
}
