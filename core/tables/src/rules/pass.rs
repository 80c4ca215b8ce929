//! A rule pass: up to five rounds over the rules of a phase. (docs/spec/pipeline.md#2.22, docs/spec/data-and-api.md#6.3)

use convengine_config::{Phase, Rule, RuleCondition};
use convengine_turn::{Candidate, Explanation, Map, TOO_MANY_STEPS, Verdict, payload};
use serde_json::{Value, json};

use super::action;
use crate::audit::Stage;
use crate::session::{Facts, RuleRun, Session};
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish};

/// Maximum rounds of a pass, even if intent or state still changes.
const MAX_ROUNDS: u32 = 5;

/// Facts that every audit row of a pass contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct RulePass {
    pub phase: Phase,
    pub source: &'static str,
    origin: &'static str,
}

/// Runs the rules of a phase, if the profile has it.
pub async fn run_pass(cx: &mut StepContext<'_>, phase: Phase, source: &'static str) {
    if !cx.config.settings.profile.has_phase(phase) {
        return;
    }
    let origin = if source.to_lowercase().contains("agentintentresolver") { "AGENT_INTENT_RESOLVER" } else { "RULES_STEP" };
    let pass = RulePass { phase, source, origin };
    set_pass_params(cx, pass);
    let mut evaluated = false;
    let mut facts = Facts::default();
    for round in 1..=MAX_ROUNDS {
        let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
        let config = cx.config;
        let mut explanation = cx.effects.begin_explanation("rules");
        for rule in config.rules.eligible(phase, &intent, &state) {
            evaluated = true;
            let considered = evaluate_rule(cx, pass, rule, &state, &mut facts, explanation.is_some()).await;
            if let Some(explanation) = &mut explanation {
                explanation.rows.extend(considered);
            }
        }
        if let Some(explanation) = explanation {
            record_explanation(
                cx,
                pass,
                explanation,
                json!({"phase": phase.name(), "round": round, "intent": intent, "state": state, "source": source}),
            );
        }
        if cx.session.intent == intent && cx.session.state == state {
            break;
        }
    }
    if !evaluated {
        cx.audit(Stage::RuleNoMatch(source), |session| {
            let mut payload = Map::new();
            payload.insert("intent".to_owned(), json!(session.intent));
            payload.insert("state".to_owned(), json!(session.state));
            payload.extend(pass.metadata());
            Value::Object(payload)
        });
        publish(cx, Progress::new("RulesStep", "RULE_NO_MATCH"), || pass.metadata());
    }
}

fn set_pass_params(cx: &mut StepContext<'_>, pass: RulePass) {
    let post_intent = pass.is_phase(Phase::PostAgentIntent);
    cx.session.rule_run = Some(RuleRun { post_intent, source: pass.source, origin: pass.origin });
    for (key, value) in [
        ("post_intent_rule", json!(post_intent)),
        ("rule_execution_source", json!(pass.source)),
        ("rule_execution_origin", json!(pass.origin)),
        ("rule_phase", json!(pass.phase.name())),
        ("rule_agent_post_intent", json!(post_intent)),
        ("rule_agent_post_mcp", json!(pass.is_phase(Phase::PostAgentMcp))),
        ("rule_tool_post_execution", json!(pass.is_phase(Phase::PostToolExecution))),
    ] {
        cx.session.set_param(key, value);
    }
}

/// Evaluates one rule and runs its action. `facts` is the document for paths: built when a rule first needs it, and discarded after an
/// action.
///
/// Returns the rule's explanation when `is_observed`.
async fn evaluate_rule(
    cx: &mut StepContext<'_>,
    pass: RulePass,
    rule: &Rule,
    state_of_round: &str,
    facts: &mut Facts,
    is_observed: bool,
) -> Option<Candidate> {
    let applies = is_applicable(cx, rule, facts);
    let considered = is_observed.then(|| explain_rule(&cx.session, rule, applies, facts));
    if !applies {
        cx.audit(Stage::RuleNoMatch(pass.source), |session| {
            payload!({
                "ruleId": rule.id, "type": rule.rule_type, "ruleStateCode": rule.state_code, "pattern": rule.pattern,
                "action": rule.action_name, "intent": session.intent, "state": session.state, "evaluatedState": state_of_round,
                "reason": "TYPE_CONDITION_NOT_MET", "ruleExecutionSource": pass.source, "ruleExecutionOrigin": pass.origin,
                "rulePhase": pass.phase.name(), "ruleDbPhase": rule.phase, "ruleAgentPostIntent": pass.is_phase(Phase::PostAgentIntent),
                "ruleAgentPostMcp": pass.is_phase(Phase::PostAgentMcp), "ruleToolPostExecution": pass.is_phase(Phase::PostToolExecution),
            })
        });
        return considered;
    }
    cx.audit(Stage::RuleMatch(pass.source), |session| {
        payload!({
            "ruleId": rule.id, "action": rule.action_name, "ruleType": rule.rule_type, "ruleStateCode": rule.state_code,
            "intent": session.intent, "state": session.state, "ruleExecutionSource": pass.source, "ruleExecutionOrigin": pass.origin,
            "rulePhase": pass.phase.name(), "ruleAgentPostIntent": pass.is_phase(Phase::PostAgentIntent),
            "ruleAgentPostMcp": pass.is_phase(Phase::PostAgentMcp), "ruleToolPostExecution": pass.is_phase(Phase::PostToolExecution),
            "context": session.context, "schemaJson": session.schema_json(),
        })
    });
    publish(cx, Progress::new("RulesStep", "RULE_MATCH").with_rule(rule.id), || pass.metadata());
    publish(cx, Progress::new("RuleActionResolverFactory", "RULE_ACTION_RESOLVER_SELECTED").with_rule(rule.id), || pass.metadata());
    action::run_action(cx, rule).await;
    *facts = Facts::default();
    cx.audit(Stage::RuleApplied(pass.source), |session| {
        let parsed = rule.action_value.as_deref().and_then(|action_value| serde_json::from_str::<Value>(action_value).ok());
        payload!({
            "ruleId": rule.id, "intent": session.intent, "type": rule.rule_type, "ruleStateCode": rule.state_code,
            "pattern": rule.pattern, "action": rule.action_name, "ruleExecutionSource": pass.source,
            "ruleExecutionOrigin": pass.origin, "rulePhase": pass.phase.name(),
            "ruleAgentPostIntent": pass.is_phase(Phase::PostAgentIntent), "ruleAgentPostMcp": pass.is_phase(Phase::PostAgentMcp),
            "ruleToolPostExecution": pass.is_phase(Phase::PostToolExecution), "actionValue": parsed,
        })
    });
    publish(cx, Progress::new("RulesStep", "RULE_APPLIED").with_rule(rule.id), || pass.metadata());
    considered
}

