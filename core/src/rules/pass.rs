//! A rule pass: up to five rounds over the rules of a phase. (`spec/pipeline.md` 2.22, `spec/data-and-api.md` 6.3)

use serde_json::{Value, json};

use super::act;
use crate::audit::Stage;
use crate::config::{Condition, Phase, Rule};
use crate::session::{Facts, RuleRun, Session};
use crate::turn::{Considered, Fate, Map, TOO_MANY_STEPS, Why};
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

/// Rounds after which a pass ends although intent or state still change.
const ROUNDS: u32 = 5;

/// What every audit row of a pass says about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub phase: Phase,
    pub source: &'static str,
    origin: &'static str,
}

/// Runs the rules of a phase, where the profile has it.
pub async fn pass(t: &mut Turning<'_>, phase: Phase, source: &'static str) {
    if !t.config.settings.profile.has_phase(phase) {
        return;
    }
    let origin = if source.to_lowercase().contains("agentintentresolver") { "AGENT_INTENT_RESOLVER" } else { "RULES_STEP" };
    let pass = Pass { phase, source, origin };
    announce(t, pass);
    let mut evaluated = false;
    let mut facts = Facts::default();
    for round in 1..=ROUNDS {
        let (intent, state) = (t.session.intent.clone(), t.session.state.clone());
        let config = t.config;
        let mut why = t.door.why("rules");
        for rule in config.rules.eligible(phase, &intent, &state) {
            evaluated = true;
            let considered = evaluate(t, pass, rule, &state, &mut facts, why.is_some()).await;
            if let Some(why) = &mut why {
                why.rows.extend(considered);
            }
        }
        if let Some(why) = why {
            explain(t, pass, why, json!({"phase": phase.name(), "round": round, "intent": intent, "state": state, "source": source}));
        }
        if t.session.intent == intent && t.session.state == state {
            break;
        }
    }
    if !evaluated {
        t.audit(Stage::RuleNoMatch(source), |session| {
            let mut payload = Map::new();
            payload.insert("intent".to_owned(), json!(session.intent));
            payload.insert("state".to_owned(), json!(session.state));
            payload.extend(pass.metadata());
            Value::Object(payload)
        });
        publish(t, Progress::new("RulesStep", "RULE_NO_MATCH"), || pass.metadata());
    }
}

fn announce(t: &mut Turning<'_>, pass: Pass) {
    let post_intent = pass.is(Phase::PostAgentIntent);
    t.session.rule_run = Some(RuleRun { post_intent, source: pass.source, origin: pass.origin });
    for (key, value) in [
        ("post_intent_rule", json!(post_intent)),
        ("rule_execution_source", json!(pass.source)),
        ("rule_execution_origin", json!(pass.origin)),
        ("rule_phase", json!(pass.phase.name())),
        ("rule_agent_post_intent", json!(post_intent)),
        ("rule_agent_post_mcp", json!(pass.is(Phase::PostAgentMcp))),
        ("rule_tool_post_execution", json!(pass.is(Phase::PostToolExecution))),
    ] {
        t.session.set_param(key, value);
    }
}

/// `facts` are what paths are asked of: built when a rule first needs them, and again after a rule has done something.
///
/// Returns what became of the rule when `watched`.
async fn evaluate(
    t: &mut Turning<'_>,
    pass: Pass,
    rule: &Rule,
    state_of_round: &str,
    facts: &mut Facts,
    watched: bool,
) -> Option<Considered> {
    let applies = applies(t, rule, facts);
    let considered = watched.then(|| considered(&t.session, rule, applies, facts));
    if !applies {
        t.audit(Stage::RuleNoMatch(pass.source), |session| {
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
    t.audit(Stage::RuleMatch(pass.source), |session| {
        json!({
            "ruleId": rule.id, "action": rule.action_name, "ruleType": rule.rule_type, "ruleStateCode": rule.state_code,
            "intent": session.intent, "state": session.state, "ruleExecutionSource": pass.source, "ruleExecutionOrigin": pass.origin,
            "rulePhase": pass.phase.name(), "ruleAgentPostIntent": pass.is(Phase::PostAgentIntent),
            "ruleAgentPostMcp": pass.is(Phase::PostAgentMcp), "ruleToolPostExecution": pass.is(Phase::PostToolExecution),
            "context": session.context, "schemaJson": session.schema_json(),
        })
    });
    publish(t, Progress::new("RulesStep", "RULE_MATCH").of_rule(rule.id), || pass.metadata());
    publish(t, Progress::new("RuleActionResolverFactory", "RULE_ACTION_RESOLVER_SELECTED").of_rule(rule.id), || pass.metadata());
    act::run(t, rule).await;
    *facts = Facts::default();
    t.audit(Stage::RuleApplied(pass.source), |session| {
        let parsed = rule.action_value.as_deref().and_then(|it| serde_json::from_str::<Value>(it).ok());
        json!({
            "ruleId": rule.id, "intent": session.intent, "type": rule.rule_type, "ruleStateCode": rule.state_code,
            "pattern": rule.pattern, "action": rule.action_name, "ruleExecutionSource": pass.source,
            "ruleExecutionOrigin": pass.origin, "rulePhase": pass.phase.name(),
            "ruleAgentPostIntent": pass.is(Phase::PostAgentIntent), "ruleAgentPostMcp": pass.is(Phase::PostAgentMcp),
            "ruleToolPostExecution": pass.is(Phase::PostToolExecution), "actionValue": parsed,
        })
    });
    publish(t, Progress::new("RulesStep", "RULE_APPLIED").of_rule(rule.id), || pass.metadata());
    considered
}

/// Whether the rule's condition is met; a pattern that takes too many steps is not.
fn applies(t: &Turning<'_>, rule: &Rule, facts: &mut Facts) -> bool {
    let text = t.session.user_text.as_deref();
    match &rule.condition {
        Condition::Always => text.is_some(),
        Condition::Exact(pattern) => text.is_some_and(|it| it.trim().to_lowercase() == *pattern),
        Condition::Regex(regex) => text.is_some_and(|it| regex.find(it) == Ok(true)),
        Condition::JsonPath(path) => facts.hold(&t.session, path),
        Condition::ContextJsonPath(path) => facts.in_context(&t.session, path),
    }
}

/// What became of a rule, with what its condition read.
fn considered(session: &Session, rule: &Rule, applies: bool, facts: &Facts) -> Considered {
    let text = session.user_text.as_deref();
    let (reason, read) = match &rule.condition {
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
        let done = format!("{} {}", rule.action_name, rule.action_value.as_deref().unwrap_or_default());
        rule.considered(Fate::Matched).because(done.trim_end())
    } else {
        rule.considered(Fate::NotMatched).because(reason)
    };
    Considered { facts: read, ..considered }
}

fn message(text: Option<&str>) -> Map {
    Map::from_iter([("userText".to_owned(), json!(text))])
}

/// A phase without rules explains nothing.
fn explain(t: &Turning<'_>, pass: Pass, mut why: Why, about: Value) {
    let of = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default();
    let outside = t.config.rules.outside(pass.phase, of("intent"), of("state"));
    why.rows.extend(outside);
    if !why.rows.is_empty() {
        let matched = why.rows.iter().filter(|it| it.verdict == Fate::Matched).count();
        let verdict = format!("{matched} of {} rules apply", why.rows.len());
        why.about(about).decided(&t.door, verdict);
    }
}

impl Pass {
    fn is(self, phase: Phase) -> bool {
        self.phase == phase
    }

    /// What every event of a pass says about it.
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
