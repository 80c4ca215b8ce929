//! The engine: one class, whose turns a host page drives.

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Pack, Scripted, SliceHash, conversation_id_for_label};
use convengine_core::turn::{
    CancelReason, Completion, Effect, EffectId, EffectResult, ExtensionRequest, Journal, KnowledgeRequest, LoadedSession, Millis, Notice,
    Outcome, Reply, Request, ScriptRequest, SessionView, Slice, Turn, state_hash,
};
use serde::Deserialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::types::{Answer, Exchange, Explanation, Issue, TurnMessage};
use crate::{js_error, parse, serialize, steps, to_object, to_value};

/// A compiled pack with its conversations and the turn in progress.
#[wasm_bindgen]
pub struct Engine {
    pack: Pack,
    config: Arc<Config>,
    /// The issues of compiling.
    issues: Vec<Issue>,
    scripted: Scripted,
    /// Checkpoints of the script.
    checkpoints: Vec<Scripted>,
    conversations: Conversations,
    turn: Option<Turn>,
    /// The notices of an observed turn so far.
    notices: Option<Vec<Notice>>,
    end: Option<Outcome>,
    /// The effects that the turn has requested, by id.
    effects: BTreeMap<EffectId, Effect>,
    /// The effects of the last slice.
    requested: Vec<EffectId>,
    hash: SliceHash,
    finished_hash: String,
}

#[wasm_bindgen]
impl Engine {
    /// Compiles a pack; throws an error with code `NOT_A_PACK` if the text is not a pack.
    #[wasm_bindgen(constructor)]
    pub fn new(pack: &str) -> Result<Engine, JsValue> {
        let pack = Pack::parse(pack).map_err(|error| js_error("NOT_A_PACK", &error.to_string()))?;
        let (config, issues) = pack.compile();
        Ok(Engine {
            config: Arc::new(config),
            issues: issues.into_iter().map(Issue::from).collect(),
            scripted: Scripted::from_pack(&pack),
            pack,
            checkpoints: Vec::new(),
            conversations: Conversations::default(),
            turn: None,
            notices: None,
            end: None,
            effects: BTreeMap::new(),
            requested: Vec::new(),
            hash: SliceHash::default(),
            finished_hash: String::new(),
        })
    }

    /// Returns the issues of compiling; those of lint are in the module of lint.
    #[wasm_bindgen(unchecked_return_type = "Issue[]")]
    pub fn issues(&self) -> Result<JsValue, JsValue> {
        to_object(&self.issues)
    }

    /// Returns the configuration's content hash.
    pub fn hash(&self) -> String {
        self.config.hash_source().to_owned()
    }

    /// Returns the number of turns of the pack.
    #[wasm_bindgen(js_name = scriptedTurns)]
    pub fn scripted_turns(&self) -> usize {
        self.pack.turns.len()
    }

    /// Returns the message of a turn of the pack, with its conversation id.
    #[wasm_bindgen(js_name = scriptedTurn, unchecked_return_type = "TurnMessage")]
    pub fn scripted_turn(&self, index: usize) -> Result<JsValue, JsValue> {
        let message = self.pack.message(index);
        let mut message = message.ok_or_else(|| js_error("NOT_A_MESSAGE", &format!("turn {index} of the pack is not a message")))?;
        message.conversation_id = Some(message.conversation());
        to_message_object(&message)
    }

    /// Starts a turn with a message; returns the first slice.
    pub fn start(&mut self, message: &str) -> Result<String, JsValue> {
        let message: Message = parse("message", message)?;
        let input = message.into_input(&self.conversations, self.config.program());
        self.scripted.begin_turn(&input);
        let (turn, slice) = Turn::start(input, Arc::clone(&self.config)).map_err(|error| js_error("TURN", &error.to_string()))?;
        self.begin_turn(turn, slice, false)
    }

    /// Returns the texts of the effects that the last slice requested.
    pub fn effects(&self) -> Result<Vec<String>, JsValue> {
        self.requested.iter().filter_map(|it| self.effects.get(it)).map(serialize).collect()
    }

    /// Returns the text of the request of an effect of the turn, by the effect's id.
    pub fn request(&self, effect: u32) -> Result<String, JsValue> {
        serialize(&self.effects.get(&EffectId(effect)).ok_or_else(unknown_effect_error)?.request)
    }

