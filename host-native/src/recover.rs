//! Recovers orphaned turns, left open by a process that died or lost its database connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::Stage;
use convengine_core::config::Config;
use convengine_core::turn::{Abandon, EffectError, EffectErrorKind, Journal, Outcome, Rescued, Turn};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::clock;
use crate::drive::{Host, Open, Refusal, finish};
use crate::gate::{Busy, PATIENCE};
use crate::journal::Kept;
use crate::store::turn::{self, StoredEffect, StoredTurn};
use crate::store::{audit, config};
use crate::writer::CommitError;

/// The polling interval while waiting for an open turn.
const PAUSE: Duration = Duration::from_millis(25);

/// The interval for deleting the stored effects of ended turns.
const SWEEP: Duration = Duration::from_secs(5);

/// Waits until a conversation has no open turn, and finishes an orphaned one. The caller must hold the conversation's gate permit.
///
/// # Errors
/// Returns [`Busy`] when another process still runs it at the deadline.
pub async fn settle(host: &Arc<Host>, conversation: &str, deadline: Instant) -> Result<(), Refusal> {
    while let Some(open) = turn::open_of(&host.readers, conversation).await? {
        if turn::claim(&host.readers, &open.turn_id, &host.owner, lease_ms(host)).await? {
            take_up(host, open).await?;
        } else if Instant::now() >= deadline {
            return Err(Busy.into());
        } else {
            sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Spawns the recovery task: recovers orphaned turns at start and, if several processes serve the database, periodically; renews leases;
/// and deletes the effects of ended turns, so that commits need not.
pub fn watch(host: Arc<Host>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let pause = host.turns.lease / 4;
        let mut next_sweep = Instant::now();
        scan(&host).await;
        for round in 1_u32.. {
            if Instant::now() >= next_sweep {
                next_sweep = Instant::now() + SWEEP;
                warn(turn::sweep(&host.readers).await, "cannot delete the effects of ended turns");
            }
            sleep(pause).await;
            if host.readers.is_shared() {
                warn(
                    turn::renew(&host.readers, &host.open.ids(), &host.owner, lease_ms(&host)).await,
                    "cannot renew the leases of open turns",
                );
                if round % 2 == 0 {
                    scan(&host).await;
                }
            }
        }
    })
}

fn warn(result: sqlx::Result<()>, message: &str) {
    if let Err(error) = result {
        tracing::warn!(%error, "{message}");
    }
}

async fn scan(host: &Arc<Host>) {
    let found = match turn::left_behind(&host.readers, &host.owner).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "cannot search for orphaned turns");
            return;
        }
    };
    for conversation in found {
        let host = Arc::clone(host);
        tokio::spawn(async move {
            let settled = async {
                let _pass = host.gate.enter(&conversation).await?;
                settle(&host, &conversation, Instant::now() + PATIENCE).await
            };
            match settled.await {
                Ok(()) => tracing::info!(conversation, "recovered an orphaned turn"),
                Err(error) => tracing::warn!(%error, conversation, "cannot recover an orphaned turn yet"),
            }
        });
    }
}

fn lease_ms(host: &Host) -> i64 {
    i64::try_from(host.turns.lease.as_millis()).unwrap_or(i64::MAX)
}

