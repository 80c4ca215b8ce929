//! The turn runner. A message passes four steps: `admit`, `load`, [`drive`](TurnRuntime::drive) and [`publish`].

mod database;
mod drive;
mod load;
mod runtime;

pub use drive::TurnRuntime;
pub use runtime::{Clock, Effects, Progress, Publisher, TurnStore};

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_content::config::active::ActiveConfig;
use convengine_core::turn::{EffectId, Outcome, Slice, Turn, TurnInput};
use convengine_host_base::processor_share::WorkPlace;
use convengine_host_base::work_class::{WorkClass, in_current_class};
use opentelemetry::trace::SpanContext;
use tracing::Instrument;
use uuid::Uuid;

use self::database::{DatabaseStore, HostClock, HostEffects};
use self::load::{Loaded, load};
use crate::TurnCluster;
use crate::Turns;
use crate::idempotency;
use crate::journal_writer::JournalWriter;
use crate::message::{Message, SubmitResult};
use crate::observe::{TurnObserver, refusal_reason};
use crate::refusal::Refusal;
use crate::reservation::Reservation;
use crate::session_changes::SessionChange;
use crate::session_event::earliest_event_at;
use crate::stream::TurnPublisher;
use crate::stream::live::Subscriber;
use crate::turn_queue::Busy;
use crate::writer::CommitError;

/// Submits a message and returns the outcome of its turn. The turn runs to its end even if the caller is dropped.
///
/// # Errors
/// Returns [`Refusal`]; the conversation is then unchanged.
pub async fn submit_for_outcome(turns: Arc<Turns>, message: Message) -> Result<Outcome, Refusal> {
    submit(turns, message).await.map(|it| it.outcome)
}

/// Like [`submit_for_outcome`], and also returns whether the message is a duplicate.
///
/// # Errors
/// Returns [`Refusal`]; the conversation is then unchanged.
pub async fn submit(turns: Arc<Turns>, message: Message) -> Result<SubmitResult, Refusal> {
    let meter = turns.meter.clone();
    let running = tokio::spawn(in_current_class(admit(turns, message).in_current_span()));
    let answer = running.await.unwrap_or_else(|error| Err(Refusal::Internal(error.to_string())));
    answer.inspect_err(|refusal| meter.record_refusal(refusal_reason(refusal)))
}

/// Admits a message: reserves a session of the plan where it is metered, and waits for the turns before it.
async fn admit(turns: Arc<Turns>, message: Message) -> Result<SubmitResult, Refusal> {
    let reservation = match &message.metered_program {
        Some(program) => match Reservation::reserve(&turns.content, program).await {
            // It was counted when it was first sent.
            Err(Refusal::QuotaExceeded(_)) if idempotency::has_turn(&turns.content, &message).await? => None,
            reserved => Some(reserved?),
        },
        None => None,
    };
    let result = match &turns.cluster {
        // A future is as large as the largest of its parts.
        Some(cluster) => Box::pin(run_elsewhere(&turns, &**cluster, &message)).await,
        None => run_in_order(&turns, &message).await,
    };
    let has_started = matches!(&result, Ok(it) if !it.is_repeat);
    if let Some(reservation) = reservation.filter(|_| !has_started) {
        let is_of_another = matches!(result, Ok(_) | Err(Refusal::KeyReused | Refusal::EventIdReused | Refusal::SessionExists));
        reservation.release(&turns.content, (!is_of_another).then_some(message.conversation.as_str())).await;
    }
    result
}

/// Has the cluster run the message's turn, which queues there; no more of them than would queue here.
async fn run_elsewhere(turns: &Arc<Turns>, cluster: &dyn TurnCluster, message: &Message) -> Result<SubmitResult, Refusal> {
    let _pass = turns.queue.admit(&message.conversation).await?;
    cluster.run_turn(turns, message).await
}

