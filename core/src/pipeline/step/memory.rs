//! Sums the conversation up for later turns: by a fixed formula, or by a model once enough turns have passed. (`decisions.md` 3, memory)
//! Reads: settings, `ce_memory`, history, message, answer. Writes: `memory_session_summary`, `context.memory`, the row of the summary.
//! Waits for: llm.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::settings::Summarizer;
use crate::json::change;
use crate::llm;
use crate::session::Session;
use crate::text::on_one_line;
use crate::turn::{Exchange, LlmMode, Map, MemoryRow, PayloadKind};
use crate::turning::Turning;
use crate::verbose::{Progress, tell};

const STEP: &str = "MemoryStep";

/// The name of the rolling summary in `ce_memory`.
const STORE: &str = "session";

pub(super) async fn run(t: &mut Turning<'_>) -> Flow {
    let settings = &t.config.settings.memory;
    if !settings.enabled {
        return Flow::Continue;
    }
    let by_formula = || cut(&formula(&t.session, settings.recent_turns), settings.summary_max_chars);
    let summary = match settings.summarizer {
        Summarizer::Deterministic => {
            let summary = by_formula();
            remember(t, &summary);
            summary
        }
        Summarizer::Llm => {
            let stored = t.session.memory.as_ref().map(|it| it.summary.clone());
            let kept = stored.unwrap_or_else(by_formula);
            by_model(t).await.unwrap_or(kept)
        }
    };
    share(t, &summary);
    // The two members speak of memories of the application, of which there are none: `ce_memory` is the engine's own.
    t.audit(Stage::MemoryUpdated, |session| {
        let units = summary.encode_utf16().count();
        json!({"summaryChars": units, "recalled": false, "stores": 0, "intent": session.intent, "state": session.state})
    });
    Flow::Continue
}

fn remember(t: &mut Turning<'_>, summary: &str) {
    let (turns, updated_at) = (t.session.turn_number, t.door.now());
    t.session.remembered = Some(MemoryRow { store: STORE.to_owned(), summary: summary.to_owned(), turns, updated_at });
}

fn share(t: &mut Turning<'_>, summary: &str) {
    t.session.set_param("memory_session_summary", summary);
    change(&mut t.session.context, "memory", |memory| {
        memory.insert("session_summary".to_owned(), Value::from(summary));
    });
}

/// The turn in one line, with the newest exchanges before it.
fn formula(session: &Session, recent: usize) -> String {
    let user = on_one_line(session.user_text.as_deref().unwrap_or_default());
    let mut summary = format!("intent={}, state={}, user={user}", session.intent, session.state);
    let turns: Vec<String> =
        session.history.iter().take(recent).map(|it| format!("{{u={},a={}}}", on_one_line(&it.user), on_one_line(&it.assistant))).collect();
    if !turns.is_empty() {
        summary += &format!(", recentTurns=[{}]", turns.concat());
    }
    if let Some(payload) = session.payload.as_ref().filter(|it| it.kind == PayloadKind::Text) {
        summary += &format!(", response={}", payload.value);
    }
    summary
}

/// The beginning of a text, of at most so many UTF-16 units.
fn cut(text: &str, most: usize) -> String {
    let mut units = 0;
    let fits = |it: &char| {
        units += it.len_utf16();
        units <= most
    };
    text.chars().take_while(fits).collect()
}

/// Asks a model when more than the configured number of turns has passed since the stored summary; nothing when it is not time, the
/// turn has stalled, or the model fails, which leaves it to the next turn.
async fn by_model(t: &mut Turning<'_>) -> Option<String> {
    let config = t.config;
    let stored = t.session.memory.as_ref().map_or(0, |it| it.turns);
    let passed = usize::try_from(t.session.turn_number.saturating_sub(stored)).ok()?;
    if passed <= config.settings.memory.recent_turns || t.session.stalled {
        return None;
    }
    let most = config.settings.memory.summary_max_chars;
    let variables = variables(t, passed, most);
    let prompts = llm::prompts(t, &config.memory.system, &config.memory.user, &variables);
    let input = json!({"system_prompt": prompts.system, "user_prompt": prompts.user});
    tell(t, Stage::MemoryLlmInput, Progress::new(STEP, "MEMORY_LLM_INPUT"), input);
    let text = match llm::ask(t, "memory_summary", LlmMode::Text, prompts, None).await {
        Ok(reply) => reply.text.trim().to_owned(),
        Err(error) => {
            t.audit(Stage::MemoryLlmError, |_| json!({"message": error.message, "exception": error.kind}));
            return None;
        }
    };
    tell(t, Stage::MemoryLlmOutput, Progress::new(STEP, "MEMORY_LLM_OUTPUT"), json!({"text": text}));
    let summary = Some(cut(&text, most)).filter(|it| !it.is_empty())?;
    remember(t, &summary);
    Some(summary)
}

/// What the prompts may name beside the usual: the stored summary, what was said since, and the answer of this turn.
fn variables(t: &Turning<'_>, passed: usize, most: usize) -> Map {
    let session = &t.session;
    let said = |it: &Exchange| json!({"user": it.user, "assistant": it.assistant});
    let mut recent: Vec<Value> = session.history.iter().take(passed.saturating_sub(1)).map(said).collect();
    recent.reverse();
    let own = [
        ("memory_summary", json!(session.memory.as_ref().map(|it| &it.summary))),
        ("recent_turns", json!(recent)),
        ("answer", json!(session.payload.as_ref().map(|it| &it.value))),
        ("summary_max_chars", json!(most)),
    ];
    let mut variables = llm::variables(t, &Value::Null);
    variables.extend(own.map(|(key, value)| (key.to_owned(), value)));
    variables
}
