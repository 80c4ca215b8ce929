//! The effect context: the only access of core code to the outside.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use serde::{Deserialize, Serialize};

use super::abandon::Abandon;
use super::effect::{Class, Completion, Effect, EffectId, Operation};
use super::error::{EffectError, TurnError};
use super::notice::{Notice, NoticeBody};
use super::request::Reply;
use super::rng::Rng;
use super::why::Why;
use super::{Map, Millis, Watch};

/// The session at the edge of a step, for observers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
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
/// The mutex is never contended, because the driver and the program run alternately. It makes a turn `Send`.
#[derive(Debug, Clone)]
pub struct Door {
    port: Arc<Mutex<Port>>,
    /// Outside the mutex, so that a turn without observers does not lock it.
    pub(super) watch: Watch,
}

#[derive(Debug)]
struct Port {
    turn: String,
    now: Millis,
    rng: Rng,
    step: &'static str,
    next_seq: u32,
    next_effect: u32,
    open: BTreeMap<EffectId, Option<Result<Reply, EffectError>>>,
    effects: Vec<Effect>,
    notices: Vec<Notice>,
    views: Vec<View>,
    whys: Vec<Why>,
    metas: BTreeMap<u32, Map>,
    /// Whether any write effect was requested.
    wrote: bool,
    held: bool,
    abandoned: Option<Abandon>,
}

impl Door {
    pub(super) fn new(turn: String, now: Millis, seed: u64, watch: Watch) -> Self {
        let inner = Port {
            turn,
            now,
            rng: Rng::new(seed),
            step: "",
            next_seq: 0,
            next_effect: 0,
            open: BTreeMap::new(),
            effects: Vec::new(),
            notices: Vec::new(),
            views: Vec::new(),
            whys: Vec::new(),
            metas: BTreeMap::new(),
            wrote: false,
            held: false,
            abandoned: None,
        };
        Door { port: Arc::new(Mutex::new(inner)), watch }
    }

    /// The host's time of the latest completion; it never decreases.
    pub fn now(&self) -> Millis {
        self.port().now
    }

    /// The next number of the turn's seeded generator.
    pub fn random(&self) -> u64 {
        self.port().rng.next_u64()
    }

    /// Publishes a notice.
    pub fn notice(&self, body: NoticeBody) {
        let mut inner = self.port();
        let notice = Notice { seq: inner.next_seq, at: inner.now, body };
        inner.next_seq += 1;
        inner.notices.push(notice);
    }

    /// Sets the current step, for reports of a divergence.
    pub fn at_step(&self, step: &'static str) {
        self.port().step = step;
    }

