//! Summarizes the conversation for later turns: by formula, or by a model after enough turns. (docs/decisions/0008-memory.md)
//! Reads: settings, `ce_memory`, history, message, answer. Writes: `memory_session_summary`, `context.memory`, the row of the summary.
//! Waits for: llm.

use convengine_config::settings::Summarizer;
use convengine_text::collapse_whitespace;
use convengine_text::json::update_object;
use convengine_turn::{Exchange, LlmMode, Map, MemoryRow, PayloadKind, payload};
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::llm;
use crate::session::Session;
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish_and_audit};

const STEP: &str = "MemoryStep";

/// The name of the rolling summary in `ce_memory`.
const STORE: &str = "session";

pub(super) async fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    let settings = &cx.config.settings.memory;
    if !settings.enabled {
        return StepOutcome::Continue;
    }
    let by_formula = || truncate_units(&summarize_by_formula(&cx.session, settings.recent_turns), settings.summary_max_chars);
    let summary = match settings.summarizer {
        Summarizer::Deterministic => {
            let summary = by_formula();
            store_summary(cx, &summary);
            summary
        }
        Summarizer::Llm => {
            let stored = cx.session.memory.as_ref().map(|memory| memory.summary.clone());
            let fallback = stored.unwrap_or_else(by_formula);
            summarize_by_model(cx).await.unwrap_or(fallback)
        }
    };
    share_summary(cx, &summary);
    // `recalled` and `stores` refer to application memories, which do not exist: `ce_memory` is internal.
    cx.audit(Stage::MemoryUpdated, |session| {
        let units = summary.encode_utf16().count();
        payload!({"summaryChars": units, "recalled": false, "stores": 0, "intent": session.intent, "state": session.state})
    });
    StepOutcome::Continue
}

fn store_summary(cx: &mut StepContext<'_>, summary: &str) {
    let (turns, updated_at) = (cx.session.turn_number, cx.effects.now());
    cx.session.new_memory = Some(MemoryRow { store: STORE.to_owned(), summary: summary.to_owned(), turns, updated_at });
}

fn share_summary(cx: &mut StepContext<'_>, summary: &str) {
    cx.session.set_param("memory_session_summary", summary);
    update_object(&mut cx.session.context, "memory", |memory| {
        memory.insert("session_summary".to_owned(), Value::from(summary));
    });
}

/// The turn in one line, with the newest exchanges.
fn summarize_by_formula(session: &Session, recent: usize) -> String {
    let user = collapse_whitespace(session.user_text.as_deref().unwrap_or_default());
    let mut summary = format!("intent={}, state={}, user={user}", session.intent, session.state);
    let turns: Vec<String> = session
        .history
        .iter()
        .take(recent)
        .map(|exchange| format!("{{u={},a={}}}", collapse_whitespace(&exchange.user), collapse_whitespace(&exchange.assistant)))
        .collect();
    if !turns.is_empty() {
        summary += &format!(", recentTurns=[{}]", turns.concat());
    }
    if let Some(payload) = session.payload.as_ref().filter(|it| it.kind == PayloadKind::Text) {
        summary += &format!(", response={}", payload.value);
    }
    summary
}

/// Truncates a text to a number of UTF-16 code units.
fn truncate_units(text: &str, limit: usize) -> String {
    let mut units = 0;
    let fits = |character: &char| {
        units += character.len_utf16();
        units <= limit
    };
    text.chars().take_while(fits).collect()
}

/// Asks a model for a summary when more than the configured number of turns has passed since the stored one. `None` when none is due, the
/// turn only asks a question, or the model fails; the next turn tries again.
async fn summarize_by_model(cx: &mut StepContext<'_>) -> Option<String> {
    let config = cx.config;
    let stored = cx.session.memory.as_ref().map_or(0, |it| it.turns);
    let passed = usize::try_from(cx.session.turn_number.saturating_sub(stored)).ok()?;
    if passed <= config.settings.memory.recent_turns || cx.session.is_question_turn {
        return None;
    }
    let limit = config.settings.memory.summary_max_chars;
    let variables = summary_variables(cx, passed, limit);
    let prompts = llm::render_prompts(cx, &config.memory.system, &config.memory.user, &variables);
    let input = json!({"system_prompt": prompts.system, "user_prompt": prompts.user});
    publish_and_audit(cx, Stage::MemoryLlmInput, Progress::new(STEP, "MEMORY_LLM_INPUT"), input);
    let text = match llm::call_model(cx, "memory_summary", LlmMode::Text, prompts, None).await {
        Ok(reply) => reply.text.trim().to_owned(),
        Err(error) => {
            cx.audit(Stage::MemoryLlmError, |_| payload!({"message": error.message, "exception": error.kind}));
            return None;
        }
    };
    publish_and_audit(cx, Stage::MemoryLlmOutput, Progress::new(STEP, "MEMORY_LLM_OUTPUT"), json!({"text": text}));
    let summary = Some(truncate_units(&text, limit)).filter(|it| !it.is_empty())?;
    store_summary(cx, &summary);
    Some(summary)
}

/// Additional prompt variables: the stored summary, the exchanges since then, and this turn's answer.
fn summary_variables(cx: &StepContext<'_>, passed: usize, limit: usize) -> Map {
    let session = &cx.session;
    let exchange_json = |exchange: &Exchange| json!({"user": exchange.user, "assistant": exchange.assistant});
    let mut recent: Vec<Value> = session.history.iter().take(passed.saturating_sub(1)).map(exchange_json).collect();
    recent.reverse();
    let own_variables = [
        ("memory_summary", json!(session.memory.as_ref().map(|it| &it.summary))),
        ("recent_turns", json!(recent)),
        ("answer", json!(session.payload.as_ref().map(|it| &it.value))),
        ("summary_max_chars", json!(limit)),
    ];
    let mut variables = llm::prompt_variables(cx, &Value::Null);
    variables.extend(own_variables.map(|(key, value)| (key.to_owned(), value)));
    variables
}
