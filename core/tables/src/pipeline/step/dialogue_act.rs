//! Classifies the dialogue act: by patterns, by a model, or by both, with a guard over the model. (docs/spec/pipeline.md#2.6)
//! Reads: settings, message, history, the open pending action. Writes: `dialogue_act*`, standalone query; everything when the act is RESET. Waits for: llm.

use convengine_config::{DialogueAct, DialogueActMode, DialogueActs, Phase};
use convengine_text::json::schema::counterpart;
use convengine_text::json::{into_members, read_object};
use convengine_turn::Fault;
use convengine_turn::{LlmMode, payload};
use serde_json::{Value, json};

use super::{StepOutcome, reset};
use crate::audit::Stage;
use crate::llm;
use crate::pending_action::ActionRuntime;
use crate::rules;
use crate::session::Session;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish, publish_and_audit};

const STEP: &str = "DialogueActStep";

/// How sure a pattern is.
const PATTERN_CONFIDENCE: f64 = 0.95;

/// How many words a command has at most, and consent in a language that the client has not named.
const MAX_SPOKEN_WORDS: usize = 4;

/// Maximum length, in UTF-16 code units, of an answer to an open question.
const MAX_ANSWER_UNITS: usize = 80;

/// A classification by patterns or by a model.
#[derive(Debug, Clone)]
struct Guess {
    act: DialogueAct,
    confidence: f64,
    standalone_query: Option<String>,
}

/// The chosen classification and its reason.
struct ActDecision {
    guess: Guess,
    source: &'static str,
    guard: Option<&'static str>,
}

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    let mut word_guess = classify_by_patterns(&cx.config.dialogue_acts, &cx.session);
    let mode = cx.config.settings.dialogue_act_mode;
    let asks_model = match mode {
        DialogueActMode::RegexOnly => false,
        DialogueActMode::RegexThenLlm => word_guess.confidence < cx.config.settings.llm_threshold,
        DialogueActMode::LlmOnly => true,
    };
    let candidate = if asks_model { ask_model(cx).await } else { None };
    // Where no model says it, consent, commands and corrections are read as flows read them.
    if candidate.is_none()
        && word_guess.confidence < PATTERN_CONFIDENCE
        && let Some(act) = read_act(cx)
    {
        word_guess = Guess { act, confidence: PATTERN_CONFIDENCE, standalone_query: None };
    }
    let decision = decide(cx, asks_model, &word_guess, candidate.as_ref());
    explain(cx, &word_guess, candidate.as_ref(), &decision);
    store_decision(&mut cx.session, &word_guess, candidate.as_ref(), &decision);
    cx.audit(Stage::DialogueActClassified, |session| audit_payload(session, &decision, mode));
    rules::run_pass(cx, Phase::PostDialogueAct, STEP).await;
    if cx.session.dialogue_act() == DialogueAct::Reset && !cx.session.was_reset {
        reset_keeping_act(cx);
    }
    Ok(StepOutcome::Continue)
}

/// Resets the conversation and writes the act's keys again, because the rest of the turn reads them.
fn reset_keeping_act(cx: &mut StepContext<'_>) {
    let keys: Vec<(String, Value)> =
        cx.session.params.iter().filter(|it| it.0.starts_with("dialogue_act")).map(|(key, value)| (key.clone(), value.clone())).collect();
    reset::reset_conversation(cx, "DIALOGUE_ACT:RESET");
    for (key, value) in keys {
        cx.session.set_param(&key, value);
    }
}

fn read_act(cx: &StepContext<'_>) -> Option<DialogueAct> {
    let (acts, session) = (&cx.config.dialogue_acts, &cx.session);
    let is_short = session.text().split_whitespace().nth(MAX_SPOKEN_WORDS).is_none();
    // What is short may be said in any language; more words are read in one, because each costs.
    let locale = consent_locale(session).or_else(|| (!is_short).then(|| session.locale()));
    let offer = offer_names(cx);
    let consent = acts.read_consent_to(session.text(), locale, &offer.iter().map(String::as_str).collect::<Vec<&str>>());
    consent.or_else(|| if is_short { acts.read_command(session.text(), session.locale()) } else { None })
}

/// The names of the pending action that is offered: an answer may repeat their words.
fn offer_names(cx: &StepContext<'_>) -> Vec<String> {
    let (session, runtime) = (&cx.session, ActionRuntime::from_session(&cx.session));
    if !runtime.is_open() {
        return Vec::new();
    }
    let rows = cx.config.pending_actions.eligible(&session.intent, &session.state);
    let row = rows.into_iter().find(|row| row.reference == runtime.reference());
    let description = row.and_then(|row| row.description.clone());
    let key = runtime.key().map(str::to_owned).or_else(|| row.and_then(|row| row.key.clone()));
    key.into_iter().chain(description).collect()
}

/// The language in which consent is read: that of the client, else any; while values are collected, a word of another language is an answer.
fn consent_locale(session: &Session) -> Option<&str> {
    session.client_locale().or_else(|| session.lock.as_ref().map(|_| session.locale()))
}

