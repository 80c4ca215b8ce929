//! The effect context: the only access of core code to the outside.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use serde::{Deserialize, Serialize};

use super::cancel::CancelReason;
use super::effect::{Completion, Effect};
use super::effect_id::EffectId;
use super::error::{EffectError, TurnError};
use super::explanation::Explanation;
use super::launch_mode::{LaunchMode, Observation};
use super::notice::{Notice, NoticeBody};
use super::request::{EffectClass, Operation, Reply};
use super::rng::Rng;
use super::state_machine::{StateMachine, StateTransition};
use super::{Map, Millis};

/// The session at the edge of a step, for observers: what a debugger shows beside the notices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    /// The step's name.
    pub step: String,
    /// `before` or `after`.
    pub edge: String,
    /// The number of the next notice.
    pub seq: u32,
    /// The session as rules and templates see it.
    pub session: Map,
}

/// A handle to the outside, shared by the driver and the program of one turn.
///
/// A program gets it from [`TurnMachine::launch`](crate::TurnMachine::launch) and passes it to what it calls; clones are handles to the
/// same turn. Everything that a program learns through it is an input or follows from one: the time, the random numbers and the keys are
/// the same in each replay.
///
/// The mutex is never contended, because the driver and the program run alternately. It makes a turn `Send`.
#[derive(Debug, Clone)]
pub struct EffectContext {
    inner: Arc<Mutex<Inner>>,
    /// Outside the mutex, so that a turn without observers does not lock it.
    observation: Observation,
    /// Whether the nodes and ports of a flow are recorded: for observers, and for the report of a divergence.
    records_path: bool,
}

#[derive(Debug)]
struct Inner {
    turn: String,
    now: Millis,
    rng: Rng,
    step: Cow<'static, str>,
    ports: Vec<String>,
    next_seq: u32,
    next_effect: u32,
    open: BTreeMap<EffectId, Option<Result<Reply, EffectError>>>,
    effects: Vec<Effect>,
    notices: Vec<Notice>,
    views: Vec<SessionView>,
    explanations: Vec<Explanation>,
    transitions: Vec<StateTransition>,
    audit_metadata: BTreeMap<u32, Map>,
    /// Whether any write effect was requested.
    has_written: bool,
    end_deferred: bool,
    canceled: Option<CancelReason>,
}

impl EffectContext {
    pub(super) fn new(turn: String, now: Millis, seed: u64, mode: LaunchMode) -> Self {
        let inner = Inner {
            turn,
            now,
            rng: Rng::new(seed),
            step: Cow::Borrowed(""),
            ports: Vec::new(),
            next_seq: 0,
            next_effect: 0,
            open: BTreeMap::new(),
            effects: Vec::new(),
            notices: Vec::new(),
            views: Vec::new(),
            explanations: Vec::new(),
            transitions: Vec::new(),
            audit_metadata: BTreeMap::new(),
            has_written: false,
            end_deferred: false,
            canceled: None,
        };
        let LaunchMode { observation, is_replay, .. } = mode;
        EffectContext { inner: Arc::new(Mutex::new(inner)), observation, records_path: is_replay || observation == Observation::Steps }
    }

    /// The host's time of the latest completion, or of the input before the first; it never decreases. It stands still between two waits.
    pub fn now(&self) -> Millis {
        self.lock().now
    }

    /// The next number of the turn's seeded generator. Each call changes what later ones return, so an extra call changes replays.
    pub fn random(&self) -> u64 {
        self.lock().rng.next_u64()
    }

    /// Publishes a notice, with the next number and the turn's clock. The host gets it with the slice that the turn returns next.
    pub fn publish(&self, body: NoticeBody) {
        let mut inner = self.lock();
        let notice = Notice { seq: inner.next_seq, at: inner.now, body };
        inner.next_seq += 1;
        inner.notices.push(notice);
    }

    /// Sets the current step, for reports of a divergence.
    pub fn enter_step(&self, step: &'static str) {
        self.lock().step = Cow::Borrowed(step);
    }

    /// Sets the current step of a flow, `graph/node` or a fixed word; the closure runs only when the path is recorded.
    pub fn enter_node(&self, key: impl FnOnce() -> Cow<'static, str>) {
        if self.records_path {
            self.lock().step = key();
        }
    }

    /// Records the port by which a node is left, as `graph/node:port`; the closure runs only when the path is recorded.
    pub fn record_port(&self, port: impl FnOnce() -> String) {
        if self.records_path {
            self.lock().ports.push(port());
        }
    }

    /// The ports taken so far, each as `graph/node:port`; empty unless the path is recorded.
    pub(super) fn ports(&self) -> Vec<String> {
        self.lock().ports.clone()
    }

