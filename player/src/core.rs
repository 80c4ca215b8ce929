//! Plays packs in the core, without a server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use convengine_core::config::{Config, Issue};
use convengine_core::pack::{Conversations, Pack, PackTurn, Scripted, ScriptedCall, SliceHash};
use convengine_core::turn::{
    Completion, ConversationRow, Effect, EffectResult, Journal, LlmMode, LlmReply, LlmRequest, Millis, Notice, NoticeBody, Outcome, Reply,
    Request, Slice, Turn, TurnInput, Write, state_hash,
};
use serde_json::{Value, json};

use super::expect::PlayedTurn;
#[cfg(feature = "http")]
use super::local_services::LocalServices;

/// When a turn is saved as JSON and restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspend {
    /// Never.
    Never,
    /// After every completion.
    Always,
}

/// A turn played in the core, with its hashes.
#[derive(Debug, Clone)]
pub struct CoreTurn {
    /// The result in the form of an expectation.
    pub played: PlayedTurn,
    /// SHA-256 over its slices. (docs/decisions/0026-what-equal-means.md)
    pub hash: String,
    /// The state hash: SHA-256 of session, writes and notices.
    pub state_hash: String,
    /// The journal.
    pub journal: Journal,
    /// All notices in order.
    pub notices: Vec<Notice>,
}

/// A checkpoint that a player can be rewound to.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    scripted: Scripted,
    conversations: Conversations,
}

/// Plays the turns of a pack in the core.
pub struct CorePlayer {
    pack: Pack,
    /// The compiled configuration.
    pub config: Arc<Config>,
    /// The issues reported by the compiler.
    pub issues: Vec<Issue>,
    /// How many requests so far only a host could answer: SQL, tools of other groups, scripts and extensions without a scripted answer.
    pub host_requests: usize,
    scripted: Scripted,
    #[cfg(feature = "http")]
    local_services: LocalServices,
    conversations: Conversations,
    history: BTreeMap<String, Vec<Value>>,
    suspend: Suspend,
}

impl CorePlayer {
    /// Compiles the pack's configuration.
    pub fn new(pack: &Pack, suspend: Suspend) -> CorePlayer {
        let (config, issues) = pack.compile();
        CorePlayer {
            config: Arc::new(config),
            issues,
            host_requests: 0,
            scripted: Scripted::from_pack(pack),
            #[cfg(feature = "http")]
            local_services: LocalServices::from_pack(pack),
            pack: pack.clone(),
            conversations: Conversations::default(),
            history: BTreeMap::new(),
            suspend,
        }
    }

    /// Plays one turn of the pack.
    ///
    /// # Errors
    /// Returns an error when the turn is not a plain message, or the core violates its protocol.
    pub fn play(&mut self, index: usize) -> Result<CoreTurn> {
        let input = self.begin_turn(index)?;
        let (mut turn, slice) = Turn::start(input, Arc::clone(&self.config))?;
        let mut run = Run { slices: vec![slice], ..Run::default() };
        let mut open: VecDeque<Effect> = run.last().effects.clone().into();
        while run.last().end.is_none() {
            let effect = open.pop_front().ok_or_else(|| anyhow!("the turn waits although all its effects are completed"))?;
            // One completion at a time, as in hosts.
            let completion = self.answer(&turn, &effect, &mut run)?;
            run.slices.push(turn.resume(vec![completion])?);
            open.extend(run.last().effects.clone());
            if self.suspend == Suspend::Always {
                turn = self.reload(&turn, &run, &open)?;
            }
        }
        self.finish(&turn, run)
    }

    /// Adds a turn to the pack and plays it. A turn that cannot be played is not added.
    ///
    /// # Errors
    /// Returns an error when the turn is not a plain message, or the core violates its protocol.
    pub fn play_next(&mut self, turn: PackTurn) -> Result<CoreTurn> {
        let index = self.pack.turns.len();
        self.pack.turns.push(turn);
        let played = self.play(index);
        if played.is_err() {
            self.pack.turns.truncate(index);
        }
        played
    }

