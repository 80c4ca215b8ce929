//! Drives a turn: load, run and fulfil, commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::config::Config;
use convengine_core::pack::StandIns;
use convengine_core::turn::{Completion, Map, Millis, Notice, Outcome, ProgramRef, Turn, TurnError, TurnInput, UserEvent};
use sqlx::sqlite::SqlitePool;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::clock;
use crate::extension::Extensions;
use crate::fulfil::container::Containers;
use crate::fulfil::http::Http;
use crate::fulfil::{fulfil, llm::Models, sql::Queries};
use crate::gate::{Busy, Gate};
use crate::rows;
use crate::secrets::Secrets;
use crate::settings::Roots;
use crate::store::load;
use crate::stream::{Streams, Told};
use crate::writer::{CommitError, Writer};

/// How often a turn that lost a race is run.
const ATTEMPTS: usize = 3;

/// What turns of one server share.
#[derive(Debug)]
pub struct Host {
    /// The compiled configuration.
    pub config: Arc<Config>,
    /// For reading.
    pub readers: SqlitePool,
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
    /// Who answers tasks and tools, and containers without a service.
    pub stand_ins: StandIns,
    /// The database that tools ask.
    pub queries: Queries,
    /// The folders that tools may read.
    pub file_roots: Arc<Roots>,
    /// What may leave this server nowhere.
    pub secrets: Arc<Secrets>,
    /// Who runs extensions.
    pub extensions: Extensions,
    /// Who listens to turns.
    pub streams: Arc<Streams>,
    /// Whether streams are offered over HTTP.
    pub offers_streams: bool,
    /// How long one stream lasts; without it, until one side ends it.
    pub stream_ends_after: Option<Duration>,
}

/// A user's message as it came in.
#[derive(Debug, Clone)]
pub struct Message {
    /// The conversation, a UUID in lower case.
    pub conversation: String,
    /// What the user did.
    pub event: UserEvent,
    /// When it came in.
    pub received: Instant,
}

impl Message {
    /// A message that comes in now.
    pub fn now(conversation: Option<String>, text: Option<String>, reset: bool, params: Map) -> Self {
        let conversation = conversation.unwrap_or_else(|| Uuid::new_v4().to_string());
        Message { conversation, event: UserEvent { text, reset, params }, received: Instant::now() }
    }
}

/// Why a message has no answer. Nothing of its turn is stored then.
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
    tokio::spawn(in_line(host, message)).await.unwrap_or_else(|error| Err(Refusal::Defect(error.to_string())))
}

async fn in_line(host: Arc<Host>, message: Message) -> Result<Outcome, Refusal> {
    let _pass = host.gate.enter(&message.conversation).await?;
    for _ in 1..ATTEMPTS {
        match attempt(&host, &message).await {
            Err(Refusal::Commit(CommitError::Conflict)) => {}
            other => return other,
        }
    }
    attempt(&host, &message).await
}

async fn attempt(host: &Arc<Host>, message: &Message) -> Result<Outcome, Refusal> {
    let session = load::conversation(&host.readers, &message.conversation, host.config.settings.history_max_turns).await?;
    // A turn that waited in line starts after the one before it: audit rows and resets are ordered by time.
    let earliest = session.conversation.as_ref().map_or(0, |it| it.updated_at + 1);
    let mut input = TurnInput {
        turn: Uuid::new_v4().to_string(),
        conversation: message.conversation.clone(),
        at: clock::now().max(earliest),
        seed: seed(),
        program: host.config.program(),
        event: message.event.clone(),
        session,
    };
    if let Some(at) = host.models.begins(&input) {
        clock::set(at);
        input.at = at.max(earliest);
    }
    let mut told = Told::of(&host.streams, &input);
    let outcome = to_the_end(host, message, input, &mut told).await;
    told.close(outcome.as_ref().ok());
    outcome
}

async fn to_the_end(host: &Arc<Host>, message: &Message, input: TurnInput, told: &mut Told<'_>) -> Result<Outcome, Refusal> {
    let ended = run(host, input, told).await?;
    let total = Millis::try_from(message.received.elapsed().as_millis()).unwrap_or(Millis::MAX);
    let rows = rows::of_turn(&ended.turn, &ended.outcome, &ended.notices, total).map_err(|it| Refusal::Defect(it.to_string()))?;
    host.writer.commit(rows).await?;
    told.publish(&ended.notices, total);
    Ok(ended.outcome)
}

/// Below 2^53, so that a journal read by a browser keeps it.
fn seed() -> u64 {
    Uuid::new_v4().as_u64_pair().1 & ((1 << 53) - 1)
}

struct Ended {
    turn: Turn,
    outcome: Outcome,
    notices: Vec<Notice>,
}

async fn run(host: &Arc<Host>, input: TurnInput, told: &mut Told<'_>) -> Result<Ended, Refusal> {
    let (mut turn, mut slice) = Turn::start(input, Arc::clone(&host.config))?;
    let mut running: JoinSet<Completion> = JoinSet::new();
    let mut notices = Vec::new();
    loop {
        notices.append(&mut slice.notices);
        if let Some(outcome) = slice.end {
            return Ok(Ended { turn, outcome, notices });
        }
        told.publish(&notices, 0);
        for effect in slice.effects {
            running.spawn(fulfil(Arc::clone(host), told.tokens(&effect), effect));
        }
        let Some(completion) = running.join_next().await else { return Err(TurnError::Stalled.into()) };
        let completion = completion.map_err(|it| Refusal::Defect(it.to_string()))?;
        slice = turn.resume(vec![completion])?;
    }
}
