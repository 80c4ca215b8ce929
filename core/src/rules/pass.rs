//! A rule pass: up to five rounds over the rules of a phase. (docs/spec/pipeline.md#2.22, docs/spec/data-and-api.md#6.3)

use serde_json::{Value, json};

use super::act;
use crate::audit::Stage;
use crate::config::{Condition, Phase, Rule};
use crate::session::{Facts, RuleRun, Session};
use crate::turn::{Considered, Fate, Map, TOO_MANY_STEPS, Why};
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

/// Maximum rounds of a pass, even if intent or state still changes.
const ROUNDS: u32 = 5;

/// Facts that every audit row of a pass contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub phase: Phase,
    pub source: &'static str,
    origin: &'static str,
}

/// Runs the rules of a phase, if the profile has it.
pub async fn pass(cx: &mut Turning<'_>, phase: Phase, source: &'static str) {
    if !cx.config.settings.profile.has_phase(phase) {
        return;
    }
    let origin = if source.to_lowercase().contains("agentintentresolver") { "AGENT_INTENT_RESOLVER" } else { "RULES_STEP" };
    let pass = Pass { phase, source, origin };
    announce(cx, pass);
    let mut evaluated = false;
    let mut facts = Facts::default();
    for round in 1..=ROUNDS {
        let (intent, state) = (cx.session.intent.clone(), cx.session.state.clone());
        let config = cx.config;
        let mut explanation = cx.door.why("rules");
        for rule in config.rules.eligible(phase, &intent, &state) {
            evaluated = true;
            let considered = evaluate(cx, pass, rule, &state, &mut facts, explanation.is_some()).await;
            if let Some(explanation) = &mut explanation {
                explanation.rows.extend(considered);
            }
        }
        if let Some(explanation) = explanation {
            explain(cx, pass, explanation, json!({"phase": phase.name(), "round": round, "intent": intent, "state": state, "source": source}));
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

fn announce(cx: &mut Turning<'_>, pass: Pass) {
    let post_intent = pass.is(Phase::PostAgentIntent);
    cx.session.rule_run = Some(RuleRun { post_intent, source: pass.source, origin: pass.origin });
    for (key, value) in [
        ("post_intent_rule", json!(post_intent)),
        ("rule_execution_source", json!(pass.source)),
        ("rule_execution_origin", json!(pass.origin)),
        ("rule_phase", json!(pass.phase.name())),
        ("rule_agent_post_intent", json!(post_intent)),
        ("rule_agent_post_mcp", json!(pass.is(Phase::PostAgentMcp))),
        ("rule_tool_post_execution", json!(pass.is(Phase::PostToolExecution))),
    ] {
        cx.session.set_param(key, value);
    }
}

/// Evaluates one rule and runs its action. `facts` is the document for paths: built when a rule first needs it, and discarded after an
/// action.
///
/// Returns the rule's explanation when `is_observed`.
async fn evaluate(
    cx: &mut Turning<'_>,
    pass: Pass,
    rule: &Rule,
    state_of_round: &str,
    facts: &mut Facts,
    is_observed: bool,
) -> Option<Considered> {
    let applies = applies(cx, rule, facts);
    let considered = is_observed.then(|| considered(&cx.session, rule, applies, facts));
    if !applies {
        cx.audit(Stage::RuleNoMatch(pass.source), |session| {
            json!({
                "ruleId": rule.id, "type": rule.rule_type, "ruleStateCode": rule.state_code, "pattern": rule.pattern,
                "action": rule.action_name, "intent": session.intent, "state": session.state, "evaluatedState": state_of_round,
                "reason": "TYPE_CONDITION_NOT_MET", "ruleExecutionSource": pass.source, "ruleExecutionOrigin": pass.origin,
                "rulePhase": pass.phase.name(), "ruleDbPhase": rule.phase, "ruleAgentPostIntent": pass.is(Phase::PostAgentIntent),
                "ruleAgentPostMcp": pass.is(Phase::PostAgentMcp), "ruleToolPostExecution": pass.is(Phase::PostToolExecution),
            })
        });
        return considered;
    }
    cx.audit(Stage::RuleMatch(pass.source), |session| {
        json!({
            "ruleId": rule.id, "action": rule.action_name, "ruleType": rule.rule_type, "ruleStateCode": rule.state_code,
            "intent": session.intent, "state": session.state, "ruleExecutionSource": pass.source, "ruleExecutionOrigin": pass.origin,
            "rulePhase": pass.phase.name(), "ruleAgentPostIntent": pass.is(Phase::PostAgentIntent),
            "ruleAgentPostMcp": pass.is(Phase::PostAgentMcp), "ruleToolPostExecution": pass.is(Phase::PostToolExecution),
            "context": session.context, "schemaJson": session.schema_json(),
        })
    });
    publish(cx, Progress::new("RulesStep", "RULE_MATCH").of_rule(rule.id), || pass.metadata());
    publish(cx, Progress::new("RuleActionResolverFactory", "RULE_ACTION_RESOLVER_SELECTED").of_rule(rule.id), || pass.metadata());
    act::run(cx, rule).await;
    *facts = Facts::default();
    cx.audit(Stage::RuleApplied(pass.source), |session| {
        let parsed = rule.action_value.as_deref().and_then(|it| serde_json::from_str::<Value>(it).ok());
        json!({
            "ruleId": rule.id, "intent": session.intent, "type": rule.rule_type, "ruleStateCode": rule.state_code,
            "pattern": rule.pattern, "action": rule.action_name, "ruleExecutionSource": pass.source,
            "ruleExecutionOrigin": pass.origin, "rulePhase": pass.phase.name(),
            "ruleAgentPostIntent": pass.is(Phase::PostAgentIntent), "ruleAgentPostMcp": pass.is(Phase::PostAgentMcp),
            "ruleToolPostExecution": pass.is(Phase::PostToolExecution), "actionValue": parsed,
        })
    });
    publish(cx, Progress::new("RulesStep", "RULE_APPLIED").of_rule(rule.id), || pass.metadata());
    considered
}

/// Whether the rule's condition is met; a pattern that exceeds its step limit does not match.
fn applies(cx: &Turning<'_>, rule: &Rule, facts: &mut Facts) -> bool {
    let text = cx.session.user_text.as_deref();
    match &rule.condition {
        Condition::Always => text.is_some(),
        Condition::Exact(pattern) => text.is_some_and(|it| it.trim().to_lowercase() == *pattern),
        Condition::Regex(regex) => text.is_some_and(|it| regex.find(it) == Ok(true)),
        Condition::JsonPath(path) => facts.hold(&cx.session, path),
        Condition::ContextJsonPath(path) => facts.in_context(&cx.session, path),
    }
}

/// Explains the verdict on a rule, with the values that its condition read.
fn considered(session: &Session, rule: &Rule, applies: bool, facts: &Facts) -> Considered {
    let text = session.user_text.as_deref();
    let (reason, values) = match &rule.condition {
        Condition::Always => ("there is no message", Map::new()),
        Condition::Exact(_) => ("the message is another one", message(text)),
        Condition::Regex(regex) if text.is_some_and(|it| regex.find(it).is_err()) => {
            return rule.considered(Fate::Failed).because(TOO_MANY_STEPS);
        }
        Condition::Regex(_) => ("the pattern does not occur in the message", message(text)),
        Condition::JsonPath(path) => ("the path does not hold", facts.read(path, false)),
        Condition::ContextJsonPath(path) => ("the path finds nothing in the context", facts.read(path, true)),
    };
    let considered = if applies {
        let action = format!("{} {}", rule.action_name, rule.action_value.as_deref().unwrap_or_default());
        rule.considered(Fate::Matched).because(action.trim_end())
    } else {
        rule.considered(Fate::NotMatched).because(reason)
    };
    Considered { facts: values, ..considered }
}

fn message(text: Option<&str>) -> Map {
    Map::from_iter([("userText".to_owned(), json!(text))])
}

/// Records the explanation of a phase; skipped for a phase without rules.
fn explain(cx: &Turning<'_>, pass: Pass, mut explanation: Why, about: Value) {
    let of = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
    let outside = cx.config.rules.outside(pass.phase, of("intent"), of("state"));
    explanation.rows.extend(outside);
    if !explanation.rows.is_empty() {
        let matched = explanation.rows.iter().filter(|it| it.verdict == Fate::Matched).count();
        let verdict = format!("{matched} of {} rules apply", explanation.rows.len());
        explanation.about(about).decided(&cx.door, verdict);
    }
}

impl Pass {
    fn is(self, phase: Phase) -> bool {
        self.phase == phase
    }

    /// Facts that every event of a pass contains.
    fn metadata(self) -> Map {
        let members = [
            ("ruleExecutionSource", json!(self.source)),
            ("ruleExecutionOrigin", json!(self.origin)),
            ("rulePhase", json!(self.phase.name())),
            ("ruleAgentPostIntent", json!(self.is(Phase::PostAgentIntent))),
            ("ruleAgentPostMcp", json!(self.is(Phase::PostAgentMcp))),
            ("ruleToolPostExecution", json!(self.is(Phase::PostToolExecution))),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}
