//! States that are never reached, are reached by a way that is never taken, or have no answer.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::{Ground, Rule, classifier_state, meet, scope};
use crate::config::{ANY, Arbitration, Issue, Phase, Row, UNKNOWN, around, upper};

/// States that the engine or a model gives without any row: no intent, a fresh intent, several intents.
const GIVEN: [&str; 4] = [UNKNOWN, ANY, "IDLE", "INTENT_COLLISION"];

/// Tables whose rows wait for a state.
const WAITING: [&str; 7] =
    ["ce_response", "ce_pending_action", "ce_mcp_tool", "ce_mcp_planner", "ce_prompt_template", "ce_output_schema", "ce_rule"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    unreachable(ground, found);
    let ways = Ways::of(ground);
    for rule in &ground.rules {
        found.extend(ways.bootstrap(rule));
    }
    if !ground.rows("ce_response").is_empty() {
        for rule in &ground.rules {
            found.extend(ways.rule_without_answer(ground, rule));
        }
        ways.classifiers_without_answer(ground, found);
    }
}

/// How conversations come to states and leave them.
struct Ways<'g> {
    /// The states that classifiers give, by intent, with the first row.
    classified: BTreeMap<String, BTreeMap<String, String>>,
    /// Scopes that a rule may leave, in any phase.
    moved: BTreeSet<(&'g str, &'g str)>,
    /// Scopes that a rule may leave whatever is said, also when no model chose the intent.
    led_on: BTreeSet<(&'g str, &'g str)>,
    /// The states that rules set in a scope when no model chose the intent.
    twins: BTreeSet<(&'g str, &'g str, String)>,
    /// Scopes in which rules change the intent.
    switched: BTreeSet<(&'g str, &'g str)>,
    /// Scopes that a rule leaves at every message.
    left: BTreeSet<(&'g str, &'g str)>,
    /// Intents that rules set.
    set: BTreeSet<String>,
    /// States that some response answers.
    answered: BTreeSet<String>,
}

/// Only where nothing else could set a state: a task can set any, and a model one that it was told of.
fn unreachable(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    if ground.has_tasks {
        return;
    }
    let mut reached: BTreeSet<String> = ground.rules.iter().filter_map(Rule::sets_state).collect();
    reached.extend(of_classifiers(ground).iter().map(classifier_state));
    reached.extend(GIVEN.map(str::to_owned));
    reached.extend(told(ground));
    let mut waiting: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for row in WAITING.iter().flat_map(|table| ground.rows(table)) {
        let state = scope(row).1;
        if !reached.contains(&state) {
            waiting.entry(state).or_insert_with(|| (row.path("state_code"), 0)).1 += 1;
        }
    }
    for (state, (path, count)) in waiting {
        let rows = if count == 1 { "this row waits".to_owned() } else { format!("{count} rows wait") };
        let reason = format!("no rule and no classifier sets the state '{state}', for which {rows}");
        let hint = "add a rule with SET_STATE, or name the state in the llm_hint of the intent if a model is to set it";
        found.push(Issue::warning(path, reason, hint).of("unreachable-state"));
    }
}

/// Words that models which may set a state are told.
fn told(ground: &Ground<'_>) -> BTreeSet<String> {
    let columns = [
        ("ce_intent", ["description", "llm_hint"]),
        ("ce_config", ["config_value", "config_value"]),
        ("ce_prompt_template", ["system_prompt", "user_prompt"]),
    ];
    let texts = columns.iter().flat_map(|(table, columns)| ground.rows(table).iter().flat_map(|row| columns.map(|it| row.text(it))));
    let words = |text: String| text.split(|it: char| !(it.is_alphanumeric() || it == '_')).map(str::to_owned).collect::<Vec<_>>();
    texts.flatten().flat_map(words).collect()
}

