//! The effect context: all that an extension can ask of its host.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::Poll;

use serde_json::{Map, Value};

use crate::message::{Answer, Call, CallOutput, Completion, Effect, EffectError};
use crate::patch::Notice;

/// The effect context of a call: requests effects, publishes notices, and provides the input, time and randomness of the call.
#[derive(Clone)]
pub struct Ext(Rc<RefCell<Inner>>);

struct Inner {
    call: Call,
    input: Value,
    now: i64,
    seed: u64,
    next_id: u32,
    pending: BTreeMap<u32, Option<Answer>>,
    output: CallOutput,
}

/// An effect that the host can execute.
///
/// Plain JSON is one as well: `x.perform(json!({"kind": "sleep", "ms": 50}))` requests an effect for which this crate has no type.
pub trait Operation {
    /// The result of the effect.
    type Output;
    /// Converts the operation to a request, with its `kind`.
    fn request(self) -> Value;
    /// Parses a reply; `None` if it is of another kind.
    fn output(reply: Value) -> Option<Self::Output>;
}

impl Operation for Value {
    type Output = Value;

    fn request(self) -> Value {
        self
    }

    fn output(reply: Value) -> Option<Value> {
        Some(reply)
    }
}

/// A requested effect whose answer is still to be awaited.
pub struct Ticket<O>(u32, PhantomData<O>);

impl Ext {
    pub(crate) fn new(call: Call, input: Value, at: i64, seed: u64) -> Ext {
        Ext(Rc::new(RefCell::new(Inner {
            call,
            input,
            now: at,
            seed,
            next_id: 0,
            pending: BTreeMap::new(),
            output: CallOutput::default(),
        })))
    }

    /// What this call was made for.
    pub fn call(&self) -> Call {
        self.0.borrow().call.clone()
    }

    /// The task, `bean:method`.
    pub fn task(&self) -> String {
        self.0.borrow().call.task.clone()
    }

    /// The input of a transformer; null for other tasks.
    pub fn input(&self) -> Value {
        self.0.borrow().input.clone()
    }

    /// The host's time in milliseconds since 1970, as of the latest answer.
    pub fn now(&self) -> i64 {
        self.0.borrow().now
    }

    /// The next number of the call's seeded random number generator.
    pub fn random(&self) -> u64 {
        let mut port = self.0.borrow_mut();
        port.seed = port.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = port.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Publishes a notice whose text comes from `ce_verbose`, from a row whose step is the task or its bean.
    pub fn verbose(&self, determinant: &str, metadata: Map<String, Value>) {
        self.push_notice(Notice::Verbose { determinant: determinant.to_owned(), metadata, error: false });
    }

    /// Publishes an error whose text comes from `ce_verbose`.
    pub fn verbose_error(&self, determinant: &str, metadata: Map<String, Value>) {
        self.push_notice(Notice::Verbose { determinant: determinant.to_owned(), metadata, error: true });
    }

    /// Publishes a notice with its own text, a template over the session: `{{inputParams.name}}` prints a parameter. Do not insert what
    /// users have typed into it.
    pub fn say(&self, text: &str) {
        self.push_notice(Notice::Text { text: text.to_owned(), metadata: Map::new(), error: false });
    }

    /// Publishes an error with its own text, a template as in [`Ext::say`].
    pub fn say_error(&self, text: &str) {
        self.push_notice(Notice::Text { text: text.to_owned(), metadata: Map::new(), error: true });
    }

    /// Requests an effect and waits for its answer.
    ///
    /// # Errors
    /// The host's error, or `mismatch` if the reply is of another kind than the request.
    pub async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, EffectError> {
        self.wait(self.request(operation)).await
    }

    /// Requests an effect without waiting; effects requested before the first wait run concurrently.
    pub fn request<O: Operation>(&self, operation: O) -> Ticket<O> {
        let mut port = self.0.borrow_mut();
        let id = port.next_id;
        port.next_id += 1;
        port.pending.insert(id, None);
        port.output.effects.push(Effect { id, request: operation.request() });
        Ticket(id, PhantomData)
    }

    /// Waits for the answer to an effect.
    ///
    /// # Errors
    /// The same as [`Ext::perform`].
    pub async fn wait<O: Operation>(&self, ticket: Ticket<O>) -> Result<O::Output, EffectError> {
        let answer = poll_fn(|_| self.take(ticket.0).map_or(Poll::Pending, Poll::Ready)).await;
        let mismatch = || EffectError {
            kind: "mismatch".to_owned(),
            message: "the host answered with a reply of another kind".to_owned(),
            status: None,
            retry_after_ms: None,
        };
        match answer {
            Answer::Ok(reply) => O::output(reply).ok_or_else(mismatch),
            Answer::Error(error) => Err(error),
        }
    }

    fn take(&self, id: u32) -> Option<Answer> {
        self.0.borrow_mut().pending.get_mut(&id)?.take()
    }

    fn push_notice(&self, notice: Notice) {
        self.0.borrow_mut().output.notices.push(notice);
    }

    /// Delivers an answer.
    pub(crate) fn deliver(&self, completion: Completion) {
        let mut port = self.0.borrow_mut();
        port.now = port.now.max(completion.at);
        if let Some(slot) = port.pending.get_mut(&completion.id) {
            *slot = Some(completion.outcome);
        }
    }

    /// Returns whether an answer is still pending.
    pub(crate) fn has_pending(&self) -> bool {
        self.0.borrow().pending.values().any(Option::is_none)
    }

    pub(crate) fn take_output(&self) -> CallOutput {
        std::mem::take(&mut self.0.borrow_mut().output)
    }
}