/// Continues a claimed turn where its journal ends.
async fn take_up(host: &Arc<Host>, open: StoredTurn) -> Result<(), Refusal> {
    let (journal, effects) = match whole(host, &open).await {
        Ok(found) => found,
        Err(Unusable::Database(error)) => return Err(error.into()),
        Err(Unusable::Journal(reason)) => return give_up(host, &open, &reason).await,
    };
    let mut configured = host.current.now();
    let config = config_of(host, &open).await?;
    if config.flow.is_some() {
        configured = Arc::new(configured.running(&config));
    }
    let journal_writer = Kept::taken_over(host, &open, journal.entries.len(), Arc::clone(&config));
    let Rescued { mut turn, mut slice, diverged } = match Turn::rescue(&journal, config) {
        Ok(rescued) => rescued,
        Err(error) => return give_up(host, &open, &error.to_string()).await,
    };
    let mut status = "closed";
    if let Some(diverged) = diverged {
        tracing::error!(%diverged, turn = open.turn_id, "an orphaned turn diverged from its journal; closing it as lost");
        let end = turn.abandon(Abandon::Lost, clock::now())?;
        slice.notices.extend(end.notices);
        slice.effects.clear();
        slice.end = end.end;
        status = "lost";
    }
    // Non-repeatable effects that were dispatched without a completion are not dispatched again.
    let in_doubt: Vec<u32> = effects.iter().filter(|it| it.entry.is_none()).map(|it| it.effect_id).collect();
    let interrupted = slice.effects.iter().filter(|it| !it.repeatable && in_doubt.contains(&it.id.0)).map(|it| it.id).collect();
    let open_turn = Open { configured, turn, slice, kept: journal_writer, interrupted, status, caller: None, ear: None };
    match finish(host, open_turn).await {
        // Retrying would fail the same way.
        Err(Refusal::Defect(reason) | Refusal::Commit(CommitError::Rejected(reason))) => give_up(host, &open, &reason).await,
        Err(Refusal::Commit(CommitError::TakenOver)) => Ok(()),
        Ok(_) => {
            host.meter.recovered(if status == "closed" { "finished" } else { status });
            Ok(())
        }
        Err(other) => Err(other),
    }
}

/// Why a stored turn cannot be continued.
enum Unusable {
    Database(sqlx::Error),
    Journal(String),
}

async fn whole(host: &Host, open: &StoredTurn) -> Result<(Journal, Vec<StoredEffect>), Unusable> {
    let effects = turn::effects(&host.readers, &open.turn_id).await.map_err(|it| match it {
        sqlx::Error::Decode(error) => Unusable::Journal(error.to_string()),
        other => Unusable::Database(other),
    })?;
    let mut journal = turn::decompress(&open.journal).map_err(|it| Unusable::Journal(it.to_string()))?;
    journal.entries.extend(effects.iter().filter_map(|it| it.entry.clone()));
    Ok((journal, effects))
}

/// Closes an unreadable turn as lost, so that the conversation can continue.
async fn give_up(host: &Host, open: &StoredTurn, reason: &str) -> Result<(), Refusal> {
    tracing::error!(reason, turn = open.turn_id, "an orphaned turn cannot be recovered; closing it as lost");
    if turn::give_up(&host.readers, &open.turn_id, &host.owner).await? {
        host.meter.recovered("unreadable");
        let at = clock::now().max(open.created_at);
        audit::tell(&host.readers, &open.conversation_id, &farewell(open), at).await?;
    }
    Ok(())
}

/// Returns the audit rows that mark an unreadable turn.
fn farewell(open: &StoredTurn) -> [(&'static str, Value); 2] {
    let lost = json!({"reason": Abandon::Lost.name(), "turn": open.number, "turnId": open.turn_id});
    let fault = json!(Outcome::lost(&open.conversation_id).fault);
    let failure = json!({"errorCode": fault["code"], "message": fault["message"], "recoverable": fault["recoverable"]});
    [(Stage::TurnCancelled.name(), lost), (Stage::EngineKnownFailure.name(), failure)]
}

/// Returns the error for an effect with an unknown outcome.
pub fn interrupted() -> EffectError {
    EffectError::new(EffectErrorKind::Interrupted, "the server stopped before the answer was known")
}

/// Decompresses the journal of a stored turn.
///
/// # Errors
/// Returns [`Refusal::Defect`] when the bytes are not a journal.
pub fn read(stored: &StoredTurn) -> Result<Journal, Refusal> {
    turn::decompress(&stored.journal).map_err(|it| Refusal::Defect(format!("cannot read the journal of turn {}: {it}", stored.turn_id)))
}

/// Returns the configuration of a turn, or the active one when its snapshot is missing; the turn then likely diverges and is lost.
///
/// # Errors
/// Returns any database error.
pub async fn config_of(host: &Host, stored: &StoredTurn) -> Result<Arc<Config>, Refusal> {
    let current = Arc::clone(&host.current.now().config);
    if current.hash() == stored.config_hash {
        return Ok(current);
    }
    let source = config::snapshot(&host.readers, &stored.config_hash).await?;
    Ok(source.map_or(current, |it| Arc::new(Config::from_source(&it).0)))
}
