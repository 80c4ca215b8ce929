//! The engine in the browser: one class over the core, driven by JavaScript inside a Worker.
//!
//! It is built twice, for control tables and for flow documents, so that a page loads the program that it runs.
//!
//! JSON crosses the boundary as text. Plain objects would lose the difference between `1` and `1.0`, and with it the promise
//! that a turn has the same bytes here as on the server.

#[cfg(feature = "flow")]
mod flow;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "tables")]
use convengine_core::config::TextMatcher;
use convengine_core::config::{Config, Issue};
#[cfg(feature = "tables")]
use convengine_core::lint;
use convengine_core::pack::{Conversations, Message, Pack, Scripted, SliceHash, conversation_id_for_label};
use convengine_core::turn::{
    CancelReason, Completion, Effect, EffectId, EffectResult, ExtensionRequest, Journal, LoadedSession, Millis, Notice, Outcome,
    SessionView, Slice, Turn, state_hash,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A configuration with its conversations, and the turn in progress.
#[wasm_bindgen]
pub struct Engine {
    pack: Pack,
    config: Arc<Config>,
    /// Those of compiling.
    issues: Vec<Issue>,
    scripted: Scripted,
    /// The script as it stood at marked points.
    marks: Vec<Scripted>,
    conversations: Conversations,
    turn: Option<Turn>,
    /// What a watched turn has said so far, and its end.
    told: Option<Vec<Notice>>,
    end: Option<Outcome>,
    /// What the turn has asked for, by number.
    asked: BTreeMap<EffectId, Effect>,
    hash: SliceHash,
    finished: String,
}

#[wasm_bindgen]
impl Engine {
    /// Compiles a pack; throws `{code, message}` when the text is not one.
    #[wasm_bindgen(constructor)]
    pub fn new(pack: &str) -> Result<Engine, JsValue> {
        let pack = Pack::parse(pack).map_err(|error| thrown("NOT_A_PACK", &error.to_string()))?;
        let (config, issues) = pack.compile();
        Ok(Engine {
            config: Arc::new(config),
            issues,
            scripted: Scripted::from_pack(&pack),
            pack,
            marks: Vec::new(),
            conversations: Conversations::default(),
            turn: None,
            told: None,
            end: None,
            asked: BTreeMap::new(),
            hash: SliceHash::default(),
            finished: String::new(),
        })
    }

    /// The configuration's issues, as a JSON list: those of compiling, then what works, but hardly as meant.
    pub fn issues(&self) -> Result<String, JsValue> {
        #[cfg(feature = "flow")]
        if let Some(document) = self.pack.flow_document() {
            return written(&flow::issues(document));
        }
        #[cfg(feature = "tables")]
        let found = lint::check(&self.pack.tables, self.config.settings.profile, &self.issues);
        #[cfg(not(feature = "tables"))]
        let found: Vec<Issue> = Vec::new();
        text(&self.issues.iter().chain(&found).collect::<Vec<_>>())
    }

    /// The configuration's content hash.
    pub fn hash(&self) -> String {
        self.config.hash_source().to_owned()
    }

    /// How many turns the pack brings along.
    pub fn scripted_turns(&self) -> usize {
        self.pack.turns.len()
    }

    /// A turn of the pack as a message for `start`, with the id of its conversation.
    pub fn scripted_turn(&self, index: usize) -> Result<String, JsValue> {
        let message = self.pack.message(index);
        let mut message = message.ok_or_else(|| thrown("NOT_A_MESSAGE", &format!("turn {index} of the pack is no plain message")))?;
        message.conversation_id = Some(message.conversation());
        text(&message)
    }

    /// Begins a turn with a message; returns the first slice.
    pub fn start(&mut self, message: &str) -> Result<String, JsValue> {
        let message: Message = parse("message", message)?;
        let input = message.into_input(&self.conversations, self.config.program());
        self.scripted.begin_turn(&input);
        let (turn, slice) = Turn::start(input, Arc::clone(&self.config)).map_err(|it| thrown("TURN", &it.to_string()))?;
        self.begin(turn, slice, false)
    }

    /// Whether the pack has an answer to an effect of the turn, by the effect's number.
    pub fn scripted(&self, effect: u32) -> Result<bool, JsValue> {
        let effect = self.asked.get(&EffectId(effect)).ok_or_else(no_effect)?;
        Ok(self.scripted.has_answer(&effect.request))
    }

    /// The turn's clock, in milliseconds since 1970.
    #[allow(clippy::cast_precision_loss, reason = "milliseconds of a date fit")]
    pub fn now(&self) -> f64 {
        self.turn.as_ref().map_or(0.0, |it| it.now() as f64)
    }

    /// The pack's scripted answer to an effect of the turn, by the effect's number, with how long it takes; without a time the turn's
    /// own clock runs on.
    pub fn answer(&mut self, effect: u32, at: Option<f64>) -> Result<String, JsValue> {
        let id = EffectId(effect);
        let effect = self.asked.get(&id).ok_or_else(no_effect)?;
        let (outcome, delay_ms) = self.scripted.answer(&effect.request);
        self.completion(id, outcome, delay_ms, at)
    }

    /// The bytes of an extension's module, by their SHA-256.
    pub fn module(&self, sha256: &str) -> Option<Vec<u8>> {
        self.pack.modules.get(sha256).cloned()
    }

    /// The answer to a call of an extension, which JavaScript runs: what it said, or else `{"error": …}`; as `answer` otherwise.
    pub fn extended(&self, effect: &str, said: Option<Vec<u8>>, failure: &str, at: Option<f64>) -> Result<String, JsValue> {
        let effect: Value = parse("effect", effect)?;
        let request = effect.get("request").cloned().and_then(|it| serde_json::from_value::<ExtensionRequest>(it).ok());
        let outcome = match (request, said) {
            (Some(request), Some(said)) => request.parse_output(&said),
            _ => parse("failure", failure)?,
        };
        let id = number(&effect).ok_or_else(|| thrown("BAD_INPUT", "this is not an effect: it has no number"))?;
        self.completion(id, outcome, 0, at)
    }

    /// Continues with a JSON list of completions; returns the next slice.
    pub fn resume(&mut self, completions: &str) -> Result<String, JsValue> {
        let completions: Vec<Completion> = parse("completions", completions)?;
        let turn = self.turn.as_mut().ok_or_else(no_turn)?;
        let slice = turn.resume(completions).map_err(|it| thrown("TURN", &it.to_string()))?;
        self.took(slice)
    }

    /// Ends the turn where it stands, as a failed one; `why` is `timeout` or `lost`. Returns the last slice.
    pub fn abandon(&mut self, why: &str, at: f64) -> Result<String, JsValue> {
        let why = serde_json::from_value::<CancelReason>(Value::from(why));
        let why = why.map_err(|_| thrown("BAD_INPUT", "this is not a reason: use timeout or lost"))?;
        let turn = self.turn.as_mut().ok_or_else(no_turn)?;
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds of a date fit")]
        let slice = turn.cancel(why, at as Millis).map_err(|it| thrown("TURN", &it.to_string()))?;
        self.took(slice)
    }

    /// The journal of the turn so far.
    pub fn journal(&self) -> Result<String, JsValue> {
        text(self.turn.as_ref().ok_or_else(no_turn)?.journal())
    }

    /// Runs a recorded turn again on the conversation as it was then; returns everything up to where its journal ends. A turn that is
    /// `watched` has steps, whys and a state hash, and takes several times as long.
    pub fn restore(&mut self, journal: &str, watched: Option<bool>) -> Result<String, JsValue> {
        let journal: Journal = parse("journal", journal)?;
        self.conversations.insert(&journal.input.conversation, journal.input.session.clone());
        let watched = watched == Some(true);
        let restore = if watched { Turn::restore_observed } else { Turn::restore };
        let (turn, slice) = restore(journal, Arc::clone(&self.config)).map_err(|it| thrown("TURN", &it.to_string()))?;
        self.begin(turn, slice, watched)
    }

    /// Marks where the pack's script stands; returns the number of the mark.
    pub fn mark(&mut self) -> usize {
        self.marks.push(self.scripted.clone());
        self.marks.len() - 1
    }

    /// Sets the script back to a mark; without one, to its beginning.
    pub fn back(&mut self, mark: Option<usize>) {
        let marked = mark.and_then(|it| self.marks.get(it));
        self.scripted = marked.cloned().unwrap_or_else(|| Scripted::from_pack(&self.pack));
    }

    /// Takes a conversation as stored (`conversation`, or the session of a journal's input) in the place of what is held of it;
    /// nothing makes it a new one.
    pub fn place(&mut self, id: &str, stored: Option<String>) -> Result<(), JsValue> {
        let loaded: LoadedSession = stored.map_or_else(|| Ok(LoadedSession::default()), |it| parse("conversation", &it))?;
        self.conversations.insert(id, loaded);
        Ok(())
    }

    /// The steps of a watched turn in their order, as a JSON list of `{"step", "seq", "finished", "changed"}`.
    pub fn steps(&self) -> Result<String, JsValue> {
        written(&self.views(steps::all))
    }

    /// The session around one of `steps`: `{"before", "after"}`; what did not finish has no `after`.
    pub fn step(&self, index: usize) -> Result<String, JsValue> {
        let around = self.views(|it| steps::around(it, index));
        written(&around.ok_or_else(|| thrown("BAD_INPUT", "the turn has no such step"))?)
    }

    /// Why the decisions of the turn fell as they did, as a JSON list.
    pub fn whys(&self) -> Result<String, JsValue> {
        text(&self.turn.as_ref().map(Turn::explanations).unwrap_or_default())
    }

    /// A conversation as stored, or `null`.
    pub fn conversation(&self, id: &str) -> Result<String, JsValue> {
        let loaded = self.conversations.load(id);
        text(&(loaded.turns > 0).then_some(loaded))
    }

    /// SHA-256 over the slices and the outcome of the finished turn; empty before its end.
    pub fn turn_hash(&self) -> String {
        self.finished.clone()
    }

    /// The hash by which a replay is judged, of a watched turn that has finished; else empty.
    pub fn state_hash(&self) -> String {
        self.end.as_ref().zip(self.told.as_ref()).map(|(end, told)| state_hash(end, told)).unwrap_or_default()
    }

    fn views<T>(&self, read: impl FnOnce(&[SessionView]) -> T) -> T {
        match &self.turn {
            Some(turn) => turn.read_views(read),
            None => read(&[]),
        }
    }

    fn completion(&self, id: EffectId, outcome: EffectResult, delay_ms: u64, at: Option<f64>) -> Result<String, JsValue> {
        let delay = Millis::try_from(delay_ms).unwrap_or(Millis::MAX);
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds of a date fit")]
        let asked_at = at.map_or_else(|| self.turn.as_ref().map_or(0, Turn::now), |it| it as Millis);
        let completion = Completion { id, at: asked_at.saturating_add(delay), outcome };
        text(&json!({"completion": completion, "delay_ms": delay_ms}))
    }

    fn begin(&mut self, turn: Turn, slice: Slice, watched: bool) -> Result<String, JsValue> {
        self.turn = Some(turn);
        self.told = watched.then(Vec::new);
        self.end = None;
        self.asked.clear();
        self.hash = SliceHash::default();
        self.finished.clear();
        self.took(slice)
    }

    fn took(&mut self, slice: Slice) -> Result<String, JsValue> {
        let value = value(&slice)?;
        self.hash.add_value(&value);
        self.asked.extend(slice.effects.into_iter().map(|it| (it.id, it)));
        if let Some(told) = &mut self.told {
            told.extend(slice.notices);
        }
        if let Some(outcome) = slice.end {
            self.conversations.commit(&outcome);
            self.end = self.told.as_ref().map(|_| outcome);
            self.finished = std::mem::take(&mut self.hash).finish();
        }
        written(&value)
    }
}

/// The id of the conversation that a talk calls by this label.
#[wasm_bindgen]
pub fn conversation_id(label: &str) -> String {
    conversation_id_for_label(label)
}

/// Which texts of a JSON list a row's pattern finds: a JSON list of booleans, with `null` where that takes too many steps. The type is
/// that of the row: `REGEX`, `EXACT`, `CONTAINS` or `STARTS_WITH`.
#[cfg(feature = "tables")]
#[wasm_bindgen]
pub fn finds(rule_type: &str, pattern: &str, texts: &str) -> Result<String, JsValue> {
    let texts: Vec<String> = parse("list of texts", texts)?;
    let compiled =
        TextMatcher::compile(rule_type, pattern).unwrap_or_else(|| Err(format!("there are no patterns of the type {rule_type}")));
    let matcher = compiled.map_err(|it| thrown("PATTERN", &it))?;
    text(&texts.iter().map(|it| matcher.matches(it, &it.to_lowercase()).ok()).collect::<Vec<_>>())
}

fn number(effect: &Value) -> Option<EffectId> {
    effect.get("id").and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok()).map(EffectId)
}

