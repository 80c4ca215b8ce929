//! The turn runner: admits a message, loads its session, executes the turn with its effects, commits the rows and publishes the result.

mod message;

pub use message::Message;

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::config::Config;
use convengine_core::turn::{Abandon, Answer, Completion, EffectId, Loaded, Millis, Outcome, Slice, Turn, TurnError, TurnInput};
use opentelemetry::trace::SpanContext;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::Instrument;
use uuid::Uuid;

use crate::access::rate::Limits;
use crate::assistant::flows::Flows;
use crate::assistant::plan::{Plan, Reservation};
use crate::assistant::purse::Purse;
use crate::assistant::run::{after, takes};
use crate::assistant::vault::Vault;
use crate::clock;
use crate::configured::{Configured, Current};
use crate::crash;
use crate::fulfil::container::Containers;
use crate::fulfil::http::Http;
use crate::fulfil::{fulfil, llm::Models, sql::Queries};
use crate::gate::{Busy, Gate};
use crate::journal::{Ended, Kept, OpenTurns};
use crate::observe::{Meter, Seen, Traces, reason};
use crate::recover;
use crate::redact::Redaction;
use crate::secrets::Secrets;
use crate::sent_again;
use crate::settings::{Roots, Stream, Turns};
use crate::spend::Spend;
use crate::store::assistant::session;
use crate::store::{Pool, load};
use crate::stream::live::Ear;
use crate::stream::{Streams, Told};
use crate::writer::{CommitError, Writer};

/// State shared by the turns of a server or tenant.
#[derive(Debug)]
pub struct Host {
    /// The active configuration.
    pub current: Current,
    /// The reader pool.
    pub readers: Pool,
    /// The single writer.
    pub writer: Writer,
    /// Serializes the turns of each conversation.
    pub gate: Arc<Gate>,
    /// Model providers.
    pub models: Models,
    /// The container service, if configured.
    pub containers: Containers,
    /// The HTTP client for tools and flow nodes.
    pub http: Http,
    /// The database that SQL tools query.
    pub queries: Queries,
    /// The directories that file tools may read.
    pub file_roots: Arc<Roots>,
    /// Secret values, redacted from all output.
    pub secrets: Arc<Secrets>,
    /// Keeps `secrets` in sync with the database.
    pub vault: Vault,
    /// Compiled flow documents of sessions.
    pub flows: Flows,
    /// The plan's quotas.
    pub plan: Plan,
    /// The workspace of the assistants: the tenant, or `default`.
    pub workspace: String,
    /// Notified when a session arms a timer.
    pub armed: Notify,
    /// Redaction of incoming messages.
    pub redaction: Arc<Redaction>,
    /// Event streams and their subscribers.
    pub streams: Arc<Streams>,
    /// Stream settings.
    pub offers: Stream,
    /// Turn settings: journaling, audit, leases and timeouts.
    pub turns: Turns,
    /// Rate limits.
    pub limits: Limits,
    /// Model cost and the global spend cap.
    pub spend: Arc<Spend>,
    /// Model budgets of assistants.
    pub purse: Purse,
    /// The name under which this process owns open turns.
    pub owner: String,
    /// The open turns this process runs.
    pub open: Arc<OpenTurns>,
    /// Metrics.
    pub meter: Meter,
    /// The trace exporter.
    pub traces: Traces,
}

/// Why a message was not processed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The conversation or server is at capacity.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The session cannot be read.
    #[error("cannot read the conversation: {0}")]
    Load(#[from] sqlx::Error),
    /// The rows cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The idempotency key was used for a different message.
    #[error("Idempotency-Key was already used for a different message; use a new key for each message")]
    OtherMessage,
    /// The session id belongs to another assistant.
    #[error("session id already exists; choose another id or omit it")]
    Taken,
    /// The plan's monthly session quota is exceeded.
    #[error("monthly session quota of {0} is exceeded")]
    UsedUp(u32),
    /// The session has ended.
    #[error("session has ended; start a new one")]
    Closed,
    /// The session has advanced since the timer was armed.
    #[error("stale timer: the session has advanced")]
    Late,
    /// A bug in the core or in this host.
    #[error("cannot run the turn: {0}")]
    Defect(String),
}

impl From<TurnError> for Refusal {
    fn from(error: TurnError) -> Self {
        Refusal::Defect(error.to_string())
    }
}

/// Submits a message and returns the outcome of its turn. The turn runs to its end even if the caller is dropped.
///
/// # Errors
/// Returns [`Refusal`]; the conversation is then unchanged.
pub async fn answer(host: Arc<Host>, message: Message) -> Result<Outcome, Refusal> {
    told(host, message).await.map(|it| it.outcome)
}

/// The result of a submitted message.
#[derive(Debug)]
pub struct Answered {
    /// The outcome of its turn.
    pub outcome: Outcome,
    /// Whether the message is a duplicate, answered from its stored turn.
    pub again: bool,
}

