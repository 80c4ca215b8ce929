//! Lets a model choose the intent, with scores, thresholds and questions. (`spec/pipeline.md` 2.13, Agent)

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

/// Why an intent is not taken over.
const NOT_ALLOWED: &str = "rejected: the intent is not among those that may be chosen";

const RESOLVER: &str = "AgentIntentResolver";

/// Asks a model for the intent; returns the intent that stands then, or nothing when the model's answer was not taken.
///
/// # Errors
/// The model does not answer.
pub async fn ask(t: &mut Turning<'_>) -> Result<Option<String>, Fault> {
    let config = t.config;
    publish(t, Progress::new(RESOLVER, "AGENT_INTENT_START"), || members(json!({"allowedIntentCount": config.agent.intents.len()})));
    if config.agent.intents.is_empty() {
        explain(t, None, "not asked: no intent may be chosen");
        t.audit(Stage::IntentAgentSkipped, |_| json!({"reason": "no allowed intents"}));
        return Ok(None);
    }
    t.session.set_param("agentResolver", true);
    for key in ["intent_collision_candidates", "intent_scores", "intent_top3", "followups"] {
        t.session.set_param(key, json!([]));
    }
    let resolved = match call(t).await {
        Ok(reply) => Ok(judge(t, &reply).await),
        Err(fault) => {
            explain(t, None, "the model did not answer");
            Err(fault)
        }
    };
    t.session.set_param("agentResolver", false);
    resolved
}

async fn call(t: &mut Turning<'_>) -> Result<String, Fault> {
    let config = t.config;
    let variables = llm::variables(t, &Value::Null);
    let prompts = llm::prompts(t, &config.agent.prompts.system, &config.agent.prompts.user, &variables);
    let input = json!({
        "templateFromCeConfig (AgentIntentResolver)": "USER_PROMPT, SYSTEM_PROMPT",
        "systemPrompt": prompts.system,
        "userPrompt": prompts.user,
    });
    tell(t, Stage::IntentAgentLlmInput, Progress::new(RESOLVER, "INTENT_AGENT_LLM_INPUT"), input);
    let reply = match llm::ask(t, "intent_agent", LlmMode::Json, prompts, None).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(t, Progress::error(RESOLVER, "INTENT_AGENT_LLM_ERROR"), || members(json!({"error": error.message})));
            return Err(Fault::of_llm());
        }
    };
    t.session.last_output = Some(("INTENT_AGENT", reply.clone()));
    t.session.last_assistant = Some(reply.clone());
    t.session.payload = Some(Payload { kind: PayloadKind::Json, value: reply.clone() });
    let output = json!({"json": reply});
    tell(t, Stage::IntentAgentLlmOutput, Progress::new(RESOLVER, "INTENT_AGENT_LLM_OUTPUT"), output);
    Ok(reply)
}

async fn judge(t: &mut Turning<'_>, reply: &str) -> Option<String> {
    let Ok(object) = serde_json::from_str::<Map>(llm::unfenced(reply)) else {
        return reject(t, None, "rejected: the answer is no JSON object", json!({"reason": "invalid json"}));
    };
    let mut reply = AgentReply::read(&object, &t.config.agent);
    t.session.set_param("intent_scores", json!(reply.scores));
    t.session.set_param("intent_top3", json!(reply.top()));
    t.session.set_param("followups", json!(reply.followups));
    t.audit(Stage::IntentAgentScores, |_| json!({"scores": reply.scores, "followups": reply.followups}));
    t.session.set_param("intent_collision_candidates", json!(reply.candidates()));
    settle_question(t, &mut reply);
    if reply.needs_clarification {
        return clarify(t, &reply);
    }
    accept(t, reply).await
}

/// Decides whether the user has to be asked, and what.
fn settle_question(t: &mut Turning<'_>, reply: &mut AgentReply) {
    let of_model = reply.state.clone();
    if t.session.clarification.is_none() && collision::collides(&t.config.agent, reply) {
        collide(t, reply);
    }
    let of_schema = reply.intent.as_deref().is_some_and(|it| schema::drives(t, it));
    if of_schema && reply.needs_clarification {
        // The schema's own questions settle what is unclear. The state goes back to what the model said.
        t.audit(
            Stage::IntentAgentClarificationSuppressedSchemaFlow,
            |_| json!({"intent": reply.intent, "state": reply.state, "question": reply.question}),
        );
        reply.needs_clarification = false;
        reply.question = None;
        reply.state = of_model.filter(|it| !it.eq_ignore_ascii_case(INTENT_COLLISION));
        return;
    }
    let collided = reply.state.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(INTENT_COLLISION));
    if let (true, None, Some(question)) = (reply.needs_clarification || collided, &reply.question, reply.followups.first()) {
        reply.question = Some(question.clone());
        reply.needs_clarification = true;
    }
}

