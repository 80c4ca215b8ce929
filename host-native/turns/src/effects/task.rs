//! Runs functions of flow documents: tasks and extensions of the active tables.

use std::sync::Arc;

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, Reply, TaskReply, TaskRequest, Turn, TurnError};
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::execute_effect;
use crate::Turns;

/// Runs a function; the effects that it requests are part of the one that calls it, and its result is journaled as a whole.
pub fn run_function<'a>(turns: &'a Arc<Turns>, request: &'a TaskRequest, key: &'a str) -> BoxFuture<'a, EffectResult> {
    Box::pin(async move {
        match run(turns, request, key).await {
            Ok(Ok(result)) => EffectResult::Ok(Reply::Task(Box::new(TaskReply { result, ..TaskReply::default() }))),
            Ok(Err(error)) => EffectResult::Error(error),
            Err(error) => EffectResult::Error(EffectError::new(EffectErrorKind::Invalid, error.to_string())),
        }
    })
}

async fn run(turns: &Arc<Turns>, request: &TaskRequest, key: &str) -> Result<Result<Value, EffectError>, TurnError> {
    let configured = turns.content.config_manager.active();
    let (mut turn, mut slice) = Turn::start_task(Arc::clone(&configured.config), request, key, turns.clock.now(), seed(key))?;
    loop {
        if let Some(end) = slice.end {
            return Ok(end.task_result());
        }
        let effects = slice.effects.into_iter().map(|effect| execute_effect(Arc::clone(turns), Arc::clone(&configured), None, effect));
        slice = turn.resume(join_all(effects).await)?;
    }
}

/// The seed of a function's random numbers: the same for a repeated effect.
fn seed(key: &str) -> u64 {
    let hash = Sha256::digest(key.as_bytes());
    hash.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}
