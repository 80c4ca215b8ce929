//! The object of a conversation.

use std::sync::Arc;
use std::time::Instant;

use convengine_core::turn::{Millis, Outcome, ProgramRef, Turn, TurnInput};
use convengine_host_base::clock;
use convengine_host_base::work_class::in_background;
use convengine_storage::assistant::session;
use convengine_storage::load;
use convengine_turns::Turns;
use convengine_turns::forget;
use convengine_turns::journal_writer::JournalWriter;
use convengine_turns::message::Ownership;
use convengine_turns::observe::TurnObserver;
use convengine_turns::recovery::load_snapshot;
use convengine_turns::refusal::Refusal;
use convengine_turns::session_changes::SessionChange;
use convengine_turns::session_event::{check_event, earliest_event_at};
use convengine_turns::stream::TurnPublisher;
use convengine_turns::stream::live::Subscriber;
use convengine_turns::turn_runner::{self, Clock, TurnRuntime};
use convengine_turns::upgrade::Upgrade;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tracing::Instrument;
use uuid::Uuid;

use super::effects::DurableEffects;
use super::expiry;
use super::object_state::{self, ObjectState, Rowless};
use super::refused_turn::RefusedTurn;
use super::request::{TurnAnswer, TurnEnd, TurnRequest, hash_event};
use super::steps::Steps;
use super::store::{ObjectStore, StateBefore};
use super::timers::{self, TimerRequest};
use super::worker_tenant::{TurnPolicy, WorkerTenant, WorkerTenants};

/// A conversation, a session of an assistant or a run of a chain.
#[derive(Debug, Clone)]
pub struct Conversation {
    tenants: WorkerTenants,
}

impl Conversation {
    /// Creates the object.
    pub fn new(tenants: WorkerTenants) -> Conversation {
        Conversation { tenants }
    }

    /// Runs the turn of a request and returns its answer.
    async fn answer(&self, ctx: &ObjectContext<'_>, request: TurnRequest) -> HandlerResult<TurnAnswer> {
        let worker = self.tenants.find(request.tenant.as_deref())?;
        let nonce = request.nonce.clone();
        let event = (request.key.is_some() && request.snapshot.is_none()).then(|| hash_event(&request.event));
        let (has_writes, result) = match run_turn(ctx, &worker, request).await? {
            Ok(end) => (false, Ok(end)),
            Err(Refused { refusal, has_writes: true }) => {
                (true, Err(RefusedTurn::Internal(format!("the turn is not stored, but writes of it were executed: {refusal}"))))
            }
            Err(Refused { refusal, .. }) => (false, Err(RefusedTurn::from(refusal))),
        };
        Ok(TurnAnswer { nonce, event, has_writes, result })
    }
}

#[restate_sdk::object(
    name = "Conversation",
    inactivity_timeout = "10m",
    abort_timeout = "30m",
    journal_retention = "0s",
    idempotency_retention = "1 day",
    invocation_retry_policy(
        initial_interval = "100ms",
        factor = 2.0,
        max_interval = "10s",
        max_attempts = 1000,
        on_max_attempts = "pause"
    )
)]
impl Conversation {
    /// Runs the turn of a message.
    #[handler]
    async fn turn(&self, ctx: ObjectContext<'_>, request: Json<TurnRequest>) -> HandlerResult<Json<TurnAnswer>> {
        self.answer(&ctx, request.into_inner()).await.map(Json)
    }

    /// Like `turn`, for a message without a key of its client: only a server may ask for its answer again, and not for long.
    #[handler(idempotency_retention = "1h")]
    async fn turn_without_key(&self, ctx: ObjectContext<'_>, request: Json<TurnRequest>) -> HandlerResult<Json<TurnAnswer>> {
        self.answer(&ctx, request.into_inner()).await.map(Json)
    }

    /// Fires a timer, unless the session has another one in its place.
    #[handler]
    async fn fire(&self, ctx: ObjectContext<'_>, request: Json<TimerRequest>) -> HandlerResult<()> {
        let request = request.into_inner();
        let worker = self.tenants.find(request.tenant.as_deref())?;
        let Some(bytes) = ctx.get::<Vec<u8>>(object_state::KEY).await? else { return Ok(()) };
        if !timers::is_armed(&ObjectState::from_bytes(&bytes)?.timers, &request) {
            return Ok(());
        }
        let prepared = {
            let (turns, request) = (Arc::clone(&worker.turns), request.clone());
            ctx.step("prepare the timer", async move { timers::prepare(&turns, &request).await.map(Json) }).await?
        };
        let Some(turn) = prepared.into_inner() else { return Ok(()) };
        match in_background(run_turn(&ctx, &worker, turn)).await? {
            Ok(_) | Err(Refused { refusal: Refusal::StaleTimer | Refusal::SessionEnded, .. }) => {}
            Err(Refused { refusal, .. }) => tracing::warn!(%refusal, session = request.session, "cannot fire a timer; it is tried again"),
        }
        Ok(())
    }

