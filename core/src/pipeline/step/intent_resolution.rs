//! Finds the intent by the wording of the message, unless it is held. (`spec/pipeline.md` 2.13)
//! Reads: `ce_intent_classifier`, message, lock, `skip_intent_resolution`. Writes: intent, state. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::config::{Act, Classifier, Phase};
use crate::fault::Fault;
use crate::rules;
use crate::session::{Session, truthy};
use crate::turn::Map;
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

const STEP: &str = "IntentResolutionStep";

/// Parameters by which a client or a rule asks for another intent although the current one is held.
const FORCE: [&str; 5] = ["force_intent_resolution", "resolve_intent", "switch_intent", "switch_flow", "switch_mode"];

pub(super) async fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    let previous = t.session.intent.clone();
    t.audit(
        Stage::IntentResolveStart,
        |session| json!({"previousIntent": previous, "intentLocked": session.lock.is_some(), "intentLockReason": session.lock}),
    );
    if t.session.lock.is_some() && !is_forced(&t.session) {
        t.session.clarification = None;
        t.audit(
            Stage::IntentResolveSkippedSchemaCollection,
            |session| json!({"intent": session.intent, "state": session.state, "intentLocked": true, "intentLockReason": session.lock}),
        );
        return Ok(Flow::Continue);
    }
    if truthy(t.session.params.get("skip_intent_resolution")) && t.session.is_resolved() {
        t.audit(Stage::IntentResolveSkippedPolicy, skipped);
        return Ok(Flow::Continue);
    }
    resolve(t).await;
    Ok(Flow::Continue)
}

fn skipped(session: &Session) -> serde_json::Value {
    json!({
        "intent": session.intent,
        "state": session.state,
        "dialogueAct": session.params.get("dialogue_act"),
        "policyDecision": session.params.get("policy_decision"),
        "skipIntentResolution": true,
        "reason": "policy decision retained existing intent/state",
    })
}

/// Whether the user leaves what holds the intent. An open question is no such sign: its answer belongs to what holds the intent.
fn is_forced(session: &Session) -> bool {
    let text = session.text().to_lowercase();
    let says = text.starts_with("switch to ")
        || ["switch intent", "change intent", "change flow", "change mode"].iter().any(|it| text.contains(it));
    says || session.act() == Act::Reset || FORCE.iter().any(|it| truthy(session.params.get(*it)))
}

async fn resolve(t: &mut Turning<'_>) {
    let Some(found) = classify(t) else {
        t.audit(Stage::IntentResolveNoChange, |_| json!({}));
        return;
    };
    let intent = found.intent.clone();
    t.session.set_intent(&intent);
    t.session.state.clone_from(&found.state);
    rules::pass(t, Phase::PostClassifierIntent, "IntentResolutionStep Classifier").await;
    t.audit(
        Stage::IntentResolvedByClassifier,
        |session| json!({"resolvedIntent": session.intent, "source": "CLASSIFIER", "classifierIntent": intent, "agentIntent": null}),
    );
    let resolved = t.session.intent.clone();
    publish(t, Progress::new(STEP, "INTENT_RESOLVED"), || {
        [("source", json!("CLASSIFIER")), ("resolvedIntent", json!(resolved))]
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect()
    });
}

/// All rows are tried; the intent counts only when all that match agree.
fn classify<'c>(t: &Turning<'c>) -> Option<&'c Classifier> {
    let text = t.session.working_text();
    let config = t.config;
    let hits: Vec<&Classifier> = text.map(|text| matching(&config.classifiers.0, text)).unwrap_or_default();
    let mut intents: Vec<&str> = Vec::new();
    for hit in &hits {
        if !intents.contains(&hit.intent.as_str()) {
            intents.push(&hit.intent);
        }
    }
    let by_rule = || hits.iter().map(|it| (it.id.to_string(), json!(it.intent))).collect::<Map>();
    match (hits.first(), intents.len()) {
        (None, _) => {
            t.audit(
                Stage::IntentClassifierNoMatch,
                |session| json!({"userText": session.user_text, "intent": session.intent, "state": session.state}),
            );
            None
        }
        (Some(first), 1) => {
            t.audit(
                Stage::IntentClassificationMatched,
                |_| json!({"intent": first.intent, "state": first.state, "matchedByRule": by_rule()}),
            );
            Some(*first)
        }
        (Some(_), _) => {
            t.audit(
                Stage::IntentClassifierCollision,
                |session| json!({"userText": session.user_text, "matchedIntents": intents, "matchedByRule": by_rule()}),
            );
            None
        }
    }
}

fn matching<'c>(classifiers: &'c [Classifier], text: &str) -> Vec<&'c Classifier> {
    let lower = text.to_lowercase();
    classifiers.iter().filter(|it| it.matcher.matches(text, &lower) == Ok(true)).collect()
}
