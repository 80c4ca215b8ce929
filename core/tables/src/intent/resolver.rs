//! Resolves the intent with a model: scores, thresholds and clarification questions. (docs/spec/pipeline.md#2.13, Agent)

use convengine_config::{Phase, is_same_code};
use convengine_text::json::{into_members, read_object};
use convengine_turn::Fault;
use convengine_turn::{Candidate, LlmMode, Payload, PayloadKind, Verdict, payload};
use serde_json::{Value, json};

use super::INTENT_COLLISION;
use super::collision;
use super::reply::{IntentScore, ResolverReply};
use crate::audit::Stage;
use crate::llm;
use crate::rules;
use crate::schema;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish, publish_and_audit};

/// Explanation for an intent outside the allowed ones.
const NOT_ALLOWED: &str = "rejected: the intent is not among those that may be chosen";

const PROGRESS_NAME: &str = "AgentIntentResolver";

/// Asks a model for the intent; returns the resulting intent, or `None` when the model's answer was rejected.
///
/// # Errors
/// The model call failed.
pub async fn resolve_with_model(cx: &mut StepContext<'_>) -> Result<Option<String>, Fault> {
    let config = cx.config;
    publish(cx, Progress::new(PROGRESS_NAME, "AGENT_INTENT_START"), || {
        into_members(json!({"allowedIntentCount": config.intent_resolver.intents.len()}))
    });
    if config.intent_resolver.intents.is_empty() {
        explain(cx, None, "not asked: no intent may be chosen");
        cx.audit(Stage::IntentAgentSkipped, |_| payload!({"reason": "no allowed intents"}));
        return Ok(None);
    }
    cx.session.set_param("agentResolver", true);
    for key in ["intent_collision_candidates", "intent_scores", "intent_top3", "followups"] {
        cx.session.set_param(key, json!([]));
    }
    let resolved = match call_model(cx).await {
        Ok(reply) => Ok(evaluate_reply(cx, &reply).await),
        Err(fault) => {
            explain(cx, None, "the model did not answer");
            Err(fault)
        }
    };
    cx.session.set_param("agentResolver", false);
    resolved
}

async fn call_model(cx: &mut StepContext<'_>) -> Result<String, Fault> {
    let config = cx.config;
    let variables = llm::prompt_variables(cx, &Value::Null);
    let prompts = llm::render_prompts(cx, &config.intent_resolver.prompts.system, &config.intent_resolver.prompts.user, &variables);
    let input = json!({
        "templateFromCeConfig (AgentIntentResolver)": "USER_PROMPT, SYSTEM_PROMPT",
        "systemPrompt": prompts.system,
        "userPrompt": prompts.user,
    });
    publish_and_audit(cx, Stage::IntentAgentLlmInput, Progress::new(PROGRESS_NAME, "INTENT_AGENT_LLM_INPUT"), input);
    let reply = match llm::call_model(cx, "intent_agent", LlmMode::Json, prompts, None).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::fatal(PROGRESS_NAME, "INTENT_AGENT_LLM_ERROR"), || into_members(json!({"error": error.message})));
            return Err(Fault::from_llm_failure());
        }
    };
    cx.session.last_output = Some(("INTENT_AGENT", reply.clone()));
    cx.session.last_assistant = Some(reply.clone());
    cx.session.payload = Some(Payload { kind: PayloadKind::Json, value: reply.clone() });
    let output = json!({"json": reply});
    publish_and_audit(cx, Stage::IntentAgentLlmOutput, Progress::new(PROGRESS_NAME, "INTENT_AGENT_LLM_OUTPUT"), output);
    Ok(reply)
}

async fn evaluate_reply(cx: &mut StepContext<'_>, reply: &str) -> Option<String> {
    let Ok(object) = read_object(reply) else {
        return reject_reply(cx, None, "rejected: the answer is not a JSON object", json!({"reason": "invalid json"}));
    };
    let mut reply = ResolverReply::parse(&object, &cx.config.intent_resolver);
    cx.session.set_param("intent_scores", json!(reply.scores));
    cx.session.set_param("intent_top3", json!(reply.top_scores()));
    cx.session.set_param("followups", json!(reply.followups));
    cx.audit(Stage::IntentAgentScores, |_| payload!({"scores": reply.scores, "followups": reply.followups}));
    cx.session.set_param("intent_collision_candidates", json!(reply.candidates()));
    decide_clarification(cx, &mut reply);
    if reply.needs_clarification {
        return ask_clarification(cx, &reply);
    }
    accept_intent(cx, reply).await
}