    /// Cancels the running turn of a run, if there is one; returns whether there is.
    #[handler]
    async fn cancel(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<bool>> {
        let running = ctx.get::<String>(object_state::RUNNING_KEY).await?;
        if let Some(invocation) = &running {
            ctx.invocation_handle(invocation.clone()).cancel();
        }
        Ok(Json(running.is_some()))
    }

    /// Deletes the state with its delayed calls; returns whether there was any. Its rows have been deleted, or are about to be.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> HandlerResult<Json<bool>> {
        let bytes = ctx.get::<Vec<u8>>(object_state::KEY).await?;
        if let Some(state) = bytes.as_ref().and_then(|bytes| ObjectState::from_bytes(bytes).ok()) {
            state.list_calls().for_each(|invocation| ctx.invocation_handle(invocation.to_owned()).cancel());
        }
        ctx.clear_all();
        Ok(Json(bytes.is_some()))
    }

    /// Deletes the state of a conversation without rows when it has been idle for its retention period; otherwise calls itself again.
    #[handler]
    async fn expire(&self, ctx: ObjectContext<'_>, tenant: Json<Option<String>>) -> HandlerResult<()> {
        let tenant = tenant.into_inner();
        let WorkerTenant { turns, policy } = self.tenants.find(tenant.as_deref())?;
        let Some(bytes) = ctx.get::<Vec<u8>>(object_state::KEY).await? else { return Ok(()) };
        let mut state = ObjectState::from_bytes(&bytes)?;
        let Some(rowless) = &mut state.rowless else { return Ok(()) };
        let step = async move { Ok(Json((clock::now(), policy.retention))) };
        let Json((now, retention)) = ctx.step("now", step).await?;
        let due = retention.map(|it| expiry::find_due(&state.session, it));
        if due.is_some_and(|it| it <= now) {
            if state.owner.is_some() {
                let id = ctx.key().rsplit('/').next().unwrap_or_default().to_owned();
                ctx.step("delete the owner", async move { Ok(forget::delete_rows(&turns.content, &id).await?) }).await?;
            }
            ctx.clear_all();
            return Ok(());
        }
        // Others than the one that the conversation has armed call nothing.
        if rowless.expiry.as_ref().is_some_and(|timer| timer.invocation() == ctx.invocation_id()) {
            rowless.expiry = match due {
                Some(due) => expiry::arm(&ctx, tenant, due).await,
                None => None,
            };
            ctx.set(object_state::KEY, state.to_bytes()?);
        }
        Ok(())
    }
}

/// What a turn begins with and cannot be derived.
#[derive(Debug, Serialize, Deserialize)]
struct Beginning {
    turn: String,
    at: Millis,
    seed: u64,
    policy: TurnPolicy,
}

/// The clock of a turn, whose times are journaled.
struct DurableClock<'t, 'ctx> {
    ctx: &'t ObjectContext<'ctx>,
    turns: &'t Arc<Turns>,
}

impl Clock for DurableClock<'_, '_> {
    async fn now(&mut self) -> Result<Millis, Refusal> {
        let turns = Arc::clone(self.turns);
        let now = self.ctx.step("now", async move { Ok(turns.clock.now()) }).await;
        now.map_err(|error| Refusal::Internal(error.message().to_owned()))
    }
}

/// The reason for which a request has no stored turn.
struct Refused {
    refusal: Refusal,
    /// Whether writes were executed before.
    has_writes: bool,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { refusal, has_writes: false }
    }
}