    /// Returns the input of a turn on the current conversation and selects the turn's scripted answers.
    ///
    /// # Errors
    /// Returns an error when the turn is not a plain message.
    pub fn begin_turn(&mut self, index: usize) -> Result<TurnInput> {
        let message =
            self.pack.message(index).ok_or_else(|| anyhow!("turn {index} is not a plain message and cannot be played in the core"))?;
        let input = message.into_input(&self.conversations, self.config.program());
        self.scripted.begin_turn(&input);
        Ok(input)
    }

    /// Returns the pack's answer to a request and its delay in milliseconds.
    pub fn reply(&mut self, request: &Request) -> (EffectResult, u64) {
        let matched = self.scripted.answer_from_turn(request);
        #[cfg(feature = "http")]
        let matched = matched.or_else(|| Some((self.local_services.answer(request)?, 0)));
        matched.unwrap_or_else(|| self.scripted.answer(request))
    }

    /// Stores the outcome of a turn.
    pub fn commit(&mut self, outcome: &Outcome) {
        self.conversations.commit(outcome);
    }

    /// Returns a checkpoint of the conversations and their scripts.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { scripted: self.scripted.clone(), conversations: self.conversations.clone() }
    }

    /// Rewinds to a checkpoint.
    pub fn rewind(&mut self, mark: &Checkpoint) {
        self.scripted = mark.scripted.clone();
        self.conversations = mark.conversations.clone();
    }

    /// Saves the turn as JSON, restores it, and checks that it is unchanged.
    fn reload(&self, turn: &Turn, run: &Run, open: &VecDeque<Effect>) -> Result<Turn> {
        let saved = serde_json::to_string(turn.journal())?;
        let (restored, slice) = Turn::restore(serde_json::from_str(&saved)?, Arc::clone(&self.config))?;
        let before: Vec<&Notice> = run.slices.iter().flat_map(|it| &it.notices).collect();
        let after: Vec<&Notice> = slice.notices.iter().collect();
        if before != after {
            return Err(anyhow!("the restored turn published different notices than the saved turn"));
        }
        if slice.end != run.last().end || !slice.effects.iter().eq(open) {
            return Err(anyhow!("the restored turn is at a different point than the saved turn"));
        }
        Ok(restored)
    }

    fn answer(&mut self, turn: &Turn, effect: &Effect, run: &mut Run) -> Result<Completion> {
        if is_for_host(&effect.request) && !self.scripted.has_answer(&effect.request) {
            self.host_requests += 1;
            ensure!(cfg!(feature = "http"), "the turn needs a service of a host, which a player without the feature 'http' lacks");
        }
        run.scripted_calls.extend(ScriptedCall::from_request(&effect.request));
        run.requests.extend(serde_json::to_value(&effect.request));
        let (outcome, delay_ms) = self.reply(&effect.request);
        if let Request::Llm(request) = &effect.request {
            run.calls.push(llm_call_json(request, &outcome));
        }
        let at = turn.now() + Millis::try_from(delay_ms).unwrap_or_default();
        Ok(Completion { id: effect.id, at, outcome })
    }

    fn finish(&mut self, turn: &Turn, run: Run) -> Result<CoreTurn> {
        let mut hash = SliceHash::default();
        run.slices.iter().for_each(|it| hash.add(it));
        let notices: Vec<Notice> = run.slices.iter().flat_map(|it| it.notices.clone()).collect();
        let outcome = run.last().end.clone().ok_or_else(|| anyhow!("the turn has no outcome"))?;
        self.commit(&outcome);
        let mut calls = run.calls.clone();
        let logged = outcome.writes.iter().filter_map(|write| match write {
            Write::LlmCall(row) => Some((row.intent_code.as_str(), row.state_code.as_str())),
            _ => None,
        });
        add_intent_and_state(&mut calls, logged);
        let rows = self.history.entry(outcome.conversation_id.clone()).or_default();
        for write in &outcome.writes {
            if let Write::History(row) = write {
                let conversation = &outcome.conversation_id;
                rows.push(json!({"conversation_id": conversation, "user_input": row.user_input, "assistant_output": row.assistant_output}));
            }
        }
        let history = rows.clone();
        let loaded = self.conversations.load(&outcome.conversation_id);
        let stored = loaded.conversation;
        let played = PlayedTurn {
            status: 200,
            json: response_json(&outcome),
            audit: notices.iter().filter_map(audit_row).collect(),
            llm: calls,
            scripted_calls: run.scripted_calls.clone(),
            requests: run.requests.clone(),
            session: loaded.flow.map_or(Value::Null, Arc::unwrap_or_clone),
            conversation: stored.as_ref().map_or(Value::Null, conversation_row),
            history,
            verbose: notices.iter().filter_map(verbose_row).collect(),
        };
        let state_hash = state_hash(&outcome, &notices);
        Ok(CoreTurn { played, hash: hash.finish(), state_hash, journal: turn.journal().clone(), notices })
    }
}

