//! The events of a run: which are accepted, and what they do. (docs/spec/chains.md#5)

use std::borrow::Cow;
use std::mem::take;

use convengine_config::flow::document::ValueType;
use convengine_config::flow::shape::Keyword;
use convengine_turn::Map;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Runner;
use super::state::{ClosedWait, RunState, RunStatus, StepEvent, Wait, WaitKind};
use crate::coerce;

/// Why an event is refused. The run goes on as if it had not come.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRefusal {
    /// A stable code.
    pub code: Cow<'static, str>,
    /// What is wrong, and what to do.
    pub message: String,
    /// Members for the answer, such as `options`.
    pub details: Value,
}

impl RunRefusal {
    fn new(code: &'static str, message: &str) -> RunRefusal {
        RunRefusal { code: Cow::Borrowed(code), message: message.to_owned(), details: json!({}) }
    }
}

/// Checks whether a run accepts an event; `state` is the stored state, absent for a new run. A turn checks it again, on the state as it is
/// then.
///
/// | `type` | accepted |
/// |---|---|
/// | `chain.start` | by a new run only |
/// | `timer.fired` | with the `timer_id` of a timer that is set |
/// | `run.resume` | while a step waits for a message or a decision; what it waits for is checked |
/// | `run.ingress` | while a step waits for a webhook |
/// | `run.token` | while a step waits for what a token can resume |
/// | `run.cancel` | until the run has ended |
/// | `run.retry` | by a failed run |
///
/// ```
/// use convengine_flow::chain::check_event;
/// use serde_json::json;
///
/// let event = json!({"type": "run.cancel"}).as_object().cloned().unwrap_or_default();
/// let refusal = check_event(None, &event).unwrap_err();
/// assert_eq!((refusal.code.as_ref(), refusal.message.as_str()), ("run_not_found", "the run does not exist; start one"));
/// ```
///
/// # Errors
/// Returns why not.
pub fn check_event(state: Option<&Value>, event: &Map) -> Result<(), RunRefusal> {
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    let Some(state) = state else {
        let refusal = || RunRefusal::new("run_not_found", "the run does not exist; start one");
        return if kind == "chain.start" { Ok(()) } else { Err(refusal()) };
    };
    // What cannot be read is reported by the turn itself.
    let Ok(state) = RunState::deserialize(state) else { return Ok(()) };
    match kind {
        "chain.start" => Err(RunRefusal::new("run_exists", "the run exists; start another one")),
        "timer.fired" => {
            let id = event.get("timer_id").and_then(Value::as_str).unwrap_or_default();
            let is_armed = state.timers.iter().any(|it| it.id == id);
            if is_armed { Ok(()) } else { Err(RunRefusal::new("timer_not_armed", "the run no longer has this timer")) }
        }
        "run.resume" => check_resume(&state, event),
        "run.ingress" if is_paused(event) => Err(chain_paused()),
        "run.ingress" => {
            state.wait.as_ref().filter(|wait| wait.kind == WaitKind::Webhook && is_of_step(wait, event)).map(|_| ()).ok_or_else(not_waiting)
        }
        "run.token" => state.wait.as_ref().filter(|it| it.kind.is_resumable()).map(|_| ()).ok_or_else(not_waiting),
        "run.cancel" if state.status.is_final() => Err(RunRefusal::new("run_finished", "the run has ended")),
        "run.cancel" => Ok(()),
        "run.retry" if state.status == RunStatus::Failed => Ok(()),
        "run.retry" => Err(RunRefusal::new("not_failed", "the run has not failed; only failed runs can be retried")),
        _ => Err(RunRefusal::new("event_unknown", "unknown event type")),
    }
}

/// Returns the decisions that a stored run offers; none where any is accepted, and none while it waits for something else.
///
/// ```
/// use convengine_flow::chain::list_offered_decisions;
/// use serde_json::json;
///
/// let state = json!({"wait": {"kind": "human", "options": ["approve", "reject"]}});
/// assert_eq!(list_offered_decisions(&state).collect::<Vec<_>>(), ["approve", "reject"]);
/// assert_eq!(list_offered_decisions(&json!({})).count(), 0);
/// ```
pub fn list_offered_decisions(state: &Value) -> impl Iterator<Item = &str> {
    let options = state.pointer("/wait/options").and_then(Value::as_array);
    options.into_iter().flatten().filter_map(Value::as_str)
}

