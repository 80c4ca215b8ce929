//! The turn runner: admits a message, loads its session, executes the turn with its effects, commits the rows and publishes the result.

mod message;

pub use message::Message;

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::config::Config;
use convengine_core::turn::{
    CancelReason, Completion, EffectId, EffectResult, LoadedSession, Millis, Outcome, Slice, Turn, TurnError, TurnInput,
};
use opentelemetry::trace::SpanContext;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::Instrument;
use uuid::Uuid;

use crate::access::rate::RateLimits;
use crate::active_config::{ActiveConfig, ConfigManager};
use crate::assistant::flow_cache::FlowCache;
use crate::assistant::plan::{Plan, Reservation};
use crate::assistant::run::{check_event, earliest_event_at};
use crate::assistant::secret_store::SecretStore;
use crate::assistant::spend_budget::Budget;
use crate::clock;
use crate::crash;
use crate::effects::container::Containers;
use crate::effects::http::HttpClient;
use crate::effects::{execute_effect, llm::Models, sql::ToolDatabase};
use crate::idempotency;
use crate::journal_writer::{EndedTurn, JournalWriter, OpenTurns};
use crate::observe::{Meter, SpanSender, TurnObserver, refusal_reason};
use crate::recovery;
use crate::redaction::Redaction;
use crate::secrets::Secrets;
use crate::settings::{Roots, StreamSettings, TurnSettings};
use crate::spend::SpendTracker;
use crate::store::assistant::session;
use crate::store::{Pool, load};
use crate::stream::live::Subscriber;
use crate::stream::{Streams, TurnPublisher};
use crate::turn_queue::{Busy, TurnQueue};
use crate::writer::{CommitError, Writer};

/// State shared by the turns of a server or tenant.
#[derive(Debug)]
pub struct Host {
    /// The active configuration.
    pub config_manager: ConfigManager,
    /// The reader pool.
    pub readers: Pool,
    /// The single writer.
    pub writer: Writer,
    /// Serializes the turns of each conversation.
    pub turn_queue: Arc<TurnQueue>,
    /// Model providers.
    pub models: Models,
    /// The container service, if configured.
    pub containers: Containers,
    /// The HTTP client for tools and flow nodes.
    pub http: HttpClient,
    /// The database that SQL tools query.
    pub queries: ToolDatabase,
    /// The directories that file tools may read.
    pub file_roots: Arc<Roots>,
    /// Secret values, redacted from all output.
    pub secrets: Arc<Secrets>,
    /// Keeps `secrets` in sync with the database.
    pub secret_store: SecretStore,
    /// Compiled flow documents of sessions.
    pub flows: FlowCache,
    /// The plan's quotas.
    pub plan: Plan,
    /// The workspace of the assistants: the tenant, or `default`.
    pub workspace: String,
    /// Notified when a session arms a timer.
    pub timer_armed: Notify,
    /// Redaction of incoming messages.
    pub redaction: Arc<Redaction>,
    /// Event streams and their subscribers.
    pub streams: Arc<Streams>,
    /// Stream settings.
    pub stream_settings: StreamSettings,
    /// Turn settings: journaling, audit, leases and timeouts.
    pub turn_settings: TurnSettings,
    /// Rate limits.
    pub rate_limits: RateLimits,
    /// Model cost and the global spend cap.
    pub spend: Arc<SpendTracker>,
    /// Model budgets of assistants.
    pub budget: Budget,
    /// The name under which this process owns open turns.
    pub owner: String,
    /// The open turns this process runs.
    pub open_turns: Arc<OpenTurns>,
    /// Metrics.
    pub meter: Meter,
    /// The trace exporter.
    pub traces: SpanSender,
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
    KeyReused,
    /// The session id belongs to another assistant.
    #[error("session id already exists; choose another id or omit it")]
    SessionExists,
    /// The plan's monthly session quota is exceeded.
    #[error("monthly session quota of {0} is exceeded")]
    QuotaExceeded(u32),
    /// The session has ended.
    #[error("session has ended; start a new one")]
    SessionEnded,
    /// The session has advanced since the timer was armed.
    #[error("stale timer: the session has advanced")]
    StaleTimer,
    /// A bug in the core or in this host.
    #[error("cannot run the turn: {0}")]
    Internal(String),
}

impl From<TurnError> for Refusal {
    fn from(error: TurnError) -> Self {
        Refusal::Internal(error.to_string())
    }
}

/// Submits a message and returns the outcome of its turn. The turn runs to its end even if the caller is dropped.
///
/// # Errors
/// Returns [`Refusal`]; the conversation is then unchanged.
pub async fn submit_for_outcome(host: Arc<Host>, message: Message) -> Result<Outcome, Refusal> {
    submit(host, message).await.map(|it| it.outcome)
}

