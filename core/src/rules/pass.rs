//! A rule pass: up to five rounds over the rules of a phase. (`spec/pipeline.md` 2.22, `spec/data-and-api.md` 6.3)

use serde_json::{Map as JsonMap, Value, json};

use super::act;
use crate::audit::Stage;
use crate::config::{Condition, Phase, Rule};
use crate::session::RuleRun;
use crate::turn::Map;
use crate::turning::Turning;
use crate::verbose::{Event, publish};

/// Rounds after which a pass ends although intent or state still change.
const ROUNDS: u32 = 5;

/// What every audit row of a pass says about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub phase: Phase,
    pub source: &'static str,
    origin: &'static str,
}

/// Runs the rules of a phase.
pub fn pass(t: &mut Turning<'_>, phase: Phase, source: &'static str) {
    let origin = if source.to_lowercase().contains("agentintentresolver") { "AGENT_INTENT_RESOLVER" } else { "RULES_STEP" };
    let pass = Pass { phase, source, origin };
    announce(t, pass);
    let mut evaluated = false;
    for _ in 0..ROUNDS {
        let (intent, state) = (t.session.intent.clone(), t.session.state.clone());
        let config = t.config;
        for rule in config.rules.eligible(phase, &intent, &state) {
            evaluated = true;
            evaluate(t, pass, rule);
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
            pass.describe(&mut payload);
            Value::Object(payload)
        });
        publish(t, Event::new("RulesStep", "RULE_NO_MATCH"), || pass.metadata());
    }
}

fn announce(t: &mut Turning<'_>, pass: Pass) {
    let post_intent = pass.phase == Phase::PostAgentIntent;
    t.session.rule_run = Some(RuleRun { post_intent, source: pass.source, origin: pass.origin });
    for (key, value) in [
        ("post_intent_rule", json!(post_intent)),
        ("rule_execution_source", json!(pass.source)),
        ("rule_execution_origin", json!(pass.origin)),
        ("rule_phase", json!(pass.phase.name())),
        ("rule_agent_post_intent", json!(post_intent)),
        ("rule_agent_post_mcp", json!(pass.phase == Phase::PostAgentMcp)),
        ("rule_tool_post_execution", json!(pass.phase == Phase::PostToolExecution)),
    ] {
        t.session.set_param(key, value);
    }
}

fn evaluate(t: &mut Turning<'_>, pass: Pass, rule: &Rule) {
    if !applies(t, rule) {
        t.audit(Stage::RuleNoMatch(pass.source), |session| {
            let mut payload = of_rule(rule, "type");
            payload.insert("pattern".to_owned(), json!(rule.pattern));
            payload.insert("intent".to_owned(), json!(session.intent));
            payload.insert("state".to_owned(), json!(session.state));
            payload.insert("evaluatedState".to_owned(), json!(session.state));
            payload.insert("reason".to_owned(), json!("TYPE_CONDITION_NOT_MET"));
            pass.describe(&mut payload);
            payload.insert("ruleDbPhase".to_owned(), json!(rule.phase));
            Value::Object(payload)
        });
        return;
    }
    t.audit(Stage::RuleMatch(pass.source), |session| {
        let mut payload = of_rule(rule, "ruleType");
        payload.insert("intent".to_owned(), json!(session.intent));
        payload.insert("state".to_owned(), json!(session.state));
        pass.describe(&mut payload);
        payload.insert("context".to_owned(), Value::Object(session.context.clone()));
        payload.insert("schemaJson".to_owned(), Value::Object(session.schema_json()));
        Value::Object(payload)
    });
    publish(t, Event::new("RulesStep", "RULE_MATCH").of_rule(rule.id), || pass.metadata());
    publish(t, Event::new("RuleActionResolverFactory", "RULE_ACTION_RESOLVER_SELECTED").of_rule(rule.id), || pass.metadata());
    act::run(t, rule);
    t.audit(Stage::RuleApplied(pass.source), |session| {
        let mut payload = of_rule(rule, "type");
        payload.insert("intent".to_owned(), json!(session.intent));
        payload.insert("pattern".to_owned(), json!(rule.pattern));
        pass.describe(&mut payload);
        let parsed = rule.action_value.as_deref().and_then(|it| serde_json::from_str::<Value>(it).ok());
        payload.insert("actionValue".to_owned(), parsed.unwrap_or(Value::Null));
        Value::Object(payload)
    });
    publish(t, Event::new("RulesStep", "RULE_APPLIED").of_rule(rule.id), || pass.metadata());
}

/// Whether the rule's condition is met; a pattern that takes too many steps is not.
fn applies(t: &Turning<'_>, rule: &Rule) -> bool {
    let text = t.session.user_text.as_deref();
    match &rule.condition {
        Condition::Always => text.is_some(),
        Condition::Exact(pattern) => text.is_some_and(|it| it.trim().to_lowercase() == *pattern),
        Condition::Regex(regex) => text.is_some_and(|it| regex.find(it) == Ok(true)),
        Condition::JsonPath(path) => path.matches(&t.session.facts()),
        Condition::ContextJsonPath(path) => path.present(&Value::Object(t.session.context.clone())),
    }
}

fn of_rule(rule: &Rule, type_key: &str) -> Map {
    let members = [
        ("ruleId", json!(rule.id)),
        (type_key, json!(rule.rule_type)),
        ("ruleStateCode", json!(rule.state_code)),
        ("action", json!(rule.action_name)),
    ];
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Pass {
    fn describe(self, payload: &mut JsonMap<String, Value>) {
        for (key, value) in [
            ("ruleExecutionSource", json!(self.source)),
            ("ruleExecutionOrigin", json!(self.origin)),
            ("rulePhase", json!(self.phase.name())),
            ("ruleAgentPostIntent", json!(self.phase == Phase::PostAgentIntent)),
            ("ruleAgentPostMcp", json!(self.phase == Phase::PostAgentMcp)),
            ("ruleToolPostExecution", json!(self.phase == Phase::PostToolExecution)),
        ] {
            payload.insert(key.to_owned(), value);
        }
    }

    fn metadata(self) -> Map {
        let mut metadata = Map::new();
        self.describe(&mut metadata);
        metadata
    }
}