    /// Returns whether the pack's script has an answer to an effect of the turn, by the effect's id.
    #[wasm_bindgen(js_name = hasScript)]
    pub fn has_script(&self, effect: u32) -> Result<bool, JsValue> {
        let effect = self.effects.get(&EffectId(effect)).ok_or_else(unknown_effect_error)?;
        Ok(self.scripted.has_answer(&effect.request))
    }

    /// Returns the turn's clock, in milliseconds since 1970.
    #[allow(clippy::cast_precision_loss, reason = "milliseconds of a date fit")]
    pub fn now(&self) -> f64 {
        self.turn.as_ref().map_or(0.0, |it| it.now() as f64)
    }

    /// Returns the scripted answer to an effect, by the effect's id. `at` is the time of the request; it defaults to the turn's clock.
    #[wasm_bindgen(unchecked_return_type = "Answer")]
    pub fn answer(&mut self, effect: u32, at: Option<f64>) -> Result<JsValue, JsValue> {
        let id = EffectId(effect);
        let effect = self.effects.get(&id).ok_or_else(unknown_effect_error)?;
        let (outcome, delay_ms) = self.scripted.answer(&effect.request);
        self.completion(id, outcome, delay_ms, at)
    }

    /// Returns the bytes of an extension's module, by their SHA-256.
    pub fn module(&self, sha256: &str) -> Option<Vec<u8>> {
        self.pack.modules.get(sha256).cloned()
    }

    /// Returns the texts of the messages of an extension call, from the effect's text.
    #[wasm_bindgen(js_name = extensionMessages)]
    pub fn extension_messages(&self, effect: &str) -> Result<Vec<String>, JsValue> {
        let effect: Value = parse("effect", effect)?;
        let messages = effect.pointer("/request/messages").and_then(Value::as_array);
        messages.into_iter().flatten().map(serialize).collect()
    }

    /// Returns the answer to an extension call that JavaScript has run: from the module's output, or from `failure`, which is
    /// `{"error": …}`.
    #[wasm_bindgen(js_name = completeExtension, unchecked_return_type = "Answer")]
    pub fn complete_extension(&self, effect: &str, output: Option<Vec<u8>>, failure: &str, at: Option<f64>) -> Result<JsValue, JsValue> {
        let effect: Value = parse("effect", effect)?;
        let request = effect.get("request").and_then(|request| ExtensionRequest::deserialize(request).ok());
        let outcome = match (request, output) {
            (Some(request), Some(output)) => request.parse_output(&output),
            _ => parse("failure", failure)?,
        };
        let id = effect_id(&effect).ok_or_else(|| js_error("BAD_INPUT", "invalid effect: it has no id"))?;
        self.completion(id, outcome, 0, at)
    }

    /// Returns the answer to a script that JavaScript has run: from the interpreter's output, or from `failure`, which is `{"ok": …}` or
    /// `{"error": …}`.
    #[wasm_bindgen(js_name = completeScript, unchecked_return_type = "Answer")]
    pub fn complete_script(&self, effect: &str, output: Option<String>, failure: &str, at: Option<f64>) -> Result<JsValue, JsValue> {
        let effect: Value = parse("effect", effect)?;
        let outcome = match output {
            Some(output) => ScriptRequest::parse_output(&output),
            None => parse("failure", failure)?,
        };
        let id = effect_id(&effect).ok_or_else(|| js_error("BAD_INPUT", "invalid effect: it has no id"))?;
        self.completion(id, outcome, 0, at)
    }

    /// Returns the input of the interpreter for an open script effect.
    #[wasm_bindgen(js_name = scriptInput)]
    pub fn script_input(&self, effect: u32) -> Result<String, JsValue> {
        match self.effects.get(&EffectId(effect)).map(|it| &it.request) {
            Some(Request::Script(request)) => Ok(request.to_module_input()),
            _ => Err(unknown_effect_error()),
        }
    }

    /// Searches a knowledge base of the pack outside of a turn; returns `{"reply", "fused"}`.
    #[wasm_bindgen(js_name = searchKnowledge)]
    pub fn search_knowledge(&self, request: &str) -> Result<String, JsValue> {
        let request: KnowledgeRequest = parse("search", request)?;
        let weight = request.vector_weight;
        match self.scripted.clone().answer(&request.into()).0 {
            EffectResult::Ok(Reply::Knowledge(reply)) => serialize(&json!({"fused": reply.fuse(weight), "reply": reply})),
            _ => Err(js_error("BAD_INPUT", "the pack has no knowledge base")),
        }
    }