/// The result of a submitted message.
#[derive(Debug)]
pub struct SubmitResult {
    /// The outcome of its turn.
    pub outcome: Outcome,
    /// Whether the message is a duplicate, answered from its stored turn.
    pub is_repeat: bool,
}

/// Like [`answer`], and also returns whether the message is a duplicate.
///
/// # Errors
/// Returns [`Refusal`]; the conversation is then unchanged.
pub async fn submit(host: Arc<Host>, mut message: Message) -> Result<SubmitResult, Refusal> {
    host.redaction.redact_event(&mut message.event);
    let meter = host.meter.clone();
    let running = tokio::spawn(admit(host, message).in_current_span());
    let answer = running.await.unwrap_or_else(|error| Err(Refusal::Internal(error.to_string())));
    answer.inspect_err(|it| meter.record_refusal(refusal_reason(it)))
}

/// Runs a metered message if the plan's quota allows it.
async fn admit(host: Arc<Host>, message: Message) -> Result<SubmitResult, Refusal> {
    let Some(assistant) = &message.metered_assistant else { return run_in_order(host, message).await };
    let reservation = Reservation::reserve(&host, assistant).await?;
    let session = message.conversation.clone();
    let result = run_in_order(Arc::clone(&host), message).await;
    if result.is_err() {
        reservation.release(&host, &session).await;
    }
    result
}

