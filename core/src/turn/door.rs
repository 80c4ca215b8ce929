//! The door: the only way out of core code.

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

/// The session at the edge of a step, for people who look at how a turn came about.
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

/// A handle to the outside, shared between the driver and the code of one turn.
///
/// The mutex is never contended: the driver and the program take turns. It makes a turn `Send`.
#[derive(Debug, Clone)]
pub struct Door {
    port: Arc<Mutex<Port>>,
    /// Beside the port, so that a turn which nobody watches does not even lock it.
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
    /// Whether anything was asked for that changes the world.
    wrote: bool,
    held: bool,
    abandoned: Option<Abandon>,
}

impl Door {
    pub(super) fn new(turn: String, now: Millis, seed: u64, watch: Watch) -> Self {
        let port = Port {
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
        Door { port: Arc::new(Mutex::new(port)), watch }
    }

    /// The host's time of the latest completion; it never goes back.
    pub fn now(&self) -> Millis {
        self.port().now
    }

    /// The next number of the turn's seeded generator.
    pub fn random(&self) -> u64 {
        self.port().rng.next_u64()
    }

    /// Publishes a notice.
    pub fn notice(&self, body: NoticeBody) {
        let mut port = self.port();
        let notice = Notice { seq: port.next_seq, at: port.now, body };
        port.next_seq += 1;
        port.notices.push(notice);
    }

    /// Says which step runs, for the people who read a divergence.
    pub fn at_step(&self, step: &'static str) {
        self.port().step = step;
    }

    /// The step that runs, or that ran last.
    pub fn step(&self) -> &'static str {
        self.port().step
    }

    /// How many effects wait for their answer.
    pub fn open_effects(&self) -> usize {
        self.port().open.values().filter(|it| it.is_none()).count()
    }

    /// Whether the turn has asked for anything that changes the world.
    pub fn wrote(&self) -> bool {
        self.port().wrote
    }

    /// Records the session at the edge of a step; the closure runs only when somebody watches.
    pub fn view(&self, step: &str, edge: &str, session: impl FnOnce() -> Map) {
        if self.watch != Watch::Steps {
            return;
        }
        let session = session();
        let mut port = self.port();
        let seq = port.next_seq;
        port.views.push(View { step: step.to_owned(), edge: edge.to_owned(), seq, session });
    }

    /// Records the session at the audit that is published next; the closure runs only when somebody traces the turn.
    pub fn meta(&self, session: impl FnOnce() -> Map) {
        if self.watch != Watch::Audits {
            return;
        }
        let session = session();
        let mut port = self.port();
        let seq = port.next_seq;
        port.metas.insert(seq, session);
    }

    /// The key that the next effect gets, unless it brings its own.
    pub fn next_key(&self) -> String {
        self.port().next_key()
    }