/// Runs the message's turn after those before it, on the session as it is then; again when another process was faster.
async fn run_in_order(turns: &Arc<Turns>, message: &Message) -> Result<SubmitResult, Refusal> {
    let _pass = turns.queue.acquire(&message.conversation).await?;
    for last in [false, false, true] {
        match attempt_turn(turns, message).await {
            Ok(Some(outcome)) => return Ok(SubmitResult { outcome, is_repeat: false }),
            Ok(None) => {
                if let Some(outcome) = Box::pin(idempotency::find_outcome(turns, message)).await? {
                    return Ok(SubmitResult { outcome, is_repeat: true });
                }
            }
            // No effect was dispatched: run again on the current conversation.
            Err(Refusal::Commit(CommitError::Conflict)) if !last => {}
            // Another process committed the same message first.
            Err(Refusal::Commit(CommitError::SameMessage)) if !last => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Err(Busy.into())
}

/// Runs the turn of a message. Returns `None` when the message already has a turn.
async fn attempt_turn(turns: &Arc<Turns>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let place = enter(turns, &message.conversation).await;
    // Nobody waits for a turn in the background, so its duration is that of its work, which begins before the time of its input.
    let received = match WorkClass::current() {
        WorkClass::User => message.received,
        WorkClass::Background => Instant::now(),
    };
    let mut configured = turns.content.config_manager.active();
    let Some(Loaded { mut session, ownership, mut event }) = load(turns, &configured.config, message).await? else { return Ok(None) };
    if let Some(flow) = &message.flow {
        let upgraded = message.upgrade.as_ref().and_then(|it| it.apply(flow, &mut session, &mut event));
        configured = Arc::new(configured.with_flow(upgraded.as_ref().unwrap_or(flow)));
    }
    // A queued turn starts after its predecessor, because audit rows and resets are ordered by time.
    let earliest = session.conversation.as_ref().map_or(0, |it| it.updated_at + 1).max(earliest_event_at(&session));
    let mut input = TurnInput {
        turn: Uuid::new_v4().to_string(),
        conversation: message.conversation.clone(),
        at: turns.clock.now().max(earliest),
        seed: random_seed(),
        program: configured.config.program(),
        event,
        session,
    };
    if let Some(at) = turns.outbound.models.begin_turn(&input) {
        turns.clock.set(at);
        input.at = at.max(earliest);
    }
    let (turn, slice) = Turn::start(input, Arc::clone(&configured.config))?;
    let id = turn.journal().input.turn.clone();
    let key = message.idempotency_key.clone();
    let journal = JournalWriter::new(turns, &message.conversation, &id, key, Arc::clone(&configured.config)).with_ownership(&ownership);
    let caller = message.caller_span.clone();
    let subscriber = message.subscriber.clone();
    let open = OpenTurn {
        active_config: configured,
        turn,
        slice,
        journal,
        interrupted: Vec::new(),
        status: "closed",
        caller_span: caller,
        subscriber,
        owner: ownership.owner,
        place,
    };
    match run_to_end(turns, open, received).await {
        // Its effects may be dispatched and must not be repeated by another turn.
        Err(Refusal::Commit(CommitError::TakenOver)) => Box::pin(idempotency::wait_for_new_owner(turns, message, &id)).await.map(Some),
        other => other.map(Some),
    }
}

/// Waits for a place to work for a turn of a conversation, unless a user waits for the turn.
pub async fn enter(turns: &Turns, conversation: &str) -> WorkPlace {
    tokio::select! {
        biased;
        place = turns.processor_share.enter() => place,
        () = turns.queue.wait_for_user(conversation) => WorkPlace::free(),
    }
}

/// A running turn.
#[derive(Debug)]
pub struct OpenTurn {
    /// The configuration it runs on.
    pub active_config: Arc<ActiveConfig>,
    /// The turn.
    pub turn: Turn,
    /// The current slice: requested effects, or the outcome.
    pub slice: Slice,
    /// Its journal writer.
    pub journal: JournalWriter,
    /// Non-repeatable effects that were dispatched before a crash.
    pub interrupted: Vec<EffectId>,
    /// The final row status: `closed` or `lost`.
    pub status: &'static str,
    /// The trace span of the caller.
    pub caller_span: Option<SpanContext>,
    /// The subscriber that receives its events while it runs.
    pub subscriber: Option<Subscriber>,
    /// The owner of the conversation, if any, to whom its events may be published.
    pub owner: Option<Arc<str>>,
    /// Its place to work.
    pub place: WorkPlace,
}

/// Runs an orphaned turn to its end and stores it.
///
/// # Errors
/// Returns [`Refusal`]; the turn is then unchanged.
pub async fn finish_abandoned(turns: &Arc<Turns>, open: OpenTurn) -> Result<Outcome, Refusal> {
    let age = u64::try_from(turns.clock.now() - open.turn.journal().input.at).unwrap_or(0);
    let received = Instant::now();
    run_to_end(turns, open, received.checked_sub(Duration::from_millis(age)).unwrap_or(received)).await
}

/// Drives a turn to its stored end and publishes it.
async fn run_to_end(turns: &Arc<Turns>, open: OpenTurn, received: Instant) -> Result<Outcome, Refusal> {
    let streams = Arc::clone(&turns.streams);
    let _secrets = turns.outbound.secrets.begin_use();
    let input = &open.turn.journal().input;
    let span = tracing::error_span!("turn", turn = input.turn, conversation = input.conversation);
    let mut publisher = TurnPublisher::new(&streams, input, open.owner.clone()).with_subscriber(open.subscriber.clone());
    let mut observer = TurnObserver::new(input, open.active_config.config.hash_source(), received, open.caller_span.clone());
    // A future holds what it moves several times.
    let driven = Box::pin(async {
        let conversation = open.turn.journal().input.conversation.clone();
        let OpenTurn { active_config, mut turn, slice, journal, interrupted, status, place, .. } = open;
        let mut store = DatabaseStore::new(turns, &conversation, journal, status, received);
        let mut effects = HostEffects::new(turns, active_config, &conversation, interrupted, place);
        let (clock, published) = (&mut HostClock(turns), &mut publisher);
        let outcome = TurnRuntime { store: &mut store, effects: &mut effects, clock, publisher: published }.drive(&mut turn, slice).await;
        if let Ok(outcome) = &outcome {
            report_session(turns, &turn, outcome, store.arms_timer());
            publisher.mark_stored(store.total());
        }
        publish(publisher, &outcome);
        observer.add_effects(effects.started());
        observer.finish(turns, outcome.as_ref());
        outcome
    });
    driven.instrument(span).await
}

/// Reports the change of a stored session to those that wait for one: clients, and the task that fires timers.
pub fn report_session(turns: &Turns, turn: &Turn, outcome: &Outcome, arms_timer: bool) {
    if let Some(answer) = &outcome.flow {
        if arms_timer {
            turns.timer_armed.notify_one();
        }
        // Fails while no client waits.
        let _ = turns.session_changes.send(SessionChange::from_turn(&turn.journal().input, answer));
    }
}

/// Publishes the end of a turn to its subscribers.
pub fn publish(publisher: TurnPublisher<'_>, outcome: &Result<Outcome, Refusal>) {
    match outcome {
        // The new owner publishes the rest under the same sequence numbers.
        Err(Refusal::Commit(CommitError::TakenOver)) => drop(publisher),
        outcome => publisher.close(outcome.as_ref().ok()),
    }
}

/// Returns a random seed below 2^53, which JavaScript numbers represent exactly.
pub fn random_seed() -> u64 {
    Uuid::new_v4().as_u64_pair().1 & ((1 << 53) - 1)
}
