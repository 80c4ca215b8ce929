//! Execute: resumes the turn with the completions of its effects until it has an outcome.

use std::sync::Arc;

use convengine_core::turn::{CancelReason, Completion, EffectResult, Outcome, TurnError};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::{Host, OpenTurn, Refusal};
use crate::effects::execute_effect;
use crate::ops::observe::TurnObserver;
use crate::runtime::crash;
use crate::runtime::recovery;
use crate::runtime::stop_signals::StopSignal;
use crate::runtime::stream::TurnPublisher;

/// Waits until a turn is to be stopped; forever for one that cannot be.
async fn wait_for_stop(stop: Option<&StopSignal<'_>>) {
    match stop {
        Some(stop) => stop.wait().await,
        None => std::future::pending().await,
    }
}

/// Runs a turn to its outcome. The journal of a slice is stored before its effects start, where a crash could otherwise repeat a write.
pub(super) async fn execute(
    host: &Arc<Host>,
    open: &mut OpenTurn,
    publisher: &mut TurnPublisher<'_>,
    observer: &mut TurnObserver,
) -> Result<Outcome, Refusal> {
    let OpenTurn { active_config: configured, turn, slice, journal, interrupted, .. } = open;
    let deadline = tokio::time::Instant::now() + host.turn_settings.max_duration;
    let mut running: JoinSet<Completion> = JoinSet::new();
    let stop = configured.config.chain().is_some().then(|| host.stop_signals.register(&turn.journal().input.conversation));
    loop {
        publisher.add_notices(&mut slice.notices);
        if let Some(outcome) = slice.end.take() {
            if journal.has_unstored_write(turn) {
                let pending = journal.prepare(host, turn, &publisher.notices(), &[])?;
                journal.store(host, pending).await?;
            }
            return Ok(outcome);
        }
        if !slice.effects.is_empty() {
            crash::point("before the journal");
            let pending = journal.prepare(host, turn, &publisher.notices(), &slice.effects)?;
            journal.store(host, pending).await?;
            crash::point("before the effects");
        }
        publisher.publish();
        observer.add_effects(slice.effects.len());
        for effect in slice.effects.drain(..) {
            publisher.send_effect_started(&effect);
            if interrupted.contains(&effect.id) {
                let outcome = EffectResult::Error(recovery::interrupted_error());
                running.spawn(std::future::ready(Completion { id: effect.id, at: host.clock.now(), outcome }));
            } else {
                let tokens = publisher.token_publisher(&effect).filter(|_| host.redaction.allows_streaming());
                let completion = execute_effect(Arc::clone(host), Arc::clone(configured), tokens, effect);
                running.spawn(completion.in_current_span());
            }
        }
        interrupted.clear();
        let completed = tokio::select! {
            completed = tokio::time::timeout_at(deadline, running.join_next()) => completed,
            () = wait_for_stop(stop.as_ref()) => {
                // Running effects are dropped with the set.
                *slice = turn.cancel(CancelReason::Requested, host.clock.now())?;
                continue;
            }
        };
        *slice = match completed {
            Ok(Some(completion)) => {
                crash::point("after an effect");
                let completion = completion.map_err(|it| Refusal::Internal(it.to_string()))?;
                publisher.send_effect_finished(&completion);
                turn.resume(vec![completion])?
            }
            Ok(None) => return Err(TurnError::Stalled.into()),
            // Running effects are dropped with the set.
            Err(_) => turn.cancel(CancelReason::Timeout, host.clock.now())?,
        };
    }
}
