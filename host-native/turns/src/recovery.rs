//! Recovers orphaned turns, left open by a process that died or lost its database connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_content::Content;
use convengine_core::Stage;
use convengine_core::config::Config;
use convengine_core::turn::{CancelReason, EffectError, EffectErrorKind, Journal, Outcome, RescuedTurn, Turn};
use convengine_host_base::clock;
use convengine_host_base::work_class::spawn_in_background;
use convengine_storage::lease::{self, ClaimedTurn};
use convengine_storage::repeated_task::RepeatedTask;
use convengine_storage::turn::{self, StoredEffect, StoredTurn};
use convengine_storage::{audit, owner};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::Turns;
use crate::journal_writer::JournalWriter;
use crate::leases::lease_ms;
use crate::refusal::Refusal;
use crate::turn_queue::Busy;
use crate::turn_runner::{OpenTurn, enter, finish_abandoned};
use crate::writer::CommitError;

/// The polling interval while waiting for an open turn; it doubles up to the maximum.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(25);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The interval for deleting the stored effects of ended turns.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The maximum time between two searches for orphaned turns.
const MAX_SEARCH_INTERVAL: Duration = Duration::from_secs(2);

/// The number of orphaned turns that are claimed at once.
const CLAIM_BATCH: u32 = 32;

/// Waits until a conversation has no open turn, and finishes an orphaned one. The caller must hold the conversation's gate permit.
///
/// # Errors
/// Returns [`Busy`] when another process still runs it at the deadline.
pub async fn settle_conversation(turns: &Arc<Turns>, conversation: &str, deadline: Instant) -> Result<(), Refusal> {
    let mut pause = MIN_POLL_INTERVAL;
    loop {
        if turns.connectivity.may_claim()
            && let Some(open) = lease::claim_open(&turns.readers, conversation, &turns.owner, lease_ms(turns.settings.lease)).await?
        {
            // Rare, and much larger than the futures of the turns that wait for it.
            Box::pin(continue_turn(turns, open)).await?;
        } else if !lease::has_open(&turns.readers, conversation).await? {
            return Ok(());
        } else if Instant::now() >= deadline {
            return Err(Busy.into());
        } else {
            sleep(pause).await;
            pause = (pause * 2).min(MAX_POLL_INTERVAL);
        }
    }
}

/// Spawns the recovery task: recovers orphaned turns at start and, if several processes serve the database, periodically; and deletes the
/// effects of ended turns, so that commits need not.
pub fn spawn(turns: Arc<Turns>) -> JoinHandle<()> {
    spawn_in_background(async move {
        let pause = (turns.settings.lease.min(turns.chain_settings.lease) / 2).min(MAX_SEARCH_INTERVAL);
        // As many at once as turns in the background. Others are left to the other processes.
        let recoveries = Arc::new(Semaphore::new(turns.queue.max_background()));
        let mut next_sweep = Instant::now();
        let mut has_more = true;
        let mut task = RepeatedTask::new("search for orphaned turns", &turns.connectivity);
        loop {
            let mut delay = pause;
            if has_more || turns.readers.is_shared() {
                match task.attempt(recover_orphans(&turns, &recoveries)).await {
                    Some(false) => has_more = false,
                    Some(true) => (has_more, delay) = (true, pause.min(MAX_POLL_INTERVAL)),
                    None => {}
                }
            }
            if Instant::now() >= next_sweep {
                next_sweep = Instant::now() + SWEEP_INTERVAL;
                if let Err(error) = turn::delete_ended_effects(&turns.readers).await {
                    tracing::warn!(%error, "cannot delete the effects of ended turns");
                }
            }
            sleep(delay).await;
        }
    })
}