/// Runs the turn of a request, or returns the reason for having none.
async fn run_turn(ctx: &ObjectContext<'_>, worker: &WorkerTenant, request: TurnRequest) -> HandlerResult<Result<TurnEnd, Refused>> {
    let turns = &worker.turns;
    let state = load_state(ctx, turns, &request).await?;
    if !request.access.may_change(state.owner.as_deref()) {
        return Ok(Err(Refusal::ForeignConversation.into()));
    }
    if state.rowless.is_some() && request.snapshot.is_some() {
        // Of a conversation with rows, the server notices it.
        return Ok(Err(Refusal::SessionExists.into()));
    }
    if let Err(refusal) = check_event(&state.session, &request.event) {
        return Ok(Err(refusal.into()));
    }
    let TurnRequest { tenant, nonce, listens, conversation, mut event, key, known, snapshot, upgrade, access, .. } = request;
    known.follow(&turns.content).await;
    let is_new = state.session.turns == 0 && state.session.conversation.is_none();
    let owner = if is_new { access.owner } else { state.owner.map(Arc::from) };
    let mut session = state.session;
    let mut config = load_snapshot(&turns.content, snapshot.as_ref().unwrap_or(&known.tables)).await?;
    if let Some(target) = upgrade {
        let upgrade = Upgrade::to_target(target.clone(), load_snapshot(&turns.content, &target.snapshot).await?);
        config = upgrade.apply(&config, &mut session, &mut event).unwrap_or(config);
    }
    // A queued turn starts after its predecessor, because audit rows and resets are ordered by time.
    let earliest = session.conversation.as_ref().map_or(0, |it| it.updated_at + 1).max(earliest_event_at(&session));
    let mut input = TurnInput {
        turn: Uuid::new_v4().to_string(),
        conversation,
        at: turns.clock.now().max(earliest),
        seed: turn_runner::random_seed(),
        program: config.program(),
        event,
        session,
    };
    let begin = begin_turn(ctx, worker, &input, earliest).await?;
    (input.turn, input.at, input.seed) = (begin.turn, begin.at, begin.seed);
    let policy = begin.policy;
    // A conversation keeps what it began with. Rows of sessions are what the API, the desk and the timers read.
    let begins_rowless = is_new && snapshot.is_none() && !policy.conversation_rows;
    let before = StateBefore {
        tenant: tenant.clone(),
        owner: owner.as_deref().map(str::to_owned),
        timers: state.timers,
        rowless: state.rowless.or_else(|| begins_rowless.then(Rowless::default)),
        policy,
    };
    let configured = turns.content.config_manager.active().with_document(&config);
    let ownership = Ownership { is_new: is_new && owner.is_some(), owner: owner.clone() };
    let journal = JournalWriter::new(turns, &input.conversation, &input.turn, key, Arc::clone(&config)).with_ownership(&ownership);
    let span = tracing::error_span!("turn", turn = input.turn, conversation = input.conversation);
    let streams = Arc::clone(&turns.streams);
    let subscriber = listens.then(|| Subscriber::remote(&streams, &nonce));
    let mut publisher = TurnPublisher::new(&streams, &input, owner.clone()).with_subscriber(subscriber.clone());
    let mut observer = TurnObserver::new(&input, config.hash_source(), Instant::now(), None);
    let (mut turn, slice) = match Turn::start(input, config) {
        Ok(started) => started,
        Err(error) => return Ok(Err(Refusal::from(error).into())),
    };
    let input = &turn.journal().input;
    let is_run = input.program == ProgramRef::Chain;
    if is_run {
        ctx.set(object_state::RUNNING_KEY, ctx.invocation_id().to_owned());
    }
    let deadline = input.at.saturating_add(Millis::try_from(policy.max_duration.as_millis()).unwrap_or(Millis::MAX));
    let mut effects = DurableEffects::new(ctx, turns, configured, (tenant, known), [input.at, deadline]);
    let mut store = ObjectStore::new(ctx, turns, &input.conversation, journal, before, effects.steps());
    let mut clock = DurableClock { ctx, turns };
    let _secrets = turns.outbound.secrets.begin_use();
    let driven = async {
        let mut runtime = TurnRuntime { store: &mut store, effects: &mut effects, clock: &mut clock, publisher: &mut publisher };
        let outcome = runtime.drive(&mut turn, slice).await;
        if let Ok(outcome) = &outcome {
            turn_runner::report_session(turns, &turn, outcome, store.arms_timer());
            publisher.mark_stored(store.total());
        }
        turn_runner::publish(publisher, &outcome);
        subscriber.iter().for_each(Subscriber::send_end);
        observer.add_effects(effects.started());
        observer.finish(turns, outcome.as_ref());
        outcome
    };
    let outcome = driven.instrument(span).await;
    if is_run {
        ctx.clear(object_state::RUNNING_KEY);
    }
    let has_writes = effects.has_writes();
    let end = |outcome: Outcome| {
        let change = outcome.flow.as_ref().map(|answer| SessionChange::from_turn(&turn.journal().input, answer));
        TurnEnd { outcome, is_handoff: change.is_some_and(|it| it.is_handoff) }
    };
    Ok(outcome.map(end).map_err(|refusal| Refused { refusal, has_writes }))
}

/// Loads the state of the object; that of a conversation from before it had one, from its rows.
async fn load_state(ctx: &ObjectContext<'_>, turns: &Arc<Turns>, request: &TurnRequest) -> HandlerResult<ObjectState> {
    if let Some(bytes) = ctx.get::<Vec<u8>>(object_state::KEY).await? {
        return ObjectState::from_bytes(&bytes).map_err(HandlerError::from);
    }
    let (turns, conversation, is_flow) = (Arc::clone(turns), request.conversation.clone(), request.snapshot.is_some());
    let step = async move {
        let history = turns.content.config_manager.active().config.settings.history_max_turns;
        let found = if is_flow {
            session::load(&turns.readers, &conversation, None).await
        } else {
            load::load_conversation(&turns.readers, &conversation, history, None).await
        };
        let found = found.map_err(HandlerError::from)?;
        Ok(Json(ObjectState { session: found.session, owner: found.owner, ..ObjectState::default() }))
    };
    Ok(ctx.step("load the rows", step).await?.into_inner())
}

/// Journals what a turn begins with.
async fn begin_turn(ctx: &ObjectContext<'_>, worker: &WorkerTenant, input: &TurnInput, earliest: Millis) -> HandlerResult<Beginning> {
    let (WorkerTenant { turns, policy }, input) = (worker.clone(), input.clone());
    let step = async move {
        let mut at = input.at;
        if let Some(scripted) = turns.outbound.models.begin_turn(&input) {
            turns.clock.set(scripted);
            at = scripted.max(earliest);
        }
        Ok(Json(Beginning { turn: input.turn, at, seed: input.seed, policy }))
    };
    Ok(ctx.step("begin", step).await?.into_inner())
}