fn not_waiting() -> RunRefusal {
    RunRefusal::new("not_waiting", "the run does not wait for this; look at its status")
}

fn chain_paused() -> RunRefusal {
    RunRefusal::new("chain_paused", "the chain is paused; set its status to 'live' first")
}

fn is_paused(event: &Map) -> bool {
    event.get("paused").and_then(Value::as_bool).unwrap_or(false)
}

/// Whether an event is for the step of a wait: it names its path or its id, or no step.
fn is_of_step(wait: &Wait, event: &Map) -> bool {
    event.get("step").and_then(Value::as_str).is_none_or(|step| step == wait.path || step == wait.step_id)
}

/// The wait that is resumed: that of the token's attempt, else of the step, else the latest. (docs/spec/chains.md#5)
fn find_wait<'s>(state: &'s RunState, event: &Map) -> Result<&'s Wait, RunRefusal> {
    let is_of_attempt = |attempt: u32| event.get("attempt").and_then(Value::as_u64).is_none_or(|number| number == u64::from(attempt));
    let is_open = |wait: &&Wait| wait.kind.is_resumable() && is_of_step(wait, event) && is_of_attempt(wait.attempt);
    let open = state.wait.as_ref().filter(is_open);
    if open.is_none() {
        let step = event.get("step").and_then(Value::as_str);
        let is_closed = |wait: &&ClosedWait| {
            wait.kind.is_resumable()
                && step.is_none_or(|step| step == wait.path || wait.path.rsplit('/').next() == Some(step))
                && is_of_attempt(wait.attempt)
        };
        match state.closed_waits.iter().rev().find(is_closed) {
            Some(closed) if closed.is_expired => return Err(RunRefusal::new("wait_expired", "the wait has expired")),
            Some(_) => return Err(RunRefusal::new("already_resumed", "the wait was already resumed")),
            None => {}
        }
    }
    if state.status.is_final() {
        return Err(RunRefusal::new("run_finished", "the run has ended"));
    }
    if is_paused(event) {
        return Err(chain_paused());
    }
    open.ok_or_else(not_waiting)
}

fn check_resume(state: &RunState, event: &Map) -> Result<(), RunRefusal> {
    let wait = find_wait(state, event)?;
    match wait.kind {
        WaitKind::Message => {
            let text = event.get("text").and_then(Value::as_str).unwrap_or_default();
            let refusal = || RunRefusal::new("text_required", "text is missing; send what is said to the assistant");
            if text.trim().is_empty() { Err(refusal()) } else { Ok(()) }
        }
        WaitKind::Human => {
            check_decision(wait, event)?;
            read_fields(wait, event).map(|_| ())
        }
        WaitKind::Webhook | WaitKind::Time | WaitKind::Retry => Err(not_waiting()),
    }
}

fn check_decision(wait: &Wait, event: &Map) -> Result<(), RunRefusal> {
    let decision = event.get("decision").filter(|it| !it.is_null());
    let is_text = decision.is_none_or(Value::is_string);
    let is_option = wait.options.is_empty() || wait.options.iter().any(|option| decision.and_then(Value::as_str) == Some(option));
    if is_text && is_option {
        return Ok(());
    }
    let refusal = RunRefusal::new("invalid_decision", "decision is not one of the options; send one of them");
    Err(RunRefusal { details: json!({"options": wait.options}), ..refusal })
}

/// The fields of a form, with defaults and declared types.
fn read_fields(wait: &Wait, event: &Map) -> Result<Map, RunRefusal> {
    let refuse = |message: String| RunRefusal { details: json!({"form": wait.form}), ..RunRefusal::new("invalid_fields", &message) };
    let given = match event.get("fields").filter(|it| !it.is_null()) {
        None => Map::new(),
        Some(Value::Object(fields)) => fields.clone(),
        Some(_) => return Err(refuse("fields is not an object; send the fields of the form".to_owned())),
    };
    if wait.form.is_empty() {
        return Ok(given);
    }
    let mut fields = Map::new();
    for field in &wait.form {
        let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_required = field.get("required").and_then(Value::as_bool).unwrap_or(false);
        match given.get(name).filter(|it| !it.is_null()).or_else(|| field.get("default")) {
            Some(value) => {
                let kind = field.get("type").and_then(|keyword| ValueType::from_keyword(keyword.as_str()?)).unwrap_or(ValueType::Any);
                let mismatch = |_| refuse(format!("field '{name}' is not {}; correct it", kind.name_with_article()));
                fields.insert(name.to_owned(), coerce(value.clone(), kind).map_err(mismatch)?);
            }
            None if is_required => return Err(refuse(format!("field '{name}' is missing; fill it in"))),
            None => {}
        }
    }
    match given.keys().find(|it| !fields.contains_key(*it)) {
        Some(unknown) => Err(refuse(format!("the form has no field '{unknown}'; remove it"))),
        None => Ok(fields),
    }
}