    /// The current step, or the last one.
    pub fn step(&self) -> &'static str {
        self.port().step
    }

    /// The number of effects without an answer.
    pub fn open_effects(&self) -> usize {
        self.port().open.values().filter(|it| it.is_none()).count()
    }

    /// Whether the turn has requested any write effect.
    pub fn wrote(&self) -> bool {
        self.port().wrote
    }

    /// Records the session at the edge of a step; the closure runs only for an observed turn.
    pub fn view(&self, step: &str, edge: &str, session: impl FnOnce() -> Map) {
        if self.watch != Watch::Steps {
            return;
        }
        let session = session();
        let mut inner = self.port();
        let seq = inner.next_seq;
        inner.views.push(View { step: step.to_owned(), edge: edge.to_owned(), seq, session });
    }

    /// Records the session at the next audit; the closure runs only when audits are recorded.
    pub fn meta(&self, session: impl FnOnce() -> Map) {
        if self.watch != Watch::Audits {
            return;
        }
        let session = session();
        let mut inner = self.port();
        let seq = inner.next_seq;
        inner.metas.insert(seq, session);
    }

    /// The idempotency key of the next effect, unless it brings its own.
    pub fn next_key(&self) -> String {
        self.port().next_key()
    }

    /// Requests an effect and waits for its answer.
    ///
    /// # Errors
    /// The host's error, or `Mismatch` when the reply does not belong to the request.
    pub async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, EffectError> {
        let id = self.request(operation);
        let reply = poll_fn(|_| match self.port().take(id) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        })
        .await?;
        O::output(reply).ok_or_else(EffectError::mismatch)
    }

    /// Runs the code of a turn to its end, or until the host cancels it.
    ///
    /// # Errors
    /// The reason of the cancellation; the code's borrows are released.
    pub async fn unless_abandoned<F: Future>(&self, code: F) -> Result<F::Output, Abandon> {
        let mut code = pin!(code);
        let mut finished = None;
        poll_fn(|context| {
            // One guard: a second one in the same statement would deadlock.
            let (canceled, end_deferred) = {
                let inner = self.port();
                (inner.abandoned, inner.held)
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
    pub(super) fn abandon(&self, reason: Abandon, at: Millis) -> Millis {
        let mut inner = self.port();
        inner.abandoned = Some(reason);
        inner.now = inner.now.max(at);
        inner.now
    }

    /// Defers the end of the turn, or allows it again.
    pub(super) fn hold(&self, deferred: bool) {
        self.port().held = deferred;
    }

    pub(super) fn is_held(&self) -> bool {
        self.port().held
    }

    fn request<O: Operation>(&self, operation: O) -> EffectId {
        let (class, deadline_ms, stream) = (operation.class(), operation.deadline_ms(), operation.streams());
        let repeatable = operation.repeatable();
        let mut inner = self.port();
        let id = EffectId(inner.next_effect);
        let key = operation.key().unwrap_or_else(|| inner.next_key());
        inner.next_effect += 1;
        inner.open.insert(id, None);
        inner.wrote |= matches!(class, Class::Write | Class::Irreversible);
        inner.effects.push(Effect { id, key, class, deadline_ms, stream, repeatable, request: operation.into() });
        id
    }

    /// Checks that each completion answers an open effect, and none twice.
    pub(super) fn expects(&self, completions: &[Completion]) -> Result<(), TurnError> {
        let inner = self.port();
        let mut seen = BTreeSet::new();
        let invalid = completions.iter().find(|it| !matches!(inner.open.get(&it.id), Some(None)) || !seen.insert(it.id));
        invalid.map_or(Ok(()), |it| Err(TurnError::UnknownEffect { id: it.id }))
    }

    /// Completes an effect; returns the turn's clock from then on.
    pub(super) fn answer(&self, completion: &Completion) -> Result<Millis, TurnError> {
        let mut inner = self.port();
        inner.now = inner.now.max(completion.at);
        let now = inner.now;
        match inner.open.get_mut(&completion.id) {
            Some(slot @ None) => *slot = Some(completion.outcome.clone().into()),
            Some(Some(_)) | None => return Err(TurnError::UnknownEffect { id: completion.id }),
        }
        Ok(now)
    }

    pub(super) fn drain(&self) -> (Vec<Effect>, Vec<Notice>) {
        let mut inner = self.port();
        (std::mem::take(&mut inner.effects), std::mem::take(&mut inner.notices))
    }

    pub(super) fn waits(&self) -> bool {
        self.open_effects() > 0
    }

    pub(super) fn views<T>(&self, read: impl FnOnce(&[View]) -> T) -> T {
        read(&self.port().views)
    }

    /// The explanations in the order in which the decisions began.
    pub(super) fn whys(&self) -> Vec<Why> {
        let mut explanations = self.port().whys.clone();
        explanations.sort_by_key(|it| it.seq);
        explanations
    }

    pub(super) fn explain(&self, explanation: Why) {
        self.port().whys.push(explanation);
    }

    /// The number of the next notice, and the current step.
    pub(super) fn place(&self) -> (u32, &'static str) {
        let inner = self.port();
        (inner.next_seq, inner.step)
    }

    pub(super) fn metas(&self) -> BTreeMap<u32, Map> {
        self.port().metas.clone()
    }

    fn port(&self) -> MutexGuard<'_, Port> {
        self.port.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Port {
    fn next_key(&self) -> String {
        format!("{}/{}", self.turn, self.next_effect)
    }

    fn take(&mut self, id: EffectId) -> Option<Result<Reply, EffectError>> {
        if self.open.get(&id)?.is_none() {
            return None;
        }
        self.open.remove(&id).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn door() -> Door {
        Door::new("t".to_owned(), 10, 1, Watch::Nothing)
    }

    fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
        std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn abandoned_code_stops_where_it_stands() {
        let effects = door();
        let mut steps = Vec::new();
        {
            let mut code = Box::pin(effects.unless_abandoned(async {
                steps.push("asked");
                let _ = effects.perform(super::super::SleepRequest::of(1)).await;
                steps.push("answered");
            }));
            assert_eq!((poll(&mut code), effects.open_effects()), (Poll::Pending, 1));
            assert_eq!(effects.abandon(Abandon::Lost, 7), 10);
            assert_eq!(poll(&mut code), Poll::Ready(Err(Abandon::Lost)));
        }
        assert_eq!((steps, effects.open_effects()), (vec!["asked"], 1));
    }

    #[test]
    fn code_that_is_held_ends_once_it_is_let_go() {
        let effects = door();
        effects.hold(true);
        let mut runs = 0;
        let mut code = Box::pin(effects.unless_abandoned(async { runs += 1 }));
        assert_eq!((poll(&mut code), poll(&mut code)), (Poll::Pending, Poll::Pending));
        effects.hold(false);
        assert_eq!(poll(&mut code), Poll::Ready(Ok(())));
        drop(code);
        assert_eq!(runs, 1);
    }
}
