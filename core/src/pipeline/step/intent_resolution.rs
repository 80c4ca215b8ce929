//! Finds the intent: by the wording of the message, else by a model, unless it is held. (`spec/pipeline.md` 2.13)
//! Reads: `ce_intent`, `ce_intent_classifier`, message, lock, `skip_intent_resolution`. Writes: intent, state, an open question, lock.
//! Waits for: embed, llm, rule tasks.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::config::{Act, Arbitration, Classifier, Phase, same_code};
use crate::fault::Fault;
use crate::intent;
use crate::json::members;
use crate::rules;
use crate::schema::{self, SCHEMA_INCOMPLETE};
use crate::session::{Session, truthy};
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
    if !t.session.stalled && is_held(t) && !is_forced(&t.session) {
        t.session.lock.get_or_insert_with(|| SCHEMA_INCOMPLETE.to_owned());
        t.session.clarification = None;
        explain(t, "classifier", "the intent is held while values are collected or a lock stands: nobody is asked");
        t.audit(
            Stage::IntentResolveSkippedSchemaCollection,
            |session| json!({"intent": session.intent, "state": session.state, "intentLocked": true, "intentLockReason": session.lock}),
        );
        return Ok(Flow::Continue);
    }
    if t.session.stalled || (truthy(t.session.params.get("skip_intent_resolution")) && t.session.is_resolved()) {
        explain(t, "classifier", "this turn has its intent already (skip_intent_resolution, or a question that has to be answered first)");
        t.audit(Stage::IntentResolveSkippedPolicy, skipped);
        return Ok(Flow::Continue);
    }
    resolve(t).await?;
    if !same_code(&previous, &t.session.intent) {
        // What held the old intent does not hold the new one.
        t.session.lock = None;
    }
    Ok(Flow::Continue)
}

fn explain(t: &Turning<'_>, topic: &'static str, verdict: &str) {
    if let Some(why) = t.door.why(topic) {
        let about = json!({"intent": t.session.intent, "state": t.session.state, "lock": t.session.lock});
        why.about(about).decided(&t.door, verdict);
    }
}

/// Whether the intent is held: while values are collected, unless intents do not stick, and by any other lock.
fn is_held(t: &Turning<'_>) -> bool {
    let by_collection = || t.session.lock.is_some() || schema::collecting(t);
    match t.session.lock.as_deref() {
        Some(reason) if reason != SCHEMA_INCOMPLETE => true,
        Some(_) | None => t.config.agent.sticky && by_collection(),
    }
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

async fn resolve(t: &mut Turning<'_>) -> Result<(), Fault> {
    let arbitration = t.config.settings.profile.arbitration;
    let classified = intent::classify(t).await;
    let asked = match classified {
        Some(_) if arbitration == Arbitration::ClassifierFirst => {
            explain(t, "intent_agent", "not asked: the wording decides");
            Ok(None)
        }
        Some(_) | None => intent::ask(t).await,
    };
    match (asked, classified) {
        (Ok(Some(intent)), _) => resolved(t, "AGENT", classified.map(|it| it.intent.as_str()), Some(&intent)),
        // A failed call is audited already, and the wording needs no model.
        (Ok(None) | Err(_), Some(found)) => take(t, found, arbitration).await,
        (Ok(None), None) => t.audit(Stage::IntentResolveNoChange, |_| json!({})),
        (Err(fault), None) => return Err(fault),
    }
    Ok(())
}

async fn take(t: &mut Turning<'_>, found: &Classifier, arbitration: Arbitration) {
    // A question that was open has its answer. (X7)
    t.session.clarification = None;
    t.session.set_intent(&found.intent);
    if arbitration == Arbitration::ClassifierFirst {
        t.session.state.clone_from(&found.state);
    }
    rules::pass(t, Phase::PostClassifierIntent, "IntentResolutionStep Classifier").await;
    resolved(t, "CLASSIFIER", Some(&found.intent), None);
}

fn resolved(t: &Turning<'_>, source: &str, classifier: Option<&str>, agent: Option<&str>) {
    let stage = if agent.is_some() { Stage::IntentResolvedByAgent } else { Stage::IntentResolvedByClassifier };
    let intent = &t.session.intent;
    t.audit(stage, |_| json!({"resolvedIntent": intent, "source": source, "classifierIntent": classifier, "agentIntent": agent}));
    publish(t, Progress::new(STEP, "INTENT_RESOLVED"), || members(json!({"source": source, "resolvedIntent": intent})));
}