    /// The current step, or the last one.
    pub fn step(&self) -> Cow<'static, str> {
        self.lock().step.clone()
    }

    /// The number of effects without an answer.
    pub fn open_effect_count(&self) -> usize {
        self.lock().open.values().filter(|it| it.is_none()).count()
    }

    /// Whether the turn has requested any write effect.
    pub fn has_written(&self) -> bool {
        self.lock().has_written
    }

    /// Records the session at the edge of a step; the closure runs only for an observed turn.
    pub fn record_view(&self, step: &str, edge: &str, session: impl FnOnce() -> Map) {
        if self.observation != Observation::Steps {
            return;
        }
        let session = session();
        let mut inner = self.lock();
        let seq = inner.next_seq;
        inner.views.push(SessionView { step: step.to_owned(), edge: edge.to_owned(), seq, session });
    }

    /// Records the session at the next audit; the closure runs only when audits are recorded.
    pub fn record_audit_metadata(&self, session: impl FnOnce() -> Map) {
        if self.observation != Observation::Audits {
            return;
        }
        let session = session();
        let mut inner = self.lock();
        let seq = inner.next_seq;
        inner.audit_metadata.insert(seq, session);
    }

    /// The idempotency key of the next effect, unless it brings its own: for requests that carry their key in a header or body.
    pub fn next_key(&self) -> String {
        self.lock().next_key()
    }

    /// Requests an effect and waits for its answer.
    ///
    /// Nothing is requested before the future is polled. A future that is dropped while it waits leaves its effect open: the host carries
    /// it out, and its answer is accepted and not used.
    ///
    /// # Errors
    /// The host's error, or [`Mismatch`](crate::EffectErrorKind::Mismatch) when the reply does not belong to the request.
    pub async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, EffectError> {
        let id = self.request_effect(operation);
        let reply = poll_fn(|_| match self.lock().take_reply(id) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        })
        .await?;
        O::extract_output(reply).ok_or_else(EffectError::mismatch)
    }

    /// Runs the code of a turn to its end, or until the host cancels it.
    ///
    /// A program awaits everything in one such call and builds its outcome after it, so that a canceled turn has one, too. The code is not
    /// told: it stops at the wait where it stands, and what it has changed by then is up to who owns the state.
    ///
    /// ```
    /// use convengine_turn::{CancelReason, EffectContext, SleepRequest};
    ///
    /// /// Counts the waits of a turn; a canceled turn has the count as well.
    /// async fn count_waits(effects: &EffectContext) -> (u32, Option<CancelReason>) {
    ///     let mut waits = 0;
    ///     let code = async {
    ///         while waits < 3 {
    ///             let _ = effects.perform(SleepRequest::new(1_000)).await;
    ///             waits += 1;
    ///         }
    ///     };
    ///     let canceled = effects.run_unless_canceled(code).await.err();
    ///     (waits, canceled)
    /// }
    /// ```
    ///
    /// # Errors
    /// The reason of the cancellation; the code's borrows are released.
    pub async fn run_unless_canceled<F: Future>(&self, code: F) -> Result<F::Output, CancelReason> {
        let mut code = pin!(code);
        let mut finished = None;
        poll_fn(|context| {
            // One guard: a second one in the same statement would deadlock.
            let (canceled, end_deferred) = {
                let inner = self.lock();
                (inner.canceled, inner.end_deferred)
            };
            if let Some(reason) = canceled {
                return Poll::Ready(Err(reason));
            }
            if finished.is_none()
                && let Poll::Ready(output) = code.as_mut().poll(context)
            {
                finished = Some(output);
            }
            match finished.take_if(|_| !end_deferred) {
                Some(output) => Poll::Ready(Ok(output)),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Cancels the turn; returns its clock from then on.
    pub(super) fn cancel(&self, reason: CancelReason, at: Millis) -> Millis {
        let mut inner = self.lock();
        inner.canceled = Some(reason);
        inner.now = inner.now.max(at);
        inner.now
    }

    /// Defers the end of the turn, or allows it again.
    pub(super) fn set_end_deferred(&self, deferred: bool) {
        self.lock().end_deferred = deferred;
    }

    pub(super) fn is_end_deferred(&self) -> bool {
        self.lock().end_deferred
    }

    fn request_effect<O: Operation>(&self, operation: O) -> EffectId {
        let (class, deadline_ms, stream) = (operation.class(), operation.deadline_ms(), operation.is_streamed());
        let repeatable = operation.is_repeatable();
        let mut inner = self.lock();
        let id = EffectId(inner.next_effect);
        let key = operation.key().unwrap_or_else(|| inner.next_key());
        inner.next_effect += 1;
        inner.open.insert(id, None);
        inner.has_written |= matches!(class, EffectClass::Write | EffectClass::Irreversible);
        inner.effects.push(Effect { id, key, class, deadline_ms, stream, repeatable, request: operation.into() });
        id
    }

    /// Checks that each completion answers an open effect, and none twice.
    pub(super) fn check_completions(&self, completions: &[Completion]) -> Result<(), TurnError> {
        let inner = self.lock();
        let mut seen = BTreeSet::new();
        let invalid =
            completions.iter().find(|completion| !matches!(inner.open.get(&completion.id), Some(None)) || !seen.insert(completion.id));
        invalid.map_or(Ok(()), |it| Err(TurnError::UnknownEffect { id: it.id }))
    }

    /// Completes an effect; returns the turn's clock from then on.
    pub(super) fn complete(&self, completion: &Completion) -> Result<Millis, TurnError> {
        let mut inner = self.lock();
        inner.now = inner.now.max(completion.at);
        let now = inner.now;
        match inner.open.get_mut(&completion.id) {
            Some(slot @ None) => *slot = Some(completion.outcome.clone().into()),
            Some(Some(_)) | None => return Err(TurnError::UnknownEffect { id: completion.id }),
        }
        Ok(now)
    }

    pub(super) fn drain(&self) -> (Vec<Effect>, Vec<Notice>) {
        let mut inner = self.lock();
        (std::mem::take(&mut inner.effects), std::mem::take(&mut inner.notices))
    }

    pub(super) fn has_open_effects(&self) -> bool {
        self.open_effect_count() > 0
    }

    pub(super) fn read_views<T>(&self, read: impl FnOnce(&[SessionView]) -> T) -> T {
        read(&self.lock().views)
    }

    /// The explanations in the order in which the decisions began.
    pub(super) fn explanations(&self) -> Vec<Explanation> {
        let mut explanations = self.lock().explanations.clone();
        explanations.sort_by_key(|it| it.seq);
        explanations
    }

    fn record_explanation(&self, explanation: Explanation) {
        self.lock().explanations.push(explanation);
    }

    pub(super) fn transitions(&self) -> Vec<StateTransition> {
        self.lock().transitions.clone()
    }

    fn record_transition(&self, transition: StateTransition) {
        self.lock().transitions.push(transition);
    }

    /// Begins the explanation of a decision; `None` unless the turn is observed. So the facts are only collected for an observer; without
    /// [`Explanation::record`] it is dropped.
    pub fn begin_explanation(&self, topic: &'static str) -> Option<Explanation> {
        if self.observation != Observation::Steps {
            return None;
        }
        let (seq, step) = self.position();
        Some(Explanation { seq, step, topic, about: Map::new(), verdict: String::new(), rows: Vec::new() })
    }

    /// Returns the next state by its table, and records the transition if the turn is observed; `None` when the event cannot happen in this
    /// state.
    pub fn take_transition<S: StateMachine>(&self, state: S, event: S::Event) -> Option<S> {
        let next = state.next(event)?;
        if self.observation == Observation::Steps {
            self.record_transition(StateTransition::new(state, event, next));
        }
        Some(next)
    }

    /// Changes the explanations so far, to redact them; the closure runs only for an observed turn.
    pub fn edit_explanations(&self, edit: impl FnOnce(&mut [Explanation])) {
        if self.observation == Observation::Steps {
            edit(&mut self.lock().explanations);
        }
    }

    /// The number of the next notice, and the current step.
    fn position(&self) -> (u32, Cow<'static, str>) {
        let inner = self.lock();
        (inner.next_seq, inner.step.clone())
    }

    pub(super) fn audit_metadata(&self) -> BTreeMap<u32, Map> {
        self.lock().audit_metadata.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn next_key(&self) -> String {
        format!("{}/{}", self.turn, self.next_effect)
    }

    fn take_reply(&mut self, id: EffectId) -> Option<Result<Reply, EffectError>> {
        if self.open.get(&id)?.is_none() {
            return None;
        }
        self.open.remove(&id).flatten()
    }
}

impl Explanation {
    /// Sets the verdict and records the explanation.
    pub fn record(mut self, effects: &EffectContext, verdict: impl Into<String>) {
        self.verdict = verdict.into();
        effects.record_explanation(self);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn effect_context() -> EffectContext {
        EffectContext::new("t".to_owned(), 10, 1, LaunchMode { defer_end: false, is_replay: false, observation: Observation::Nothing })
    }

    fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
        std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn canceled_code_stops_at_its_wait() {
        let effects = effect_context();
        let mut steps = Vec::new();
        {
            let mut code = Box::pin(effects.run_unless_canceled(async {
                steps.push("asked");
                let _ = effects.perform(super::super::SleepRequest::new(1)).await;
                steps.push("answered");
            }));
            assert_eq!((poll(&mut code), effects.open_effect_count()), (Poll::Pending, 1));
            assert_eq!(effects.cancel(CancelReason::Lost, 7), 10);
            assert_eq!(poll(&mut code), Poll::Ready(Err(CancelReason::Lost)));
        }
        assert_eq!((steps, effects.open_effect_count()), (vec!["asked"], 1));
    }

    #[test]
    fn deferred_code_ends_once_it_is_released() {
        let effects = effect_context();
        effects.set_end_deferred(true);
        let mut runs = 0;
        let mut code = Box::pin(effects.run_unless_canceled(async { runs += 1 }));
        assert_eq!((poll(&mut code), poll(&mut code)), (Poll::Pending, Poll::Pending));
        effects.set_end_deferred(false);
        assert_eq!(poll(&mut code), Poll::Ready(Ok(())));
        drop(code);
        assert_eq!(runs, 1);
    }
}