impl<'g> Ways<'g> {
    fn of(ground: &'g Ground<'_>) -> Ways<'g> {
        let scopes = |takes: &dyn Fn(&Rule<'_>) -> bool| {
            ground.rules.iter().filter(|it| takes(it)).map(|it| (it.intent.as_str(), it.state.as_str())).collect::<BTreeSet<_>>()
        };
        let sets_intent = |it: &Rule<'_>| it.action == "SET_INTENT";
        Ways {
            classified: classified(ground),
            moved: scopes(&|it| it.moves()),
            led_on: scopes(&|it| it.moves() && it.phase != Phase::PostAgentIntent && !it.waits_for_words()),
            twins: ground
                .rules
                .iter()
                .filter(|it| it.phase != Phase::PostAgentIntent)
                .filter_map(|it| Some((it.intent.as_str(), it.state.as_str(), it.sets_state()?)))
                .collect(),
            switched: scopes(&sets_intent),
            left: scopes(&|it| it.moves() && it.unconditional()),
            set: ground.rules.iter().filter(|it| sets_intent(it)).map(|it| upper(&it.value)).collect(),
            answered: ground.rows("ce_response").iter().map(|it| scope(it).1).collect(),
        }
    }

    /// A rule that waits for the model to choose an intent that a classifier chooses, or the other way round.
    fn bootstrap(&self, rule: &Rule<'_>) -> Option<Issue> {
        let target = rule.sets_state()?;
        let states = self.classified.get(&rule.intent);
        let (reason, hint) = if rule.phase == Phase::PostAgentIntent {
            let has_twin = |state: &str| {
                around(&rule.intent, state).iter().any(|(intent, state)| self.twins.contains(&(*intent, *state, target.clone())))
            };
            let stays = |it: &&String| meet(&rule.state, it) && **it != target && !is_in(&self.led_on, &rule.intent, it) && !has_twin(it);
            let state = states?.keys().find(stays)?;
            let reason = format!(
                "'{}' is chosen by classifiers in the state '{state}', and this phase runs only when a model chose it",
                rule.intent
            );
            (reason, "add the rule for the phase POST_CLASSIFIER_INTENT too, or use PRE_RESPONSE_RESOLUTION")
        } else if rule.phase == Phase::PostClassifierIntent && rule.intent != ANY && states.is_none() && !self.set.contains(&rule.intent) {
            let reason = format!("no classifier chooses '{}', so the rule never runs", rule.intent);
            (reason, "use the phase POST_AGENT_INTENT, or add a classifier row")
        } else {
            return None;
        };
        Some(Issue::warning(rule.path("phase"), reason, hint).of("bootstrap-phase-unreachable"))
    }

    fn rule_without_answer(&self, ground: &Ground<'_>, rule: &Rule<'_>) -> Option<Issue> {
        let state = rule.sets_state().filter(|it| it != "INTENT_COLLISION")?;
        let goes_on = is_in(&self.left, &rule.intent, &state)
            || is_in(&self.switched, &rule.intent, &rule.state)
            || is_in(&self.switched, &rule.intent, &state);
        let answers = if rule.intent == ANY {
            self.answered.contains(&state) || self.answered.contains(ANY)
        } else {
            ground.answers(&rule.intent, &state)
        };
        (!goes_on && !answers).then(|| without_answer(rule.path("action_value"), &rule.intent, &state))
    }

    fn classifiers_without_answer(&self, ground: &Ground<'_>, found: &mut Vec<Issue>) {
        for (intent, states) in &self.classified {
            let silent = |it: &(&String, &String)| !ground.answers(intent, it.0) && !is_in(&self.moved, intent, it.0);
            found.extend(states.iter().filter(silent).map(|(state, path)| without_answer(path.clone(), intent, state)));
        }
    }
}

fn without_answer(path: String, intent: &str, state: &str) -> Issue {
    let reason = format!("no response fits the intent '{intent}' in the state '{state}'");
    Issue::warning(path, reason, "add a response for this state or for ANY, or correct the state").of("state-without-answer")
}

/// The classifiers that give a state.
fn of_classifiers<'g, 't>(ground: &'g Ground<'t>) -> &'g [Row<'t>] {
    match ground.profile.arbitration {
        Arbitration::ClassifierFirst => ground.rows("ce_intent_classifier"),
        Arbitration::AgentFirst => &[],
    }
}

fn classified(ground: &Ground<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut classified: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for row in of_classifiers(ground) {
        let Some(intent) = row.code("intent_code").map(|it| upper(&it)).filter(|it| ground.intents.contains(it)) else { continue };
        classified.entry(intent).or_default().entry(classifier_state(row)).or_insert_with(|| row.path("state_code"));
    }
    classified
}

fn is_in(scopes: &BTreeSet<(&str, &str)>, intent: &str, state: &str) -> bool {
    around(intent, state).iter().any(|it| scopes.contains(it))
}
