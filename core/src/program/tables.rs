//! A turn of control tables.

use std::sync::Arc;

use serde_json::json;

use crate::audit::Stage;
use crate::config::Config;
use crate::extension;
use crate::fault::Fault;
use crate::pipeline;
use crate::session::Session;
use crate::turn::{Abandon, Door, Outcome, Program, TurnInput, Write};
use crate::turning::Turning;

/// Runs the pipeline of a configuration.
pub(super) fn program(input: TurnInput, door: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let session = Session::open(input, config.settings.history_max_turns);
        let mut t = Turning { config: &config, session, door };
        let door = t.door.clone();
        match door.unless_abandoned(run(&mut t)).await {
            Ok(Ok(())) => succeeded(t.session),
            Ok(Err(fault)) => failed(t, &fault),
            Err(why) => abandoned(t, why),
        }
    })
}

async fn run(t: &mut Turning<'_>) -> Result<(), Fault> {
    pipeline::run(t).await?;
    extension::final_payload(t).await.map_err(|_| Fault::of_task())
}

fn succeeded(session: Session) -> Outcome {
    Outcome {
        conversation_id: session.conversation_id.clone(),
        intent: session.intent.clone(),
        state: session.state.clone(),
        payload: session.payload.clone(),
        context: Some(session.context.clone()),
        fault: None,
        flow: None,
        session: session.after(),
        writes: writes(session.kept),
    }
}

/// An abandoned turn has failed where it stands.
fn abandoned(t: Turning<'_>, why: Abandon) -> Outcome {
    t.audit(Stage::TurnCancelled, |_| json!({"reason": why.name(), "step": t.door.step(), "openEffects": t.door.open_effects()}));
    let fault = Fault::abandoned(why, t.door.wrote());
    failed(t, &fault)
}

/// A failed turn leaves the conversation as it was, but for what has been said to be kept.
fn failed(mut t: Turning<'_>, fault: &Fault) -> Outcome {
    if let Some(count) = t.session.kept_on_failure {
        let calls = t.session.kept.split_off(count).into_iter().filter(|it| matches!(it, Write::LlmCall(_)));
        t.session.kept.extend(calls.collect::<Vec<Write>>());
    }
    t.audit(
        Stage::EngineKnownFailure,
        |_| json!({"errorCode": fault.code.name(), "message": fault.message, "recoverable": fault.recoverable}),
    );
    Outcome {
        conversation_id: t.session.conversation_id.clone(),
        intent: t.session.intent.clone(),
        state: t.session.state.clone(),
        payload: None,
        context: None,
        fault: Some(fault.report()),
        flow: None,
        session: t.session.after(),
        writes: writes(t.session.kept),
    }
}

/// Of several images of the conversation's row only the last is written, and first, because other rows refer to it.
fn writes(kept: Vec<Write>) -> Vec<Write> {
    let (mut rows, others): (Vec<Write>, Vec<Write>) = kept.into_iter().partition(|it| matches!(it, Write::Conversation(_)));
    rows.pop().into_iter().chain(others).collect()
}
