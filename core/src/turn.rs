//! The turn protocol, and turns that run the program of their configuration.
//!
//! [`Turn`] is the entry; the rest is what goes in and comes out: [`TurnInput`], [`Slice`] with [`Effect`]s and [`Notice`]s,
//! [`Completion`], [`Outcome`], [`Journal`]. These are serialisable and their names never change, so that a host in another language or in
//! another process can drive a turn.

pub use convengine_turn::*;

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_config::Config;

use crate::program::select_program;
#[cfg(feature = "tables")]
use crate::program::task;

/// The processing of one user event by the program of a configuration.
///
/// A turn runs until it has requested effects, and goes on with their answers; see the [example of the crate](crate). It holds no lock,
/// thread or connection, so a host may keep thousands of them, move them between threads, and drop them at any time.
///
/// What it has done follows from its journal, so that another process can go on with it:
///
/// ```
/// use std::sync::Arc;
/// use convengine_core::config::Config;
/// use convengine_core::pack::{Conversations, Message, Pack};
/// use convengine_core::turn::{CancelReason, Turn};
///
/// // A model has to classify what the user does, so the turn requests a call.
/// let pack = Pack::parse(r#"{"name": "waits", "tables": {}, "turns": []}"#)?;
/// let config = Arc::new(Config::compile(&pack.tables, &pack.settings).0);
/// let message = Message { message: Some("When are you open?".to_owned()), at: 1_767_258_000_000, ..Message::default() };
/// let (turn, slice) = Turn::start(message.into_input(&Conversations::default(), config.program()), Arc::clone(&config))?;
///
/// let (mut restored, again) = Turn::restore(turn.journal().clone(), config)?;
/// assert_eq!(again, slice);
/// let end = restored.cancel(CancelReason::Timeout, 1_767_258_120_000)?.end.ok_or("it ends")?;
/// assert_eq!(end.fault.ok_or("it fails")?.code, "TURN_TIMEOUT");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A turn of a document is the same; its event, its stored state and its response are JSON, in the members `flow`:
///
/// ```
/// use std::sync::Arc;
/// use convengine_core::config::Config;
/// use convengine_core::turn::{LoadedSession, Turn, TurnInput, UserEvent};
/// use serde_json::{Value, json};
///
/// let document = json!({
///     "schema_version": "1.0", "doc": "conversation_flow", "id": "hello", "name": "Hello", "root": "root",
///     "graphs": [{
///         "id": "root", "kind": "root", "entry": "start",
///         "nodes": [
///             {"id": "start", "type": "start", "name": "Start", "data": {}},
///             {"id": "ask", "type": "entity", "name": "Ask", "data": {"variable": "name", "entity": "@string", "prompt": "Your name?"}},
///             {"id": "end", "type": "end", "name": "End", "data": {"final_message": "Hello {{ name }}."}},
///         ],
///         "edges": [{"id": "e1", "source": "start", "target": "ask"}, {"id": "e2", "source": "ask", "target": "end"}],
///     }],
/// });
/// let config = Arc::new(Config::from_flow(&document)?);
/// let mut session = LoadedSession::default();
/// let mut play = |turn: &str, event: Value| -> Result<Value, Box<dyn std::error::Error>> {
///     let input = TurnInput {
///         turn: turn.to_owned(),
///         conversation: "s-1".to_owned(),
///         at: 1_767_258_000_000,
///         seed: 7,
///         program: config.program(),
///         event: UserEvent::from_flow_event(event),
///         session: session.clone(),
///     };
///     let outcome = Turn::start(input, Arc::clone(&config))?.1.end.ok_or("it waits for an effect")?;
///     session = session.clone().with_writes(&outcome.writes);
///     Ok(outcome.to_response())
/// };
/// assert_eq!(play("t-1", json!({"type": "session.start"}))?["messages"][0]["text"], "Your name?");
/// let response = play("t-2", json!({"type": "user.message", "text": "Ada"}))?;
/// assert_eq!((&response["messages"][0]["text"], &response["status"]), (&json!("Hello Ada."), &json!("completed")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Turn(TurnMachine);

/// A recorded turn that was replayed for as long as its journal matches.
#[derive(Debug)]
#[must_use = "a diverged turn cannot continue and must be closed"]
pub struct RescuedTurn {
    /// The turn at the end of its journal, or where it diverged.
    pub turn: Turn,
    /// All notices up to there, and the open effects.
    pub slice: Slice,
    /// The divergence from the journal, if any.
    pub divergence: Option<TurnError>,
}

