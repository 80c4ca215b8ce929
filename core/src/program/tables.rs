//! The program that runs control tables.

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

/// Creates the program that runs the configuration's pipeline.
pub(super) fn program(input: TurnInput, effects: Door, config: Arc<Config>) -> Program {
    Box::pin(async move {
        let session = Session::open(input, config.settings.history_max_turns);
        let mut cx = Turning { config: &config, session, door: effects };
        let effects = cx.door.clone();
        match effects.unless_abandoned(run(&mut cx)).await {
            Ok(Ok(())) => succeeded(cx.session),
            Ok(Err(fault)) => failed(cx, &fault),
            Err(reason) => abandoned(cx, reason),
        }
    })
}

async fn run(cx: &mut Turning<'_>) -> Result<(), Fault> {
    pipeline::run(cx).await?;
    extension::final_payload(cx).await.map_err(|_| Fault::of_task())
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

/// The outcome of a canceled turn: failed, with the session as it is.
fn abandoned(cx: Turning<'_>, reason: Abandon) -> Outcome {
    cx.audit(Stage::TurnCancelled, |_| json!({"reason": reason.name(), "step": cx.door.step(), "openEffects": cx.door.open_effects()}));
    let fault = Fault::abandoned(reason, cx.door.wrote());
    failed(cx, &fault)
}

/// The outcome of a failed turn: nothing is committed but the writes marked for failure and the model call log.
fn failed(mut cx: Turning<'_>, fault: &Fault) -> Outcome {
    if let Some(count) = cx.session.kept_on_failure {
        let calls = cx.session.kept.split_off(count).into_iter().filter(|it| matches!(it, Write::LlmCall(_)));
        cx.session.kept.extend(calls.collect::<Vec<Write>>());
    }
    cx.audit(
        Stage::EngineKnownFailure,
        |_| json!({"errorCode": fault.code.name(), "message": fault.message, "recoverable": fault.recoverable}),
    );
    Outcome {
        conversation_id: cx.session.conversation_id.clone(),
        intent: cx.session.intent.clone(),
        state: cx.session.state.clone(),
        payload: None,
        context: None,
        fault: Some(fault.report()),
        flow: None,
        session: cx.session.after(),
        writes: writes(cx.session.kept),
    }
}

/// Keeps only the last version of the conversation row and puts it first, because other rows reference it.
fn writes(writes: Vec<Write>) -> Vec<Write> {
    let (mut rows, others): (Vec<Write>, Vec<Write>) = writes.into_iter().partition(|it| matches!(it, Write::Conversation(_)));
    rows.pop().into_iter().chain(others).collect()
}