/// Whether the rule's condition is met; a pattern that exceeds its step limit does not match.
fn is_applicable(cx: &StepContext<'_>, rule: &Rule, facts: &mut Facts) -> bool {
    let text = cx.session.user_text.as_deref();
    match &rule.condition {
        RuleCondition::Always => text.is_some(),
        RuleCondition::Exact(pattern) => text.is_some_and(|text| text.trim().to_lowercase() == *pattern),
        RuleCondition::Regex(regex) => text.is_some_and(|text| regex.is_match(text) == Ok(true)),
        RuleCondition::JsonPath(path) => facts.matches(&cx.session, path),
        RuleCondition::ContextJsonPath(path) => facts.matches_context(&cx.session, path),
    }
}

/// Explains the verdict on a rule, with the values that its condition read.
fn explain_rule(session: &Session, rule: &Rule, applies: bool, facts: &Facts) -> Candidate {
    let text = session.user_text.as_deref();
    let (reason, values) = match &rule.condition {
        RuleCondition::Always => ("the turn has no message", Map::new()),
        RuleCondition::Exact(_) => ("the message is different", message_facts(text)),
        RuleCondition::Regex(regex) if text.is_some_and(|text| regex.is_match(text).is_err()) => {
            return rule.candidate(Verdict::Failed).with_reason(TOO_MANY_STEPS);
        }
        RuleCondition::Regex(_) => ("the pattern does not match", message_facts(text)),
        RuleCondition::JsonPath(path) => ("the path does not hold", facts.read_values(path, false)),
        RuleCondition::ContextJsonPath(path) => ("the path matches nothing", facts.read_values(path, true)),
    };
    let considered = if applies {
        let action = format!("{} {}", rule.action_name, rule.action_value.as_deref().unwrap_or_default());
        rule.candidate(Verdict::Matched).with_reason(action.trim_end())
    } else {
        rule.candidate(Verdict::NotMatched).with_reason(reason)
    };
    Candidate { facts: values, ..considered }
}

fn message_facts(text: Option<&str>) -> Map {
    Map::from_iter([("userText".to_owned(), json!(text))])
}

/// Records the explanation of a phase; skipped for a phase without rules.
fn record_explanation(cx: &StepContext<'_>, pass: RulePass, mut explanation: Explanation, about: Value) {
    let code = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
    let outside = cx.config.rules.out_of_scope(pass.phase, code("intent"), code("state"));
    explanation.rows.extend(outside);
    if !explanation.rows.is_empty() {
        let matched = explanation.rows.iter().filter(|it| it.verdict == Verdict::Matched).count();
        let verdict = format!("{matched} of {} rules apply", explanation.rows.len());
        explanation.with_subject(about).record(&cx.effects, verdict);
    }
}

impl RulePass {
    fn is_phase(self, phase: Phase) -> bool {
        self.phase == phase
    }

    /// Facts that every event of a pass contains.
    fn metadata(self) -> Map {
        let members = [
            ("ruleExecutionSource", json!(self.source)),
            ("ruleExecutionOrigin", json!(self.origin)),
            ("rulePhase", json!(self.phase.name())),
            ("ruleAgentPostIntent", json!(self.is_phase(Phase::PostAgentIntent))),
            ("ruleAgentPostMcp", json!(self.is_phase(Phase::PostAgentMcp))),
            ("ruleToolPostExecution", json!(self.is_phase(Phase::PostToolExecution))),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}