impl Turn {
    /// Starts a turn and runs it up to its first wait. The slice has the outcome at once if nothing has to be waited for.
    ///
    /// The configuration may be replaced while the turn runs: it keeps the one that it was started with.
    ///
    /// # Errors
    /// [`TurnError::Program`] when the configuration runs another program; [`TurnError::MissingFeature`] when this build does not have it;
    /// [`TurnError::Stalled`] is a bug in the core. Nothing has happened then. That a message cannot be answered is not an error, but the
    /// [fault](Outcome::fault) of an outcome.
    pub fn start(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing })
    }

    /// Starts a turn that records session views and explanations for observers; see [`Turn::read_views`] and [`Turn::explanations`].
    /// Slices, outcome and journal are those of an unobserved turn.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use convengine_core::config::Config;
    /// use convengine_core::pack::{Conversations, Message, Pack};
    /// use convengine_core::turn::{Turn, Verdict};
    ///
    /// let pack = Pack::parse(r#"{"name": "two_rows",
    ///     "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
    ///     "tables": {"ce_response": [
    ///         {"response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
    ///             "exact_text": "of any intent"},
    ///         {"response_id": 2, "intent_code": "UNKNOWN", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
    ///             "exact_text": "of the intent"}]}}"#)?;
    /// let (config, _) = pack.compile();
    /// let message = Message { message: Some("hello".to_owned()), ..Message::default() };
    /// let input = message.into_input(&Conversations::default(), config.program());
    /// let (turn, slice) = Turn::start_observed(input, Arc::new(config))?;
    /// assert!(slice.end.is_some());
    ///
    /// let explanations = turn.explanations();
    /// let response = explanations.iter().find(|explanation| explanation.topic == "response").ok_or("not explained")?;
    /// let won = response.rows.iter().find(|row| row.verdict == Verdict::Won).ok_or("no row won")?;
    /// assert_eq!((won.table, won.id), ("ce_response", Some(2)), "the row of the intent wins over that of any intent");
    /// assert!(turn.read_views(|views| views.iter().any(|view| view.step == "ResponseResolutionStep" && view.edge == "after")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Turn::start`].
    pub fn start_observed(input: TurnInput, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        start(input, config, LaunchMode { defer_end: false, is_replay: false, observation: Observation::Steps })
    }

    /// Replays a recorded turn to the end of its journal; a canceled turn is canceled again. A slice without an end requests effects
    /// beyond the journal; for the journal of a finished turn, that is a divergence as well.
    ///
    /// The slice has all notices from the first, and the open effects. No effect of the journal is requested again, so a replay costs no
    /// call. To tell whether the turn did the same, compare the [`state_hash`] with that of the recorded turn. With another configuration
    /// it shows what that would have done:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use convengine_core::config::Config;
    /// use convengine_core::pack::{Conversations, Message, Pack};
    /// use convengine_core::turn::{Completion, EffectError, EffectErrorKind, EffectResult, Turn, TurnError};
    ///
    /// let config = |prompt: &str| -> Result<Arc<Config>, Box<dyn std::error::Error>> {
    ///     let text = r#"{"name": "p", "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}}, "tables": {
    ///         "ce_response": [
    ///             {"response_id": 1, "intent_code": "UNKNOWN", "state_code": "ANY", "output_format": "TEXT", "response_type": "DERIVED"}],
    ///         "ce_prompt_template": [{"template_id": 1, "intent_code": "UNKNOWN", "state_code": "ANY", "output_format": "TEXT",
    ///             "system_prompt": "PROMPT", "user_prompt": "{{userText}}"}]}}"#;
    ///     Ok(Arc::new(Pack::parse(&text.replace("PROMPT", prompt))?.compile().0))
    /// };
    /// let recorded = config("Be brief.")?;
    /// let message = Message { message: Some("hello".to_owned()), ..Message::default() };
    /// let (mut turn, slice) = Turn::start(message.into_input(&Conversations::default(), recorded.program()), Arc::clone(&recorded))?;
    /// let outage = EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, "no model"));
    /// let completions = slice.effects.iter().map(|effect| Completion { id: effect.id, at: 1, outcome: outage.clone() });
    /// let end = turn.resume(completions.collect())?.end.ok_or("it goes on")?;
    /// assert_eq!(end.fault.as_ref().map(|fault| fault.code.as_str()), Some("LLM_CALL_FAILED"));
    ///
    /// let (_, replayed) = Turn::restore(turn.journal().clone(), recorded)?;
    /// assert_eq!(replayed.end, Some(end));
    ///
    /// let Err(TurnError::Diverged(divergence)) = Turn::restore(turn.journal().clone(), config("Be polite.")?) else { panic!("the same") };
    /// assert_eq!((divergence.index, divergence.step.as_str()), (0, "ResponseResolutionStep"));
    /// assert!(divergence.difference.contains("system: \"Be brief.") && divergence.difference.contains("became \"Be polite."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Diverged`] when the
    /// replay requests other effects than the recorded turn.
    pub fn restore(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        reject_divergence(Turn::rescue(&journal, config)?)
    }

    /// Like [`Turn::restore`], but records session views and explanations; see [`Turn::read_views`] and [`Turn::explanations`].
    ///
    /// # Errors
    /// Same as [`Turn::restore`].
    pub fn restore_observed(journal: Journal, config: Arc<Config>) -> Result<(Turn, Slice), TurnError> {
        reject_divergence(replay(&journal, config, Observation::Steps)?)
    }

    /// Replays a recorded turn for as long as its journal matches, so that a host can resume or cancel a turn after a crash.
    ///
    /// A turn that diverges stops where it would request another effect, or would end. It does not end by itself any more: the host
    /// cancels it with [`Turn::cancel`]. It keeps the recorded journal, so that no paid result is lost. Replaying such a journal
    /// diverges at the same place: [`Turn::restore`] returns the divergence as an error, this function returns it with the same notices
    /// and the same end.
    ///
    /// A host that finds an open turn of a process that has died calls it, publishes what subscribers have not seen yet, completes with
    /// [`Interrupted`](EffectErrorKind::Interrupted) those effects that it had started and must not repeat, and performs the others.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] and [`TurnError::Program`] for a journal of another protocol or program; [`TurnError::Stalled`] is a bug in
    /// the core.
    pub fn rescue(journal: &Journal, config: Arc<Config>) -> Result<RescuedTurn, TurnError> {
        replay(journal, config, Observation::Nothing)
    }

    /// Like [`Turn::rescue`], but records the session at each audit; see [`Turn::audit_metadata`].
    ///
    /// # Errors
    /// Same as [`Turn::rescue`].
    pub fn rescue_with_audit_metadata(journal: &Journal, config: Arc<Config>) -> Result<RescuedTurn, TurnError> {
        replay(journal, config, Observation::Audits)
    }

    /// Starts a task as its binding says: a service, a script or an extension. The end of the turn has its result as payload, or the kind
    /// of its error as code of the fault; see [`Outcome::task_result`].
    ///
    /// For a host that gets a [`Request::Task`] whose task is bound in `ce_task`: it runs the task as a turn of its own, with the key of
    /// the effect as `key`, and answers the effect with the result. Such a turn writes nothing and needs no journal.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use convengine_core::config::Config;
    /// use convengine_core::turn::{Map, TaskRequest, TaskUse, Turn};
    /// use serde_json::json;
    ///
    /// let binding = json!({"script": {"result": "=input.amount * 2"}}).to_string();
    /// let row = json!({"task_id": 1, "kind": "TASK", "task": "orders:double", "binding": binding});
    /// let (config, issues) = Config::compile(&serde_json::from_value(json!({"ce_task": [row]}))?, &json!({}));
    /// assert!(issues.is_empty(), "{issues:?}");
    /// let request = TaskRequest {
    ///     task: "orders:double".to_owned(),
    ///     called_for: TaskUse::Tool,
    ///     rule_id: None,
    ///     container: None,
    ///     input: Some(json!({"amount": 7})),
    ///     view: Map::new(),
    /// };
    /// let (_, slice) = Turn::start_task(Arc::new(config), &request, "t-1/3", 1_767_258_000_000, 7)?;
    /// assert_eq!(slice.end.ok_or("it calls a service")?.task_result()?.as_f64(), Some(14.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    #[cfg(feature = "tables")]
    pub fn start_task(config: Arc<Config>, request: &TaskRequest, key: &str, at: Millis, seed: u64) -> Result<(Turn, Slice), TurnError> {
        let input = TurnInput {
            turn: key.to_owned(),
            conversation: request.view.get("conversation_id").and_then(|it| it.as_str()).unwrap_or_default().to_owned(),
            at,
            seed,
            program: config.program(),
            event: UserEvent::default(),
            session: LoadedSession::default(),
        };
        let (name, arguments) = (request.task.clone(), request.input.clone());
        let mode = LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing };
        launch(input, config.hash_source().to_owned(), mode, |input, effects| task::build_program(input, effects, config, name, arguments))
    }

    /// Continues with answers to effects, in the order given. Answers after the end are ignored.
    ///
    /// The order is part of the journal: two effects that are performed at the same time may lead to another turn when they are answered
    /// the other way round, and a replay repeats the order that was. So a host passes answers as they arrive and need not wait for the
    /// others.
    ///
    /// # Errors
    /// [`TurnError::UnknownEffect`] for an effect that was not requested or is answered already; no answer is used then.
    /// [`TurnError::Stalled`] when the program waits for something other than an effect.
    pub fn resume(&mut self, completions: Vec<Completion>) -> Result<Slice, TurnError> {
        self.0.resume(completions)
    }

    /// Cancels the turn; the slice has its last notices and its end, which is that of a failed turn.
    ///
    /// Open effects are dropped by the host, and their later answers are ignored. The slice is empty for a turn that has ended. A pipeline
    /// ends with a fault, whose message says whether something may have been done; a flow says its error message and, where it
    /// can, waits for the next event; the step of a chain fails.
    ///
    /// # Errors
    /// [`TurnError::Stalled`] is a bug in the core.
    pub fn cancel(&mut self, reason: CancelReason, at: Millis) -> Result<Slice, TurnError> {
        self.0.cancel(reason, at)
    }

    /// The turn's journal so far. Entries are only ever appended, so a host that stores them as it goes begins where it has stopped.
    pub fn journal(&self) -> &Journal {
        self.0.journal()
    }

    /// The turn's clock: the host's time of the latest answer.
    pub fn now(&self) -> Millis {
        self.0.now()
    }

    /// Whether the outcome has been returned; a slice returns it once.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// Reads the session views before and after each step so far; there are none unless the turn is observed.
    pub fn read_views<T>(&self, read: impl FnOnce(&[SessionView]) -> T) -> T {
        self.0.read_views(read)
    }

    /// The explanations of the decisions so far; empty unless the turn is observed.
    pub fn explanations(&self) -> Vec<Explanation> {
        self.0.explanations()
    }

    /// The ports by which nodes of a flow were left so far, each as `graph/node:port`; empty unless the turn is observed or a replay.
    pub fn ports(&self) -> Vec<String> {
        self.0.ports()
    }

    /// The transitions of states that the turn has taken so far; empty unless the turn is observed.
    pub fn transitions(&self) -> Vec<StateTransition> {
        self.0.transitions()
    }

    /// The session at each audit so far, by notice number; empty unless audits are recorded.
    pub fn audit_metadata(&self) -> BTreeMap<u32, Map> {
        self.0.audit_metadata()
    }
}

