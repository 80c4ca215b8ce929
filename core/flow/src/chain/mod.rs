//! The interpreter of chains: executes the steps of a run, one attempt with effects in each turn. (docs/spec/chains.md)
//!
//! A run is a session: its state is stored after each turn, its timers wake it, and its turns are journaled. It owns that state and what it
//! answers. Assistants and AI agents that steps talk to are sessions of `flow`, stored within the run.

mod advance;
mod events;
mod failure;
mod outcome;
mod scope;
mod state;
mod step;
mod timers;

pub use events::{RunRefusal, check_event, list_offered_decisions};
pub use outcome::run_view;
pub use state::{PROGRAM, RunStatus, StepStatus};

use convengine_config::flow::Chain;
use convengine_text::date::Date;
use convengine_text::json;
use convengine_turn::{CancelReason, EffectContext, Map, NoticeBody, Outcome, TurnInput, Write};
use serde::Deserialize;
use serde_json::{Value, json};

use self::scope::RunScope;
use self::state::{RunState, SCHEMA_VERSION};

/// Executes the steps of a run during one turn: [`Runner::open`], then [`run`], then [`Runner::into_outcome`].
///
/// Where the event says `stepwise`, a turn makes one attempt with effects at most and a timer brings the next, so that the run is stored in
/// between.
pub struct Runner<'c> {
    chain: &'c Chain,
    state: RunState,
    effects: EffectContext,
    /// The event of the turn, with its `type`.
    event: Map,
    /// Messages of assistants and AI agents in this turn.
    messages: Vec<Value>,
    /// Rows of the model call log.
    writes: Vec<Write>,
    /// Number of effects in this turn.
    effect_count: usize,
    /// Whether an attempt with effects was made in this turn; the next one belongs to the next turn.
    has_performed: bool,
    /// Whether the conversation that this turn continues has calls that may have been carried out.
    is_child_uncertain: bool,
    /// Why the event is refused; the run is then unchanged.
    refusal: Option<RunRefusal>,
    /// Whether the stored state cannot be read; it is left unchanged then.
    is_unreadable: bool,
}

/// Creates the state of a run that has not begun, to be stored by the host. It begins with its first timer. `at` is in ISO 8601.
///
/// ```
/// use convengine_flow::chain::{check_event, new_run, run_view};
/// use convengine_turn::Map;
/// use serde_json::json;
///
/// let state = new_run("r-1", "claims", "5b1c…", Map::new(), None, "2026-01-01T09:00:00.000Z");
/// assert_eq!(run_view(&state).ok_or("unreadable")?["status"], "queued");
///
/// let timer = &state["timers"][0];
/// assert_eq!(timer["due"], "2026-01-01T09:00:00.000Z");
/// let event = json!({"type": "timer.fired", "timer_id": timer["id"]});
/// assert!(check_event(Some(&state), event.as_object().ok_or("not an object")?).is_ok());
/// # Ok::<(), &str>(())
/// ```
pub fn new_run(run: &str, chain: &str, snapshot: &str, trigger: Map, key: Option<String>, at: &str) -> Value {
    serde_json::to_value(RunState::new(run, chain, snapshot, trigger, key, at)).unwrap_or_default()
}

/// Handles the event of the turn.
pub async fn run(runner: &mut Runner<'_>) {
    if runner.is_unreadable || runner.refusal.is_some() {
        return;
    }
    runner.dispatch_event().await;
}

impl<'c> Runner<'c> {
    /// Loads the run of a turn, or creates it. An event that the run [refuses](check_event) and a state that cannot be read change nothing:
    /// the response has an `error`, and nothing is stored.
    pub fn open(input: TurnInput, chain: &'c Chain, snapshot: &str, effects: EffectContext) -> Runner<'c> {
        let at = Date::from_millis(input.at).to_rfc3339_millis();
        let event = input.event.flow.map(|it| json::into_members(*it)).unwrap_or_default();
        let stored = input.session.flow.as_deref();
        let refusal = check_event(stored, &event).err();
        let found = stored.and_then(|state| RunState::deserialize(state).ok()).filter(|it| it.schema_version == SCHEMA_VERSION);
        let is_unreadable = stored.is_some() && found.is_none();
        let mut state = found.unwrap_or_else(|| {
            let trigger = event.get("trigger").and_then(Value::as_object).cloned().unwrap_or_default();
            let key = event.get("idempotency_key").and_then(Value::as_str).map(str::to_owned);
            RunState::new(&input.conversation, &chain.document.slug, snapshot, trigger, key, &at)
        });
        if refusal.is_none() {
            state.seq += 1;
            state.last_event_at = at;
        }
        Runner {
            chain,
            state,
            effects,
            event,
            messages: Vec::new(),
            writes: Vec::new(),
            effect_count: 0,
            has_performed: false,
            is_child_uncertain: false,
            refusal,
            is_unreadable,
        }
    }

    /// Ends the turn.
    pub fn into_outcome(self) -> Outcome {
        outcome::build_outcome(self)
    }

    /// Ends a turn that the host canceled: the attempt of the current step fails.
    pub fn into_canceled_outcome(mut self, reason: CancelReason) -> Outcome {
        if !self.is_unreadable && self.refusal.is_none() {
            self.abort_attempt(reason);
        }
        outcome::build_outcome(self)
    }

    /// The time of the turn, in ISO 8601.
    fn now_text(&self) -> String {
        Date::from_millis(self.effects.now()).to_rfc3339_millis()
    }

    /// A member of the event.
    fn event_text(&self, name: &str) -> Option<String> {
        self.event.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    /// The names that templates and expressions can read.
    fn scope<'r>(&'r self, text: &'r str) -> RunScope<'r> {
        RunScope { state: &self.state, time_zone: self.chain.document.time_zone(), now: self.effects.now(), text }
    }

    /// Publishes a trace event.
    fn trace(&self, kind: &str, data: Value) {
        self.effects.publish(NoticeBody::Audit { stage: kind.to_owned().into(), payload: data.into() });
    }

    /// Warns about undefined names of a template.
    fn warn_undefined(&self, names: &[String]) {
        if !names.is_empty() {
            self.trace("template.undefined", json!({"path": self.state.cursor, "names": names}));
        }
    }
}
