//! Resolves the intent with a model: scores, thresholds and clarification questions. (docs/spec/pipeline.md#2.13, Agent)

use serde_json::{Value, json};

use super::INTENT_COLLISION;
use super::collision;
use super::reply::{AgentReply, Score};
use crate::audit::Stage;
use crate::config::{Phase, same_code};
use crate::fault::Fault;
use crate::json::members;
use crate::llm;
use crate::rules;
use crate::schema;
use crate::turn::{Considered, Fate, LlmMode, Map, Payload, PayloadKind};
use crate::turning::Turning;
use crate::verbose::{Progress, publish, tell};

/// Explanation for an intent outside the allowed ones.
const NOT_ALLOWED: &str = "rejected: the intent is not among those that may be chosen";

const RESOLVER: &str = "AgentIntentResolver";

/// Asks a model for the intent; returns the resulting intent, or `None` when the model's answer was rejected.
///
/// # Errors
/// The model call failed.
pub async fn ask(cx: &mut Turning<'_>) -> Result<Option<String>, Fault> {
    let config = cx.config;
    publish(cx, Progress::new(RESOLVER, "AGENT_INTENT_START"), || members(json!({"allowedIntentCount": config.agent.intents.len()})));
    if config.agent.intents.is_empty() {
        explain(cx, None, "not asked: no intent may be chosen");
        cx.audit(Stage::IntentAgentSkipped, |_| json!({"reason": "no allowed intents"}));
        return Ok(None);
    }
    cx.session.set_param("agentResolver", true);
    for key in ["intent_collision_candidates", "intent_scores", "intent_top3", "followups"] {
        cx.session.set_param(key, json!([]));
    }
    let resolved = match call(cx).await {
        Ok(reply) => Ok(judge(cx, &reply).await),
        Err(fault) => {
            explain(cx, None, "the model did not answer");
            Err(fault)
        }
    };
    cx.session.set_param("agentResolver", false);
    resolved
}

async fn call(cx: &mut Turning<'_>) -> Result<String, Fault> {
    let config = cx.config;
    let variables = llm::variables(cx, &Value::Null);
    let prompts = llm::prompts(cx, &config.agent.prompts.system, &config.agent.prompts.user, &variables);
    let input = json!({
        "templateFromCeConfig (AgentIntentResolver)": "USER_PROMPT, SYSTEM_PROMPT",
        "systemPrompt": prompts.system,
        "userPrompt": prompts.user,
    });
    tell(cx, Stage::IntentAgentLlmInput, Progress::new(RESOLVER, "INTENT_AGENT_LLM_INPUT"), input);
    let reply = match llm::ask(cx, "intent_agent", LlmMode::Json, prompts, None).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::error(RESOLVER, "INTENT_AGENT_LLM_ERROR"), || members(json!({"error": error.message})));
            return Err(Fault::of_llm());
        }
    };
    cx.session.last_output = Some(("INTENT_AGENT", reply.clone()));
    cx.session.last_assistant = Some(reply.clone());
    cx.session.payload = Some(Payload { kind: PayloadKind::Json, value: reply.clone() });
    let output = json!({"json": reply});
    tell(cx, Stage::IntentAgentLlmOutput, Progress::new(RESOLVER, "INTENT_AGENT_LLM_OUTPUT"), output);
    Ok(reply)
}

async fn judge(cx: &mut Turning<'_>, reply: &str) -> Option<String> {
    let Ok(object) = serde_json::from_str::<Map>(llm::unfenced(reply)) else {
        return reject(cx, None, "rejected: the answer is no JSON object", json!({"reason": "invalid json"}));
    };
    let mut reply = AgentReply::read(&object, &cx.config.agent);
    cx.session.set_param("intent_scores", json!(reply.scores));
    cx.session.set_param("intent_top3", json!(reply.top()));
    cx.session.set_param("followups", json!(reply.followups));
    cx.audit(Stage::IntentAgentScores, |_| json!({"scores": reply.scores, "followups": reply.followups}));
    cx.session.set_param("intent_collision_candidates", json!(reply.candidates()));
    settle_question(cx, &mut reply);
    if reply.needs_clarification {
        return clarify(cx, &reply);
    }
    accept(cx, reply).await
}

/// Decides whether to ask the user, and what.
fn settle_question(cx: &mut Turning<'_>, reply: &mut AgentReply) {
    let model_state = reply.state.clone();
    if cx.session.clarification.is_none() && collision::collides(&cx.config.agent, reply) {
        collide(cx, reply);
    }
    let has_schema = reply.intent.as_deref().is_some_and(|it| schema::drives(cx, it));
    if has_schema && reply.needs_clarification {
        // The schema's own questions clarify it. The state reverts to the model's. (docs/decisions/README.md#Q-13)
        cx.audit(
            Stage::IntentAgentClarificationSuppressedSchemaFlow,
            |_| json!({"intent": reply.intent, "state": reply.state, "question": reply.question}),
        );
        reply.needs_clarification = false;
        reply.question = None;
        reply.state = model_state.filter(|it| !it.eq_ignore_ascii_case(INTENT_COLLISION));
        return;
    }
    let collided = reply.state.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(INTENT_COLLISION));
    if let (true, None, Some(question)) = (reply.needs_clarification || collided, &reply.question, reply.followups.first()) {
        reply.question = Some(question.clone());
        reply.needs_clarification = true;
    }
}