fn reject_divergence(rescued: RescuedTurn) -> Result<(Turn, Slice), TurnError> {
    let RescuedTurn { turn, slice, divergence: diverged } = rescued;
    diverged.map_or(Ok((turn, slice)), Err)
}

fn launch(
    input: TurnInput,
    config: String,
    mode: LaunchMode,
    program: impl FnOnce(TurnInput, EffectContext) -> Program,
) -> Result<(Turn, Slice), TurnError> {
    let (machine, slice) = TurnMachine::launch(input, config, mode, program)?;
    Ok((Turn(machine), slice))
}

fn replay(journal: &Journal, config: Arc<Config>, watch: Observation) -> Result<RescuedTurn, TurnError> {
    journal.check_protocol()?;
    let defer_end = !journal.entries.is_empty() || journal.canceled.is_some();
    let (mut turn, mut slice) = start(journal.input.clone(), config, LaunchMode { defer_end, is_replay: true, observation: watch })?;
    let diverged = turn.0.replay_journal(journal, &mut slice)?;
    Ok(RescuedTurn { turn, slice, divergence: diverged })
}

fn start(input: TurnInput, config: Arc<Config>, mode: LaunchMode) -> Result<(Turn, Slice), TurnError> {
    // The settings decide, because tables are compiled for a profile. The input stores the program, so that the journal names it.
    if input.program != config.program() {
        return Err(TurnError::Program { requested: input.program, configured: config.program() });
    }
    let program = select_program(&config)?;
    launch(input, config.hash_source().to_owned(), mode, |input, effects| program(input, effects, config))
}