fn classify_by_patterns(acts: &DialogueActs, session: &Session) -> Guess {
    let text = session.text();
    let guess = |act, confidence| Guess { act, confidence, standalone_query: None };
    if text.is_empty() {
        return guess(DialogueAct::NewRequest, 0.40);
    }
    if let Some(act) = acts.match_pattern(text) {
        return guess(act, PATTERN_CONFIDENCE);
    }
    if text.ends_with('?') {
        return guess(DialogueAct::Question, 0.70);
    }
    let is_asked = session.clarification.is_some() || session.lock.is_some();
    if is_asked && !text.contains('?') && text.encode_utf16().count() <= MAX_ANSWER_UNITS {
        return guess(DialogueAct::Answer, 0.75);
    }
    guess(DialogueAct::NewRequest, 0.70)
}

/// Asks a model; a failure is audited and leaves the decision to the patterns.
async fn ask_model(cx: &mut StepContext<'_>) -> Option<Guess> {
    let rewrites = cx.config.settings.query_rewrite && !cx.session.history.is_empty();
    let prompts = if rewrites { &cx.config.dialogue_acts.rewrite } else { &cx.config.dialogue_acts.plain };
    let schema = prompts.schema.clone();
    let variables = llm::prompt_variables(cx, &schema);
    let rendered = llm::render_prompts(cx, &prompts.system, &prompts.user, &variables);
    let input = json!({"system_prompt": rendered.system, "user_prompt": rendered.user, "schema": schema});
    publish_and_audit(cx, Stage::DialogueActLlmInput, Progress::new(STEP, "DIALOGUE_ACT_LLM_INPUT"), input);
    let reply = match llm::call_model(cx, "dialogue_act", LlmMode::Json, rendered, Some(schema)).await {
        Ok(reply) => reply.text,
        Err(error) => {
            publish(cx, Progress::survived(STEP, "DIALOGUE_ACT_LLM_ERROR"), || into_members(json!({"error": error.message})));
            cx.audit(Stage::DialogueActLlmError, |_| payload!({"message": error.message, "exception": error.kind}));
            return None;
        }
    };
    publish_and_audit(cx, Stage::DialogueActLlmOutput, Progress::new(STEP, "DIALOGUE_ACT_LLM_OUTPUT"), json!({"json": reply}));
    parse_reply(&reply)
}

fn parse_reply(reply: &str) -> Option<Guess> {
    let reply = read_object(reply).ok()?;
    let act = DialogueAct::parse(reply.get("dialogueAct")?.as_str()?)?;
    let number = |value: &Value| value.as_f64().or_else(|| counterpart(value)?.as_f64());
    let confidence = reply.get("confidence").and_then(number).unwrap_or(0.0).clamp(0.0, 1.0);
    let standalone_query = reply.get("standaloneQuery").and_then(Value::as_str).map(str::to_owned);
    Some(Guess { act, confidence, standalone_query })
}

fn decide(cx: &StepContext<'_>, asked_model: bool, word_guess: &Guess, candidate: Option<&Guess>) -> ActDecision {
    let says_reset = |guess: &Guess| guess.act == DialogueAct::Reset && word_guess.act != DialogueAct::Reset && !is_reset_word(cx);
    match candidate {
        None => ActDecision { guess: word_guess.clone(), source: if asked_model { "REGEX_FALLBACK" } else { "REGEX" }, guard: None },
        // A reset loses everything: the model alone may not decide it.
        Some(it) if says_reset(it) => ActDecision { guess: word_guess.clone(), source: "REGEX_GUARD", guard: Some("REGEX_GUARD_RESET") },
        Some(it) => ActDecision { guess: it.clone(), source: "LLM", guard: None },
    }
}

fn explain(cx: &StepContext<'_>, word_guess: &Guess, candidate: Option<&Guess>, decision: &ActDecision) {
    let Some(explanation) = cx.effects.begin_explanation("dialogue_act") else { return };
    let guess = |guess: &Guess| json!({"act": guess.act, "confidence": guess.confidence});
    let settings = &cx.config.settings;
    let about = json!({
        "mode": settings.dialogue_act_mode.name(), "candidate": word_guess.act, "confidence": word_guess.confidence,
        "threshold": settings.llm_threshold, "model": candidate.map(guess), "act": decision.guess.act, "source": decision.source,
        "guard": decision.guard,
    });
    let verdict = match decision.source {
        "REGEX" => "the words are clear enough, or no model may be called",
        "REGEX_FALLBACK" => "the model was called but named no act: the words decide",
        "REGEX_GUARD" => "a model alone must not reset the conversation: the words decide",
        _ => "the model was called and its act is used",
    };
    explanation.with_subject(about).with_candidates(cx.config.dialogue_acts.candidates(cx.session.text())).record(&cx.effects, verdict);
}

fn is_reset_word(cx: &StepContext<'_>) -> bool {
    let words = cx.config.dialogue_acts.patterns.iter().find(|it| it.0 == DialogueAct::Reset);
    words.is_some_and(|(_, pattern)| pattern.is_match(cx.session.text()) == Ok(true))
}

fn store_decision(session: &mut Session, word_guess: &Guess, candidate: Option<&Guess>, decision: &ActDecision) {
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

fn audit_payload(session: &Session, decision: &ActDecision, mode: DialogueActMode) -> Value {
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