fn collide(cx: &mut Turning<'_>, reply: &mut AgentReply) {
    reply.needs_clarification = true;
    reply.state = Some(INTENT_COLLISION.to_owned());
    if reply.question.is_none() {
        reply.question = reply.followups.first().cloned().or_else(|| collision::question(reply));
    }
    let payload = json!({
        "intent": reply.intent, "state": reply.state, "question": reply.question, "candidates": reply.candidates(), "scores": reply.top(),
    });
    tell(cx, Stage::IntentAgentCollision, Progress::new(RESOLVER, "AGENT_INTENT_COLLISION"), payload);
}

/// Asks the user; an intent that is not allowed is not taken over with the question. (docs/decisions/README.md#Q-24)
fn clarify(cx: &mut Turning<'_>, reply: &AgentReply) -> Option<String> {
    let Some(question) = &reply.question else {
        return reject(
            cx,
            Some(reply),
            "rejected: the user should be asked, but not what",
            json!({"reason": "needsClarification without question"}),
        );
    };
    if let Some(intent) = reply.intent.as_deref().filter(|it| !cx.config.agent.allows(it)) {
        return reject(
            cx,
            Some(reply),
            NOT_ALLOWED,
            json!({"intent": intent, "state": reply.state, "reason": "Intent not in allowed intents"}),
        );
    }
    explain(cx, Some(reply), "the user is asked: the model says so, or two intents are too close");
    cx.session.ask(question, "AGENT");
    take(cx, reply);
    let payload = json!({"intent": reply.intent, "state": reply.state, "question": question, "followups": reply.followups});
    tell(cx, Stage::IntentAgentNeedsClarification, Progress::new(RESOLVER, "AGENT_INTENT_NEEDS_CLARIFICATION"), payload);
    Some(cx.session.intent.clone())
}

async fn accept(cx: &mut Turning<'_>, reply: AgentReply) -> Option<String> {
    let Some(intent) = &reply.intent else {
        let allowed = &cx.config.agent.intents;
        let payload = json!({"reason": "the model names no intent", "allowedIntents": allowed, "scores": reply.scores});
        return reject(cx, Some(&reply), "rejected: the model names no intent", payload);
    };
    if !cx.config.agent.allows(intent) {
        let payload = json!({"intent": intent, "state": reply.state, "reason": "Intent not in allowed intents"});
        return reject(cx, Some(&reply), NOT_ALLOWED, payload);
    }
    if reply.confidence < cx.config.agent.min_confidence {
        let payload = json!({"intent": intent, "state": reply.state, "confidence": reply.confidence});
        return reject(cx, Some(&reply), "rejected: the confidence is below the least that is taken", payload);
    }
    explain(cx, Some(&reply), "accepted: the intent may be chosen, and the confidence is enough");
    take(cx, &reply);
    rules::pass(cx, Phase::PostAgentIntent, RESOLVER).await;
    cx.session.clarification = None;
    if let Some(question) = &reply.question {
        cx.session.ask(question, "AGENT");
    }
    let state = reply.state.as_ref().unwrap_or(&cx.session.state);
    let payload = json!({"intent": intent, "state": state, "confidence": reply.confidence, "scores": reply.top()});
    tell(cx, Stage::IntentAgentAccepted, Progress::new(RESOLVER, "AGENT_INTENT_ACCEPTED"), payload);
    Some(cx.session.intent.clone())
}

fn explain(cx: &Turning<'_>, reply: Option<&AgentReply>, verdict: &str) {
    let Some(explanation) = cx.door.why("intent_agent") else { return };
    let Some(reply) = reply else { return explanation.decided(&cx.door, verdict) };
    let agent = &cx.config.agent;
    let about = json!({
        "intent": reply.intent, "state": reply.state, "confidence": reply.confidence, "minConfidence": agent.min_confidence,
        "collisionGap": agent.collision_gap, "needsClarification": reply.needs_clarification, "question": reply.question,
        "openQuestion": cx.session.clarification.is_some(),
    });
    let is_named = |it: &str| reply.intent.as_deref().is_some_and(|intent| same_code(intent, it));
    let score = |it: &Score| {
        let row_verdict = if is_named(&it.intent) { Fate::Matched } else { Fate::Lost };
        Considered { score: it.confidence.into(), ..Considered::choice("", &it.intent, row_verdict) }
    };
    explanation.about(about).of(reply.scores.iter().map(score).collect()).decided(&cx.door, verdict);
}

/// Takes over the intent and state that the model names.
fn take(cx: &mut Turning<'_>, reply: &AgentReply) {
    if let Some(intent) = &reply.intent {
        cx.session.set_intent(intent);
    }
    if let Some(state) = &reply.state {
        cx.session.state.clone_from(state);
    }
}

fn reject(cx: &Turning<'_>, reply: Option<&AgentReply>, verdict: &str, payload: Value) -> Option<String> {
    explain(cx, reply, verdict);
    tell(cx, Stage::IntentAgentRejected, Progress::error(RESOLVER, "AGENT_INTENT_REJECTED"), payload);
    None
}
