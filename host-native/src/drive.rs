//! Drives a turn: load, run and fulfil, commit.

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

/// What turns of one server share.
#[derive(Debug)]
pub struct Host {
    /// What new turns run on.
    pub current: Current,
    /// For reading.
    pub readers: Pool,
    /// For writing.
    pub writer: Writer,
    /// One turn at a time per conversation.
    pub gate: Arc<Gate>,
    /// Who answers model calls.
    pub models: Models,
    /// Who answers containers, when a service is set up.
    pub containers: Containers,
    /// Who calls HTTP services.
    pub http: Http,
    /// The database that tools ask.
    pub queries: Queries,
    /// The folders that tools may read.
    pub file_roots: Arc<Roots>,
    /// What may leave this server nowhere.
    pub secrets: Arc<Secrets>,
    /// Keeps those of the database in step with it.
    pub vault: Vault,
    /// The documents that sessions run on.
    pub flows: Flows,
    /// What plans allow.
    pub plan: Plan,
    /// Whose assistants they are: the tenant, or `default`.
    pub workspace: String,
    /// That a session has armed a timer.
    pub armed: Notify,
    /// What is struck out of everything that comes in.
    pub redaction: Arc<Redaction>,
    /// Who listens to turns.
    pub streams: Arc<Streams>,
    /// Which streams are offered.
    pub offers: Stream,
    /// How turns are kept.
    pub turns: Turns,
    /// How often may be called.
    pub limits: Limits,
    /// What models have cost.
    pub spend: Arc<Spend>,
    /// What of the caps of assistants is kept back for calls.
    pub purse: Purse,
    /// The name under which this process holds open turns.
    pub owner: String,
    /// Those that it runs.
    pub open: Arc<OpenTurns>,
    /// Who counts what happens.
    pub meter: Meter,
    /// Who gets the traces of turns.
    pub traces: Traces,
}

/// Why a message has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Too many turns wait.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The session cannot be read.
    #[error("the conversation cannot be read: {0}")]
    Load(#[from] sqlx::Error),
    /// The rows cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The name was given to another message before.
    #[error("this Idempotency-Key was used for another message: give each message a key of its own")]
    OtherMessage,
    /// The session is one of another assistant.
    #[error("there is such a session already: wish for another id, or for none")]
    Taken,
    /// The plan has so many sessions a month.
    #[error("the plan has {0} of the kind 'session' a month, and they are used up")]
    UsedUp(u32),
    /// The session has come to its end.
    #[error("the session has come to its end: start a new one")]
    Closed,
    /// The session has gone on since the timer was armed.
    #[error("the session has gone on meanwhile")]
    Late,
    /// A defect of the core or of this host.
    #[error("the turn cannot be run: {0}")]
    Defect(String),
}

impl From<TurnError> for Refusal {
    fn from(error: TurnError) -> Self {
        Refusal::Defect(error.to_string())
    }
}

/// Runs the turn of a message to its end, also when nobody waits for the answer any more.
///
/// # Errors
/// [`Refusal`]; the conversation is then as it was before.
pub async fn answer(host: Arc<Host>, message: Message) -> Result<Outcome, Refusal> {
    told(host, message).await.map(|it| it.outcome)
}

/// The answer to a message.
#[derive(Debug)]
pub struct Answered {
    /// The end of its turn.
    pub outcome: Outcome,
    /// Whether the message has been answered before.
    pub again: bool,
}

/// As [`answer`], and whether it is an old answer.
///
/// # Errors
/// As there.
pub async fn told(host: Arc<Host>, mut message: Message) -> Result<Answered, Refusal> {
    host.redaction.event(&mut message.event);
    let meter = host.meter.clone();
    let running = tokio::spawn(counted(host, message).in_current_span());
    let answer = running.await.unwrap_or_else(|error| Err(Refusal::Defect(error.to_string())));
    answer.inspect_err(|it| meter.refused(reason(it)))
}

/// Runs a message that the plan counts only when there is something left of the plan.
async fn counted(host: Arc<Host>, message: Message) -> Result<Answered, Refusal> {
    let Some(assistant) = &message.counted else { return in_line(host, message).await };
    let reservation = Reservation::take(&host, assistant).await?;
    let session = message.conversation.clone();
    let answered = in_line(Arc::clone(&host), message).await;
    if answered.is_err() {
        reservation.give_back(&host, &session).await;
    }
    answered
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
            // Nothing of it has left: it runs on the conversation as it is now.
            Err(Refusal::Commit(CommitError::Conflict)) if !last => {}
            // Another process was first with the same message.
            Err(Refusal::Commit(CommitError::SameMessage)) if !last => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Err(Busy.into())
}

/// Runs the turn of a message; nothing when the message has one already.
async fn attempt(host: &Arc<Host>, message: &Message) -> Result<Option<Outcome>, Refusal> {
    let mut configured = host.current.now();
    let Some(mut session) = session(host, &configured.config, message).await? else { return Ok(None) };
    let mut event = message.event.clone();
    if let Some(flow) = &message.flow {
        let upgraded = message.upgrade.as_ref().and_then(|it| it.take(flow, &mut session, &mut event));
        configured = Arc::new(configured.running(upgraded.as_ref().unwrap_or(flow)));
    }
    // A turn that waited in line starts after the one before it: audit rows and resets are ordered by time.
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
    let kept = Kept::new(host, &id, message.key.clone(), Arc::clone(&configured.config));
    let caller = message.caller.clone();
    let ear = message.ear.clone();
    let open = Open { configured, turn, slice, kept, interrupted: Vec::new(), status: "closed", caller, ear };
    match finish_from(host, open, message.received).await {
        // What it has sent must not be sent a second time by another turn.
        Err(Refusal::Commit(CommitError::TakenOver)) => sent_again::by_another(host, message, &id).await.map(Some),
        other => other.map(Some),
    }
}

