//! Resolves the intent: by pattern, else by a model, unless the intent is locked. (docs/spec/pipeline.md#2.13)
//! Reads: `ce_intent`, `ce_intent_classifier`, message, lock, `skip_intent_resolution`. Writes: intent, state, an open question, lock.
//! Waits for: embed, llm, rule tasks.

use convengine_config::{Arbitration, Classifier, DialogueAct, Phase, is_same_code};
use convengine_text::json::into_members;
use convengine_turn::Fault;
use convengine_turn::payload;
use serde_json::json;

use super::StepOutcome;
use crate::audit::Stage;
use crate::intent::{self, Classification};
use crate::rules;
use crate::schema::{self, SCHEMA_INCOMPLETE};
use crate::session::{Session, is_flag_set};
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish};

const STEP: &str = "IntentResolutionStep";

/// Parameters by which a client or a rule requests another intent although the current one is locked.
const FORCE_KEYS: [&str; 5] = ["force_intent_resolution", "resolve_intent", "switch_intent", "switch_flow", "switch_mode"];

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    let previous = cx.session.intent.clone();
    cx.audit(
        Stage::IntentResolveStart,
        |session| payload!({"previousIntent": previous, "intentLocked": session.lock.is_some(), "intentLockReason": session.lock}),
    );
    if !cx.session.is_question_turn && is_locked(cx) && !is_forced(&cx.session) {
        cx.session.lock.get_or_insert_with(|| SCHEMA_INCOMPLETE.to_owned());
        cx.session.clarification = None;
        explain(cx, "classifier", "the intent is kept while values are collected or it is locked; not resolved");
        cx.audit(
            Stage::IntentResolveSkippedSchemaCollection,
            |session| payload!({"intent": session.intent, "state": session.state, "intentLocked": true, "intentLockReason": session.lock}),
        );
        return Ok(StepOutcome::Continue);
    }
    if cx.session.is_question_turn || (is_flag_set(cx.session.params.get("skip_intent_resolution")) && cx.session.is_resolved()) {
        explain(cx, "classifier", "this turn has its intent already (skip_intent_resolution, or a question that has to be answered first)");
        cx.audit(Stage::IntentResolveSkippedPolicy, skipped_payload);
        return Ok(StepOutcome::Continue);
    }
    resolve_intent(cx).await?;
    if !is_same_code(&previous, &cx.session.intent) {
        // The lock belonged to the old intent.
        cx.session.lock = None;
    }
    Ok(StepOutcome::Continue)
}

fn explain(cx: &StepContext<'_>, topic: &'static str, verdict: &str) {
    if let Some(explanation) = cx.effects.begin_explanation(topic) {
        let about = json!({"intent": cx.session.intent, "state": cx.session.state, "lock": cx.session.lock});
        explanation.with_subject(about).record(&cx.effects, verdict);
    }
}

/// Whether the intent is locked: while values are collected, unless intents are not sticky, and by any other lock.
fn is_locked(cx: &StepContext<'_>) -> bool {
    let by_collection = || cx.session.lock.is_some() || schema::is_collecting(cx);
    match cx.session.lock.as_deref() {
        Some(reason) if reason != SCHEMA_INCOMPLETE => true,
        Some(_) | None => cx.config.intent_resolver.is_sticky && by_collection(),
    }
}

fn skipped_payload(session: &Session) -> serde_json::Value {
    json!({
        "intent": session.intent,
        "state": session.state,
        "dialogueAct": session.params.get("dialogue_act"),
        "policyDecision": session.params.get("policy_decision"),
        "skipIntentResolution": true,
        "reason": "policy decision retained existing intent/state",
    })
}

/// Whether the user leaves the locked intent. An open question alone is no sign of it: its answer belongs to the lock.
fn is_forced(session: &Session) -> bool {
    let text = session.text().to_lowercase();
    let is_requested = text.starts_with("switch to ")
        || ["switch intent", "change intent", "change flow", "change mode"].iter().any(|it| text.contains(it));
    is_requested || session.dialogue_act() == DialogueAct::Reset || FORCE_KEYS.iter().any(|key| is_flag_set(session.params.get(*key)))
}

async fn resolve_intent(cx: &mut StepContext<'_>) -> Result<(), Fault> {
    let arbitration = cx.config.settings.profile.arbitration;
    let classified = match intent::classify(cx).await {
        Classification::Row(row) => Some(row),
        Classification::Asked => {
            explain(cx, "intent_agent", "not asked: the user is asked which of two intents is meant");
            return Ok(());
        }
        Classification::Unknown => None,
    };
    let model_result = match classified {
        Some(_) if arbitration == Arbitration::ClassifierFirst => {
            explain(cx, "intent_agent", "not asked: the wording decides");
            Ok(None)
        }
        Some(_) | None => intent::resolve_with_model(cx).await,
    };
    match (model_result, classified) {
        (Ok(Some(intent)), _) => publish_resolved(cx, "AGENT", classified.map(|row| row.intent.as_str()), Some(&intent)),
        // A failed call is audited already, and the classifier needs no model.
        (Ok(None) | Err(_), Some(row)) => apply_classifier(cx, row, arbitration).await,
        (Ok(None), None) => cx.audit(Stage::IntentResolveNoChange, |_| json!({})),
        (Err(fault), None) => return Err(fault),
    }
    Ok(())
}

async fn apply_classifier(cx: &mut StepContext<'_>, row: &Classifier, arbitration: Arbitration) {
    // The open question is answered by the new intent.
    cx.session.clarification = None;
    cx.session.set_intent(&row.intent);
    if arbitration == Arbitration::ClassifierFirst {
        cx.session.state.clone_from(&row.state);
    }
    rules::run_pass(cx, Phase::PostClassifierIntent, "IntentResolutionStep Classifier").await;
    publish_resolved(cx, "CLASSIFIER", Some(&row.intent), None);
}

fn publish_resolved(cx: &StepContext<'_>, source: &str, classifier: Option<&str>, agent: Option<&str>) {
    let stage = if agent.is_some() { Stage::IntentResolvedByAgent } else { Stage::IntentResolvedByClassifier };
    let intent = &cx.session.intent;
    cx.audit(stage, |_| payload!({"resolvedIntent": intent, "source": source, "classifierIntent": classifier, "agentIntent": agent}));
    publish(cx, Progress::new(STEP, "INTENT_RESOLVED"), || into_members(json!({"source": source, "resolvedIntent": intent})));
}