    /// Asks for an effect and waits for its answer.
    ///
    /// # Errors
    /// What the host answered, or `Mismatch` when the reply is of another kind than the request.
    pub async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, EffectError> {
        let id = self.request(operation);
        let reply = poll_fn(|_| match self.port().take(id) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        })
        .await?;
        O::output(reply).ok_or_else(EffectError::mismatch)
    }

    /// Runs the code of a turn to its end, or up to where the host abandons it.
    ///
    /// # Errors
    /// Why it was abandoned; what the code borrowed is free again.
    pub async fn unless_abandoned<F: Future>(&self, code: F) -> Result<F::Output, Abandon> {
        let mut code = pin!(code);
        let mut done = None;
        poll_fn(|context| {
            // One guard: a second one in the same statement would wait for the first for ever.
            let (abandoned, held) = {
                let port = self.port();
                (port.abandoned, port.held)
            };
            if let Some(why) = abandoned {
                return Poll::Ready(Err(why));
            }
            if done.is_none()
                && let Poll::Ready(output) = code.as_mut().poll(context)
            {
                done = Some(output);
            }
            match done.take_if(|_| !held) {
                Some(output) => Poll::Ready(Ok(output)),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Gives the turn up; returns the time that it sees from now on.
    pub(super) fn abandon(&self, why: Abandon, at: Millis) -> Millis {
        let mut port = self.port();
        port.abandoned = Some(why);
        port.now = port.now.max(at);
        port.now
    }

    /// Keeps the turn from its end, or lets it go.
    pub(super) fn hold(&self, held: bool) {
        self.port().held = held;
    }

    pub(super) fn is_held(&self) -> bool {
        self.port().held
    }

    fn request<O: Operation>(&self, operation: O) -> EffectId {
        let (class, deadline_ms, stream) = (operation.class(), operation.deadline_ms(), operation.streams());
        let repeatable = operation.repeatable();
        let mut port = self.port();
        let id = EffectId(port.next_effect);
        let key = operation.key().unwrap_or_else(|| port.next_key());
        port.next_effect += 1;
        port.open.insert(id, None);
        port.wrote |= matches!(class, Class::Write | Class::Irreversible);
        port.effects.push(Effect { id, key, class, deadline_ms, stream, repeatable, request: operation.into() });
        id
    }

    /// Whether each completion answers an effect that is open, and none twice.
    pub(super) fn expects(&self, completions: &[Completion]) -> Result<(), TurnError> {
        let port = self.port();
        let mut seen = BTreeSet::new();
        let wrong = completions.iter().find(|it| !matches!(port.open.get(&it.id), Some(None)) || !seen.insert(it.id));
        wrong.map_or(Ok(()), |it| Err(TurnError::UnknownEffect { id: it.id }))
    }

    /// Hands an answer in; returns the time that the turn sees from now on.
    pub(super) fn answer(&self, completion: &Completion) -> Result<Millis, TurnError> {
        let mut port = self.port();
        port.now = port.now.max(completion.at);
        let now = port.now;
        match port.open.get_mut(&completion.id) {
            Some(slot @ None) => *slot = Some(completion.outcome.clone().into()),
            Some(Some(_)) | None => return Err(TurnError::UnknownEffect { id: completion.id }),
        }
        Ok(now)
    }

    pub(super) fn drain(&self) -> (Vec<Effect>, Vec<Notice>) {
        let mut port = self.port();
        (std::mem::take(&mut port.effects), std::mem::take(&mut port.notices))
    }

    pub(super) fn waits(&self) -> bool {
        self.open_effects() > 0
    }

    pub(super) fn views<T>(&self, read: impl FnOnce(&[View]) -> T) -> T {
        read(&self.port().views)
    }

    /// In the order in which the decisions began.
    pub(super) fn whys(&self) -> Vec<Why> {
        let mut whys = self.port().whys.clone();
        whys.sort_by_key(|it| it.seq);
        whys
    }

    pub(super) fn explain(&self, why: Why) {
        self.port().whys.push(why);
    }

    /// The number of the next notice, and the step that runs.
    pub(super) fn place(&self) -> (u32, &'static str) {
        let port = self.port();
        (port.next_seq, port.step)
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
        let door = door();
        let mut steps = Vec::new();
        {
            let mut code = Box::pin(door.unless_abandoned(async {
                steps.push("asked");
                let _ = door.perform(super::super::SleepRequest::of(1)).await;
                steps.push("answered");
            }));
            assert_eq!((poll(&mut code), door.open_effects()), (Poll::Pending, 1));
            assert_eq!(door.abandon(Abandon::Lost, 7), 10);
            assert_eq!(poll(&mut code), Poll::Ready(Err(Abandon::Lost)));
        }
        assert_eq!((steps, door.open_effects()), (vec!["asked"], 1));
    }

    #[test]
    fn code_that_is_held_ends_once_it_is_let_go() {
        let door = door();
        door.hold(true);
        let mut runs = 0;
        let mut code = Box::pin(door.unless_abandoned(async { runs += 1 }));
        assert_eq!((poll(&mut code), poll(&mut code)), (Poll::Pending, Poll::Pending));
        door.hold(false);
        assert_eq!(poll(&mut code), Poll::Ready(Ok(())));
        drop(code);
        assert_eq!(runs, 1);
    }
}
