//! Executes effects as journaled steps.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use convengine_content::config::active::ActiveConfig;
use convengine_core::turn::{CancelReason, Completion, Effect, EffectClass, EffectResult, Millis};
use convengine_turns::Turns;
use convengine_turns::crash;
use convengine_turns::effects::execute_effect;
use convengine_turns::recovery::{interrupted_error, load_snapshot};
use convengine_turns::refusal::Refusal;
use convengine_turns::stream::TokenPublisher;
use convengine_turns::turn_runner::{Effects, Progress};
use restate_sdk::context::DurableFuture;
use restate_sdk::prelude::*;

use super::request::{EffectRequest, Known};
use super::step_log::StepLog;
use super::steps::Steps;
use super::worker_tenant::{WorkerTenant, WorkerTenants};

/// The code of the error that a cancelled invocation gets.
pub const CANCELLED: u16 = 409;

/// Executes one effect, so that several run beside each other. Only turns call it.
#[derive(Debug, Clone)]
pub struct EffectService {
    tenants: WorkerTenants,
}

impl EffectService {
    /// Creates the service.
    pub fn new(tenants: WorkerTenants) -> EffectService {
        EffectService { tenants }
    }
}

#[restate_sdk::service(
    name = "Effect",
    ingress_private = true,
    inactivity_timeout = "10m",
    abort_timeout = "30m",
    journal_retention = "0s"
)]
impl EffectService {
    /// Executes an effect.
    #[handler]
    async fn execute(&self, ctx: Context<'_>, request: Json<EffectRequest>) -> HandlerResult<Json<Completion>> {
        let EffectRequest { tenant, known, snapshot, effect, tokens } = request.into_inner();
        let WorkerTenant { turns, .. } = self.tenants.find(tenant.as_deref())?;
        known.follow(&turns.content).await;
        let config = load_snapshot(&turns.content, &snapshot).await.map_err(HandlerError::from)?;
        let configured = turns.content.config_manager.active().with_document(&config);
        let tokens = tokens.map(|it| TokenPublisher::from_target(&turns.streams, it));
        Ok(Json(execute_step(&ctx, &turns, &configured, tokens, effect).await?))
    }
}

fn is_write(effect: &Effect) -> bool {
    matches!(effect.class, EffectClass::Write | EffectClass::Irreversible)
}

/// Executes an effect as a journaled step. A step that ends without a result is executed again, except for a write that is not repeatable:
/// of that nobody knows whether it was executed, so it fails as interrupted.
async fn execute_step(
    ctx: &impl Steps,
    turns: &Arc<Turns>,
    configured: &Arc<ActiveConfig>,
    tokens: Option<TokenPublisher>,
    effect: Effect,
) -> Result<Completion, TerminalError> {
    let begun = Arc::new(AtomicBool::new(effect.repeatable || !is_write(&effect)));
    if !begun.load(Ordering::SeqCst) {
        // A replay takes the step from the journal and leaves the flag unset.
        let begins = Arc::clone(&begun);
        let step = async move {
            begins.store(true, Ordering::SeqCst);
            Ok(())
        };
        ctx.step(format!("begin {}", effect.key), step).await?;
    }
    let name = effect.key.clone();
    let (turns, configured) = (Arc::clone(turns), Arc::clone(configured));
    let step = async move {
        crash::point("before an effect");
        let completion = if begun.load(Ordering::SeqCst) {
            execute_effect(turns, configured, tokens, effect).await
        } else {
            tracing::warn!(effect = effect.key, "the outcome of a write is unknown; failing it as interrupted");
            Completion { id: effect.id, at: turns.clock.now(), outcome: EffectResult::Error(interrupted_error()) }
        };
        crash::point("after an effect");
        Ok(Json(completion))
    };
    ctx.step(name, step).await.map(Json::into_inner)
}

/// The completion of an effect that another invocation executes.
type RemoteCompletion<'ctx> = Pin<Box<dyn DurableFuture<Output = Result<Json<Completion>, TerminalError>> + Send + 'ctx>>;