    /// Continues with a JSON list of completions; returns the next slice.
    pub fn resume(&mut self, completions: &str) -> Result<String, JsValue> {
        let completions: Vec<Completion> = parse("completions", completions)?;
        let turn = self.turn.as_mut().ok_or_else(no_turn_error)?;
        let slice = turn.resume(completions).map_err(|error| js_error("TURN", &error.to_string()))?;
        self.process_slice(slice)
    }

    /// Cancels the turn, which then ends as failed; `reason` is `timeout` or `lost`. Returns the last slice.
    pub fn cancel(&mut self, reason: &str, at: f64) -> Result<String, JsValue> {
        let reason = CancelReason::deserialize(&Value::from(reason));
        let reason = reason.map_err(|_| js_error("BAD_INPUT", "invalid reason: use timeout or lost"))?;
        let turn = self.turn.as_mut().ok_or_else(no_turn_error)?;
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds of a date fit")]
        let slice = turn.cancel(reason, at as Millis).map_err(|error| js_error("TURN", &error.to_string()))?;
        self.process_slice(slice)
    }

    /// Returns the journal of the turn so far.
    pub fn journal(&self) -> Result<String, JsValue> {
        serialize(self.turn.as_ref().ok_or_else(no_turn_error)?.journal())
    }

    /// Returns the message that the turn began with.
    #[wasm_bindgen(unchecked_return_type = "TurnMessage")]
    pub fn message(&self) -> Result<JsValue, JsValue> {
        let input = &self.turn.as_ref().ok_or_else(no_turn_error)?.journal().input;
        to_message_object(&Message {
            conversation_id: Some(input.conversation.clone()),
            message: input.event.text.clone(),
            reset: input.event.reset,
            input_params: input.event.params.clone(),
            at: input.at,
            seed: input.seed,
            flow: input.event.flow.as_deref().cloned(),
        })
    }

    /// Returns the answered effects of the turn so far, in the order of their answers.
    #[wasm_bindgen(unchecked_return_type = "Exchange[]")]
    pub fn exchanges(&self) -> Result<JsValue, JsValue> {
        let entries = &self.turn.as_ref().ok_or_else(no_turn_error)?.journal().entries;
        let exchanges = entries.iter().map(|entry| {
            let request = entry.request.as_ref().map(serialize).transpose()?;
            Ok(Exchange { effect: entry.effect, at: entry.at, request, outcome: serialize(&entry.outcome)? })
        });
        to_object(&exchanges.collect::<Result<Vec<_>, JsValue>>()?)
    }

    /// Replays a turn from its journal, on the conversation as it was then; returns one slice with everything up to the end of the journal.
    /// An `observed` turn has steps, explanations and a state hash, and takes several times as long.
    pub fn restore(&mut self, journal: &str, observed: Option<bool>) -> Result<String, JsValue> {
        let journal: Journal = parse("journal", journal)?;
        self.conversations.insert(&journal.input.conversation, journal.input.session.clone());
        let observed = observed == Some(true);
        let restore = if observed { Turn::restore_observed } else { Turn::restore };
        let (turn, slice) = restore(journal, Arc::clone(&self.config)).map_err(|error| js_error("TURN", &error.to_string()))?;
        self.begin_turn(turn, slice, observed)
    }

    /// Records a checkpoint of the pack's script; returns its number.
    pub fn mark(&mut self) -> usize {
        self.checkpoints.push(self.scripted.clone());
        self.checkpoints.len() - 1
    }

    /// Rewinds the script to a checkpoint, or without one to its beginning.
    pub fn rewind(&mut self, mark: Option<usize>) {
        let checkpoint = mark.and_then(|it| self.checkpoints.get(it));
        self.scripted = checkpoint.cloned().unwrap_or_else(|| Scripted::from_pack(&self.pack));
    }

    /// Replaces a conversation by a stored one, from `conversation` or from the session of a journal's input; without one the
    /// conversation is reset to a new one.
    #[wasm_bindgen(js_name = setConversation)]
    pub fn set_conversation(&mut self, id: &str, stored: Option<String>) -> Result<(), JsValue> {
        let loaded: LoadedSession = stored.map_or_else(|| Ok(LoadedSession::default()), |it| parse("conversation", &it))?;
        self.conversations.insert(id, loaded);
        Ok(())
    }

    /// Returns the steps of an observed turn, in order.
    #[wasm_bindgen(unchecked_return_type = "Step[]")]
    pub fn steps(&self) -> Result<JsValue, JsValue> {
        self.views(|journal| to_object(&steps::list(journal)))
    }