impl Runner<'_> {
    /// Handles the event.
    pub(super) async fn dispatch_event(&mut self) {
        // Only timers begin attempts with effects then: whoever sends another event is answered at once.
        self.has_performed = self.is_stepwise() && self.event_text("type").as_deref() != Some("timer.fired");
        match self.event_text("type").unwrap_or_default().as_str() {
            "chain.start" => self.advance().await,
            "timer.fired" => {
                let id = self.event_text("timer_id").unwrap_or_default();
                self.on_timer(&id).await;
            }
            "run.resume" => self.on_resume().await,
            "run.ingress" => self.on_ingress().await,
            "run.cancel" => self.on_cancel(),
            "run.retry" => self.on_retry().await,
            "run.token" => {
                if let Some(wait) = &mut self.state.wait {
                    wait.token_serial += 1;
                }
            }
            _ => {}
        }
    }

    async fn on_resume(&mut self) {
        let Some(wait) = self.state.wait.clone() else { return };
        self.trace("workflow_chain.resume", json!({"path": wait.path, "by": self.event.get("by")}));
        if wait.kind == WaitKind::Message {
            let text = self.event_text("text").unwrap_or_default();
            self.continue_conversation(json!({"type": "user.message", "text": text})).await;
            return;
        }
        let member = |name: &str| self.event.get(name).cloned().unwrap_or_default();
        let fields = read_fields(&wait, &self.event).unwrap_or_default();
        let mut output = json!({
            "decision": member("decision"), "fields": fields, "comment": member("comment"), "by": member("by"), "at": self.now_text(),
        });
        // Only if a known caller says that it is, or speaks for, somebody else.
        if let (Some(stated), Some(members)) = (self.event.get("stated_by"), output.as_object_mut()) {
            members.insert("stated_by".to_owned(), stated.clone());
        }
        self.close_wait(false);
        self.finish_step(output);
        self.advance().await;
    }

    async fn on_ingress(&mut self) {
        let path = self.state.wait.as_ref().map(|it| it.path.clone());
        self.trace("workflow_chain.ingress", json!({"path": path}));
        let body = self.event.get("body").cloned().unwrap_or_default();
        self.receive_webhook(body);
        self.advance().await;
    }

    fn on_cancel(&mut self) {
        let reason = self.event_text("reason");
        self.cancel_run(reason.as_deref());
    }

    /// Cancels the run.
    pub(super) fn cancel_run(&mut self, reason: Option<&str>) {
        self.state.wait = None;
        self.move_attempt(StepEvent::Cancel, None, None);
        self.end_run(RunStatus::Cancelled, reason);
    }

    /// Opens a failed run again at the failed step.
    async fn on_retry(&mut self) {
        self.trace("workflow_chain.run", json!({"run": self.state.id, "attempt": self.state.attempt + 1}));
        self.state.attempt += 1;
        self.state.tries = 0;
        self.state.error = None;
        self.state.ended_at = None;
        self.state.child = None;
        self.state.reopened_at = Some(self.now_text());
        self.advance().await;
    }

    /// Ends the wait of the current step.
    pub(super) fn close_wait(&mut self, is_expired: bool) {
        let Some(wait) = take(&mut self.state.wait) else { return };
        if matches!(wait.kind, WaitKind::Human | WaitKind::Webhook | WaitKind::Message) {
            let Wait { kind, path, attempt, token_serial, .. } = wait;
            self.state.closed_waits.push(ClosedWait { kind, path, attempt, token_serial, is_expired });
        }
        self.state.status = RunStatus::Running;
    }
}