/// Whether a request without a scripted answer goes to a service of a host.
fn is_for_host(request: &Request) -> bool {
    match request {
        Request::Extension(_) | Request::Script(_) | Request::Sql(_) => true,
        Request::Tool(request) => request.spec.is_some(),
        Request::Llm(_) | Request::Embed(_) | Request::Task(_) | Request::Container(_) => false,
        Request::Sleep(_) | Request::Http(_) | Request::Knowledge(_) | Request::PhraseSearch(_) => false,
    }
}

#[derive(Default)]
struct Run {
    slices: Vec<Slice>,
    calls: Vec<Value>,
    scripted_calls: Vec<ScriptedCall>,
    requests: Vec<Value>,
}

impl Run {
    fn last(&self) -> &Slice {
        self.slices.last().unwrap_or_else(|| unreachable!("a run starts with a slice"))
    }
}

fn response_json(outcome: &Outcome) -> Value {
    let mut body = outcome.to_response();
    parse_context(&mut body);
    if outcome.flow.is_some() {
        // Members that talk checks read.
        body["intent"] = json!(outcome.intent);
        body["state"] = json!(outcome.state);
        body["payload"] = json!(outcome.payload);
        body["vars"] = json!(outcome.session.context);
        body["errorCode"] = Value::Null;
    }
    body
}

/// Parses the response's context, which is JSON text, to match the form of expectations.
pub(super) fn parse_context(body: &mut Value) {
    if let Some(parsed) = body.get("context").and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok()) {
        body["context"] = parsed;
    }
}

fn audit_row(notice: &Notice) -> Option<(String, Value)> {
    match &notice.body {
        NoticeBody::Audit { stage, payload } => Some((stage.to_string(), payload.to_value().into_owned())),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    }
}

pub(super) fn verbose_row(notice: &Notice) -> Option<Value> {
    let NoticeBody::Verbose(it) = &notice.body else { return None };
    Some(json!({
        "verboseId": it.verbose_id, "eventType": "VERBOSE_PROGRESS", "stepName": it.step, "determinant": it.determinant,
        "intent": it.intent, "state": it.state, "ruleId": it.rule_id, "toolCode": it.tool_code, "level": it.level,
        "text": it.text, "message": it.message, "errorMessage": it.error_message,
    }))
}

/// Returns a model call in the form of an expectation.
pub(super) fn llm_call_json(request: &LlmRequest, outcome: &EffectResult) -> Value {
    let kind = match request.mode {
        LlmMode::Text => "text",
        LlmMode::Json => "json",
        LlmMode::JsonStrict => "json_strict",
    };
    let mut call = json!({"purpose": request.purpose, "kind": kind, "prompt": request.prompt()});
    call["reply"] = match outcome {
        EffectResult::Ok(Reply::Llm(LlmReply { text, .. })) => json!(text),
        EffectResult::Ok(_) | EffectResult::Error(_) => Value::Null,
    };
    call
}

/// Adds the logged intent and state to each model call.
pub(super) fn add_intent_and_state<'p>(calls: &mut [Value], logged: impl Iterator<Item = (&'p str, &'p str)>) {
    for (call, (intent, state)) in calls.iter_mut().zip(logged) {
        call["intent"] = json!(intent);
        call["state"] = json!(state);
    }
}

fn conversation_row(row: &ConversationRow) -> Value {
    let last_assistant = row.last_assistant.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({
        "conversation_id": row.conversation_id, "status": row.status, "intent_code": row.intent_code, "state_code": row.state_code,
        "context_json": row.context, "last_user_text": row.last_user_text, "last_assistant_json": last_assistant,
        "input_params_json": row.params,
    })
}