    /// Returns the session before and after one of `steps` as `{"before", "after"}`; `after` is null for an unfinished step.
    #[wasm_bindgen(unchecked_return_type = "StepSessions")]
    pub fn step(&self, index: usize) -> Result<JsValue, JsValue> {
        self.views(|journal| {
            let sessions = steps::session_around(journal, index);
            to_object(&sessions.ok_or_else(|| js_error("BAD_INPUT", "the turn has no such step"))?)
        })
    }

    /// Returns the explanations of the turn's decisions; an unobserved turn has none.
    #[wasm_bindgen(unchecked_return_type = "Explanation[]")]
    pub fn explanations(&self) -> Result<JsValue, JsValue> {
        let explanations = self.turn.as_ref().map(Turn::explanations).unwrap_or_default();
        to_object(&explanations.iter().map(Explanation::from).collect::<Vec<_>>())
    }

    /// Returns a conversation as stored, or `null`.
    pub fn conversation(&self, id: &str) -> Result<String, JsValue> {
        let loaded = self.conversations.load(id);
        serialize(&(loaded.turns > 0).then_some(loaded))
    }

    /// Returns the SHA-256 of the slices and the outcome of the finished turn; empty before its end.
    #[wasm_bindgen(js_name = turnHash)]
    pub fn turn_hash(&self) -> String {
        self.finished_hash.clone()
    }

    /// Returns the state hash of a finished, observed turn, which a replay must reproduce; otherwise an empty text.
    #[wasm_bindgen(js_name = stateHash)]
    pub fn state_hash(&self) -> String {
        self.end.as_ref().zip(self.notices.as_ref()).map(|(end, notices)| state_hash(end, notices)).unwrap_or_default()
    }

    fn views<T>(&self, read: impl FnOnce(&[SessionView]) -> T) -> T {
        match &self.turn {
            Some(turn) => turn.read_views(read),
            None => read(&[]),
        }
    }

    fn completion(&self, id: EffectId, outcome: EffectResult, delay_ms: u64, at: Option<f64>) -> Result<JsValue, JsValue> {
        let delay = Millis::try_from(delay_ms).unwrap_or(Millis::MAX);
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds of a date fit")]
        let requested_at = at.map_or_else(|| self.turn.as_ref().map_or(0, Turn::now), |it| it as Millis);
        let completion = Completion { id, at: requested_at.saturating_add(delay), outcome };
        let outcome = serialize(&completion.outcome)?;
        to_object(&Answer { completion: serialize(&completion)?, outcome, delay_ms })
    }

    fn begin_turn(&mut self, turn: Turn, slice: Slice, observed: bool) -> Result<String, JsValue> {
        self.turn = Some(turn);
        self.notices = observed.then(Vec::new);
        self.end = None;
        self.effects.clear();
        self.hash = SliceHash::default();
        self.finished_hash.clear();
        self.process_slice(slice)
    }

    fn process_slice(&mut self, slice: Slice) -> Result<String, JsValue> {
        let value = to_value(&slice)?;
        self.hash.add_value(&value);
        self.requested = slice.effects.iter().map(|it| it.id).collect();
        self.effects.extend(slice.effects.into_iter().map(|it| (it.id, it)));
        if let Some(notices) = &mut self.notices {
            notices.extend(slice.notices);
        }
        if let Some(outcome) = slice.end {
            self.conversations.commit(&outcome);
            self.end = self.notices.as_ref().map(|_| outcome);
            self.finished_hash = std::mem::take(&mut self.hash).finish();
        }
        serialize(&value)
    }
}

/// Returns the conversation id for a talk's label.
#[wasm_bindgen(js_name = conversationId)]
pub fn conversation_id(label: &str) -> String {
    conversation_id_for_label(label)
}

/// Converts a message; its parts that are passed on stay texts.
fn to_message_object(message: &Message) -> Result<JsValue, JsValue> {
    to_object(&TurnMessage {
        conversation_id: message.conversation(),
        message: message.message.as_deref(),
        reset: message.reset,
        at: message.at,
        seed: message.seed,
        input_params: serialize(&message.input_params)?,
        event: message.flow.as_ref().map(serialize).transpose()?,
        text: serialize(message)?,
    })
}

fn effect_id(effect: &Value) -> Option<EffectId> {
    effect.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok()).map(EffectId)
}

fn unknown_effect_error() -> JsValue {
    js_error("BAD_INPUT", "unknown effect: use the id of an effect of the turn's slices")
}

fn no_turn_error() -> JsValue {
    js_error("NO_TURN", "no turn in progress; call start first")
}