async fn run_in_order(host: Arc<Host>, message: Message) -> Result<SubmitResult, Refusal> {
    let _pass = host.turn_queue.acquire(&message.conversation).await?;
    for last in [false, false, true] {
        match attempt_turn(&host, &message).await {
            Ok(Some(outcome)) => return Ok(SubmitResult { outcome, is_repeat: false }),
            Ok(None) => {
                if let Some(outcome) = idempotency::find_outcome(&host, &message).await? {
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
async fn attempt_turn(host: &Arc<Host>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let mut configured = host.config_manager.active();
    let Some(mut session) = load(host, &configured.config, message).await? else { return Ok(None) };
    let mut event = message.event.clone();
    if let Some(flow) = &message.flow {
        let upgraded = message.upgrade.as_ref().and_then(|it| it.apply(flow, &mut session, &mut event));
        configured = Arc::new(configured.with_flow(upgraded.as_ref().unwrap_or(flow)));
    }
    // A queued turn starts after its predecessor, because audit rows and resets are ordered by time.
    let earliest = session.conversation.as_ref().map_or(0, |it| it.updated_at + 1).max(earliest_event_at(&session));
    let mut input = TurnInput {
        turn: Uuid::new_v4().to_string(),
        conversation: message.conversation.clone(),
        at: clock::now().max(earliest),
        seed: random_seed(),
        program: configured.config.program(),
        event,
        session,
    };
    if let Some(at) = host.models.begin_turn(&input) {
        clock::set(at);
        input.at = at.max(earliest);
    }
    let (turn, slice) = Turn::start(input, Arc::clone(&configured.config))?;
    let id = turn.journal().input.turn.clone();
    let journal = JournalWriter::new(host, &id, message.idempotency_key.clone(), Arc::clone(&configured.config));
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
    };
    match execute_and_publish(host, open, message.received).await {
        // Its effects may be dispatched and must not be repeated by another turn.
        Err(Refusal::Commit(CommitError::TakenOver)) => idempotency::wait_for_new_owner(host, message, &id).await.map(Some),
        other => other.map(Some),
    }
}

/// Loads the session after its previous turn. Returns `None` when the message already has a turn.
async fn load(host: &Arc<Host>, config: &Config, message: &Message) -> Result<Option<LoadedSession>, Refusal> {
    let history = config.settings.history_max_turns;
    loop {
        let (id, key) = (&message.conversation, message.idempotency_key.as_deref());
        let found = match message.flow {
            Some(_) => session::load(&host.readers, id, key).await?,
            None => load::load_conversation(&host.readers, id, history, key).await?,
        };
        if found.is_duplicate {
            return Ok(None);
        }
        if !found.has_open_turn {
            check_event(&found.session, &message.event)?;
            return Ok(Some(found.session));
        }
        recovery::settle_conversation(host, &message.conversation, message.deadline()).await?;
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
}

/// Runs an orphaned turn to its end and stores it.
///
/// # Errors
/// Returns [`Refusal`]; the turn is then unchanged.
pub async fn finish_abandoned(host: &Arc<Host>, open: OpenTurn) -> Result<Outcome, Refusal> {
    let age = u64::try_from(clock::now() - open.turn.journal().input.at).unwrap_or(0);
    let received = Instant::now();
    execute_and_publish(host, open, received.checked_sub(Duration::from_millis(age)).unwrap_or(received)).await
}

async fn execute_and_publish(host: &Arc<Host>, open: OpenTurn, received: Instant) -> Result<Outcome, Refusal> {
    let streams = Arc::clone(&host.streams);
    let input = &open.turn.journal().input;
    let span = tracing::error_span!("turn", turn = input.turn, conversation = input.conversation);
    let mut publisher = TurnPublisher::new(&streams, input).with_subscriber(open.subscriber.clone());
    let mut seen = TurnObserver::new(input, open.active_config.config.hash_source(), received, open.caller_span.clone());
    let capped = open.active_config.config.flow.as_ref().map(|it| (it.document.id.clone(), input.turn.clone()));
    async {
        let outcome = execute_and_commit(host, open, received, &mut publisher, &mut seen).await;
        if let Some((assistant, turn)) = capped {
            host.budget.release_turn(&assistant, &turn).await;
        }
        match &outcome {
            // The new owner publishes the rest under the same sequence numbers.
            Err(Refusal::Commit(CommitError::TakenOver)) => drop(publisher),
            outcome => publisher.close(outcome.as_ref().ok()),
        }
        seen.finish(host, outcome.as_ref());
        outcome
    }
    .instrument(span)
    .await
}

async fn execute_and_commit(
    host: &Arc<Host>,
    open: OpenTurn,
    received: Instant,
    publisher: &mut TurnPublisher<'_>,
    seen: &mut TurnObserver,
) -> Result<Outcome, Refusal> {
    let (ended, mut journal) = execute(host, open, publisher, seen).await?;
    let total = Millis::try_from(received.elapsed().as_millis()).unwrap_or(Millis::MAX);
    let rows = journal.render_final_rows(host, &ended, &publisher.notices(), total).map_err(|it| Refusal::Internal(it.to_string()))?;
    crash::point("before the commit");
    if let Err(error) = host.writer.commit(rows).await {
        // A failed earlier write, which was not awaited, is the root cause.
        journal.wait_until_stored().await?;
        return Err(error.into());
    }
    journal.mark_stored();
    crash::point("after the commit");
    if ended.outcome.flow.is_some() {
        host.timer_armed.notify_one();
    }
    publisher.mark_stored(total);
    Ok(ended.outcome)
}

/// Returns a random seed below 2^53, which JavaScript numbers represent exactly.
fn random_seed() -> u64 {
    Uuid::new_v4().as_u64_pair().1 & ((1 << 53) - 1)
}

async fn execute(
    host: &Arc<Host>,
    open: OpenTurn,
    publisher: &mut TurnPublisher<'_>,
    seen: &mut TurnObserver,
) -> Result<(EndedTurn, JournalWriter), Refusal> {
    let OpenTurn { active_config: configured, mut turn, mut slice, mut journal, mut interrupted, status, caller_span: _, subscriber: _ } =
        open;
    let deadline = tokio::time::Instant::now() + host.turn_settings.max_duration;
    let mut running: JoinSet<Completion> = JoinSet::new();
    loop {
        publisher.add_notices(&mut slice.notices);
        if let Some(outcome) = slice.end {
            if journal.has_unstored_write(&turn) {
                let pending = journal.prepare(host, &turn, &publisher.notices(), &[])?;
                journal.store(host, pending).await?;
            }
            return Ok((EndedTurn { turn, outcome, status }, journal));
        }
        if !slice.effects.is_empty() {
            crash::point("before the journal");
            let pending = journal.prepare(host, &turn, &publisher.notices(), &slice.effects)?;
            journal.store(host, pending).await?;
            crash::point("before the effects");
        }
        publisher.publish();
        seen.add_effects(slice.effects.len());
        for effect in slice.effects {
            publisher.send_effect_started(&effect);
            if interrupted.contains(&effect.id) {
                let outcome = EffectResult::Error(recovery::interrupted_error());
                running.spawn(std::future::ready(Completion { id: effect.id, at: clock::now(), outcome }));
            } else {
                let tokens = publisher.token_publisher(&effect).filter(|_| host.redaction.allows_streaming());
                let completion = execute_effect(Arc::clone(host), Arc::clone(&configured), tokens, effect);
                running.spawn(completion.in_current_span());
            }
        }
        interrupted.clear();
        slice = match tokio::time::timeout_at(deadline, running.join_next()).await {
            Ok(Some(completion)) => {
                crash::point("after an effect");
                let completion = completion.map_err(|it| Refusal::Internal(it.to_string()))?;
                publisher.send_effect_finished(&completion);
                host.spend.record(&turn.journal().input.turn, &completion.outcome);
                turn.resume(vec![completion])?
            }
            Ok(None) => return Err(TurnError::Stalled.into()),
            // Running effects are dropped with the set.
            Err(_) => turn.cancel(CancelReason::Timeout, clock::now())?,
        };
    }
}
