//! Classifies the dialogue act: by patterns, by a model, or by both, with a guard over the model. (docs/spec/pipeline.md#2.6)
//! Reads: settings, message, history. Writes: `dialogue_act*`, standalone query; everything when the act is RESET. Waits for: llm.

use serde_json::{Value, json};

use super::{Flow, reset};
use crate::audit::Stage;
use crate::config::{Act, Acts, DialogueActMode, Phase};
use crate::fault::Fault;
use crate::json::members;
use crate::llm;
use crate::rules;
use crate::session::Session;
use crate::turn::{LlmMode, Map};
use crate::turning::Turning;
use crate::verbose::{Progress, publish, tell};

const STEP: &str = "DialogueActStep";

/// Maximum length, in UTF-16 code units, of an answer to an open question.
const ANSWER_UNITS: usize = 80;

/// A classification by patterns or by a model.
#[derive(Debug, Clone)]
struct Guess {
    act: Act,
    confidence: f64,
    standalone_query: Option<String>,
}

/// The chosen classification and its reason.
struct Decision {
    guess: Guess,
    source: &'static str,
    guard: Option<&'static str>,
}

pub(super) async fn run(cx: &mut Turning<'_>) -> Result<Flow, Fault> {
    let word_guess = by_words(&cx.config.acts, &cx.session);
    let mode = cx.config.settings.dialogue_act_mode;
    let asks_model = match mode {
        DialogueActMode::RegexOnly => false,
        DialogueActMode::RegexThenLlm => word_guess.confidence < cx.config.settings.llm_threshold,
        DialogueActMode::LlmOnly => true,
    };
    let candidate = if asks_model { ask(cx).await } else { None };
    let decision = decide(cx, asks_model, &word_guess, candidate.as_ref());
    explain(cx, &word_guess, candidate.as_ref(), &decision);
    store(&mut cx.session, &word_guess, candidate.as_ref(), &decision);
    cx.audit(Stage::DialogueActClassified, |session| classified(session, &decision, mode));
    rules::pass(cx, Phase::PostDialogueAct, STEP).await;
    if cx.session.act() == Act::Reset && !cx.session.was_reset {
        start_over(cx);
    }
    Ok(Flow::Continue)
}

/// Resets the conversation and writes the act's keys again, because the rest of the turn reads them.
fn start_over(cx: &mut Turning<'_>) {
    let keys: Vec<(String, Value)> =
        cx.session.params.iter().filter(|it| it.0.starts_with("dialogue_act")).map(|(key, value)| (key.clone(), value.clone())).collect();
    reset::start_over(cx, "DIALOGUE_ACT:RESET");
    for (key, value) in keys {
        cx.session.set_param(&key, value);
    }
}

fn by_words(acts: &Acts, session: &Session) -> Guess {
    let text = session.text();
    let guess = |act, confidence| Guess { act, confidence, standalone_query: None };
    if text.is_empty() {
        return guess(Act::NewRequest, 0.40);
    }
    if let Some(act) = acts.named(text) {
        return guess(act, 0.95);
    }
    if text.ends_with('?') {
        return guess(Act::Question, 0.70);
    }
    let is_asked = session.clarification.is_some() || session.lock.is_some();
    if is_asked && !text.contains('?') && text.encode_utf16().count() <= ANSWER_UNITS {
        return guess(Act::Answer, 0.75);
    }
    guess(Act::NewRequest, 0.70)
}

/// Asks a model; a failure is audited and leaves the decision to the patterns.
async fn ask(cx: &mut Turning<'_>) -> Option<Guess> {
    let rewrites = cx.config.settings.query_rewrite && !cx.session.history.is_empty();
    let prompts = if rewrites { &cx.config.acts.rewrite } else { &cx.config.acts.plain };
    let schema = prompts.schema.clone();
    let variables = llm::variables(cx, &schema);
    let rendered = llm::prompts(cx, &prompts.system, &prompts.user, &variables);
    let input = json!({"system_prompt": rendered.system, "user_prompt": rendered.user, "schema": schema});
    tell(cx, Stage::DialogueActLlmInput, Progress::new(STEP, "DIALOGUE_ACT_LLM_INPUT"), input);
    let reply = match llm::ask(cx, "dialogue_act", LlmMode::Json, rendered, Some(schema)).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::error(STEP, "DIALOGUE_ACT_LLM_ERROR"), || members(json!({"error": error.message})));
            cx.audit(Stage::DialogueActLlmError, |_| json!({"message": error.message, "exception": error.kind}));
            return None;
        }
    };
    tell(cx, Stage::DialogueActLlmOutput, Progress::new(STEP, "DIALOGUE_ACT_LLM_OUTPUT"), json!({"json": reply}));
    parse(&reply)
}