/// Decides whether to ask the user, and what.
fn decide_clarification(cx: &mut StepContext<'_>, reply: &mut ResolverReply) {
    let model_state = reply.state.clone();
    if cx.session.clarification.is_none() && collision::has_collision(&cx.config.intent_resolver, reply) {
        mark_collision(cx, reply);
    }
    let has_schema = reply.intent.as_deref().is_some_and(|it| schema::has_schema(cx, it));
    if has_schema && reply.needs_clarification {
        // The schema's own questions clarify it. The state reverts to the model's. (docs/spec/pipeline.md#Q-13)
        cx.audit(
            Stage::IntentAgentClarificationSuppressedSchemaFlow,
            |_| payload!({"intent": reply.intent, "state": reply.state, "question": reply.question}),
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

fn mark_collision(cx: &mut StepContext<'_>, reply: &mut ResolverReply) {
    reply.needs_clarification = true;
    reply.state = Some(INTENT_COLLISION.to_owned());
    if reply.question.is_none() {
        reply.question = reply.followups.first().cloned().or_else(|| collision::collision_question(reply));
    }
    let payload = json!({
        "intent": reply.intent, "state": reply.state, "question": reply.question, "candidates": reply.candidates(), "scores": reply.top_scores(),
    });
    publish_and_audit(cx, Stage::IntentAgentCollision, Progress::new(PROGRESS_NAME, "AGENT_INTENT_COLLISION"), payload);
}

/// Asks the user; an intent that is not allowed is not taken over with the question. (docs/spec/pipeline.md#Q-24)
fn ask_clarification(cx: &mut StepContext<'_>, reply: &ResolverReply) -> Option<String> {
    let Some(question) = &reply.question else {
        return reject_reply(
            cx,
            Some(reply),
            "rejected: the user should be asked, but not what",
            json!({"reason": "needsClarification without question"}),
        );
    };
    if let Some(intent) = reply.intent.as_deref().filter(|intent| !cx.config.intent_resolver.is_allowed(intent)) {
        return reject_reply(
            cx,
            Some(reply),
            NOT_ALLOWED,
            json!({"intent": intent, "state": reply.state, "reason": "Intent not in allowed intents"}),
        );
    }
    explain(cx, Some(reply), "the user is asked: the model says so, or two intents are too close");
    cx.session.ask(question, "AGENT");
    apply_intent(cx, reply);
    let payload = json!({"intent": reply.intent, "state": reply.state, "question": question, "followups": reply.followups});
    publish_and_audit(cx, Stage::IntentAgentNeedsClarification, Progress::new(PROGRESS_NAME, "AGENT_INTENT_NEEDS_CLARIFICATION"), payload);
    Some(cx.session.intent.clone())
}

async fn accept_intent(cx: &mut StepContext<'_>, reply: ResolverReply) -> Option<String> {
    let Some(intent) = &reply.intent else {
        let allowed = &cx.config.intent_resolver.intents;
        let payload = json!({"reason": "the model names no intent", "allowedIntents": allowed, "scores": reply.scores});
        return reject_reply(cx, Some(&reply), "rejected: the model names no intent", payload);
    };
    if !cx.config.intent_resolver.is_allowed(intent) {
        let payload = json!({"intent": intent, "state": reply.state, "reason": "Intent not in allowed intents"});
        return reject_reply(cx, Some(&reply), NOT_ALLOWED, payload);
    }
    if reply.confidence < cx.config.intent_resolver.min_confidence {
        let payload = json!({"intent": intent, "state": reply.state, "confidence": reply.confidence});
        return reject_reply(cx, Some(&reply), "rejected: the confidence is below the least that is taken", payload);
    }
    explain(cx, Some(&reply), "accepted: the intent may be chosen, and the confidence is enough");
    apply_intent(cx, &reply);
    rules::run_pass(cx, Phase::PostAgentIntent, PROGRESS_NAME).await;
    cx.session.clarification = None;
    if let Some(question) = &reply.question {
        cx.session.ask(question, "AGENT");
    }
    let state = reply.state.as_ref().unwrap_or(&cx.session.state);
    let payload = json!({"intent": intent, "state": state, "confidence": reply.confidence, "scores": reply.top_scores()});
    publish_and_audit(cx, Stage::IntentAgentAccepted, Progress::new(PROGRESS_NAME, "AGENT_INTENT_ACCEPTED"), payload);
    Some(cx.session.intent.clone())
}

fn explain(cx: &StepContext<'_>, reply: Option<&ResolverReply>, verdict: &str) {
    let Some(explanation) = cx.effects.begin_explanation("intent_agent") else { return };
    let Some(reply) = reply else { return explanation.record(&cx.effects, verdict) };
    let agent = &cx.config.intent_resolver;
    let about = json!({
        "intent": reply.intent, "state": reply.state, "confidence": reply.confidence, "minConfidence": agent.min_confidence,
        "collisionGap": agent.collision_gap, "needsClarification": reply.needs_clarification, "question": reply.question,
        "openQuestion": cx.session.clarification.is_some(),
    });
    let is_named = |name: &str| reply.intent.as_deref().is_some_and(|intent| is_same_code(intent, name));
    let score = |intent_score: &IntentScore| {
        let row_verdict = if is_named(&intent_score.intent) { Verdict::Matched } else { Verdict::Lost };
        Candidate { score: intent_score.confidence.into(), ..Candidate::for_choice("", &intent_score.intent, row_verdict) }
    };
    explanation.with_subject(about).with_candidates(reply.scores.iter().map(score).collect()).record(&cx.effects, verdict);
}

/// Takes over the intent and state that the model names.
fn apply_intent(cx: &mut StepContext<'_>, reply: &ResolverReply) {
    if let Some(intent) = &reply.intent {
        cx.session.set_intent(intent);
    }
    if let Some(state) = &reply.state {
        cx.session.state.clone_from(state);
    }
}

fn reject_reply(cx: &StepContext<'_>, reply: Option<&ResolverReply>, verdict: &str, payload: Value) -> Option<String> {
    explain(cx, reply, verdict);
    publish_and_audit(cx, Stage::IntentAgentRejected, Progress::survived(PROGRESS_NAME, "AGENT_INTENT_REJECTED"), payload);
    None
}