/// Claims orphaned turns in batches, as many as this process has the capacity for. Returns whether more may be left.
async fn recover_orphans(turns: &Arc<Turns>, recoveries: &Arc<Semaphore>) -> sqlx::Result<bool> {
    while turns.connectivity.may_claim() {
        // No other task acquires permits.
        let batch = u32::try_from(recoveries.available_permits()).unwrap_or(CLAIM_BATCH).min(CLAIM_BATCH);
        let Ok(mut permits) = Arc::clone(recoveries).try_acquire_many_owned(batch) else { break };
        if batch == 0 {
            break;
        }
        let running = turns.open_turns.ids();
        let lease = turns.settings.lease;
        let claimed = lease::claim_orphans(&turns.readers, &running, &turns.owner, lease_ms(lease), batch.into()).await?;
        let is_last = claimed.len() < batch as usize;
        for orphan in claimed {
            // Its lease is renewed while it waits for the conversation.
            turns.open_turns.add(&orphan.turn_id, lease);
            spawn_in_background(recover(Arc::clone(turns), orphan, permits.split(1)));
        }
        if is_last {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn recover(turns: Arc<Turns>, orphan: ClaimedTurn, _permit: Option<OwnedSemaphorePermit>) {
    let ClaimedTurn { turn_id, conversation_id: conversation } = orphan;
    let settled = async {
        let _pass = turns.queue.acquire(&conversation).await?;
        settle_conversation(&turns, &conversation, Instant::now() + turns.queue.wait()).await
    };
    match settled.await {
        Ok(()) => tracing::info!(conversation, "recovered an orphaned turn"),
        Err(error) => tracing::warn!(%error, conversation, "cannot recover an orphaned turn yet"),
    }
    turns.open_turns.remove(&turn_id);
}

/// Continues a claimed turn where its journal ends.
async fn continue_turn(turns: &Arc<Turns>, open: StoredTurn) -> Result<(), Refusal> {
    let (journal, effects) = match load_journal(&turns.content, &open).await {
        Ok(found) => found,
        Err(UnreadableTurn::Database(error)) => return Err(error.into()),
        Err(UnreadableTurn::Journal(reason)) => return close_as_lost(turns, &open, &reason).await,
    };
    let config = load_config(&turns.content, &open).await?;
    let configured = turns.content.config_manager.active().with_document(&config);
    let journal_writer = JournalWriter::from_stored(turns, &open, journal.entries.len(), Arc::clone(&config));
    let RescuedTurn { mut turn, mut slice, divergence: diverged } = match Turn::rescue(&journal, config) {
        Ok(rescued) => rescued,
        Err(error) => return close_as_lost(turns, &open, &error.to_string()).await,
    };
    let mut status = "closed";
    if let Some(diverged) = diverged {
        tracing::error!(%diverged, turn = open.turn_id, "an orphaned turn diverged from its journal; closing it as lost");
        let end = turn.cancel(CancelReason::Lost, clock::now())?;
        slice.notices.extend(end.notices);
        slice.effects.clear();
        slice.end = end.end;
        status = "lost";
    }
    // Non-repeatable effects that were dispatched without a completion are not dispatched again.
    let in_doubt: Vec<u32> = effects.iter().filter(|it| it.entry.is_none()).map(|it| it.effect_id).collect();
    let interrupted = slice.effects.iter().filter(|effect| !effect.repeatable && in_doubt.contains(&effect.id.0)).map(|it| it.id).collect();
    let open_turn = OpenTurn {
        active_config: configured,
        turn,
        slice,
        journal: journal_writer,
        interrupted,
        status,
        caller_span: None,
        subscriber: None,
        owner: owner::find(&turns.readers, &open.conversation_id).await?.map(Arc::from),
        place: enter(turns, &open.conversation_id).await,
    };
    match finish_abandoned(turns, open_turn).await {
        // Retrying would fail the same way.
        Err(Refusal::Internal(reason) | Refusal::Commit(CommitError::Rejected(reason))) => close_as_lost(turns, &open, &reason).await,
        Err(Refusal::Commit(CommitError::TakenOver)) => Ok(()),
        Ok(_) => {
            turns.meter.record_recovery(if status == "closed" { "finished" } else { status });
            Ok(())
        }
        Err(other) => Err(other),
    }
}

/// Why a stored turn cannot be continued.
enum UnreadableTurn {
    Database(sqlx::Error),
    Journal(String),
}

async fn load_journal(content: &Content, open: &StoredTurn) -> Result<(Journal, Vec<StoredEffect>), UnreadableTurn> {
    let effects = turn::list_effects(&content.readers, &open.turn_id).await.map_err(|failure| match failure {
        sqlx::Error::Decode(error) => UnreadableTurn::Journal(error.to_string()),
        other => UnreadableTurn::Database(other),
    })?;
    let mut journal = turn::decompress(&open.journal).map_err(|error| UnreadableTurn::Journal(error.to_string()))?;
    journal.entries.extend(effects.iter().filter_map(|it| it.entry.clone()));
    Ok((journal, effects))
}

/// Closes an unreadable turn as lost, so that the conversation can continue.
async fn close_as_lost(turns: &Turns, open: &StoredTurn, reason: &str) -> Result<(), Refusal> {
    tracing::error!(reason, turn = open.turn_id, "an orphaned turn cannot be recovered; closing it as lost");
    let fault = Outcome::for_lost_turn(&open.conversation_id).fault.map(|it| it.code);
    if turn::close_as_lost(&turns.readers, &open.turn_id, &turns.owner, fault.as_deref()).await? {
        turns.meter.record_recovery("read_failed");
        let at = clock::now().max(open.created_at);
        audit::append(&turns.readers, &open.conversation_id, &lost_turn_audit(open), at).await?;
    }
    Ok(())
}

/// Returns the audit rows that mark an unreadable turn.
fn lost_turn_audit(open: &StoredTurn) -> [(&'static str, Value); 2] {
    let lost = json!({"reason": CancelReason::Lost.name(), "turn": open.number, "turnId": open.turn_id});
    let fault = json!(Outcome::for_lost_turn(&open.conversation_id).fault);
    let failure = json!({"errorCode": fault["code"], "message": fault["message"], "recoverable": fault["recoverable"]});
    [(Stage::TurnCancelled.name(), lost), (Stage::EngineKnownFailure.name(), failure)]
}

/// Returns the error for an effect with an unknown outcome.
pub fn interrupted_error() -> EffectError {
    EffectError::new(EffectErrorKind::Interrupted, "the server stopped before the answer was known")
}

/// Decompresses the journal of a stored turn.
///
/// # Errors
/// Returns [`Refusal::Internal`] when the bytes are not a journal.
pub fn read_journal(stored: &StoredTurn) -> Result<Journal, Refusal> {
    turn::decompress(&stored.journal)
        .map_err(|error| Refusal::Internal(format!("cannot read the journal of turn {}: {error}", stored.turn_id)))
}

/// Returns the configuration of a turn, or the active one when its snapshot is missing; the turn then likely diverges and is lost.
pub async fn load_config(content: &Content, stored: &StoredTurn) -> Result<Arc<Config>, Refusal> {
    load_snapshot(content, &stored.config_hash).await
}

/// Returns the configuration of a snapshot: the active one, a cached one, or that of the database, which is compiled once for all turns; the
/// active one when the snapshot is missing.
pub async fn load_snapshot(content: &Content, hash: &str) -> Result<Arc<Config>, Refusal> {
    let current = Arc::clone(&content.config_manager.active().config);
    if current.hash_source() == hash {
        return Ok(current);
    }
    Ok(content.flows.load_snapshot(content, hash).await?.unwrap_or(current))
}