/// Like [`answer`], and also returns whether the message is a duplicate.
///
/// # Errors
/// Returns [`Refusal`]; the conversation is then unchanged.
pub async fn told(host: Arc<Host>, mut message: Message) -> Result<Answered, Refusal> {
    host.redaction.event(&mut message.event);
    let meter = host.meter.clone();
    let running = tokio::spawn(counted(host, message).in_current_span());
    let answer = running.await.unwrap_or_else(|error| Err(Refusal::Defect(error.to_string())));
    answer.inspect_err(|it| meter.refused(reason(it)))
}

/// Runs a metered message if the plan's quota allows it.
async fn counted(host: Arc<Host>, message: Message) -> Result<Answered, Refusal> {
    let Some(assistant) = &message.counted else { return in_line(host, message).await };
    let reservation = Reservation::take(&host, assistant).await?;
    let session = message.conversation.clone();
    let result = in_line(Arc::clone(&host), message).await;
    if result.is_err() {
        reservation.give_back(&host, &session).await;
    }
    result
}

async fn in_line(host: Arc<Host>, message: Message) -> Result<Answered, Refusal> {
    let _pass = host.gate.enter(&message.conversation).await?;
    for last in [false, false, true] {
        match attempt(&host, &message).await {
            Ok(Some(outcome)) => return Ok(Answered { outcome, again: false }),
            Ok(None) => {
                if let Some(outcome) = sent_again::answer(&host, &message).await? {
                    return Ok(Answered { outcome, again: true });
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
async fn attempt(host: &Arc<Host>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let mut configured = host.current.now();
    let Some(mut session) = session(host, &configured.config, message).await? else { return Ok(None) };
    let mut event = message.event.clone();
    if let Some(flow) = &message.flow {
        let upgraded = message.upgrade.as_ref().and_then(|it| it.take(flow, &mut session, &mut event));
        configured = Arc::new(configured.running(upgraded.as_ref().unwrap_or(flow)));
    }
    // A queued turn starts after its predecessor, because audit rows and resets are ordered by time.
    let earliest = session.conversation.as_ref().map_or(0, |it| it.updated_at + 1).max(after(&session));
    let mut input = TurnInput {
        turn: Uuid::new_v4().to_string(),
        conversation: message.conversation.clone(),
        at: clock::now().max(earliest),
        seed: seed(),
        program: configured.config.program(),
        event,
        session,
    };
    if let Some(at) = host.models.begins(&input) {
        clock::set(at);
        input.at = at.max(earliest);
    }
    let (turn, slice) = Turn::start(input, Arc::clone(&configured.config))?;
    let id = turn.journal().input.turn.clone();
    let journal = Kept::new(host, &id, message.key.clone(), Arc::clone(&configured.config));
    let caller = message.caller.clone();
    let subscriber = message.ear.clone();
    let open = Open { configured, turn, slice, kept: journal, interrupted: Vec::new(), status: "closed", caller, ear: subscriber };
    match finish_from(host, open, message.received).await {
        // Its effects may be dispatched and must not be repeated by another turn.
        Err(Refusal::Commit(CommitError::TakenOver)) => sent_again::by_another(host, message, &id).await.map(Some),
        other => other.map(Some),
    }
}

/// Loads the session after its previous turn. Returns `None` when the message already has a turn.
async fn session(host: &Arc<Host>, config: &Config, message: &Message) -> Result<Option<Loaded>, Refusal> {
    let history = config.settings.history_max_turns;
    loop {
        let (id, key) = (&message.conversation, message.key.as_deref());
        let found = match message.flow {
            Some(_) => session::load(&host.readers, id, key).await?,
            None => load::conversation(&host.readers, id, history, key).await?,
        };
        if found.sent {
            return Ok(None);
        }
        if !found.open {
            takes(&found.session, &message.event)?;
            return Ok(Some(found.session));
        }
        recover::settle(host, &message.conversation, message.patience()).await?;
    }
}

/// A running turn.
#[derive(Debug)]
pub struct Open {
    /// The configuration it runs on.
    pub configured: Arc<Configured>,
    /// The turn.
    pub turn: Turn,
    /// The current slice: requested effects, or the outcome.
    pub slice: Slice,
    /// Its journal writer.
    pub kept: Kept,
    /// Non-repeatable effects that were dispatched before a crash.
    pub interrupted: Vec<EffectId>,
    /// The final row status: `closed` or `lost`.
    pub status: &'static str,
    /// The trace span of the caller.
    pub caller: Option<SpanContext>,
    /// The subscriber that receives its events while it runs.
    pub ear: Option<Ear>,
}

/// Runs an orphaned turn to its end and stores it.
///
/// # Errors
/// Returns [`Refusal`]; the turn is then unchanged.
pub async fn finish(host: &Arc<Host>, open: Open) -> Result<Outcome, Refusal> {
    let age = u64::try_from(clock::now() - open.turn.journal().input.at).unwrap_or(0);
    let received = Instant::now();
    finish_from(host, open, received.checked_sub(Duration::from_millis(age)).unwrap_or(received)).await
}

async fn finish_from(host: &Arc<Host>, open: Open, received: Instant) -> Result<Outcome, Refusal> {
    let streams = Arc::clone(&host.streams);
    let input = &open.turn.journal().input;
    let span = tracing::error_span!("turn", turn = input.turn, conversation = input.conversation);
    let mut publisher = Told::of(&streams, input).to(open.ear.clone());
    let mut seen = Seen::of(input, open.configured.config.hash(), received, open.caller.clone());
    let capped = open.configured.config.flow.as_ref().map(|it| (it.document.id.clone(), input.turn.clone()));
    async {
        let outcome = to_the_end(host, open, received, &mut publisher, &mut seen).await;
        if let Some((assistant, turn)) = capped {
            host.purse.ended(&assistant, &turn).await;
        }
        match &outcome {
            // The new owner publishes the rest under the same sequence numbers.
            Err(Refusal::Commit(CommitError::TakenOver)) => drop(publisher),
            outcome => publisher.close(outcome.as_ref().ok()),
        }
        seen.end(host, outcome.as_ref());
        outcome
    }
    .instrument(span)
    .await
}

async fn to_the_end(
    host: &Arc<Host>,
    open: Open,
    received: Instant,
    publisher: &mut Told<'_>,
    seen: &mut Seen,
) -> Result<Outcome, Refusal> {
    let (ended, mut journal) = run(host, open, publisher, seen).await?;
    let total = Millis::try_from(received.elapsed().as_millis()).unwrap_or(Millis::MAX);
    let rows = journal.end(host, &ended, &publisher.notices(), total).map_err(|it| Refusal::Defect(it.to_string()))?;
    crash::point("before the commit");
    if let Err(error) = host.writer.commit(rows).await {
        // A failed earlier write, which was not awaited, is the root cause.
        journal.settled().await?;
        return Err(error.into());
    }
    journal.stored();
    crash::point("after the commit");
    if ended.outcome.flow.is_some() {
        host.armed.notify_one();
    }
    publisher.stored(total);
    Ok(ended.outcome)
}

/// Returns a random seed below 2^53, which JavaScript numbers represent exactly.
fn seed() -> u64 {
    Uuid::new_v4().as_u64_pair().1 & ((1 << 53) - 1)
}

async fn run(host: &Arc<Host>, open: Open, publisher: &mut Told<'_>, seen: &mut Seen) -> Result<(Ended, Kept), Refusal> {
    let Open { configured, mut turn, mut slice, kept: mut journal, mut interrupted, status, caller: _, ear: _ } = open;
    let deadline = tokio::time::Instant::now() + host.turns.max_duration;
    let mut running: JoinSet<Completion> = JoinSet::new();
    loop {
        publisher.add(&mut slice.notices);
        if let Some(outcome) = slice.end {
            if journal.owes(&turn) {
                let pending = journal.before(host, &turn, &publisher.notices(), &[])?;
                journal.store(host, pending).await?;
            }
            return Ok((Ended { turn, outcome, status }, journal));
        }
        if !slice.effects.is_empty() {
            crash::point("before the journal");
            let pending = journal.before(host, &turn, &publisher.notices(), &slice.effects)?;
            journal.store(host, pending).await?;
            crash::point("before the effects");
        }
        publisher.publish();
        seen.asks(slice.effects.len());
        for effect in slice.effects {
            publisher.asks(&effect);
            if interrupted.contains(&effect.id) {
                let outcome = Answer::Error(recover::interrupted());
                running.spawn(std::future::ready(Completion { id: effect.id, at: clock::now(), outcome }));
            } else {
                let tokens = publisher.tokens(&effect).filter(|_| host.redaction.lets_pieces_through());
                let completion = fulfil(Arc::clone(host), Arc::clone(&configured), tokens, effect);
                running.spawn(completion.in_current_span());
            }
        }
        interrupted.clear();
        slice = match tokio::time::timeout_at(deadline, running.join_next()).await {
            Ok(Some(completion)) => {
                crash::point("after an effect");
                let completion = completion.map_err(|it| Refusal::Defect(it.to_string()))?;
                publisher.hears(&completion);
                host.spend.note(&turn.journal().input.turn, &completion.outcome);
                turn.resume(vec![completion])?
            }
            Ok(None) => return Err(TurnError::Stalled.into()),
            // Running effects are dropped with the set.
            Err(_) => turn.abandon(Abandon::Timeout, clock::now())?,
        };
    }
}