/// Executes the effects of a turn: one in the invocation of the turn, several each in an invocation of its own.
pub struct DurableEffects<'t, 'ctx> {
    ctx: &'t ObjectContext<'ctx>,
    turns: &'t Arc<Turns>,
    configured: Arc<ActiveConfig>,
    tenant: Option<String>,
    known: Known,
    snapshot: String,
    /// Effects that have not started yet.
    requested: Vec<(Effect, Option<TokenPublisher>)>,
    running: DurableFuturesUnordered<RemoteCompletion<'ctx>>,
    started: usize,
    has_writes: bool,
    steps: StepLog,
    /// The time of the turn's end at the latest.
    deadline: Millis,
    /// The time of the last completion.
    now: Millis,
}

impl<'t, 'ctx> DurableEffects<'t, 'ctx> {
    /// Creates the executor of a turn of a tenant that begins at a time and ends at another one at the latest.
    pub fn new(
        ctx: &'t ObjectContext<'ctx>,
        turns: &'t Arc<Turns>,
        configured: Arc<ActiveConfig>,
        (tenant, known): (Option<String>, Known),
        [begin, deadline]: [Millis; 2],
    ) -> DurableEffects<'t, 'ctx> {
        let snapshot = configured.config.hash_source().to_owned();
        DurableEffects {
            ctx,
            turns,
            configured,
            tenant,
            known,
            snapshot,
            requested: Vec::new(),
            running: DurableFuturesUnordered::new(),
            started: 0,
            has_writes: false,
            steps: StepLog::default(),
            deadline,
            now: begin,
        }
    }

    /// The number of effects that were started.
    pub fn started(&self) -> usize {
        self.started
    }

    /// Whether writes were started.
    pub fn has_writes(&self) -> bool {
        self.has_writes
    }

    /// The results so far.
    pub fn steps(&self) -> StepLog {
        self.steps.clone()
    }

    fn call(&mut self, effect: Effect, tokens: Option<&TokenPublisher>) {
        let tokens = tokens.map(TokenPublisher::to_target);
        let (tenant, known, snapshot) = (self.tenant.clone(), self.known.clone(), self.snapshot.clone());
        let request = EffectRequest { tenant, known, snapshot, effect, tokens };
        let client = self.ctx.service_client::<EffectServiceClient>();
        let call = client.execute(Json(request)).call();
        self.running.push(Box::pin(call));
    }

    /// A run can be cancelled while an effect is executed; a step of its own invocation would be waited for.
    fn is_cancellable(&self) -> bool {
        self.configured.config.chain().is_some()
    }
}

impl Effects for DurableEffects<'_, '_> {
    async fn find_cancellation(&mut self) -> Result<Option<CancelReason>, Refusal> {
        // The cluster cancels the invocation, also one that it continues elsewhere.
        Ok(None)
    }

    fn start(&mut self, effect: Effect, tokens: Option<TokenPublisher>) {
        self.started += 1;
        self.has_writes |= is_write(&effect);
        self.requested.push((effect, tokens));
    }

    async fn next(&mut self) -> Result<Progress, Refusal> {
        if self.now > self.deadline {
            return Ok(Progress::Cancelled(CancelReason::Timeout));
        }
        let is_alone = self.running.is_empty() && self.requested.len() == 1 && !self.is_cancellable();
        let completion = match self.requested.pop() {
            None if self.running.is_empty() => return Ok(Progress::Idle),
            Some((effect, tokens)) if is_alone => execute_step(self.ctx, self.turns, &self.configured, tokens, effect).await,
            last => {
                let requested = std::mem::take(&mut self.requested).into_iter().chain(last);
                requested.for_each(|(effect, tokens)| self.call(effect, tokens.as_ref()));
                match self.running.next().await {
                    Ok(Some((_, completion))) => completion.map(Json::into_inner),
                    Ok(None) => return Ok(Progress::Idle),
                    Err(error) => Err(error),
                }
            }
        };
        match completion {
            Ok(completion) => {
                self.now = self.now.max(completion.at);
                self.steps.add(&completion);
                Ok(Progress::Completed(completion))
            }
            Err(error) if error.code() == CANCELLED => Ok(Progress::Cancelled(CancelReason::Requested)),
            Err(error) => Err(Refusal::Internal(error.message().to_owned())),
        }
    }

    fn stop(&mut self) {
        // Their results are not waited for.
        self.requested.clear();
        self.running = DurableFuturesUnordered::new();
    }
}