fn parse(reply: &str) -> Option<Guess> {
    let reply: Map = serde_json::from_str(llm::unfenced(reply)).ok()?;
    let act = Act::parse(reply.get("dialogueAct")?.as_str()?)?;
    let confidence = reply.get("confidence").and_then(Value::as_f64).unwrap_or(0.0).clamp(0.0, 1.0);
    let standalone_query = reply.get("standaloneQuery").and_then(Value::as_str).map(str::to_owned);
    Some(Guess { act, confidence, standalone_query })
}

fn decide(cx: &Turning<'_>, asked_model: bool, word_guess: &Guess, candidate: Option<&Guess>) -> Decision {
    let says_reset = |it: &Guess| it.act == Act::Reset && word_guess.act != Act::Reset && !is_reset_word(cx);
    match candidate {
        None => Decision { guess: word_guess.clone(), source: if asked_model { "REGEX_FALLBACK" } else { "REGEX" }, guard: None },
        // A reset loses everything: the model alone may not decide it.
        Some(it) if says_reset(it) => Decision { guess: word_guess.clone(), source: "REGEX_GUARD", guard: Some("REGEX_GUARD_RESET") },
        Some(it) => Decision { guess: it.clone(), source: "LLM", guard: None },
    }
}

fn explain(cx: &Turning<'_>, word_guess: &Guess, candidate: Option<&Guess>, decision: &Decision) {
    let Some(explanation) = cx.door.why("dialogue_act") else { return };
    let guess = |it: &Guess| json!({"act": it.act, "confidence": it.confidence});
    let settings = &cx.config.settings;
    let about = json!({
        "mode": settings.dialogue_act_mode.name(), "candidate": word_guess.act, "confidence": word_guess.confidence,
        "threshold": settings.llm_threshold, "model": candidate.map(guess), "act": decision.guess.act, "source": decision.source,
        "guard": decision.guard,
    });
    let verdict = match decision.source {
        "REGEX" => "the words are sure enough, or no model may be asked",
        "REGEX_FALLBACK" => "the model was asked and gave no act: the words stand",
        "REGEX_GUARD" => "the model alone may not start over: the words stand",
        _ => "the model was asked and is taken at its word",
    };
    explanation.about(about).of(cx.config.acts.considered(cx.session.text())).decided(&cx.door, verdict);
}

fn is_reset_word(cx: &Turning<'_>) -> bool {
    let words = cx.config.acts.words.iter().find(|it| it.0 == Act::Reset);
    words.is_some_and(|it| it.1.find(cx.session.text()) == Ok(true))
}

fn store(session: &mut Session, word_guess: &Guess, candidate: Option<&Guess>, decision: &Decision) {
    for (key, value) in [
        ("dialogue_act_regex", json!(word_guess.act)),
        ("dialogue_act_regex_confidence", json!(word_guess.confidence)),
        ("dialogue_act_llm_candidate", json!(candidate.map(|it| it.act))),
        ("dialogue_act_llm_confidence", json!(candidate.map(|it| it.confidence))),
        ("dialogue_act_llm_standalone_query", json!(candidate.and_then(|it| it.standalone_query.as_ref()))),
        ("dialogue_act_guard_applied", json!(decision.guard.is_some())),
        ("dialogue_act_guard_reason", json!(decision.guard)),
        ("dialogue_act", json!(decision.guess.act)),
        ("dialogue_act_confidence", json!(decision.guess.confidence)),
        ("dialogue_act_source", json!(decision.source)),
    ] {
        session.set_param(key, value);
    }
    session.set_standalone_query(decision.guess.standalone_query.clone());
}

fn classified(session: &Session, decision: &Decision, mode: DialogueActMode) -> Value {
    let mut payload = json!({
        "userText": session.user_text,
        "dialogueAct": decision.guess.act,
        "dialogueActConfidence": decision.guess.confidence,
        "dialogueActSource": decision.source,
    });
    if let Some(members) = payload.as_object_mut() {
        if let Some(query) = &session.standalone_query {
            members.insert("standaloneQuery".to_owned(), json!(query));
        }
        members.insert("dialogueActResolveMode".to_owned(), json!(mode.name()));
        members.insert("intent".to_owned(), json!(session.intent));
        members.insert("state".to_owned(), json!(session.state));
    }
    payload
}