fn collide(t: &mut Turning<'_>, reply: &mut AgentReply) {
    reply.needs_clarification = true;
    reply.state = Some(INTENT_COLLISION.to_owned());
    if reply.question.is_none() {
        reply.question = reply.followups.first().cloned().or_else(|| collision::question(reply));
    }
    let payload = json!({
        "intent": reply.intent, "state": reply.state, "question": reply.question, "candidates": reply.candidates(), "scores": reply.top(),
    });
    tell(t, Stage::IntentAgentCollision, Progress::new(RESOLVER, "AGENT_INTENT_COLLISION"), payload);
}

/// Asks the user; an intent that may not be chosen is not taken over with the question.
fn clarify(t: &mut Turning<'_>, reply: &AgentReply) -> Option<String> {
    let Some(question) = &reply.question else {
        return reject(
            t,
            Some(reply),
            "rejected: the user should be asked, but not what",
            json!({"reason": "needsClarification without question"}),
        );
    };
    if let Some(intent) = reply.intent.as_deref().filter(|it| !t.config.agent.allows(it)) {
        return reject(
            t,
            Some(reply),
            NOT_ALLOWED,
            json!({"intent": intent, "state": reply.state, "reason": "Intent not in allowed intents"}),
        );
    }
    explain(t, Some(reply), "the user is asked: the model says so, or two intents are too close");
    t.session.ask(question, "AGENT");
    take(t, reply);
    let payload = json!({"intent": reply.intent, "state": reply.state, "question": question, "followups": reply.followups});
    tell(t, Stage::IntentAgentNeedsClarification, Progress::new(RESOLVER, "AGENT_INTENT_NEEDS_CLARIFICATION"), payload);
    Some(t.session.intent.clone())
}

async fn accept(t: &mut Turning<'_>, reply: AgentReply) -> Option<String> {
    let Some(intent) = &reply.intent else {
        let allowed = &t.config.agent.intents;
        let payload = json!({"reason": "the model names no intent", "allowedIntents": allowed, "scores": reply.scores});
        return reject(t, Some(&reply), "rejected: the model names no intent", payload);
    };
    if !t.config.agent.allows(intent) {
        let payload = json!({"intent": intent, "state": reply.state, "reason": "Intent not in allowed intents"});
        return reject(t, Some(&reply), NOT_ALLOWED, payload);
    }
    if reply.confidence < t.config.agent.min_confidence {
        let payload = json!({"intent": intent, "state": reply.state, "confidence": reply.confidence});
        return reject(t, Some(&reply), "rejected: the confidence is below the least that is taken", payload);
    }
    explain(t, Some(&reply), "accepted: the intent may be chosen, and the confidence is enough");
    take(t, &reply);
    rules::pass(t, Phase::PostAgentIntent, RESOLVER).await;
    t.session.clarification = None;
    if let Some(question) = &reply.question {
        t.session.ask(question, "AGENT");
    }
    let state = reply.state.as_ref().unwrap_or(&t.session.state);
    let payload = json!({"intent": intent, "state": state, "confidence": reply.confidence, "scores": reply.top()});
    tell(t, Stage::IntentAgentAccepted, Progress::new(RESOLVER, "AGENT_INTENT_ACCEPTED"), payload);
    Some(t.session.intent.clone())
}

fn explain(t: &Turning<'_>, reply: Option<&AgentReply>, verdict: &str) {
    let Some(why) = t.door.why("intent_agent") else { return };
    let Some(reply) = reply else { return why.decided(&t.door, verdict) };
    let agent = &t.config.agent;
    let about = json!({
        "intent": reply.intent, "state": reply.state, "confidence": reply.confidence, "minConfidence": agent.min_confidence,
        "collisionGap": agent.collision_gap, "needsClarification": reply.needs_clarification, "question": reply.question,
        "openQuestion": t.session.clarification.is_some(),
    });
    let named = |it: &str| reply.intent.as_deref().is_some_and(|intent| same_code(intent, it));
    let score = |it: &Score| {
        let fate = if named(&it.intent) { Fate::Matched } else { Fate::Lost };
        Considered { score: it.confidence.into(), ..Considered::choice("", &it.intent, fate) }
    };
    why.about(about).of(reply.scores.iter().map(score).collect()).decided(&t.door, verdict);
}

/// Takes over intent and state, as far as the model names them.
fn take(t: &mut Turning<'_>, reply: &AgentReply) {
    if let Some(intent) = &reply.intent {
        t.session.set_intent(intent);
    }
    if let Some(state) = &reply.state {
        t.session.state.clone_from(state);
    }
}

fn reject(t: &Turning<'_>, reply: Option<&AgentReply>, why: &str, payload: Value) -> Option<String> {
    explain(t, reply, why);
    tell(t, Stage::IntentAgentRejected, Progress::error(RESOLVER, "AGENT_INTENT_REJECTED"), payload);
    None
}