/// Through a JSON value, which one writer of texts serves for all types: the engine is smaller so.
fn text<T: Serialize>(it: &T) -> Result<String, JsValue> {
    written(&value(it)?)
}

fn value<T: Serialize>(it: &T) -> Result<Value, JsValue> {
    serde_json::to_value(it).map_err(|error| thrown("INTERNAL", &error.to_string()))
}

fn written(value: &Value) -> Result<String, JsValue> {
    serde_json::to_string(value).map_err(|error| thrown("INTERNAL", &error.to_string()))
}

/// Through a JSON value, as `text`.
fn parse<T: DeserializeOwned>(name: &str, json: &str) -> Result<T, JsValue> {
    let parsed = serde_json::from_str::<Value>(json).and_then(serde_json::from_value);
    parsed.map_err(|error| thrown("BAD_INPUT", &format!("this is not a {name}: {error}")))
}

fn no_effect() -> JsValue {
    thrown("BAD_INPUT", "the turn has asked for no such effect: hand in the number of one of its slices'")
}

fn no_turn() -> JsValue {
    thrown("NO_TURN", "no turn has been started; call start first")
}

/// A JavaScript `Error` with a code.
fn thrown(code: &str, message: &str) -> JsValue {
    let error = JsError::new(message);
    error.set_code(code);
    error.into()
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = Error)]
    type JsError;

    #[wasm_bindgen(constructor, js_class = "Error")]
    fn new(message: &str) -> JsError;

    #[wasm_bindgen(method, setter)]
    fn set_code(this: &JsError, code: &str);
}