/// The conversation as the turn before this one has left it; nothing when the message has a turn already.
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

/// A turn that runs.
#[derive(Debug)]
pub struct Open {
    /// Who answers for it.
    pub configured: Arc<Configured>,
    /// The turn.
    pub turn: Turn,
    /// What it asks for now, or its end.
    pub slice: Slice,
    /// What of it is stored.
    pub kept: Kept,
    /// Effects that left before a crash and cannot be asked again.
    pub interrupted: Vec<EffectId>,
    /// What its row says at the end: `closed` or `lost`.
    pub status: &'static str,
    /// The span that its message came from.
    pub caller: Option<SpanContext>,
    /// Who hears it while it runs.
    pub ear: Option<Ear>,
}

/// Runs a turn that was left behind to its end and stores it.
///
/// # Errors
/// [`Refusal`]; the turn is then as it was left.
pub async fn finish(host: &Arc<Host>, open: Open) -> Result<Outcome, Refusal> {
    let age = u64::try_from(clock::now() - open.turn.journal().input.at).unwrap_or(0);
    let received = Instant::now();
    finish_from(host, open, received.checked_sub(Duration::from_millis(age)).unwrap_or(received)).await
}

async fn finish_from(host: &Arc<Host>, open: Open, received: Instant) -> Result<Outcome, Refusal> {
    let streams = Arc::clone(&host.streams);
    let input = &open.turn.journal().input;
    let span = tracing::error_span!("turn", turn = input.turn, conversation = input.conversation);
    let mut told = Told::of(&streams, input).to(open.ear.clone());
    let mut seen = Seen::of(input, open.configured.config.hash(), received, open.caller.clone());
    let capped = open.configured.config.flow.as_ref().map(|it| (it.document.id.clone(), input.turn.clone()));
    async {
        let outcome = to_the_end(host, open, received, &mut told, &mut seen).await;
        if let Some((assistant, turn)) = capped {
            host.purse.ended(&assistant, &turn).await;
        }
        match &outcome {
            // Whoever goes on with it tells the rest, under the same numbers.
            Err(Refusal::Commit(CommitError::TakenOver)) => drop(told),
            outcome => told.close(outcome.as_ref().ok()),
        }
        seen.end(host, outcome.as_ref());
        outcome
    }
    .instrument(span)
    .await
}

async fn to_the_end(host: &Arc<Host>, open: Open, received: Instant, told: &mut Told<'_>, seen: &mut Seen) -> Result<Outcome, Refusal> {
    let (ended, mut kept) = run(host, open, told, seen).await?;
    let total = Millis::try_from(received.elapsed().as_millis()).unwrap_or(Millis::MAX);
    let rows = kept.end(host, &ended, &told.notices(), total).map_err(|it| Refusal::Defect(it.to_string()))?;
    crash::point("before the commit");
    if let Err(error) = host.writer.commit(rows).await {
        // What was handed over before, was not waited for and was not stored, is the reason.
        kept.settled().await?;
        return Err(error.into());
    }
    kept.stored();
    crash::point("after the commit");
    if ended.outcome.flow.is_some() {
        host.armed.notify_one();
    }
    told.stored(total);
    Ok(ended.outcome)
}

/// Below 2^53, so that a journal read by a browser keeps it.
fn seed() -> u64 {
    Uuid::new_v4().as_u64_pair().1 & ((1 << 53) - 1)
}

async fn run(host: &Arc<Host>, open: Open, told: &mut Told<'_>, seen: &mut Seen) -> Result<(Ended, Kept), Refusal> {
    let Open { configured, mut turn, mut slice, mut kept, mut interrupted, status, caller: _, ear: _ } = open;
    let until = tokio::time::Instant::now() + host.turns.max_duration;
    let mut running: JoinSet<Completion> = JoinSet::new();
    loop {
        told.add(&mut slice.notices);
        if let Some(outcome) = slice.end {
            if kept.owes(&turn) {
                let answered = kept.before(host, &turn, &told.notices(), &[])?;
                kept.store(host, answered).await?;
            }
            return Ok((Ended { turn, outcome, status }, kept));
        }
        if !slice.effects.is_empty() {
            crash::point("before the journal");
            let before = kept.before(host, &turn, &told.notices(), &slice.effects)?;
            kept.store(host, before).await?;
            crash::point("before the effects");
        }
        told.publish();
        seen.asks(slice.effects.len());
        for effect in slice.effects {
            told.asks(&effect);
            if interrupted.contains(&effect.id) {
                let outcome = Answer::Error(recover::interrupted());
                running.spawn(std::future::ready(Completion { id: effect.id, at: clock::now(), outcome }));
            } else {
                let tokens = told.tokens(&effect).filter(|_| host.redaction.lets_pieces_through());
                let answered = fulfil(Arc::clone(host), Arc::clone(&configured), tokens, effect);
                running.spawn(answered.in_current_span());
            }
        }
        interrupted.clear();
        slice = match tokio::time::timeout_at(until, running.join_next()).await {
            Ok(Some(completion)) => {
                crash::point("after an effect");
                let completion = completion.map_err(|it| Refusal::Defect(it.to_string()))?;
                told.hears(&completion);
                host.spend.note(&turn.journal().input.turn, &completion.outcome);
                turn.resume(vec![completion])?
            }
            Ok(None) => return Err(TurnError::Stalled.into()),
            // What still runs is dropped with the set.
            Err(_) => turn.abandon(Abandon::Timeout, clock::now())?,
        };
    }
}
